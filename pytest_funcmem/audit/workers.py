"""A small pool of threads that takes the most urgent piece of work first.

``concurrent.futures`` serves in order of submission: there, judging the first function would wait until the
harness of the last one is built, and ``pytest -x`` with it.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable

__all__ = ["WorkerPool"]

logger = logging.getLogger(__name__)

Piece = Callable[[], None]


class WorkerPool:
    """Threads that run pieces of work by urgency, then by order.

    A piece handles its own errors; one that does not is logged and spoils no other.
    """

    def __init__(self, threads: int, *, name: str) -> None:
        self._queue: queue.PriorityQueue[tuple[int, int, int, Piece | None]] = queue.PriorityQueue()
        self._count = itertools.count()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, piece: Piece, *, urgency: int, order: int) -> None:
        """Queue a piece of work.

        Args:
            piece: What to do.
            urgency: Lower is sooner.
            order: Among equals, lower is sooner.
        """
        self._queue.put((urgency, order, next(self._count), piece))

    def close(self) -> None:
        """Let the threads end after what they are doing; queued pieces are dropped."""
        for _ in self._threads:
            self._queue.put((-1_000_000, 0, next(self._count), None))

    def join(self, timeout_s: float) -> None:
        """Wait for the threads to end, each for at most so many seconds."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _work(self) -> None:
        while True:
            piece = self._queue.get()[3]
            if piece is None:
                return
            try:
                piece()
            except Exception:
                logger.exception("a piece of work failed unhandled")
