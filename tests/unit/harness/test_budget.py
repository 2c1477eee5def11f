"""A sandbox that is lent for some seconds refuses what begins too late and ends what lasts too long."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.harness.budget import PATIENCE, BudgetedSandbox, OutOfTimeError


class Recording:
    """Notes the limits of what it is asked to run, and answers as it was told to."""

    name = "recording"
    workers = 1

    def __init__(self, outcome: str = "ended", *, seconds: float = 0.1, cpu_s: float | None = None) -> None:
        self.result = SandboxResult(
            outcome=cast("Any", outcome), records=(), stdout=b"", stderr=b"", exit_code=0, signal=None,
            seconds=seconds, cpu_s=cpu_s,
        )  # fmt: skip
        self.limits: list[Limits] = []

    def run(self, task: SandboxTask) -> SandboxResult:
        self.limits.append(task.limits)
        return self.result


def lent(inner: Recording, seconds: float) -> BudgetedSandbox:
    return BudgetedSandbox(cast("Any", inner), seconds)


def task(cpu_s: float) -> SandboxTask:
    return SandboxTask(program="python", limits=Limits(wall_s=PATIENCE * cpu_s, cpu_s=cpu_s))


def test_a_task_that_fits_is_run_as_it_is():
    inner = Recording()
    assert lent(inner, 60.0).run(task(5.0)).outcome == "ended"
    assert inner.limits == [task(5.0).limits]


def test_a_task_may_use_no_more_than_what_is_left():
    inner = Recording(cpu_s=0.5)
    budget = lent(inner, 2.0)
    for most in (2.0, 1.5):
        budget.run(task(50.0))
        assert most < inner.limits[-1].cpu_s <= most + 1.0
        assert PATIENCE * 2.0 < inner.limits[-1].wall_s <= PATIENCE * 2.0 + 1.0
    with pytest.raises(OutOfTimeError):
        lent(Recording("timeout", cpu_s=3.0), 2.0).run(task(50.0))


def test_seconds_on_the_clock_do_not_count_where_the_sandbox_tells_those_of_the_processor():
    busy_machine, unknown = Recording(seconds=500.0, cpu_s=0.1), Recording(seconds=500.0)
    budget = lent(busy_machine, 60.0)
    for _ in range(3):
        budget.run(task(5.0))
    budget.check()
    budget = lent(unknown, 60.0)
    budget.run(task(5.0))
    with pytest.raises(OutOfTimeError):
        budget.check()


def test_what_waits_ends_by_the_clock(monkeypatch: pytest.MonkeyPatch):
    budget = lent(Recording(cpu_s=0.0), 2.0)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + PATIENCE * 2.0 - 1.0)
    budget.run(task(50.0))
    monkeypatch.setattr(time, "monotonic", lambda: now + PATIENCE * 2.0 + 1.0)
    with pytest.raises(OutOfTimeError):
        budget.run(task(50.0))


def test_the_searching_thread_counts_too(monkeypatch: pytest.MonkeyPatch):
    budget = lent(Recording(cpu_s=0.0), 2.0)
    used = time.thread_time()
    monkeypatch.setattr(time, "thread_time", lambda: used + 3.0)
    with pytest.raises(OutOfTimeError):
        budget.check()


def test_a_task_that_ran_out_of_its_own_time_says_nothing_of_the_budget():
    inner = Recording("timeout", seconds=5.0, cpu_s=5.0)
    assert lent(inner, 60.0).run(task(5.0)).outcome == "timeout"


def test_nothing_begins_after_the_time():
    inner = Recording()
    with pytest.raises(OutOfTimeError):
        lent(inner, -1.0).run(task(5.0))
    assert inner.limits == []
