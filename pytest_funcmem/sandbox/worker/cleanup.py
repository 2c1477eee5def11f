"""Removing every trace of a candidate that had a user of its own but shared the namespaces of the worker."""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import time

from . import candidate, syscalls

_KILLER_OFFSET = 0x2000_0000
"""Added to a candidate's uid, gives the uid from which it is killed, and which it cannot signal.

Beyond every range of candidates, so that the killer is never counted as a process of one."""

_ORDINARY_DIRECTORIES = ("/tmp", "/dev/shm")
"""Where honest code leaves files too; they are removed and mean nothing."""

_OTHER_DIRECTORIES = ("/var/tmp", "/dev/mqueue", "/work", "/run", "/run/lock")


def prepare_directories(uid: int) -> None:
    """Make the candidate's directories, empty and its own."""
    for path in (candidate.WORK, candidate.TEMPORARY):
        os.mkdir(path, 0o700)
        os.chown(path, uid, uid)


def kill_everything_of(uid: int) -> None:
    """Send SIGKILL to all processes of a user at once, and remove its System V objects, if there are any.

    ``kill(-1)`` walks the processes under a lock that also stops forks, so no fork bomb can outrun it. The
    process that sends it has the victim's uid as its effective uid only, so that victims cannot signal it.
    """
    if syscalls.knows_this_machine() and _has_none(uid):
        return  # the filter lets nobody make System V objects, and forking the killer is not cheap
    pid = os.fork()
    if pid == 0:
        try:
            killer = _killer_uid(uid)
            os.setresuid(killer, uid, killer)
            for _ in range(2):
                try:
                    os.kill(-1, signal.SIGKILL)
                except ProcessLookupError:
                    break
            _remove_system_v_objects(uid)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _has_none(uid: int) -> bool:
    """Ask the kernel whether a user has no process, by the error of a question about all of them."""
    try:
        os.getpriority(os.PRIO_USER, uid)
    except ProcessLookupError:
        return True
    return False


def _killer_uid(uid: int) -> int:
    # Inside a remapped user namespace only small numbers exist.
    return uid + _KILLER_OFFSET if uid > 65_535 else 65_000 + uid % 500


def wait_until_gone(uid: int, *, limit_s: float = 5.0) -> bool:
    """Wait until no live process has the uid: SIGKILL is delivered later than it is sent.

    Returns:
        Whether all were gone in time.
    """
    end = time.monotonic() + limit_s
    while not _has_none(uid) and _has_processes(uid):
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def _has_processes(uid: int) -> bool:
    wanted = f"\nUid:\t{uid}\t"
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/status", encoding="ascii", errors="replace") as file:
                status = file.read()
        except OSError:
            continue  # it has ended meanwhile
        if wanted in status and "\nState:\tZ" not in status and "\nState:\tX" not in status:
            return True
    return False


def sweep(uid: int) -> list[str]:
    """Remove the candidate's directories and whatever it left elsewhere.

    Returns:
        What it had left in unusual places, and what could not be removed: reasons not to go on here.
    """
    found = []
    for path in (candidate.WORK, candidate.TEMPORARY):
        try:
            _remove(path)
        except OSError:
            found.append(path)
    for directory in _ORDINARY_DIRECTORIES + _OTHER_DIRECTORIES:
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    if directory not in _ORDINARY_DIRECTORIES:
                        found.append(entry.path)
                    _remove(entry.path)
            except OSError:
                found.append(entry.path)
    return found


def _remove(path: str) -> None:
    """Remove a file or a tree, however deep: neither recursion nor the longest path may be a limit here."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    # Nobody is left who could have guessed this name.
    lifted = os.path.join(path, os.urandom(8).hex())
    count = 0
    while True:
        with os.scandir(path) as entries:
            present = list(entries)
        if not present:
            os.rmdir(path)
            return
        for entry in present:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            try:
                os.rmdir(entry.path)
            except OSError:
                with os.scandir(entry.path) as children:
                    inner = [child.path for child in children]
                for child_path in inner:
                    count += 1
                    os.rename(child_path, f"{lifted}-{count}")


def _remove_system_v_objects(uid: int) -> None:
    """Remove shared memory, queues and semaphores; only the owner (by effective uid) may."""
    libc = ctypes.CDLL(None)
    for kind in ("shm", "msg", "sem"):
        try:
            with open(f"/proc/sysvipc/{kind}", encoding="ascii") as file:
                owner = file.readline().split().index("uid")
                numbers = [int(row[1]) for row in map(str.split, file) if int(row[owner]) == uid]
        except (OSError, ValueError):
            continue
        for number in numbers:
            if kind == "sem":
                libc.semctl(number, 0, 0)
            elif kind == "shm":
                libc.shmctl(number, 0, None)
            else:
                libc.msgctl(number, 0, None)
