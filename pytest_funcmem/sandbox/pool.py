"""Warm workers: handing out tasks, replacing workers, running a task again when its worker was lost.

What a worker runs in is the business of the sandboxes that build on this.
"""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Protocol, Self

from pytest_funcmem.core.errors import SandboxError, SandboxUnavailableError, UsageError
from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Json
from pytest_funcmem.sandbox.channel import TaskEnd, WorkerLostError
from pytest_funcmem.sandbox.launch import program_sources

__all__ = ["TASKS_PER_WORKER", "WarmSandbox", "Worker", "default_workers"]

_log = logging.getLogger(__name__)

TASKS_PER_WORKER = 500


def default_workers() -> int:
    """One worker per core that this process may use."""
    return len(os.sched_getaffinity(0))


class Worker(Protocol):
    """One isolated worker, started."""

    @property
    def about(self) -> Mapping[str, object]:
        """What it says of its interpreter."""
        ...

    def fits(self, limits: Limits) -> bool:
        """Whether a task with these limits can run in it."""
        ...

    def run(self, task: SandboxTask) -> TaskEnd:
        """Run one task; ``WorkerLostError`` where that is not possible."""
        ...

    def kill(self) -> None:
        """Kill it as a crash would, and tidy nothing; what uses it then finds it lost."""
        ...

    def stop(self) -> None:
        """End it and all that runs in it, whatever state it is in."""
        ...


class WarmSandbox(ABC):
    """What the sandboxes share.

    Args:
        programs: Programs that tasks may name: Python files with a function ``main(payload, emit)``.
        workers: Tasks that may run at one time; 0 means one per core.
        tasks_per_worker: Tasks after which a worker is replaced, so that nothing can build up in it unseen.
    """

    name: str
    _advice_where_none_starts: str

    def __init__(
        self,
        *,
        programs: Mapping[str, Path],
        workers: int = 0,
        tasks_per_worker: int = TASKS_PER_WORKER,
    ) -> None:
        self._tasks_per_worker = tasks_per_worker
        self.workers = workers or default_workers()
        self.notices: tuple[str, ...] = ()
        self._sources = program_sources(programs)
        self._turns = threading.BoundedSemaphore(self.workers)
        self._lock = threading.Condition()
        self._idle: list[tuple[Worker, int]] = []
        self._busy: set[Worker] = set()
        self._replacing: set[threading.Thread] = set()
        self._starting = 0
        self._awaited = 0
        self._is_open = False
        self._about: Mapping[str, object] = {}

    @abstractmethod
    def _prepare(self) -> None:
        """Find out whether the machine can do it; ``SandboxUnavailableError`` where not."""

    @abstractmethod
    def _start_worker(self, limits: Limits) -> Worker:
        """Start one worker that fits the limits.

        Raises:
            SandboxError: The engine is gone.
            WorkerLostError: The worker did not start; another may.
        """

    @abstractmethod
    def _must_replace(self, end: TaskEnd) -> str | None:
        """Why a worker is not to be used again after a task, or None."""

    @abstractmethod
    def _release(self) -> None:
        """Free what ``_prepare`` took."""

    def open(self) -> None:
        """Make it ready: one worker is started, which proves that the machine can.

        Raises:
            SandboxUnavailableError: The machine cannot, or the first worker did not start.
        """
        with self._lock:
            if self._is_open:
                return
            self._prepare()
            self._is_open = True
        try:
            worker = self._start(Limits())
        except SandboxError as exc:
            self.close()
            raise SandboxUnavailableError(
                exc.what, where=exc.where, remedy=exc.remedy or self._advice_where_none_starts
            ) from exc
        except BaseException:
            self.close()
            raise
        with self._lock:
            self._about = worker.about
            self._idle.append((worker, 0))
        for notice in self.notices:
            _log.info("%s", notice)

    def close(self) -> None:
        """Stop everything it started. May be called twice; tasks that still run end with a SandboxError."""
        with self._lock:
            self._is_open = False
            workers = [worker for worker, _count in self._idle] + list(self._busy)
            self._idle.clear()
            replacing = list(self._replacing)
            self._lock.notify_all()
        for worker in workers:
            worker.stop()
        for thread in replacing:
            thread.join()
        self._release()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def identity(self) -> Mapping[str, Json]:
        """Engine, image digest, interpreter and kernel, for the manifest."""
        return {"sandbox": self.name, **self._about}

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run one task; waits while ``workers`` tasks run already.

        Raises:
            UsageError: The task cannot be run as it is written.
            SandboxError: The sandbox failed; nothing is known about the task.
        """
        check_task(task, programs=self._sources)
        with self._turns:
            try:
                return self._attempt(task)
            except WorkerLostError as lost:
                _log.warning("A sandbox worker was lost and is replaced: %s", lost)
            try:
                return self._attempt(task)
            except WorkerLostError as lost:
                raise SandboxError(
                    f"The sandbox worker was lost twice over one task: {lost}",
                    where=f"{self.name} sandbox",
                    remedy="look at the memory and the disk of the machine, then run the audit again: "
                    "what was finished is kept",
                ) from lost

    def _attempt(self, task: SandboxTask) -> SandboxResult:
        worker, count = self._take(task.limits)
        try:
            end = worker.run(task)
        except BaseException:  # also a KeyboardInterrupt: the worker is in the middle of a task
            self._forget(worker)
            raise
        reason = self._must_replace(end)
        if reason is None and count + 1 >= self._tasks_per_worker:
            reason = f"{count + 1} tasks"
        if reason is None:
            self._put_back(worker, count + 1)
        else:
            _log.debug("sandbox worker replaced: %s", reason)
            self._replace(worker, task.limits)
        return end.result

    def _take(self, limits: Limits) -> tuple[Worker, int]:
        unfit = None
        with self._lock:
            while self._is_open and not self._idle and self._starting > self._awaited:
                # One is on its way already; it is there sooner than one that is started now.
                self._awaited += 1
                self._lock.wait()
                self._awaited -= 1
            if not self._is_open:
                raise SandboxError("The sandbox is closed.", where=f"{self.name} sandbox")
            if self._idle:
                worker, count = self._idle.pop()
                if worker.fits(limits):
                    self._busy.add(worker)
                    return worker, count
                unfit = worker
        if unfit is not None:
            unfit.stop()
        worker = self._start(limits)
        with self._lock:
            if self._is_open:
                self._busy.add(worker)
                return worker, 0
        worker.stop()
        raise SandboxError("The sandbox was closed.", where=f"{self.name} sandbox")

    def _put_back(self, worker: Worker, count: int) -> None:
        with self._lock:
            self._busy.discard(worker)
            if self._is_open:
                self._idle.append((worker, count))
                self._lock.notify()
                return
        worker.stop()

    def _replace(self, worker: Worker, limits: Limits) -> None:
        """Start another worker beside the one that is stopped, so that no task waits for either in full."""
        thread = threading.Thread(
            target=self._start_in_place_of, args=(worker, limits), name=f"funcmem-{self.name}-replacement"
        )
        with self._lock:
            self._busy.discard(worker)
            if self._is_open:
                thread.start()
                self._replacing.add(thread)
                self._starting += 1
                return
        worker.stop()

    def _start_in_place_of(self, worker: Worker, limits: Limits) -> None:
        fresh = None
        try:
            fresh = self._start_worker(limits)
        except (SandboxError, WorkerLostError) as exc:
            # The task that needs one starts it itself, and fails with the reason where that is not possible.
            _log.debug("no sandbox worker could be started ahead: %s", exc)
        finally:
            with self._lock:
                self._starting -= 1
                if fresh is not None and self._is_open:
                    self._idle.append((fresh, 0))
                    fresh = None
                self._lock.notify_all()
            for one in (worker, fresh):
                if one is not None:
                    one.stop()
            with self._lock:
                self._replacing.discard(threading.current_thread())

    def _start(self, limits: Limits) -> Worker:
        try:
            return self._start_worker(limits)
        except WorkerLostError as first:
            _log.warning("A sandbox worker did not start and is started again: %s", first)
        try:
            return self._start_worker(limits)
        except WorkerLostError as lost:
            raise SandboxError(
                f"A sandbox worker does not start: {lost}", where=f"{self.name} sandbox"
            ) from lost

    def _forget(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
        worker.stop()


def check_task(task: SandboxTask, *, programs: Mapping[str, object]) -> None:
    """Refuse a task that says neither or both of program and command, or that names what is not there.

    Raises:
        UsageError: With what is wrong.
    """
    if (task.program is None) == (task.command is None):
        raise UsageError("A sandbox task gives exactly one of program and command.")
    if task.program is not None and task.program not in programs:
        raise UsageError(
            f"The sandbox has no program named {task.program!r}.",
            expected="one of " + (", ".join(sorted(programs)) or "none: it was made without programs"),
        )
    if task.command is not None and (not task.command or any("\0" in word for word in task.command)):
        raise UsageError("A sandbox command is a non-empty list of words without NUL.")
    for path in task.files:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path or path.endswith("/"):
            raise UsageError(
                f"A sandbox task lays files into its working directory only, not {path!r}.",
                expected="a relative path without '..'",
            )
    check_limits(task.limits)


def check_limits(limits: Limits) -> None:
    """Refuse limits that are not positive or not finite.

    Raises:
        UsageError: With the limit that is wrong.
    """
    for name in Limits.__slots__:
        value = getattr(limits, name)
        if not 0 < value < 2**40:
            raise UsageError(f"The sandbox limit {name} is {value!r}.", expected="a positive number")
