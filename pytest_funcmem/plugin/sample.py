"""A run that may end before all its functions are reached: when it does and why, also for other processes.

Its functions are audited in a seeded random order, so that what was reached is a sample. Knows nothing of
items.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

from pytest_funcmem.audit.pipeline import Audit
from pytest_funcmem.core.errors import StoreError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.plugin.relay import RecordOutbox
from pytest_funcmem.verdict.gate import RateLimit
from pytest_funcmem.verdict.sequence import SEQUENCE, Question

__all__ = ["Ending", "Release"]

_LOOK_S = 0.1


class Ending:
    """Whether a run is over early: its question is settled, or its time is up.

    Args:
        settings: Of the audit.
        limits: The maximal rates.

    Attributes:
        reason: Why what was not reached is skipped; None while the run goes on.
        settled: What settled the question, for reports; None if nothing did.
    """

    def __init__(self, settings: Settings, limits: Sequence[RateLimit]) -> None:
        self.reason: str | None = None
        self.settled: str | None = None
        self._budget_s = settings.time_budget
        self._deadline: float | None = None
        self._question = (
            Question(limits, min_conclusive=settings.min_conclusive) if settings.stop_early else None
        )
        self._reached = 0

    def begin(self) -> None:
        """Start the clock of a time budget."""
        if self._budget_s is not None:
            self._deadline = time.monotonic() + self._budget_s

    def left_s(self) -> float | None:
        """Seconds that are left, perhaps none; None without a time budget."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def run_out(self) -> None:
        """The time is up."""
        self.reason = f"not reached within the time budget of {self._budget_s:g} s"

    def weigh(self, record: AuditRecord, total: int) -> None:
        """Take in the next function in random order, of so many.

        Settles the question where it can be settled.
        """
        self._reached += 1
        if self._question is None or self.reason is not None:
            return
        self._question.add(record.verdict, record.function.language)
        answer = self._question.answer()
        if answer is not None:
            self.settled = f"after {self._reached} of {total} functions, {answer} ({SEQUENCE})"
            self.reason = f"not reached: the maximal rate was settled after {self._reached} functions"


class Release:
    """Hands a run's records to other processes in random order, until the run ends early.

    Which functions are reported then depends on no worker: they are those that one process alone would reach.

    Args:
        run: Name of the run.
        places: (key, node id) of its functions, in random order.
        audit: Started.
        outbox: Where the records go.
        ending: Of the run.
        close: Stops the run.
    """

    def __init__(
        self,
        run: str,
        places: Sequence[tuple[str, str]],
        audit: Audit,
        outbox: RecordOutbox,
        ending: Ending,
        close: Callable[[], None],
    ) -> None:
        self._run = run
        self._places = tuple(places)
        self._audit = audit
        self._outbox = outbox
        self._ending = ending
        self._close = close
        self._released: set[str] = set()
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._work, name="funcmem-sample", daemon=True)
        self._thread.start()

    def __contains__(self, key: str) -> bool:
        return key in self._released

    def stop(self) -> None:
        """Stop waiting for records. May be called twice, and by the thread itself."""
        self._left.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def _work(self) -> None:
        with contextlib.suppress(StoreError):  # the workers have been told
            for key, nodeid in self._places:
                record = self._wait(self._audit.future(key))
                if record is None:
                    break
                self._released.add(key)
                self._outbox.put(nodeid, record)
                self._ending.weigh(record, len(self._places))
                if self._ending.reason is not None:
                    break
            if self._ending.reason is not None:
                self._outbox.stop(self._run, self._ending.reason)
                self._close()

    def _wait(self, future: Future[AuditRecord]) -> AuditRecord | None:
        """A record; None where the time budget or the session ends before it is there."""
        while future.done() or not self._left.is_set():
            left_s = self._ending.left_s()
            try:
                return future.result(timeout=_LOOK_S if left_s is None else min(_LOOK_S, left_s))
            except FutureTimeoutError:
                if left_s == 0.0:
                    self._ending.run_out()
                    return None
        return None
