"""A program that stays warm in a container of its own and answers requests, such as a compiler.

It is for what runs nothing of a candidate: no code under test can reach it, so one can serve all of them. It
gets bytes and gives blocks of bytes, and says what they took of the processor; what they mean is not known
here. One that did not answer in time, or that says it should be asked nothing more, is thrown away. Imports
the Docker client, so it is imported only where Docker is used.
"""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Limits, SandboxOutcome, SandboxResult, SandboxTask
from pytest_funcmem.sandbox.container import (
    ENGINE_FAILURES,
    AttachedStream,
    create_container,
    describe_failure,
    remove_container,
)

__all__ = ["WarmService"]

_log = logging.getLogger(__name__)

_START_S = 120.0
_REQUESTS = 2000
"""Requests after which a service is replaced, so that nothing can build up in it unseen."""
_NUMBER = struct.Struct(">i")
_DONE, _SPENT, _LATE = -1, -2, -3
_MOST_MS = 2**31 - 1
_AS_NOBODY = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all",
    "--no-new-privs",
)


class _ServiceLostError(Exception):
    """The program ended, or does not keep to the protocol."""


class WarmService:
    """Up to so many containers with one program, started when they are first needed.

    Safe for several threads. A request that finds all of them busy waits.

    Args:
        client: A ``docker.DockerClient``; stays the caller's.
        image: Id of the image that has the program.
        command: Its argument list; it is run as nobody.
        limits: Of each container; of these only memory and space count.
        most: How many there may be at one time.
        runtime: Container runtime of the engine; None takes its default.
        remapped: Whether the engine maps the users of containers.
    """

    def __init__(
        self,
        client: Any,
        image: str,
        command: Sequence[str],
        *,
        limits: Limits,
        most: int,
        runtime: str | None,
        remapped: bool,
    ) -> None:
        self._client = client
        self._image = image
        self._command = (*_AS_NOBODY, *command)
        self._limits = limits
        self._runtime = runtime
        self._remapped = remapped
        self._turns = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[_Container] = []
        self._busy: set[_Container] = set()
        self._closed = False

    def run(self, task: SandboxTask) -> SandboxResult:
        """Answer the request in a task's payload; the blocks are the records.

        The outcome is ``timeout`` where the task's time passed, that of the clock or of the processor, and
        ``signal`` where the program ended over the request, twice; what it had answered before is kept.

        Raises:
            SandboxError: The program does not start; nothing is known about the request.
        """
        with self._turns:
            for last in (False, True):
                container = self._take()
                started = time.monotonic()
                records: list[bytes] = []
                outcome: SandboxOutcome = "ended"
                usable, cpu_s = False, None
                try:
                    end, cpu_s = container.answer(task.payload, records, task.limits)
                    usable = end == _DONE
                    if end == _LATE:
                        outcome = "timeout"
                except TimeoutError:
                    outcome = "timeout"
                except _ServiceLostError as lost:
                    _log.warning("A warm program was lost and is started again: %s", lost)
                    if not last:
                        continue
                    outcome = "signal"
                finally:
                    self._put_back(container, usable=usable)
                return SandboxResult(
                    outcome=outcome,
                    records=tuple(records),
                    stdout=b"",
                    stderr=b"",
                    exit_code=0 if outcome == "ended" else None,
                    signal=9 if outcome == "signal" else None,
                    seconds=time.monotonic() - started,
                    cpu_s=cpu_s,
                )
        raise AssertionError("not reached")

    def close(self) -> None:
        """Stop all of them. May be called twice."""
        with self._lock:
            self._closed = True
            containers = [*self._idle, *self._busy]
            self._idle.clear()
        for container in containers:
            container.stop()

    def _take(self) -> _Container:
        with self._lock:
            if self._closed:
                raise SandboxError("The sandbox is closed.", where="docker sandbox")
            if self._idle:
                container = self._idle.pop()
                self._busy.add(container)
                return container
        try:
            container = _Container(
                self._client, self._image, self._command, self._limits, self._runtime, self._remapped
            )
        except (_ServiceLostError, TimeoutError) as exc:
            raise SandboxError(
                f"{self._command[len(_AS_NOBODY)]} does not start in its container: {exc}",
                where="docker sandbox",
                remedy="funcmem images build",
            ) from exc
        with self._lock:
            if not self._closed:
                self._busy.add(container)
                return container
        container.stop()
        raise SandboxError("The sandbox was closed.", where="docker sandbox")

    def _put_back(self, container: _Container, *, usable: bool) -> None:
        with self._lock:
            self._busy.discard(container)
            if usable and not self._closed:
                self._idle.append(container)
                return
        container.stop()


class _Container:
    """A started program."""

    def __init__(
        self,
        client: Any,
        image: str,
        command: Sequence[str],
        limits: Limits,
        runtime: str | None,
        remapped: bool,
    ) -> None:
        self._stream: AttachedStream | None = None
        self._count = 0
        try:
            self._container, _uids = create_container(
                client, image, limits, runtime=runtime, remapped=remapped, entrypoint=command
            )
        except ENGINE_FAILURES as exc:
            raise _engine_failed(describe_failure(exc)) from exc
        try:
            attached = self._container.attach_socket(
                params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            self._stream = AttachedStream(attached)
            self._container.start()
            ready = time.monotonic() + _START_S
            if (self._number(ready), self._number(ready)) != (_DONE, 0):
                raise _ServiceLostError("it did not say that it is ready")
        except ENGINE_FAILURES as exc:
            self.stop()
            if isinstance(exc, TimeoutError):
                raise
            raise _engine_failed(describe_failure(exc)) from exc
        except BaseException:
            self.stop()
            raise

    def answer(self, request: bytes, records: list[bytes], limits: Limits) -> tuple[int, float]:
        """Ask, append the blocks of the answer, and give what it ended with and the processor seconds.

        Raises:
            TimeoutError: It did not answer in time.
            _ServiceLostError: It ended, or its answer is not one.
        """
        deadline = time.monotonic() + limits.wall_s
        most = limits.output_bytes
        self._count += 1
        head = _NUMBER.pack(max(1, min(int(1000 * limits.cpu_s), _MOST_MS))) + _NUMBER.pack(len(request))
        try:
            self._open_stream().send(head + request, deadline=deadline)
        except TimeoutError:
            raise
        except OSError as exc:
            raise _ServiceLostError(f"it cannot be reached: {exc}") from exc
        while (length := self._number(deadline)) >= 0:
            most -= length
            if most < 0:
                raise _ServiceLostError(f"it announced a block of {length} bytes")
            records.append(self._exactly(length, deadline))
        if length not in (_DONE, _SPENT, _LATE):
            raise _ServiceLostError(f"it announced a block of {length} bytes")
        used = max(0, self._number(deadline)) / 1000
        return (_SPENT if length == _DONE and self._count >= _REQUESTS else length), used

    def stop(self) -> None:
        """Remove it."""
        if self._stream is not None:
            self._stream.close()
        remove_container(self._container)

    def _number(self, deadline: float) -> int:
        number: int = _NUMBER.unpack(self._exactly(_NUMBER.size, deadline))[0]
        return number

    def _exactly(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        stream = self._open_stream()
        while len(data) < count:
            try:
                piece = stream.receive(count - len(data), deadline=deadline)
            except TimeoutError:
                raise
            except OSError as exc:
                raise _ServiceLostError(f"it does not answer: {exc}") from exc
            if not piece:
                raise _ServiceLostError(("it ended. " + stream.diagnosis().strip())[:500])
            data += piece
        return bytes(data)

    def _open_stream(self) -> AttachedStream:
        if self._stream is None:
            raise _ServiceLostError("it was stopped")
        return self._stream


def _engine_failed(why: str) -> SandboxError:
    return SandboxError(
        f"The Docker engine failed: {why}.",
        where="docker sandbox",
        remedy="look at the engine (docker info) and run the audit again: what was finished is kept",
    )
