"""One candidate's process: it confines itself, reads its request, and runs the program or the command.

Everything before ``_run_program`` and ``_run_command`` is trusted and runs before any hostile code does.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import sys
import traceback
from types import ModuleType
from typing import Any

from . import framing, linux, syscalls

WORK = "/work/task"
TEMPORARY = "/work/tmp"
RECORDS_FD = 3
REQUEST_FD = 4

OUT_OF_MEMORY_EXIT = 86
"""Exit status of a program whose ``main`` let a MemoryError escape; told apart from "ended"."""

_OPEN_FILES = 256
_MIB = 1 << 20


def arrange_descriptors(request: int, records: int, out: int, err: int) -> None:
    """Put the pipes where the candidate expects them and close every other descriptor."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (request, records, out, err)]
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(high[2], 1)
    os.dup2(high[3], 2)
    os.dup2(high[1], RECORDS_FD, inheritable=False)
    os.dup2(high[0], REQUEST_FD, inheritable=False)
    os.closerange(REQUEST_FD + 1, 1024)


def limit_resources(limits: dict[str, Any]) -> None:
    """Set the limits that hold for each process of the task by itself."""
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits["files_mib"] * _MIB,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        # Private writable memory. Unlike the address space, it does not count what runtimes merely reserve.
        resource.RLIMIT_DATA: limits["memory_mib"] * _MIB,
        # Nets for a candidate that outlives its supervisor; the wall clock is what ends a task.
        resource.RLIMIT_CPU: int(limits["wall_s"] * limits["processes"]) + 2,
    }
    for what, bound in bounds.items():
        _soft, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            bound = min(bound, hard)
        resource.setrlimit(what, (bound, bound))


def invite_oom_killer() -> None:
    """Make this process the first to go where memory runs out, before the worker's own."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # no /proc: then no shared memory limit is in force either


def become(uid: int) -> None:
    """Change to a user that owns nothing else."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def become_alias(uid: int) -> None:
    """Where only one user is mapped: show it to the candidate under another number, without privileges."""
    outer_uid, outer_gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, line in (
        ("setgroups", "deny"),
        ("gid_map", f"{uid} {outer_gid} 1"),
        ("uid_map", f"{uid} {outer_uid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


def environment(executable: str) -> dict[str, str]:
    """The whole environment of a candidate."""
    return {
        "PATH": f"{os.path.dirname(executable)}:/usr/local/bin:/usr/bin:/bin",
        "HOME": WORK,
        "TMPDIR": TEMPORARY,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(spawn: dict[str, Any], programs: dict[str, ModuleType]) -> None:
    """Confine this process and run its request; never returns.

    Args:
        spawn: ``uid``, ``limits``, and of the worker's settings those that concern a candidate.
        programs: The loaded programs by name.
    """
    status = 125
    try:
        os.setsid()
        invite_oom_killer()
        limit_resources(spawn["limits"])
        if spawn["alias"]:
            become_alias(spawn["uid"])
        if spawn["count_processes"]:
            limit = spawn["limits"]["processes"]
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
        if not spawn["alias"]:
            become(spawn["uid"])
        linux.drop_capabilities()
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # or its own /proc/self would belong to root
        syscalls.refuse_dangerous()
        os.umask(0o022)
        os.chdir(WORK)
        os.environ.clear()
        os.environ.update(environment(sys.executable))
        header = json.loads(_read_block())
        for path, size in header["files"]:
            _lay_file(path, size)
        os.write(RECORDS_FD, framing.STARTED)
        if header["command"] is not None:
            _run_command(header["command"])
        status = _run_program(programs[header["program"]], header["payload"])
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(status)


def _read_block() -> bytes:
    (length,) = framing.LENGTH.unpack(framing.read_exact(REQUEST_FD, framing.LENGTH.size))
    return framing.read_exact(REQUEST_FD, length)


def _lay_file(path: str, size: int) -> None:
    parent = os.path.dirname(path)
    if parent:
        os.makedirs(parent, exist_ok=True)
    with open(path, "wb") as file:
        file.write(framing.read_exact(REQUEST_FD, size))


def _run_command(command: list[str]) -> None:
    # What is left unread in the pipe is the payload: it becomes standard input.
    os.dup2(REQUEST_FD, 0)
    os.close(REQUEST_FD)
    os.close(RECORDS_FD)
    try:
        os.execvp(command[0], command)
    except OSError as exc:
        os.write(2, f"{command[0]}: {exc.strerror}\n".encode("utf-8", "backslashreplace"))
        os._exit(127 if isinstance(exc, FileNotFoundError) else 126)


def _run_program(program: ModuleType, size: int) -> int:
    payload = framing.read_exact(REQUEST_FD, size)
    os.close(REQUEST_FD)

    def emit(record: bytes) -> None:
        framing.write_all(RECORDS_FD, framing.LENGTH.pack(len(record)) + record)

    try:
        program.main(payload, emit)
        status = 0
    except SystemExit as exc:
        code = exc.code
        status = code & 0xFF if isinstance(code, int) else 0 if code is None else 1
    except MemoryError:
        status = OUT_OF_MEMORY_EXIT
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the program closed or replaced it
    return status
