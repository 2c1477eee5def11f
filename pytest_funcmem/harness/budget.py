"""A sandbox that is lent for some seconds: what one function may cost, however it is searched.

The seconds are those of the processor, so that a busy machine finishes the same functions as an idle one. It
knows nothing of harnesses; what runs in it is not changed in any way while there is time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from pytest_funcmem.core.protocols import Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Json

__all__ = ["PATIENCE", "BudgetedSandbox", "OutOfTimeError"]

PATIENCE = 10
"""How many times as long as its processor seconds something may take on the clock: waiting and a busy machine
cost no processor, and must end too."""

_GRACE_S = 1.0


class OutOfTimeError(Exception):
    """The budget of a function is used up."""


class BudgetedSandbox:
    """Another sandbox, until so many seconds are used up.

    Counted are the processor seconds of its tasks (the seconds on the clock where the sandbox cannot tell
    them), and those of the thread that searches. A task that would begin too late is refused, and one that
    lasts too long is ended, so that the budget is exceeded by about a second at most.

    Args:
        sandbox: An open sandbox; whoever opened it closes it.
        seconds: Processor seconds from now, of the calling thread and of all tasks together. On the clock,
            ``PATIENCE`` times as many may pass.
    """

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self.name = sandbox.name
        self.workers = sandbox.workers
        self._sandbox = sandbox
        self._left = seconds + time.thread_time()
        self._deadline = time.monotonic() + PATIENCE * seconds

    def check(self) -> None:
        """See whether there is time left.

        Raises:
            OutOfTimeError: There is none.
        """
        if self._left < time.thread_time() or time.monotonic() > self._deadline:
            raise OutOfTimeError

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run a task; see ``Sandbox.run``.

        Raises:
            OutOfTimeError: The time is used up, before it or by it.
        """
        self.check()
        limits = replace(
            task.limits,
            cpu_s=min(task.limits.cpu_s, self._left - time.thread_time() + _GRACE_S),
            wall_s=min(task.limits.wall_s, self._deadline - time.monotonic() + _GRACE_S),
        )
        result = self._sandbox.run(replace(task, limits=limits))
        self._left -= result.seconds if result.cpu_s is None else result.cpu_s
        if result.outcome == "timeout" and limits != task.limits:
            # Whichever limit ended it, the task did not have what it would have had.
            self.check()
        return result

    def identity(self) -> Mapping[str, Json]:
        """Of the sandbox that is lent."""
        return self._sandbox.identity()

    def open(self) -> None:
        """It is open already."""

    def close(self) -> None:
        """It is left open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It is left open."""
