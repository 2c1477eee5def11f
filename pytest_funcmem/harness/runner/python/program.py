"""The program that runs a Python function on input states. It lives inside the sandbox.

``main(payload, emit)`` loads a file as a module, forks a child for every input state, and emits one record
each: a JSON header, a newline, and what the child said, which this process does not read. Everything that the
child does is up to hostile code, so nothing here may be relied upon outside the sandbox.
"""

# ruff: noqa: PTH103, PTH109, PTH118
# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import select
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from .absent import finder
from .encoding import FILENAME, paths
from .fabrication import fabrication
from .loading import Loaded, import_ahead, load
from .outside import tame_network, tame_processes
from .recording import Streams, executable_lines, named_globals, run_state
from .world import (
    fork_light,
    real_exit,
    real_fork,
    real_kill,
    real_monotonic,
    real_sleep,
    tame_clock,
    tame_identity,
    tame_random,
)


def _header(**fields: Any) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"


def _prepare(base: str) -> None:
    """Tame the interpreter, once for a task."""
    run, temporary = os.path.join(base, "run"), os.path.join(base, "tmp")
    paths[:] = [(run, "/work"), (temporary, "/tmp"), (base, "/base")]
    os.environ.clear()
    os.environ.update({"HOME": run, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "USER": "user"})
    os.environ.update({"LOGNAME": "user", "TMPDIR": temporary, "PWD": run})
    time.tzset()
    sys.argv = [FILENAME]
    tempfile.tempdir = None
    tame_random()
    tame_clock()
    tame_processes()
    tame_network()
    tame_identity()
    sys.meta_path.append(finder)


def _read_exactly(pipe: int, count: int, deadline: float) -> bytes | None:
    """Bytes from a pipe; fewer where it was closed, None where time ran out."""
    parts, missing = [], count
    poll = select.poll()
    poll.register(pipe, select.POLLIN | select.POLLHUP)
    while missing:
        left = deadline - real_monotonic()
        if left <= 0 or not poll.poll(max(1, left * 1000)):
            if deadline <= real_monotonic():
                return None
            continue
        part = os.read(pipe, min(missing, 1 << 20))
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _wait(child: int, deadline: float) -> tuple[int, float] | None:
    """Exit status of a child and its processor seconds; None where it does not end in time."""
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return status, usage.ru_utime + usage.ru_stime
        if real_monotonic() >= deadline:
            return None
        real_sleep(0.001)


def _in_child(
    loaded: Loaded, streams: Streams, state: dict[str, Any], program: dict[str, Any], pipe: int, run: str
) -> None:
    os.chdir(run)
    if program["state_cpu_s"] is not None:
        signal.setitimer(signal.ITIMER_PROF, program["state_cpu_s"])
    body = json.dumps(run_state(loaded, streams, state, program["coverage"])).encode("ascii")
    signal.setitimer(signal.ITIMER_PROF, 0)
    content = len(body).to_bytes(8, "big") + body
    while content:
        content = content[os.write(pipe, content) :]


def _run_in_child(
    loaded: Loaded, streams: Streams, state: dict[str, Any], program: dict[str, Any], run: str
) -> tuple[dict[str, Any], bytes]:
    """Fork a child for a state, and wait for what it says: (what became of it, its words)."""
    deadline = real_monotonic() + program["state_timeout_s"]
    streams.truncate()
    reading, writing = os.pipe()
    child = fork_light() if threading.active_count() == 1 else real_fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            _in_child(loaded, streams, state, program, writing, run)
            status = 0
        finally:
            real_exit(status)
    os.close(writing)
    outcome, detail, body = "missing", "", b""
    head = _read_exactly(reading, 8, deadline)
    if head is not None and len(head) == 8:
        length = int.from_bytes(head, "big")
        if length > program["record_bytes"]:
            outcome, detail = "refused", f"its record has {length} bytes"
        else:
            got = _read_exactly(reading, length, deadline)
            if got is None:
                head = None
            elif len(got) == length:
                outcome, body = "recorded", got
    os.close(reading)
    found = _wait(child, deadline) if outcome == "missing" and head is not None else None
    ended, spent = found if found is not None else (None, 0.0)
    if ended is None:
        with contextlib.suppress(ProcessLookupError):
            real_kill(child, signal.SIGKILL)
        usage = os.wait4(child, 0)[2]
        spent = usage.ru_utime + usage.ru_stime
        if outcome == "missing":
            outcome, detail = "timeout", f"it did not end within {program['state_timeout_s']:g} s"
    elif os.WIFSIGNALED(ended):
        number = os.WTERMSIG(ended)
        # Nobody here sends SIGKILL without a timeout: it was the kernel, for memory.
        outcome = "memory" if number == signal.SIGKILL else "signal"
        detail = signal.Signals(number).name
        if number == signal.SIGPROF and program["state_cpu_s"] is not None:
            outcome, detail = "timeout", f"it used {program['state_cpu_s']:g} s of the processor"
    elif outcome == "missing":
        detail = f"the process ended with status {os.WEXITSTATUS(ended)} before its record was written"
    return {"outcome": outcome, "detail": detail, "seconds": spent}, body


def _empty(directory: str) -> None:
    """Make a directory empty, whatever has become of it."""
    try:
        status = os.lstat(directory)
        if stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o755:
            with os.scandir(directory) as entries:
                if next(entries, None) is None:
                    return
    except OSError:
        pass  # it is made anew
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory, exist_ok=True)


def _run_program(
    program: dict[str, Any], states: list[dict[str, Any]], emit: Callable[..., None], base: str
) -> None:
    """Load a file and run its states."""
    run, temporary = os.path.join(base, "run"), os.path.join(base, "tmp")
    for directory in (run, temporary):
        _empty(directory)
    os.chdir(run)
    streams = Streams()
    loaded = load(program)
    lines = executable_lines(loaded) if loaded.problem is None else []
    emit(
        b"",
        kind="load",
        loaded=loaded.problem is None,
        detail=loaded.problem or "; ".join(loaded.notes),
        skipped=loaded.skipped,
        fabricated=sorted(set(fabrication.made_modules)),
        executable_lines=lines,
    )
    if loaded.problem is None:
        loaded.named = named_globals(loaded.space)
        streams.clear()
        gc.freeze()
        slow = 0
        for index, place in enumerate(program["states"]):
            # Each state starts in empty directories.
            os.chdir(base)
            for directory in (run, temporary):
                _empty(directory)
            header, body = _run_in_child(loaded, streams, states[place], program, run)
            emit(body, kind="state", index=index, **header)
            slow += header["outcome"] in ("timeout", "memory")
            if slow == program["patience"]:
                break
    emit(b"", kind="done")


def _run_apart(program: dict[str, Any], work: Callable[[], None]) -> None:
    """Do the work of a program in a process of its own, as long as it may take at most."""
    deadline = real_monotonic() + program["wall_s"]
    reading, writing = os.pipe()  # the child holds an end until its own
    child = real_fork()
    if child == 0:
        try:
            os.close(reading)
            os.setpgid(0, 0)
            work()
        finally:
            real_exit(0)
    os.close(writing)
    ended, poll = False, select.poll()
    poll.register(reading, select.POLLHUP)
    while not ended and real_monotonic() < deadline:
        closed = poll.poll(20)
        ended = os.waitpid(child, os.WNOHANG)[0] == child
        if closed and not ended:
            real_sleep(0.001)
    os.close(reading)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            real_kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        real_kill(-child, signal.SIGKILL)  # what it left behind


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Run a task: load the file of every program, run its states, emit a record for each.

    Args:
        payload: JSON, as ``harness.python_runs`` writes it.
        emit: Called with the bytes of each record.
    """
    task = json.loads(payload)
    base = os.getcwd()
    _prepare(base)
    text, programs = task["text"], task["programs"]
    if len(programs) > 1:
        import_ahead(text)
        gc.freeze()
    for number, program in enumerate(programs):
        head, middle, tail = program["text"]
        program["text"] = text[:head] + middle + text[len(text) - tail :]
        for name in ("load_timeout_s", "record_bytes"):
            program[name] = task[name]

        def say(body: bytes, number: int = number, **fields: Any) -> None:
            emit(_header(program=number, **fields) + body)

        if len(programs) == 1:
            _run_program(program, task["states"], say, base)
        else:
            os.chdir(base)
            _run_apart(program, functools.partial(_run_program, program, task["states"], say, base))
