"""Limits of cost over connections that break: no more may have been billed than may be spent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from played_models import PlayedAnthropic, Refuse, Say, StreamError, in_turn

from pytest_funcmem.harness.agent.limits import AgentLimits, Allowance, LimitReachedError, RunAllowance
from pytest_funcmem.harness.ladder.asking import Asker, CapReachedError, Question
from pytest_funcmem.models.dialogue.opening import open_dialogue
from pytest_funcmem.models.dialogue.records import DialogueModel, Usage
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.prices import Price, Purse

PRICE = Price(input=5, output=25)
MOST = PRICE.of(0, 8192, cache_write=202)
"""Dollars that one attempt of the question below may cost."""


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PlayedAnthropic, DialogueModel]]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    with PlayedAnthropic(in_turn(Refuse(529), StreamError(), StreamError(), Say("Whole."))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        model = open_dialogue("anthropic:claude-opus-5", retry=RetryPolicy(first_wait_s=0.01))
        yield server, model
        model.close()


@pytest.mark.parametrize(("room_for", "asked"), [(1, 2), (2, 3), (3, 4)])
def test_attempts_that_broke_off_are_paid_for_before_another(
    played: tuple[PlayedAnthropic, DialogueModel], room_for: int, asked: int
) -> None:
    server, model = played
    purse = Purse(room_for * MOST * 1.0001)
    asker = Asker(model, store=None, purse=purse, price=PRICE)
    question = Question(system="a", user="b")
    if room_for < 3:
        with pytest.raises(CapReachedError):
            asker.ask(question)
        assert purse.spent >= room_for * MOST
    else:
        assert asker.ask(question).text == "Whole."
        assert purse.spent >= 2 * MOST
    assert len(server.requests) == asked
    assert purse.limit is not None
    assert purse.spent <= purse.limit
    assert purse.hold(purse.limit - purse.spent)  # nothing is held any more


@pytest.mark.parametrize("reserves", [True, False])
def test_an_agents_allowance_holds_for_each_attempt(reserves: bool) -> None:
    attempt = PRICE.of(0, 1000, cache_write=1000)
    limits = AgentLimits(cost=3.5 * attempt) if reserves else AgentLimits()
    run = RunAllowance(AgentLimits(cost=3.6 * attempt), price=PRICE)
    allowance = Allowance(limits, run)
    held = allowance.hold(tokens=1000, output=1000)
    for _ in range(2):
        more = allowance.hold_again(held)
        assert more is not None
        held = more
    assert allowance.hold_again(held) is None
    allowance.settle(held, Usage(), failed=3)
    assert run.used.cost == pytest.approx(3 * attempt)
    with pytest.raises(LimitReachedError):
        allowance.hold(tokens=1000, output=1000)
    allowance.close()
    run.hold(turns=0, tokens=0, cost=0.59 * attempt)
    with pytest.raises(LimitReachedError):
        run.hold(turns=0, tokens=0, cost=0.02 * attempt)
