"""A program that stays warm in a container of its own and answers requests, such as a compiler.

It is for what runs nothing of a candidate: no code under test can reach it, so one can serve all of them. It
gets bytes and gives blocks of bytes, and says what they took of the processor; what they mean is not known
here. One that did not answer in time, or that says it should be asked nothing more, is thrown away. Imports
the Docker client, so it is imported only where Docker is used.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Limits, SandboxOutcome, SandboxResult, SandboxTask
from pytest_funcmem.sandbox.warm_container import AS_NOBODY, NUMBER, ServiceLostError, WarmContainer

__all__ = ["WarmService"]

_log = logging.getLogger(__name__)

_START_S = 120.0
_REQUESTS = 2000
"""Requests after which a service is replaced, so that nothing can build up in it unseen."""
_DONE, _SPENT, _LATE = -1, -2, -3
_MOST_MS = 2**31 - 1


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
        self._command = (*AS_NOBODY, *command)
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
                except ServiceLostError as lost:
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
        except (ServiceLostError, TimeoutError) as exc:
            raise SandboxError(
                f"{self._command[len(AS_NOBODY)]} does not start in its container: {exc}",
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


class _Container(WarmContainer):
    """A started program that counts its requests."""

    def __init__(
        self,
        client: Any,
        image: str,
        command: Sequence[str],
        limits: Limits,
        runtime: str | None,
        remapped: bool,
    ) -> None:
        self._count = 0
        super().__init__(
            client,
            image,
            command,
            limits,
            runtime=runtime,
            remapped=remapped,
            greeting=(_DONE, 0),
            start_s=_START_S,
            where="docker sandbox",
        )

    def answer(self, request: bytes, records: list[bytes], limits: Limits) -> tuple[int, float]:
        """Ask, append the blocks of the answer, and give what it ended with and the processor seconds.

        Raises:
            TimeoutError: It did not answer in time.
            ServiceLostError: It ended, or its answer is not one.
        """
        deadline = time.monotonic() + limits.wall_s
        most = limits.output_bytes
        self._count += 1
        head = NUMBER.pack(max(1, min(int(1000 * limits.cpu_s), _MOST_MS))) + NUMBER.pack(len(request))
        self.send(head + request, deadline=deadline)
        while (length := self.number(deadline)) >= 0:
            most -= length
            if most < 0:
                raise ServiceLostError(f"it announced a block of {length} bytes")
            records.append(self.exactly(length, deadline))
        if length not in (_DONE, _SPENT, _LATE):
            raise ServiceLostError(f"it announced a block of {length} bytes")
        used = max(0, self.number(deadline)) / 1000
        return (_SPENT if length == _DONE and self._count >= _REQUESTS else length), used
