"""A judge that rates functions, against a real server: asked once, failures counted, cost kept."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.core.registry import load
from pytest_funcmem.metrics.judging.asking import AskerSettings
from pytest_funcmem.metrics.severity.raters import JudgeRater, open_rater
from pytest_funcmem.models.prices import Price
from pytest_funcmem.store.memory_store import MemoryStore

SOURCE = "def f(a):\n    return a * 3\n\n\ndef g(a):\n    return a * 4\n"


def functions() -> tuple[SourceFunction, ...]:
    return tuple(load("language", "python")().scan(SOURCE, path="a.py").functions)


def chat(text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def test_a_judge_rates_each_function_once(server: Any) -> None:
    server.in_turn((200, {}, chat('```json\n{"severity": 6, "reasoning": "a rule"}\n```')))
    store = MemoryStore()
    for asked, stored in ((2, 0), (0, 2)):
        rater = open_rater(f"openai:{server.url}/v1#m", store=store)
        assert isinstance(rater, JudgeRater)
        found = rater.rate(functions())
        assert [severity.value for severity in found] == [6, 6]
        assert found[0].signature.startswith(f"openai:{server.url}/v1#m|severity|prompt:1|")
        assert (rater.tally.asked, rater.tally.stored) == (asked, stored)
        assert rater.tally.dollars is None  # a price that is not known is not taken for none
        rater.close()
        rater.close()
    assert len(server.requests) == 2
    body = server.requests[0][2]
    assert (
        "return a * 3" in body["messages"][1]["content"] or "return a * 4" in body["messages"][1]["content"]
    )
    assert "Python" in body["messages"][0]["content"]


@pytest.mark.parametrize("text", ["I would rather not.", '{"severity": 12}', '{"severity": null}', ""])
def test_an_answer_out_of_form_is_counted_and_rates_nothing(server: Any, text: str) -> None:
    server.in_turn((200, {}, chat(text)))
    rater = open_rater(f"openai:{server.url}/v1#m")
    assert isinstance(rater, JudgeRater)
    found = rater.rate(functions())
    assert [severity.value for severity in found] == [None, None]
    assert all("the judge failed" in severity.note for severity in found)
    assert rater.tally.failed == 2
    rater.close()


def test_a_cost_cap_is_kept_and_needs_a_price(server: Any) -> None:
    spec = f"openai:{server.url}/v1#m"
    with pytest.raises(UsageError, match="costs is not known"):
        open_rater(spec, settings=AskerSettings(max_cost=1.0), where="--funcmem-filter")
    server.in_turn((200, {}, chat('{"severity": 6}')))
    settings = AskerSettings(max_cost=0.03, prices={"m": Price(input=1.0, output=10.0)})
    rater = open_rater(spec, settings=settings)
    assert isinstance(rater, JudgeRater)
    found = rater.rate(functions())
    assert [severity.value for severity in found] == [6, None]
    assert "might have cost more than $0.03" in found[1].note
    assert rater.tally.capped == 1
    assert rater.tally.dollars == pytest.approx((100 * 1.0 + 10 * 10.0) / 1e6)
    rater.close()
