"""System calls that Python's standard library does not offer, each raising ``OSError`` with its name."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38

_LAST_CAPABILITY = 63
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, name: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system, bind a path, or change a mount's flags."""
    arguments = [text.encode() or None for text in (source, target, kind)]
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() or None)
    _check(result, f"mount {kind or source or 'flags'} on {target}")


def unmount(target: str, flags: int = 0) -> None:
    """Unmount what is mounted on a path."""
    _check(_libc.umount2(target.encode(), flags), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root and put the present root at ``old``."""
    _check(_libc.pivot_root(new.encode(), old.encode()), "pivot_root")


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _check(_libc.unshare(flags), f"unshare {flags:#x}")


def setns(fd: int, kind: int) -> None:
    """Join a namespace."""
    _check(_libc.setns(fd, kind), f"setns {kind:#x}")


def prctl(option: int, argument: object = 0, more: object = 0) -> None:
    """Set a property of this process."""
    wide = [item if isinstance(item, ctypes.c_void_p) else ctypes.c_ulong(item) for item in (argument, more)]  # type: ignore[arg-type]
    _check(_libc.prctl(option, *wide, ctypes.c_ulong(0), ctypes.c_ulong(0)), f"prctl {option}")


def drop_bounding_set() -> None:
    """Give up, as far as allowed, that a program could gain any capability."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            return  # past the last one, or CAP_SETPCAP is not ours: then the engine has set the bound


def drop_capabilities() -> None:
    """Clear the effective, permitted and inheritable capabilities of this process."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, data), "capset")
