"""The system calls that a candidate is refused, as a filter that it puts on itself before it runs.

It comes on top of the namespaces, the user without rights and, in Docker, the engine's own profile: these
calls have no use in code under test and a long record of kernel faults.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import linux

# By machine: the audit architecture number, then the call numbers.
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Calls that no honest program makes: they end it, with outcome "refused".
_FATAL = {
    "x86_64": {
        "kexec_load": 246,
        "kexec_file_load": 320,
        "init_module": 175,
        "finit_module": 313,
        "delete_module": 176,
        "bpf": 321,
        "reboot": 169,
        "iopl": 172,
        "ioperm": 173,
        "modify_ldt": 154,
    },
    "aarch64": {
        "kexec_load": 104,
        "kexec_file_load": 294,
        "init_module": 105,
        "finit_module": 273,
        "delete_module": 106,
        "bpf": 280,
        "reboot": 142,
    },
}

# Calls that fail with EPERM, as they do for any user without rights.
_FORBIDDEN = {
    "x86_64": {
        "ptrace": 101,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "kcmp": 312,
        "mount": 165,
        "umount2": 166,
        "pivot_root": 155,
        "chroot": 161,
        "unshare": 272,
        "setns": 308,
        "shmget": 29,
        "shmat": 30,
        "shmctl": 31,
        "semget": 64,
        "semop": 65,
        "semctl": 66,
        "semtimedop": 220,
        "msgget": 68,
        "msgsnd": 69,
        "msgrcv": 70,
        "msgctl": 71,
        "mq_open": 240,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "name_to_handle_at": 303,
        "open_by_handle_at": 304,
        "userfaultfd": 323,
        "quotactl": 179,
        "swapon": 167,
        "swapoff": 168,
        "acct": 163,
        "settimeofday": 164,
        "clock_settime": 227,
        "syslog": 103,
        "vhangup": 153,
        # Its files are in no process' map: those who watch or kill for memory look at the wrong processes.
        "memfd_create": 319,
    },
    "aarch64": {
        "ptrace": 117,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "kcmp": 272,
        "mount": 40,
        "umount2": 39,
        "pivot_root": 41,
        "chroot": 51,
        "unshare": 97,
        "setns": 268,
        "shmget": 194,
        "shmctl": 195,
        "shmat": 196,
        "semget": 190,
        "semctl": 191,
        "semtimedop": 192,
        "semop": 193,
        "msgget": 186,
        "msgctl": 187,
        "msgrcv": 188,
        "msgsnd": 189,
        "mq_open": 180,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "perf_event_open": 241,
        "fanotify_init": 262,
        "name_to_handle_at": 264,
        "open_by_handle_at": 265,
        "userfaultfd": 282,
        "quotactl": 60,
        "swapon": 224,
        "swapoff": 225,
        "acct": 89,
        "settimeofday": 170,
        "clock_settime": 112,
        "syslog": 116,
        "vhangup": 58,
        "memfd_create": 279,
    },
}

# Newer calls have one number on every machine.
_FORBIDDEN_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "memfd_secret": 447,
}

_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_PERSONALITY = {"x86_64": 135, "aarch64": 92}
_PERSONAS = (0, 0xFFFF_FFFF)  # the ordinary one, and the question about it
_SOCKET = {"x86_64": 41, "aarch64": 198}
_SOCKET_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink; not vsock, which no namespace holds in
_NEW_NAMESPACES = 0x7E02_0080
_X32 = 0x4000_0000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_SECCOMP_MODE_FILTER = 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def build_filter(machine: str) -> bytes | None:
    """Assemble the filter for a machine, as ``uname`` names it; None where its call numbers are not known."""
    if machine not in _ARCHITECTURES:
        return None
    code = [
        _instruction(_LOAD, _AT_ARCHITECTURE),
        _instruction(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _AT_NUMBER),
    ]
    if machine == "x86_64":
        code += [_instruction(_JUMP_AT_LEAST, _X32, 0, 1), _instruction(_RETURN, _KILL)]
    for number in _FATAL[machine].values():
        code += _verdict(number, _KILL)
    for number in [*_FORBIDDEN[machine].values(), *_FORBIDDEN_EVERYWHERE.values()]:
        code += _verdict(number, _FAIL | errno.EPERM)
    # Its flags are behind a pointer that a filter cannot follow; libraries fall back to clone.
    code += _verdict(_CLONE3, _FAIL | errno.ENOSYS)
    code += [
        _instruction(_JUMP_EQUAL, _CLONE[machine], 0, 4),
        _instruction(_LOAD, _AT_FIRST_ARGUMENT),
        _instruction(_JUMP_SET, _NEW_NAMESPACES, 0, 1),
        _instruction(_RETURN, _FAIL | errno.EPERM),
        _instruction(_RETURN, _ALLOW),
    ]
    code += _only_with(_PERSONALITY[machine], _PERSONAS, _FAIL | errno.EPERM)
    code += _only_with(_SOCKET[machine], _SOCKET_FAMILIES, _FAIL | errno.EAFNOSUPPORT)
    code.append(_instruction(_RETURN, _ALLOW))
    return b"".join(code)


def _instruction(operation: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, operand)


def _verdict(number: int, action: int) -> list[bytes]:
    return [_instruction(_JUMP_EQUAL, number, 0, 1), _instruction(_RETURN, action)]


def _only_with(number: int, values: tuple[int, ...], otherwise: int) -> list[bytes]:
    """Allow a call whose first argument is one of the values; another action otherwise."""
    count = len(values)
    return [
        _instruction(_JUMP_EQUAL, number, 0, count + 3),
        _instruction(_LOAD, _AT_FIRST_ARGUMENT),
        *(_instruction(_JUMP_EQUAL, value, count - at, 0) for at, value in enumerate(values)),
        _instruction(_RETURN, otherwise),
        _instruction(_RETURN, _ALLOW),
    ]


_filter = build_filter(os.uname().machine)


def knows_this_machine() -> bool:
    """Whether candidates run under the filter here."""
    return _filter is not None


def refuse_dangerous() -> None:
    """Install the filter; it holds for every process that this one starts and cannot be taken off.

    Needs "no new privileges" to be set. Does nothing on a machine whose call numbers are not known.
    """
    if _filter is None:
        return
    buffer = ctypes.create_string_buffer(_filter, len(_filter))
    program = _Program(len(_filter) // 8, ctypes.addressof(buffer))
    linux.prctl(linux.PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(program)))
