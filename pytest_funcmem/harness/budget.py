"""A sandbox that is lent for some seconds: what one function may cost, however it is searched.

It knows nothing of harnesses; what runs in it is not changed in any way while there is time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from pytest_funcmem.core.protocols import Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Json

__all__ = ["BudgetedSandbox", "OutOfTimeError"]

_GRACE_S = 1.0


class OutOfTimeError(Exception):
    """The budget of a function is used up."""


class BudgetedSandbox:
    """Another sandbox, until a time has passed.

    A task that would begin too late is refused, and one that lasts too long is ended, so that the budget is
    never exceeded by more than about a second.

    Args:
        sandbox: An open sandbox; whoever opened it closes it.
        seconds: Wall-clock seconds from now.
    """

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self.name = sandbox.name
        self.workers = sandbox.workers
        self._sandbox = sandbox
        self._deadline = time.monotonic() + seconds

    def check(self) -> None:
        """See whether there is time left.

        Raises:
            OutOfTimeError: There is none.
        """
        if time.monotonic() > self._deadline:
            raise OutOfTimeError

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run a task; see ``Sandbox.run``.

        Raises:
            OutOfTimeError: The time is used up, before it or by it.
        """
        self.check()
        most = self._deadline - time.monotonic() + _GRACE_S
        if task.limits.wall_s <= most:
            return self._sandbox.run(task)
        result = self._sandbox.run(replace(task, limits=replace(task.limits, wall_s=most)))
        if result.outcome == "timeout":
            raise OutOfTimeError
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
