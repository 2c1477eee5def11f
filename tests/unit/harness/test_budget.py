"""A sandbox that is lent for some seconds refuses what begins too late and ends what lasts too long."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.harness.budget import BudgetedSandbox, OutOfTimeError


class Recording:
    """Notes the limits of what it is asked to run."""

    name = "recording"
    workers = 1

    def __init__(self, outcome: str = "ended") -> None:
        self.outcome = outcome
        self.walls: list[float] = []

    def run(self, task: SandboxTask) -> SandboxResult:
        self.walls.append(task.limits.wall_s)
        return SandboxResult(
            outcome=cast("Any", self.outcome), records=(), stdout=b"", stderr=b"", exit_code=0, signal=None,
            seconds=0.1,
        )  # fmt: skip


def task(wall_s: float) -> SandboxTask:
    return SandboxTask(program="python", limits=Limits(wall_s=wall_s))


def test_a_task_that_fits_is_run_as_it_is():
    inner = Recording()
    assert BudgetedSandbox(cast("Any", inner), 60.0).run(task(5.0)).outcome == "ended"
    assert inner.walls == [5.0]


def test_a_task_may_last_no_longer_than_what_is_left():
    inner = Recording()
    BudgetedSandbox(cast("Any", inner), 2.0).run(task(50.0))
    assert 2.0 < inner.walls[0] <= 3.0
    with pytest.raises(OutOfTimeError):
        BudgetedSandbox(cast("Any", Recording("timeout")), 2.0).run(task(50.0))


def test_nothing_begins_after_the_time():
    inner = Recording()
    with pytest.raises(OutOfTimeError):
        BudgetedSandbox(cast("Any", inner), -1.0).run(task(5.0))
    assert inner.walls == []
