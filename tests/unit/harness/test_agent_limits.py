"""What agents may use: limits are read strictly, and never passed."""

from __future__ import annotations

import pytest

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.harness.agent.limits import (
    FUNCTION_LIMITS,
    AgentLimits,
    Allowance,
    LimitReachedError,
    RunAllowance,
    parse_limits,
)
from pytest_funcmem.models.dialogue.records import Usage
from pytest_funcmem.models.prices import Price
from pytest_funcmem.store.memory_store import MemoryStore

PRICE = Price(input=4.0, output=20.0)


def test_what_is_named_replaces_what_is_usual() -> None:
    limits = parse_limits(
        "turns=3, cost=0.5", where="--funcmem-agent-limit", usual=AgentLimits(turns=40, tokens=9, seconds=1.0)
    )
    assert limits == AgentLimits(turns=3, tokens=9, seconds=1.0, cost=0.5)
    assert parse_limits(None, where="x", usual=FUNCTION_LIMITS) == FUNCTION_LIMITS
    assert parse_limits("turns=none", where="x", usual=FUNCTION_LIMITS).turns is None


@pytest.mark.parametrize(
    "text",
    [
        "turns",
        "turns=",
        "turns=2.5",
        "turns=-1",
        "cost=nan",
        "cost=inf",
        "rounds=3",
        "turns=1,turns=2",
        "",
        ",",
    ],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no limit of an agent") as raised:
        parse_limits(text, where="--funcmem-agent-limit", usual=FUNCTION_LIMITS)
    assert raised.value.where == "--funcmem-agent-limit"


def test_a_limit_of_money_needs_a_price() -> None:
    for limits, own in ((AgentLimits(cost=1.0), AgentLimits()), (AgentLimits(), AgentLimits(cost=1.0))):
        with pytest.raises(UsageError, match="not known"):
            RunAllowance(limits, price=None, limits_of_function=own)
    assert RunAllowance(AgentLimits(turns=1), price=None).used.turns == 0


def test_what_might_pass_a_limit_is_not_begun() -> None:
    run = RunAllowance(AgentLimits(cost=0.30), price=PRICE)
    allowance = Allowance(AgentLimits(), run)
    # 8,000 tokens written and 10,000 kept in the cache cost 16 and 5 cents at most.
    held = allowance.hold(tokens=10_000, output=8_000)
    assert held[2] == pytest.approx(0.21)
    with pytest.raises(LimitReachedError, match=r"the run, \$0.3"):
        allowance.hold(tokens=10_000, output=8_000)
    allowance.settle(held, Usage(input=10_000, output=100))
    assert allowance.cost == pytest.approx(0.042)
    assert run.used.cost == pytest.approx(0.042)
    assert run.used.tokens == 10_100
    allowance.hold(tokens=10_000, output=8_000)


def test_an_agent_is_started_only_where_the_run_can_pay_for_all_of_it() -> None:
    run = RunAllowance(AgentLimits(cost=1.0), price=PRICE)
    own = AgentLimits(cost=0.40)
    first, second, third = (Allowance(own, run) for _ in range(3))
    held, _ = (allowance.hold(tokens=1_000, output=1_000) for allowance in (first, second))
    with pytest.raises(LimitReachedError):
        third.hold(tokens=1_000, output=1_000)
    first.settle(held, Usage(input=1_000, output=1_000))
    first.close()
    assert run.used.cost == pytest.approx(0.024)
    third.hold(tokens=1_000, output=1_000)  # what the first gave back is enough
    for allowance in (second, third):
        allowance.close()
        allowance.close()
    assert run.used.cost == pytest.approx(0.024)
    run.hold(turns=0, tokens=0, cost=0.97)  # nothing is held any more


def test_attempts_that_may_have_been_billed_are_counted_as_dear_as_they_can_be() -> None:
    run = RunAllowance(AgentLimits(cost=1.0), price=PRICE)
    allowance = Allowance(AgentLimits(cost=0.4), run)
    held = allowance.hold_again(allowance.hold(tokens=1_000, output=8_000))
    assert held is not None
    assert allowance.hold_again(held) is None  # it could cost more than 40 cents in all
    allowance.settle(held, Usage(input=1_000, output=50), failed=1)
    assert allowance.cost == pytest.approx(0.165 + 0.005)
    assert allowance.turns == 1


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (AgentLimits(turns=1), "1 turns"),
        (AgentLimits(tokens=3_000), "3000 tokens"),
        (AgentLimits(seconds=5.0), "5 s"),
    ],
)
def test_every_limit_of_a_function_ends_its_agent(limits: AgentLimits, said: str) -> None:
    now = [100.0]
    allowance = Allowance(limits, RunAllowance(AgentLimits(), price=None), clock=lambda: now[0])
    held = allowance.hold(tokens=1_000, output=1_000)
    allowance.settle(held, Usage(input=1_000, output=1_000))
    now[0] += 6.0
    with pytest.raises(LimitReachedError, match=said):
        allowance.hold(tokens=1_000, output=1_000)


def test_a_killed_run_goes_on_with_what_it_had_left_and_a_whole_one_does_not() -> None:
    store = MemoryStore()

    def start() -> RunAllowance:
        return RunAllowance(AgentLimits(cost=0.30), price=PRICE, store=store, key="run")

    first = start()
    allowance = Allowance(AgentLimits(), first)
    allowance.settle(allowance.hold(tokens=10_000, output=8_000), Usage(input=10_000, output=8_000))
    assert not first.carried_over
    second = start()  # the first one was killed
    assert second.carried_over
    assert second.used.cost == pytest.approx(0.20)
    with pytest.raises(LimitReachedError):
        Allowance(AgentLimits(), second).hold(tokens=10_000, output=8_000)
    second.close()
    third = start()
    assert not third.carried_over
    assert third.used.cost == 0.0


def test_what_a_killed_run_paid_for_a_function_is_not_set_aside_again() -> None:
    """Else a function that may cost all that the run may could never be gone on with."""
    store = MemoryStore()
    own, usage = AgentLimits(cost=0.40), Usage(input=10_000, output=8_000)
    killed = Allowance(own, RunAllowance(AgentLimits(cost=0.40), price=PRICE, store=store, key="run"))
    killed.settle(killed.hold(tokens=1_000, output=1_000), usage)
    run = RunAllowance(AgentLimits(cost=0.40), price=PRICE, store=store, key="run")
    again = Allowance(own, run)
    again.count(usage)
    again.settle(again.hold(tokens=1_000, output=1_000), Usage(input=1_000, output=1_000))
    again.close()
    assert again.cost == run.used.cost == pytest.approx(0.224)
    run.hold(turns=0, tokens=0, cost=0.17)  # nothing is held any more


@pytest.mark.parametrize(
    "written",
    [
        [],
        {"turns": 1},
        {"turns": 1, "tokens": 1, "cost": float("nan"), "seconds": 0.0},
        {"turns": 1, "tokens": 1, "cost": -5.0, "seconds": 0.0},
        {"turns": 1, "tokens": 1, "cost": 10**400, "seconds": 0.0},
        {"turns": -1, "tokens": 1, "cost": 0.0, "seconds": 0.0},
        {"turns": True, "tokens": 1, "cost": 0.0, "seconds": 0.0},
    ],
)
def test_an_account_that_is_none_lifts_no_limit(written: object) -> None:
    class Damaged(MemoryStore):
        def get(self, kind: str, key: str) -> object:
            return written

    run = RunAllowance(AgentLimits(cost=0.30), price=PRICE, store=Damaged(), key="run")
    assert run.used.cost == 0.0
    with pytest.raises(LimitReachedError):
        run.hold(turns=0, tokens=0, cost=0.31)
