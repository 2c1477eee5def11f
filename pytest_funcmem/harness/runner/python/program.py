"""The program that runs a Python function on input states. It lives inside the sandbox.

``main(payload, emit)`` loads a file as a module, forks a child for every input state, and emits one record
each: a JSON header, a newline, and what the child said, which this process does not read. Everything that the
child does is up to hostile code, so nothing here may be relied upon outside the sandbox.
"""

# ruff: noqa: PTH103, PTH109, PTH118
# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from .absent import finder
from .encoding import FILENAME, paths
from .fabrication import fabrication
from .loading import Loaded, load
from .outside import tame_network, tame_processes
from .recording import Streams, executable_lines, named_globals, run_state
from .world import (
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


def _prepare(base: str) -> tuple[str, str]:
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
    return run, temporary


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
    loaded: Loaded, streams: Streams, state: dict[str, Any], with_coverage: bool, pipe: int, run: str
) -> None:
    os.chdir(run)
    body = json.dumps(run_state(loaded, streams, state, with_coverage)).encode("ascii")
    content = len(body).to_bytes(8, "big") + body
    while content:
        content = content[os.write(pipe, content) :]


def _state_record(
    loaded: Loaded, streams: Streams, state: dict[str, Any], index: int, task: dict[str, Any], run: str
) -> bytes:
    """Fork a child for a state, wait for what it says, and wrap that up."""
    deadline = real_monotonic() + task["state_timeout_s"]
    reading, writing = os.pipe()
    child = real_fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            _in_child(loaded, streams, state, task["coverage"], writing, run)
            status = 0
        finally:
            real_exit(status)
    os.close(writing)
    outcome, detail, body = "missing", "", b""
    head = _read_exactly(reading, 8, deadline)
    if head is not None and len(head) == 8:
        length = int.from_bytes(head, "big")
        if length > task["record_bytes"]:
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
            outcome, detail = "timeout", f"it did not end within {task['state_timeout_s']:g} s"
    elif os.WIFSIGNALED(ended):
        number = os.WTERMSIG(ended)
        # Nobody here sends SIGKILL without a timeout: it was the kernel, for memory.
        outcome = "memory" if number == signal.SIGKILL else "signal"
        detail = signal.Signals(number).name
    elif outcome == "missing":
        detail = f"the process ended with status {os.WEXITSTATUS(ended)} before its record was written"
    return _header(kind="state", index=index, outcome=outcome, detail=detail, seconds=spent) + body


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Run a task: load the file, run every state, emit a record for each.

    Args:
        payload: JSON, as ``harness.execution`` writes it.
        emit: Called with the bytes of each record.
    """
    task = json.loads(payload)
    base = os.getcwd()
    run, temporary = _prepare(base)
    streams = Streams()
    for directory in (run, temporary):
        os.makedirs(directory, exist_ok=True)
    os.chdir(run)
    loaded = load(task)
    lines = executable_lines(loaded) if loaded.problem is None else []
    emit(
        _header(
            kind="load",
            loaded=loaded.problem is None,
            detail=loaded.problem or "; ".join(loaded.notes),
            skipped=loaded.skipped,
            fabricated=sorted(set(fabrication.made_modules)),
            executable_lines=lines,
        )
    )
    if loaded.problem is None:
        loaded.named = named_globals(loaded.space)
        streams.clear()
        gc.freeze()
        for index, state in enumerate(task["states"]):
            # Each state starts in empty directories.
            os.chdir(base)
            for directory in (run, temporary):
                shutil.rmtree(directory, ignore_errors=True)
                os.makedirs(directory, exist_ok=True)
            emit(_state_record(loaded, streams, state, index, task, run))
    emit(_header(kind="done"))
