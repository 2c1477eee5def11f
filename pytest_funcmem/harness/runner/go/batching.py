"""Runs many input states in few processes, for a search.

A process goes on to the next state where nothing is left of the one before. What a search finds is run again,
a process for each state, before it counts.
"""

# ruff: noqa: PTH118, PTH123
# It runs on Python 3.9 too, and touches files before hostile code does.
from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from typing import Any

from .running import clear, environment_of, how_it_ended, record_body, start, wait, written
from .watching import Watch

FEWEST = 50
"""States from which on a batch is worth it, and more than any proof runs."""

_HEADROOM_S = 0.5  # a process starts before its first state does
_STREAM_BYTES = 1 << 16


def run_batch(
    program: str, variant: int, states: list[dict[str, Any]], base: str, task: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Run states; gives for each, in order, the header of its record and its body.

    Args:
        program: The binary.
        variant: Which of its functions.
        states: The input states.
        base: A directory in which the processes work.
        task: The task, for its limits.
    """
    done = 0
    while done < len(states):
        before = done
        for header, body in _one_process(program, variant, states[done:], base, task):
            yield header, body
            done += 1
        if done == before:
            raise RuntimeError("a process ended without a word of its first state")


def _one_process(
    program: str, variant: int, states: list[dict[str, Any]], base: str, task: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    run, temporary = os.path.join(base, "run"), os.path.join(base, "tmp")
    clear(run, temporary)
    listed = os.path.join(base, "states")
    with open(listed, "w", encoding="ascii") as file:
        file.write("\n".join(map(written, states)))
    child, pipes = start(program, f"batch {variant} {run} {listed}", environment_of(run, temporary))
    reader = _Reader(pipes, task["record_bytes"])
    told = 0
    timeout_s = task["state_timeout_s"]
    watch = Watch(child, timeout_s + _HEADROOM_S)
    while told < len(states):
        record = reader.next_record(watch)
        if record is None:
            break
        body = record_body(record, run, task["probes"], None)
        header = {"kind": "state", "outcome": "recorded", "detail": "", "seconds": 0.0}
        if body is None:
            header.update(outcome="missing", detail="its record is damaged")
        yield header, body or b""
        told += 1
        watch.begin(timeout_s)
    # Standard error of a process that failed lies in the file that it was sent to.
    reader.close()
    ended, _ = wait(child, watch if reader.ended else None)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if told < len(states) and (told == 0 or not reader.ended or ended is None or _failed(ended)):
        yield _failure(reader, ended, _beginning(listed + ".stderr") or reader.said, timeout_s), b""


def _failed(ended: int) -> bool:
    """Whether a process did not end as the runtime ends one: 95 is where a state went on without end."""
    return os.WIFSIGNALED(ended) or os.WEXITSTATUS(ended) in (2, 94, 96, 97, 98)


def _failure(reader: _Reader, ended: int | None, stderr: bytes, timeout_s: float) -> dict[str, Any]:
    header = {"kind": "state", "outcome": "missing", "detail": "", "seconds": 0.0}
    if reader.refused:
        header.update(outcome="refused", detail="a flood of output")
    elif not reader.ended or ended is None:
        header.update(outcome="timeout", detail=f"it did not end within {timeout_s:g} s")
    elif os.WIFSIGNALED(ended):
        number = os.WTERMSIG(ended)
        outcome = "memory" if number == signal.SIGKILL else "signal"
        header.update(outcome=outcome, detail=signal.Signals(number).name)
    else:
        header.update(how_it_ended(stderr, os.WEXITSTATUS(ended)))
    return header


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_STREAM_BYTES)
    except OSError:
        return b""


class _Reader:
    """Reads records, a line each, while the other streams are drained.

    Attributes:
        ended: Whether the process closed its streams.
        refused: Whether a record was too large.
        said: Beginning of what went to standard error before it was sent to a file.
    """

    def __init__(self, pipes: list[int], record_bytes: int) -> None:
        self.out, self.err, self.records = pipes
        self.limit = record_bytes
        self.parts = bytearray()
        self.said = b""
        self.ended = False
        self.refused = False
        self.open = set(pipes)
        self.poll = select.poll()
        for pipe in pipes:
            self.poll.register(pipe, select.POLLIN | select.POLLHUP)

    def next_record(self, watch: Watch) -> bytes | None:
        """The next record; None where there is none in time, or at all."""
        while True:
            place = self.parts.find(b"\n")
            if place >= 0:
                record = bytes(self.parts[:place])
                del self.parts[: place + 1]
                return record
            if len(self.parts) > self.limit:
                self.refused = True
                return None
            if not self.open:
                self.ended = True
                return None
            left = watch.left()
            if left <= 0:
                return None
            for pipe, _ in self.poll.poll(max(1.0, left * 1000)):
                self._read(pipe)

    def _read(self, pipe: int) -> None:
        part = os.read(pipe, _STREAM_BYTES)
        if not part:
            self.poll.unregister(pipe)
            self.open.discard(pipe)
        elif pipe == self.records:
            self.parts += part
        elif pipe == self.err and len(self.said) < _STREAM_BYTES:
            self.said += part

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self.out, self.err, self.records):
            os.close(pipe)
