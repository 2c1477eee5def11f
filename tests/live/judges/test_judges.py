"""Judges against real HTTP on loopback: Messages API with batches, and chat completions."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pytest_funcmem.core.errors import EngineError, ModelSpecError, UsageError
from pytest_funcmem.core.protocols import CodePair, Metric
from pytest_funcmem.metrics.choice import MetricSettings, open_metric
from pytest_funcmem.metrics.judging.anthropic_engine import AnthropicEngine
from pytest_funcmem.metrics.judging.asking import AskerSettings
from pytest_funcmem.metrics.judging.engines import OpenAiChat
from pytest_funcmem.metrics.judging.judge import Judge
from pytest_funcmem.models.anthropic_errors import takes_temperature
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.json_http import JsonClient
from pytest_funcmem.models.prices import Price
from pytest_funcmem.store import MemoryStore

GOOD = '{"equivalence_score": 0.75, "reasoning": "same table"}'
FAST = RetryPolicy(attempts=3, first_wait_s=0.01, longest_wait_s=0.2)
KINDS = ("anthropic", "openai")


def pair(number: int = 0) -> CodePair:
    return CodePair(
        language="python", original=f"def f(a):\n    return a + {number}", candidate="def f(b):\n    return b"
    )


def message(text: str, **other: Any) -> dict[str, Any]:
    """An answer that both APIs' clients read."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10, "prompt_tokens": 100, "completion_tokens": 10},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        **other,
    }


def judge(kind: str, server: Any, *, prompt: str = "ours", **settings: Any) -> Judge:
    engine: Any
    if kind == "anthropic":
        engine = AnthropicEngine(
            model="claude-sonnet-4-6", batch=False, in_flight=3, timeout_s=10, retry=FAST
        )
    else:
        client = JsonClient(base_url=f"{server.url}/v1", key="sk-secret", timeout_s=10, retry=FAST)
        engine = OpenAiChat(base_url=f"{server.url}/v1", model="m", in_flight=3, client=client)
    store = settings.pop("store", None)
    return Judge(f"{prompt}@{kind}:x", engine=engine, store=store, settings=AskerSettings(**settings))


def close(metric: Metric) -> None:
    metric.close()
    metric.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_in_form_gives_its_score(kind: str, server: Any) -> None:
    server.in_turn((200, {}, message(GOOD)))
    metric = judge(kind, server)
    scores = metric.scores([pair(), pair(1)])
    assert [(score.value, score.note) for score in scores] == [(0.75, ""), (0.75, "")]
    assert scores[0].signature.startswith(f"judge|prompt:ours 1|model:{kind}:")
    assert (metric.tally.asked, metric.tally.failed) == (2, 0)
    close(metric)
    method, path, body = server.requests[0]
    assert (method, path) == ("POST", "/v1/messages" if kind == "anthropic" else "/v1/chat/completions")
    assert body.get("temperature") == (0 if kind == "openai" or takes_temperature() else None)
    asked = json.dumps(body)
    assert "Function A (Reference)" in asked
    assert "def f(b)" in asked
    assert "two Python functions" in asked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("They do much the same, I would say.", "no score in the form"),
        ('{"equivalence_score": 1.2}', "outside 0 to 1"),
        ('{"equivalence_score": NaN}', "no finite number"),
        ('{"equivalence_', "no score in the form"),
        ("", ""),
    ],
)
def test_a_judge_out_of_form_is_counted_and_gives_no_figure(
    kind: str, text: str, why: str, server: Any
) -> None:
    server.in_turn((200, {}, message(text)))
    metric = judge(kind, server)
    score = metric.scores([pair()])[0]
    close(metric)
    assert score.value is None
    assert score.note.startswith("judge failed: ")
    assert why in score.note
    assert metric.tally.failed == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_busy_server_is_asked_again_when_it_says(kind: str, server: Any) -> None:
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    server.in_turn((429, {"Retry-After": "0.3"}, error), (200, {}, message(GOOD)))
    metric = judge(kind, server)
    start = time.monotonic()
    assert metric.scores([pair()])[0].value == 0.75
    # The client waits as long as it is told; ours no longer than its policy allows.
    assert time.monotonic() - start >= (0.3 if kind == "anthropic" else 0.2)
    assert len(server.requests) == 2
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
def test_an_overloaded_server_is_asked_again_and_then_given_up(kind: str, server: Any) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    overloaded = (529, {"Retry-After": "0.01"}, error)
    server.in_turn(overloaded, (200, {}, message(GOOD)))
    metric = judge(kind, server)
    assert metric.scores([pair()])[0].value == 0.75
    server.in_turn(overloaded)
    with pytest.raises(EngineError, match=r"[Oo]verloaded"):
        metric.scores([pair(1)])
    assert len(server.requests) == 2 + FAST.attempts
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_breaks_off_is_asked_for_again(kind: str, server: Any) -> None:
    server.in_turn((200, {"X-Cut": "1"}, message(GOOD)), (200, {}, message(GOOD)))
    metric = judge(kind, server)
    assert metric.scores([pair()])[0].value == 0.75
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_no_json_is_an_error_of_the_engine(kind: str, server: Any) -> None:
    server.in_turn((200, {}, b"<html>gateway"))
    metric = judge(kind, server)
    with pytest.raises(EngineError):
        metric.scores([pair()])
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_that_the_server_refuses_costs_only_its_own_figure(kind: str, server: Any) -> None:
    def script(method: str, path: str, body: Any) -> Any:
        if "a + 1" in json.dumps(body):
            return 400, {}, {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
        return 200, {}, message(GOOD)

    server.script = script
    metric = judge(kind, server, store=MemoryStore())
    scores = metric.scores([pair(number) for number in range(3)])
    assert [score.value for score in scores] == [0.75, None, 0.75]
    assert "refused the question" in scores[1].note
    # What may go well the next time is not kept.
    metric.scores([pair(number) for number in range(3)])
    assert (metric.tally.asked, metric.tally.stored) == (4, 2)
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [401, 404])
def test_a_wrong_key_or_model_ends_the_run_and_shows_no_key(kind: str, status: int, server: Any) -> None:
    error = {"type": "error", "error": {"type": "x", "message": "bad thing sk-secret"}}
    server.in_turn((status, {}, error))
    metric = judge(kind, server)
    with pytest.raises(ModelSpecError) as raised:
        metric.scores([pair()])
    if kind == "openai":
        assert "sk-secret" not in str(raised.value)
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_stored_as_they_came_and_not_asked_for_twice(kind: str, server: Any) -> None:
    server.in_turn((200, {}, message(GOOD)), (200, {}, message("no idea")))
    store = MemoryStore()
    first = judge(kind, server, store=store)
    before = first.scores([pair(0)]) + first.scores([pair(1)])
    close(first)
    again = judge(kind, server, store=store)
    assert again.scores([pair(0), pair(1)]) == before
    assert (again.tally.asked, again.tally.stored, again.tally.failed) == (0, 2, 1)
    assert len(server.requests) == 2
    # Another prompt is another question.
    other = judge(kind, server, store=store, prompt="song")
    other.scores([pair(0)])
    assert other.tally.asked == 1
    close(again)
    close(other)


def test_what_was_answered_before_a_failure_is_kept(server: Any) -> None:
    def script(method: str, path: str, body: Any) -> Any:
        if "a + 5" in json.dumps(body):
            time.sleep(0.3)
            return 401, {}, {"error": {"message": "revoked"}}
        return 200, {}, message(GOOD)

    server.script = script
    store = MemoryStore()
    metric = judge("openai", server, store=store)
    with pytest.raises(ModelSpecError):
        metric.scores([pair(number) for number in range(6)])
    assert metric.tally.asked == 5
    close(metric)
    server.in_turn((200, {}, message(GOOD)))
    again = judge("openai", server, store=store)
    again.scores([pair(number) for number in range(6)])
    assert (again.tally.stored, again.tally.asked) == (5, 1)
    close(again)


def test_equal_questions_are_asked_once(server: Any) -> None:
    server.in_turn((200, {}, message(GOOD)))
    metric = judge("openai", server)
    assert [score.value for score in metric.scores([pair()] * 4)] == [0.75] * 4
    assert len(server.requests) == 1
    close(metric)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_cap_is_never_exceeded(kind: str, server: Any) -> None:
    server.in_turn((200, {}, message(GOOD)))
    price = Price(input=10, output=100)
    # A question may cost 2048 tokens of answer, $0.2048, and some for what is read; it costs $0.002.
    metric = judge(kind, server, max_cost=0.45, price=price)
    scores = metric.scores([pair(number) for number in range(5)])
    assert [score.value for score in scores] == [0.75, 0.75, None, None, None]
    assert "might have cost more than $0.45" in scores[2].note
    assert (metric.tally.asked, metric.tally.capped) == (2, 3)
    assert metric.tally.dollars == pytest.approx(2 * price.of(100, 10))
    # What was set aside and not spent can be spent again.
    assert metric.scores([pair(9)])[0].value == 0.75
    close(metric)


def test_a_cost_cap_needs_a_price(server: Any) -> None:
    name = f"judge:ours@openai:{server.url}/v1#m"
    with pytest.raises(UsageError, match="not known"):
        open_metric(name, settings=MetricSettings(max_cost=1.0))
    metric = open_metric(name, settings=MetricSettings(max_cost=1.0, price=Price(input=1, output=1)))
    close(metric)


def test_a_model_that_takes_no_temperature_is_asked_without(server: Any) -> None:
    def script(method: str, path: str, body: Any) -> Any:
        if "temperature" in body:
            error = {"type": "invalid_request_error", "message": "temperature is not supported"}
            return 400, {}, {"type": "error", "error": error}
        return 200, {}, message(GOOD)

    server.script = script
    metric = judge("anthropic", server)
    assert metric.scores([pair()])[0].value == 0.75
    assert metric.scores([pair(1)])[0].value == 0.75
    refused = [True] if takes_temperature() else []
    assert ["temperature" in body for _, _, body in server.requests] == [*refused, False, False]
    close(metric)


def test_thinking_is_no_part_of_an_answer(server: Any) -> None:
    content = [{"type": "thinking", "thinking": "[[0.1]]", "signature": "s"}, {"type": "text", "text": GOOD}]
    server.in_turn((200, {}, message(GOOD, content=content)))
    metric = judge("anthropic", server)
    assert metric.scores([pair()])[0].value == 0.75
    close(metric)


# ------------------------------------------------------------------------------------------------ batches


class BatchApi:
    """The batch endpoint: a batch is ended at the second look, results come in another order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.looks = 0
        self.created = 0

    def __call__(self, method: str, path: str, body: Any) -> Any:
        if method == "POST" and path == "/v1/messages/batches":
            self.requests = body["requests"]
            self.created += 1
            return 200, {}, self.state("in_progress")
        if path.endswith("/results"):
            return 200, {"Content-Type": "application/x-jsonl"}, self.results()
        self.looks += 1
        return 200, {}, self.state("ended" if self.looks > 1 else "in_progress")

    def state(self, status: str) -> dict[str, Any]:
        counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        return {
            "id": "msgbatch_1",
            "type": "message_batch",
            "processing_status": status,
            "request_counts": counts,
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            "ended_at": None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/msgbatch_1/results",
        }

    def results(self) -> bytes:
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
        outcomes = [
            {"type": "succeeded", "message": message(GOOD)},
            {"type": "errored", "error": error},
            {"type": "expired"},
        ]
        lines = [
            json.dumps({"custom_id": request["custom_id"], "result": outcomes[number % 4 % 3]})
            for number, request in enumerate(self.requests)
            if number != 3
        ]
        return ("\n".join(reversed(lines)) + "\n").encode()


def batch_judge(store: MemoryStore | None = None) -> Judge:
    engine = AnthropicEngine(
        model="claude-sonnet-4-6",
        batch=True,
        in_flight=1,
        timeout_s=10,
        retry=FAST,
        poll_s=0.02,
        store=store,
    )
    settings = AskerSettings(batch=True, max_cost=1.0)
    return Judge("ours@anthropic:claude-sonnet-4-6", engine=engine, store=store, settings=settings)


def test_a_batch_answers_in_any_order_and_tells_what_it_did_not_answer(server: Any) -> None:
    api = server.script = BatchApi(server.url)
    metric = batch_judge()
    scores = metric.scores([pair(number) for number in range(5)])
    assert [score.value for score in scores] == [0.75, None, None, None, 0.75]
    assert [score.note.removeprefix("judge failed: ") for score in scores[1:4]] == [
        "the API refused the question: too long",
        "the batch was expired",
        "the batch holds no answer to the question",
    ]
    assert api.looks >= 2
    # Half of the listed price of $3 and $15.
    assert metric.tally.dollars == pytest.approx(2 * (100 * 1.5 + 10 * 7.5) / 1e6)
    close(metric)


def test_a_batch_that_an_earlier_run_started_is_not_paid_for_again(server: Any) -> None:
    api = server.script = BatchApi(server.url)
    store = MemoryStore()
    first = batch_judge(store)
    first.scores([pair(0)])
    close(first)
    # As if that run had ended before it saw the answers.
    lost = MemoryStore()
    for (kind, key), text in store._texts.items():
        if kind == "judge-batch":
            lost.put(kind, key, json.loads(text))
    second = batch_judge(lost)
    assert second.scores([pair(0)])[0].value == 0.75
    assert api.created == 1
    close(second)


def test_only_anthropic_judges_have_batches(server: Any) -> None:
    with pytest.raises(ModelSpecError, match="batch endpoint"):
        open_metric(f"judge:ours@openai:{server.url}/v1#m", settings=MetricSettings(batch=True))


@pytest.mark.parametrize("name", ["judge:ours", "judge:other@hf:x", "judge:ours@", "judge:@x"])
def test_a_judge_is_named_by_prompt_and_spec(name: str) -> None:
    with pytest.raises(UsageError):
        open_metric(name)


def test_a_judge_without_a_key_says_so(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelSpecError, match=r"key|authentication"):
        open_metric("judge:ours@anthropic:claude-sonnet-4-6").scores([pair()])
