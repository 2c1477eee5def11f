"""How long a process may still go on: by what it used of the processor, which hardly depends on the load."""

from __future__ import annotations

import time

_PATIENCE = 10  # times as long on the clock as of the processor: waiting costs no processor
_IDLE_S = 2.0  # after which a process that has used no processor meanwhile waits for ever


class Watch:
    """The time of a process, or of one state after the other in it.

    Args:
        child: The process.
        limit_s: Processor seconds that it may use.
    """

    def __init__(self, child: int, limit_s: float) -> None:
        # As clock_getcpuclockid(3) makes it: the standard library has that for threads only.
        self._clock = (~child << 3) | 2
        self._used = 0.0
        self.begin(limit_s)

    def begin(self, limit_s: float) -> None:
        """Another state begins."""
        self._start = self._moved = time.monotonic()
        self._used = self._processor_s() or self._used
        self._limit_s = limit_s
        self._end_s = self._used + limit_s

    def left(self) -> float:
        """Seconds after which it is worth looking again; none where its time is up."""
        now, used = time.monotonic(), self._processor_s()
        if used is None:
            return self._start + self._limit_s - now
        if used > self._used:
            self._used, self._moved = used, now
        return min(
            self._end_s - used, self._moved + _IDLE_S - now, self._start + _PATIENCE * self._limit_s - now
        )

    def _processor_s(self) -> float | None:
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return None  # it is gone, or the kernel does not tell
