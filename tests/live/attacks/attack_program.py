"""The sandbox program that runs the code of an attack, with a few names to make attacks short.

It runs inside the sandbox only, as a candidate that has got past whatever a harness may do about it.
"""

# It runs in isolation on plain paths.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import ctypes
import errno
import json
import os

NUMBERS = {
    # name: (on x86_64, on aarch64); None where there is no such call
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "clone": (56, 220),
    "clone3": (435, 435),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "memfd_secret": (447, 447),
    "personality": (135, 92),
    "clock_settime": (227, 112),
    "settimeofday": (164, 170),
    "swapon": (167, 224),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "vhangup": (153, 58),
    "sched_setscheduler": (144, 119),
    "capset": (126, 91),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "seccomp": (317, 277),
    "mlock": (149, 228),
    "prctl": (157, 167),
}

libc = ctypes.CDLL(None, use_errno=True)


def name_of(error):
    if isinstance(error, OSError) and error.errno:
        return errno.errorcode.get(error.errno, str(error.errno))
    return type(error).__name__


def attempt(call, *arguments):
    """What became of a call: "done", or the name of its error."""
    try:
        call(*arguments)
    except BaseException as error:
        return name_of(error)
    return "done"


def system_call(name, *arguments):
    """What became of a system call that is made past Python and the C library's own functions."""
    number = NUMBERS[name][os.uname().machine != "x86_64"]
    if number is None:
        return "no such call"
    wide = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    wide += [ctypes.c_long(0)] * (6 - len(wide))
    if libc.syscall(ctypes.c_long(number), *wide) >= 0:
        return "done"
    return errno.errorcode.get(ctypes.get_errno(), "?")


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def write(path, text="left for the next"):
    with open(path, "w") as file:
        file.write(text)


def others():
    """Numbers of the other processes in sight."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def main(payload, emit):
    request = json.loads(payload)
    names = dict(globals(), emit=emit, answers=[], given=request["given"])
    exec(compile(request["code"], "<attack>", "exec"), names)
    emit(json.dumps(names["answers"]).encode())
