"""Runs one input state of a built program in a process of its own, and wraps up what it said."""

# ruff: noqa: B905, PTH103, PTH113, PTH114, PTH118, PTH123
# It runs on Python 3.9 too, and touches files before and after hostile code does.
from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import time
from typing import Any

from .watching import Watch

_STREAM_BYTES = 1 << 20
_FILE_BYTES = 256 * 1024
_FILES = 200
_LAID_BEFORE_S = 1_720_000_000  # files that the runtime lays out are older than any that code makes

_ENDS = (
    ("all goroutines are asleep", "timeout", "all goroutines wait for one another"),
    ("out of memory", "memory", "out of memory"),
    ("cannot allocate memory", "memory", "out of memory"),
    ("stack exceeds", "signal", "stack overflow"),
)


def clear(*directories: str) -> None:
    """Make directories anew."""
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory, exist_ok=True)


def environment_of(run: str, temporary: str) -> dict[str, str]:
    """The environment of a program: small, and the same for every state."""
    environment = {"HOME": run, "TMPDIR": temporary, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
    # One processor and no preemption: goroutines take turns in the same order every time.
    environment.update(GOMAXPROCS="1", GODEBUG="asyncpreemptoff=1", GOTRACEBACK="none", GOMEMLIMIT="200MiB")
    return environment


def written(state: dict[str, Any]) -> str:
    """A state as the runtime reads it: its seed, a blank, its choices."""
    choices = ",".join(str(choice) for choice in state["choices"])
    return f"{state['seed'] % 2**62} {choices}"


def start(program: str, argument: str, environment: dict[str, str]) -> tuple[int, list[int]]:
    """Start a program in a process group of its own; gives it, and what to read its three streams from."""
    pipes = [os.pipe() for _ in range(3)]
    null = os.open("/dev/null", os.O_RDONLY)
    actions = [
        (os.POSIX_SPAWN_DUP2, null, 0),
        *((os.POSIX_SPAWN_DUP2, writing, target) for target, (_, writing) in enumerate(pipes, 1)),
    ]
    child = os.posix_spawn(program, ["program", argument], environment, file_actions=actions, setpgroup=0)
    os.close(null)
    for _, writing in pipes:
        os.close(writing)
    return child, [reading for reading, _ in pipes]


def run_state(
    program: str, variant: int, state: dict[str, Any], base: str, task: dict[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """Run a state; gives the header of its record, and its body.

    Args:
        program: The binary.
        variant: Which of its functions.
        state: The input state.
        base: A directory in which ``run`` and ``tmp`` are made anew.
        task: The task, for its limits.
    """
    run, temporary = os.path.join(base, "run"), os.path.join(base, "tmp")
    clear(run, temporary)
    argument = f"{variant} {run} {written(state)}"
    child, pipes = start(program, argument, environment_of(run, temporary))
    watch = Watch(child, task["state_timeout_s"])
    contents, refused = _listen(pipes, watch, task["record_bytes"])
    ended, usage = wait(child, watch if contents is not None else None)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    spent = usage.ru_utime + usage.ru_stime
    header = {"kind": "state", "outcome": "missing", "detail": "", "seconds": spent}
    if refused:
        header.update(outcome="refused", detail="a flood of output")
    elif contents is None or ended is None:
        header.update(outcome="timeout", detail=f"it did not end within {task['state_timeout_s']:g} s")
    elif os.WIFSIGNALED(ended):
        number = os.WTERMSIG(ended)
        header.update(
            outcome="memory" if number == signal.SIGKILL else "signal", detail=signal.Signals(number).name
        )
    elif not contents[2]:
        header.update(how_it_ended(contents[1], os.WEXITSTATUS(ended)))
    else:
        body = record_body(contents[2], run, task["probes"], contents[:2])
        if body is not None:
            header["outcome"] = "recorded"
            return header, body
        header.update(detail="its record is damaged")
    return header, b""


def how_it_ended(stderr: bytes, status: int) -> dict[str, Any]:
    """Outcome and detail of a process that ended by itself without a record."""
    said = stderr[-20_000:].decode("utf-8", "replace")
    for mark, outcome, detail in _ENDS:
        if mark in said:
            return {"outcome": outcome, "detail": detail}
    if status == 2 and ("panic" in said or "fatal error" in said):
        line = next(line for line in said.splitlines() if "panic" in line or "fatal error" in line)
        return {"outcome": "signal", "detail": line[:200]}
    return {
        "outcome": "missing",
        "detail": f"the process ended with status {status} before its record was written",
    }


def _listen(pipes: list[int], watch: Watch, record_bytes: int) -> tuple[list[bytes] | None, bool]:
    """What came through the pipes until all were closed (None: time ran out), and whether too much did."""
    parts: dict[int, list[bytes]] = {pipe: [] for pipe in pipes}
    sizes = dict.fromkeys(pipes, 0)
    limits = dict(zip(pipes, (_STREAM_BYTES, _STREAM_BYTES, record_bytes)))
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, select.POLLIN | select.POLLHUP)
    waiting = set(pipes)
    refused = False
    while waiting and not refused:
        left = watch.left()
        if left <= 0:
            break
        for pipe, _ in poll.poll(max(1.0, left * 1000)):
            part = os.read(pipe, 1 << 16)
            if part:
                parts[pipe].append(part)
                sizes[pipe] += len(part)
                refused = refused or sizes[pipe] > limits[pipe]
            else:
                poll.unregister(pipe)
                waiting.discard(pipe)
    for pipe in pipes:
        os.close(pipe)
    return (None if waiting and not refused else [b"".join(parts[pipe]) for pipe in pipes]), refused


def wait(child: int, watch: Watch | None) -> tuple[int | None, Any]:
    """Exit status of a child and what it used; it is ended where it does not end in time, or has none."""
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return status, usage
        if watch is None or watch.left() <= 0:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            return None, os.wait4(child, 0)[2]
        time.sleep(0.0005)


def record_body(record: bytes, run: str, probes: list[int], streams: list[bytes] | None) -> bytes | None:
    """The record with what only this process knows of the run: streams, files, the lines of its probes."""
    try:
        fields = json.loads(record)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    for place, name in enumerate(("stdout", "stderr")):
        # In a batch, the process itself tells what went to its streams, a character for each byte.
        said = (
            streams[place] if streams is not None else str(fields.get(name, "")).encode("latin-1", "replace")
        )
        fields[name] = said.decode("utf-8", "replace")
    fields["detail"] = ""
    run_probes = fields.get("lines")
    fields["lines"] = sorted(
        {probes[n] for n in run_probes if isinstance(n, int) and 0 <= n < len(probes)}
        if isinstance(run_probes, list)
        else ()
    )
    fields["files"] = _files(run, fields.get("laid"))
    return json.dumps(fields).encode("ascii")


def _files(run: str, laid: object) -> dict[str, Any]:
    """Files of the working directory that are new or other than they were, and those that are gone."""
    found: dict[str, Any] = {}
    for parent, directories, names in os.walk(run):
        for name in sorted(directories) + sorted(names):
            path = os.path.join(parent, name)
            shown = os.path.relpath(path, run)
            if len(found) >= _FILES:
                return found
            try:
                status = os.lstat(path)
                if status.st_mtime < _LAID_BEFORE_S:
                    continue
                if not os.path.isfile(path) or os.path.islink(path):
                    if name != "folder" or os.path.islink(path):
                        found[shown] = ["directory"]
                    continue
                with open(path, "rb") as file:
                    content = file.read(_FILE_BYTES)
                found[shown] = ["bytes", content.decode("latin-1")]
            except (OSError, ValueError):
                found[shown] = ["opaque", "a file that cannot be read"]
        directories.sort()
    for name in laid if isinstance(laid, list) else []:
        if isinstance(name, str) and name.isprintable() and not os.path.lexists(os.path.join(run, name)):
            found[name] = ["deleted"]
    return {name: value for name, value in found.items() if _writable(name)}


def _writable(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
