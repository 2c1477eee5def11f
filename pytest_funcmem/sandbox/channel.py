"""The host's end of the channel to a worker. All that is read here is hostile data.

No length is believed, nothing is kept beyond the task's limits, every wait has an end.
"""

from __future__ import annotations

import json
import math
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast, get_args

from pytest_funcmem.core.protocols import Limits, SandboxOutcome, SandboxResult, SandboxTask
from pytest_funcmem.sandbox.worker import framing

__all__ = ["ByteStream", "TaskEnd", "WorkerChannel", "WorkerLostError", "encode_task", "split_records"]

_HEADER = struct.Struct(">BI")
_LENGTH = struct.Struct(">I")
_MAX_FRAME = 128 * 1024
_MAX_END = 16 * 1024
_RECORD_COST = 64
"""Bytes counted for each record beside its own, so that a flood of empty ones is a flood too."""


class WorkerLostError(Exception):
    """The worker is gone or does not keep to the protocol; nothing is known about the task."""


class ByteStream(Protocol):
    """A connection to a worker."""

    def send(self, data: bytes, *, deadline: float) -> None:
        """Send all bytes; ``OSError`` (``TimeoutError`` included) where that fails."""
        ...

    def receive(self, limit: int, *, deadline: float) -> bytes:
        """Receive at least one and at most ``limit`` bytes; b"" at the end; ``OSError`` where that fails."""
        ...

    def diagnosis(self) -> str:
        """What the worker said outside the protocol, cut short, to help people."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """A result, and what the worker found while it cleaned up.

    Attributes:
        leftovers: Paths that the candidate had left outside its own directories.
        oom_killed: Whether the kernel killed a process for memory meanwhile, be it not the main one.
    """

    result: SandboxResult
    leftovers: tuple[str, ...]
    oom_killed: bool = False


def encode_task(task: SandboxTask) -> bytes:
    """Build a task frame: what the supervisor reads, then what only the candidate reads."""
    files = [(path, len(content)) for path, content in task.files.items()]
    command = None if task.command is None else list(task.command)
    limits = {name: getattr(task.limits, name) for name in Limits.__slots__}
    request = {"program": task.program, "command": command, "files": files, "payload": len(task.payload)}
    blocks = []
    for header in (limits, request):
        text = json.dumps(header).encode("ascii")
        blocks += [_LENGTH.pack(len(text)), text]
    blocks += [*task.files.values(), task.payload]
    return b"".join([_HEADER.pack(framing.TASK, sum(map(len, blocks))), *blocks])


def split_records(stream: bytes | bytearray, *, limit: int) -> tuple[tuple[bytes, ...], bool]:
    """Cut a candidate's record stream into its whole records.

    Args:
        stream: What the candidate wrote: for each record four bytes of length, then the record.
        limit: Most bytes of records, each counted with a small cost of its own.

    Returns:
        The records, and whether the limit cut them off. A record that is not whole is left out.
    """
    records: list[bytes] = []
    position, spent = 0, 0
    while position + _LENGTH.size <= len(stream):
        (length,) = _LENGTH.unpack_from(stream, position)
        position += _LENGTH.size
        spent += length + _RECORD_COST
        if spent > limit:
            return tuple(records), True
        if position + length > len(stream):
            break
        records.append(bytes(stream[position : position + length]))
        position += length
    return tuple(records), False


class WorkerChannel:
    """Speaks with one worker, one task at a time."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._kept: dict[int, bytearray] = {}
        self._limit = 0

    def start(self, setup: bytes, *, timeout_s: float) -> Mapping[str, object]:
        """Send the setup message and wait until the worker is ready.

        Returns:
            What the worker says about its interpreter.

        Raises:
            WorkerLostError: It did not get ready.
        """
        deadline = time.monotonic() + timeout_s
        self._send(setup, deadline)
        kind, body = self._frame(deadline)
        if kind == framing.FAULT:
            raise WorkerLostError(body.decode("utf-8", "replace"))
        if kind != framing.READY:
            raise WorkerLostError(f"the worker began with a frame of kind {kind}")
        return _object(body)

    def run(self, task: SandboxTask, *, grace_s: float) -> TaskEnd:
        """Run one task.

        Args:
            task: The task; its names and paths have been checked.
            grace_s: Seconds beyond the task's own limit that the worker gets to start and to clean up.

        Raises:
            WorkerLostError: The worker did not answer, or not by the protocol.
        """
        self._limit = limit = task.limits.output_bytes
        kept = self._kept = {kind: bytearray() for kind in (framing.RECORDS, framing.STDOUT, framing.STDERR)}
        deadline = time.monotonic() + task.limits.wall_s + grace_s
        self._send(encode_task(task), deadline)
        while True:
            kind, data = self._frame(deadline)
            if kind in kept:
                if len(kept[kind]) + len(data) > limit + (
                    len(framing.STARTED) if kind == framing.RECORDS else 0
                ):
                    raise WorkerLostError("the worker sent more than the limit that it was given")
                kept[kind] += data
            elif kind == framing.END:
                break
            elif kind == framing.FAULT:
                raise WorkerLostError(data.decode("utf-8", "replace"))
            else:
                raise WorkerLostError(f"the worker sent a frame of kind {kind}")
        end = _object(data)
        started = kept[framing.RECORDS].startswith(framing.STARTED)
        result = self._result_of(end)
        if not started and result.outcome != "memory":
            # Nothing hostile has run yet: this is a failure of the sandbox and says nothing about the task.
            raise WorkerLostError("the candidate was not set up: " + result.stderr.decode("utf-8", "replace"))
        return TaskEnd(
            result=result,
            leftovers=_texts(end.get("leftovers")),
            oom_killed=end.get("oom_killed") is True,
        )

    def out_of_memory(self, *, seconds: float) -> TaskEnd:
        """The end of a task that took its worker along when memory ran out; what it had emitted is kept.

        Args:
            seconds: Wall-clock seconds that it ran.
        """
        end = {"outcome": "memory", "seconds": float(seconds)}
        return TaskEnd(result=self._result_of(end), leftovers=(), oom_killed=True)

    def _result_of(self, end: Mapping[str, object]) -> SandboxResult:
        stream = self._kept[framing.RECORDS]
        records, flooded = split_records(stream[len(framing.STARTED) :], limit=self._limit)
        return _result(
            end,
            flooded=flooded,
            records=records,
            stdout=bytes(self._kept[framing.STDOUT]),
            stderr=bytes(self._kept[framing.STDERR]),
        )

    def _send(self, data: bytes, deadline: float) -> None:
        try:
            self._stream.send(data, deadline=deadline)
        except OSError as exc:
            raise WorkerLostError(self._explain(f"the worker cannot be reached: {exc}")) from exc

    def _frame(self, deadline: float) -> tuple[int, bytes]:
        kind, length = _HEADER.unpack(self._exactly(_HEADER.size, deadline))
        if length > _MAX_FRAME:
            raise WorkerLostError(f"the worker announced a frame of {length} bytes")
        return kind, self._exactly(length, deadline)

    def _exactly(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                piece = self._stream.receive(count - len(data), deadline=deadline)
            except OSError as exc:
                raise WorkerLostError(self._explain(f"the worker does not answer: {exc}")) from exc
            if not piece:
                raise WorkerLostError(self._explain("the worker ended"))
            data += piece
        return bytes(data)

    def _explain(self, what: str) -> str:
        said = self._stream.diagnosis().strip()
        return f"{what}\n{said}" if said else what


def _object(body: bytes) -> Mapping[str, object]:
    if len(body) > _MAX_END:
        raise WorkerLostError("the worker sent an oversized message")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise WorkerLostError("the worker sent what is no JSON") from exc
    if not isinstance(value, dict):
        raise WorkerLostError("the worker sent no JSON object")
    return value


def _result(
    end: Mapping[str, object], *, flooded: bool, records: tuple[bytes, ...], stdout: bytes, stderr: bytes
) -> SandboxResult:
    outcome = end.get("outcome")
    if outcome not in get_args(SandboxOutcome):
        raise WorkerLostError("the worker named no outcome")
    if flooded:
        outcome = "refused"
    seconds = end.get("seconds")
    if not isinstance(seconds, float) or not math.isfinite(seconds) or seconds < 0:
        raise WorkerLostError("the worker named no time")
    cpu_s = end.get("cpu_s")
    if cpu_s is not None and not (isinstance(cpu_s, float) and math.isfinite(cpu_s) and cpu_s >= 0):
        raise WorkerLostError("the worker named a processor time that is none")
    return SandboxResult(
        outcome=cast(SandboxOutcome, outcome),
        records=records,
        stdout=stdout,
        stderr=stderr,
        exit_code=_number(end.get("exit_code"), outcome == "ended", 255),
        signal=_number(end.get("signal"), outcome == "signal", 64),
        seconds=seconds,
        cpu_s=cpu_s,
    )


def _number(value: object, wanted: bool, most: int) -> int | None:
    if not wanted:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise WorkerLostError("the worker named no exit status")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item)[:200] for item in value[:20]) if isinstance(value, list) else ()
