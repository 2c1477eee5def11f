"""Dialogues over the Messages API: what is this API's own, seen from both ends of a real connection."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from played_models import Asked, Body, Call, PlayedAnthropic, Say, Script, StreamError, in_turn, signature

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.opening import open_dialogue
from pytest_funcmem.models.dialogue.records import (
    DialogueModel,
    Message,
    Tool,
    ToolResult,
    Turn,
    Usage,
    UserMessage,
)
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.prices import Price

Play = Callable[..., tuple[DialogueModel, PlayedAnthropic]]

KEY = "sk-ant-secret"
RUN = Tool(name="run", description="Run it.", parameters={"type": "object", "properties": {}})
READ = Tool(name="read", description="Read it.", parameters={"type": "object", "properties": {}})
GO = UserMessage(text="Go.")


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with ExitStack() as stack:

        def start(script: Script, model: str = "claude-sonnet-5") -> tuple[DialogueModel, PlayedAnthropic]:
            server = stack.enter_context(PlayedAnthropic(script))
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            opened = open_dialogue(
                f"anthropic:{model}", timeout_s=10, retry=RetryPolicy(attempts=3, first_wait_s=0.01)
            )
            stack.callback(opened.close)
            return opened, server

        yield start


def ask(model: DialogueModel, *messages: Message, system: str = "Build.") -> Turn:
    return model.turn(system, messages or (GO,), [RUN, READ], max_tokens=500)


def results(turn: Turn, text: str = "done") -> UserMessage:
    return UserMessage(results=tuple(ToolResult(call=call.id, text=text) for call in turn.message.calls))


def stream(*events: dict[str, Any], names: bool = True) -> Body:
    lines = (
        (f"event: {event['type']}\n" if names else "") + f"data: {json.dumps(event)}\n\n" for event in events
    )
    return Body("".join(lines).encode(), kind="text/event-stream; charset=utf-8")


START = {
    "type": "message_start",
    "message": {"model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}, "content": []},
}
END = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


# -------------------------------------------------------------------------------------------------- requests


def test_what_is_sent(play: Play) -> None:
    model, server = play(in_turn(Say("Yes.")))
    ask(model)
    body = server.bodies[0]
    assert body["model"] == "claude-sonnet-5"
    assert body["stream"] is True
    assert body["max_tokens"] == 500
    assert "temperature" not in body
    assert [tool["name"] for tool in body["tools"]] == ["run", "read"]
    assert body["tools"][0]["input_schema"] == {"type": "object", "properties": {}}
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    headers = server.requests[0].headers
    assert KEY in headers.get("x-api-key", headers.get("authorization", ""))  # by the client's version
    assert server.broken == []


def test_tools_without_a_system_prompt_are_cached_all_the_same(play: Play) -> None:
    model, server = play(in_turn(Say("Yes.")))
    ask(model, system=" ")
    body = server.bodies[0]
    assert "system" not in body
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]


def test_each_turn_reads_the_earlier_ones_from_the_cache(play: Play) -> None:
    def script(asked: Asked) -> Say:
        return Say("Next.", Call("run", {"n": asked.turn})) if asked.turn < 4 else Say("Done.")

    model, server = play(script)
    dialogue: list[Message] = [UserMessage(text="Go. " * 200)]
    turns = []
    while not turns or turns[-1].stop == "tools":
        turns.append(ask(model, *dialogue, system="You build harnesses. " * 50))
        dialogue += [turns[-1].message, results(turns[-1], "output " * 100)]
    usages = [turn.usage for turn in turns]
    assert len(usages) == 5
    assert usages[0].cache_read == 0
    for before, after in pairwise(usages):
        assert after.cache_read == before.cache_read + before.cache_write
        assert after.input == 0
        assert 0 < after.cache_write < 400
    price = model.price
    assert price == Price(input=2, output=10)
    whole = sum(price.of(usage.total - usage.output, usage.output) for usage in usages)
    assert sum(usage.cost(price) for usage in usages) < 0.7 * whole
    for body in server.bodies:
        marked = [
            (number, place)
            for number, message in enumerate(body["messages"])
            for place, item in enumerate(message["content"])
            if "cache_control" in item
        ]
        users = [number for number, message in enumerate(body["messages"]) if message["role"] == "user"]
        assert [number for number, _ in marked] == users[-2:]


def test_results_stand_before_the_text_in_the_order_of_the_calls(play: Play) -> None:
    model, server = play(in_turn(Say("", Call("run"), Call("read")), Say("Done.")))
    first = ask(model)
    said = UserMessage(
        text="And mind the time.",
        results=(
            ToolResult(call=first.message.calls[0].id, text="no such file", is_error=True),
            ToolResult(call=first.message.calls[1].id, text=" "),
        ),
    )
    ask(model, GO, first.message, said)
    content = server.bodies[1]["messages"][-1]["content"]
    assert [item["type"] for item in content] == ["tool_result", "tool_result", "text"]
    assert [item.get("is_error") for item in content] == [True, None, None]
    assert content[0]["content"] == "no such file"
    assert content[1]["content"] == "(empty)"
    assert "cache_control" in content[-1]


def test_a_request_is_never_changed_by_what_it_was_made_from(play: Play) -> None:
    model, server = play(in_turn(Say("", Call("run")), Say("Done.")))
    first = ask(model)
    kept = json.dumps(first.message.raw)
    dialogue = (GO, first.message, results(first))
    assert ask(model, *dialogue).message == ask(model, *dialogue).message
    assert server.bodies[1] == server.bodies[2]
    assert json.dumps(first.message.raw) == kept
    assert "cache_control" not in kept


# --------------------------------------------------------------------------------------------------- answers


def test_thoughts_come_back_unchanged_and_signed(play: Play) -> None:
    first_say = Say("So.", Call("run"), thinking="Let me see — „ls“.", redacted="b64==")
    model, server = play(in_turn(first_say, Say("Done.")))
    first = ask(model)
    assert first.message.text == "So."
    ask(model, GO, first.message, results(first))
    back = server.bodies[1]["messages"][1]["content"]
    assert [item["type"] for item in back] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert back[0] == {
        "type": "thinking",
        "thinking": "Let me see — „ls“.",
        "signature": signature("Let me see — „ls“."),
    }
    assert back[1] == {"type": "redacted_thinking", "data": "b64=="}
    assert server.broken == []


def test_thoughts_without_text_between_calls(play: Play) -> None:
    """Newer models give what they say between calls as thoughts of which only the signature is shown."""
    events = (
        START,
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, signed := {
            "type": "signature_delta", "signature": signature(""),
        }),
        *block(1, {"type": "tool_use", "id": "a", "name": "run", "input": {}}),
        *block(2, {"type": "thinking", "thinking": "", "signature": ""}, signed),
        *block(3, {"type": "tool_use", "id": "b", "name": "read", "input": {"path": "x"}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
    )  # fmt: skip
    model, server = play(in_turn(stream(*events), Say("Done.")))
    first = ask(model)
    assert [(call.name, call.arguments) for call in first.message.calls] == [
        ("run", {}),
        ("read", {"path": "x"}),
    ]
    assert ask(model, GO, first.message, results(first)).stop == "ended"
    assert [item["type"] for item in server.bodies[1]["messages"][1]["content"]] == [
        "thinking",
        "tool_use",
        "thinking",
        "tool_use",
    ]


def test_a_thought_that_was_cut_off_is_not_given_back(play: Play) -> None:
    cut = (
        START,
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, {
            "type": "thinking_delta", "thinking": "Let me thi",
        }),
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 5}},
    )  # fmt: skip
    model, server = play(in_turn(stream(*cut), Say("Done.")))
    first = ask(model)
    assert (first.stop, first.message.text, first.message.calls) == ("length", "", ())
    assert ask(model, GO, first.message, UserMessage(text="Go on.")).message.text == "Done."
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["user", "user"]
    assert server.broken == []


def test_why_a_model_declines_is_told(play: Play) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It looks like an attack."}
    delta = {"stop_reason": "refusal", "stop_details": details}
    model, _ = play(in_turn(stream(START, {"type": "message_delta", "delta": delta, "usage": {}})))
    turn = ask(model)
    assert (turn.stop, turn.message.text) == ("refused", "It looks like an attack.")


def test_blocks_that_are_not_known_are_carried_along(play: Play) -> None:
    odd = {"type": "server_note", "data": {"deep": [1, "two"]}}
    cited = {"type": "char_location", "cited_text": "x", "document_index": 0}
    events = (
        START,
        *block(0, odd),
        *block(1, {"type": "text", "text": "A"}, {"type": "citations_delta", "citation": cited}),
        {"type": "something_new", "field": 1},
        *END,
    )
    model, server = play(in_turn(stream(*events), Body(b"stop", kind="text/plain")))
    first = ask(model)
    assert first.message.text == "A"
    assert first.message.raw == {
        "anthropic": [odd, {"type": "text", "text": "A", "citations": [cited]}],
    }
    with pytest.raises(FailedTurnError):
        ask(model, GO, first.message, UserMessage(text="Go on."))
    assert server.bodies[1]["messages"][1]["content"][0] == odd


def test_texts_of_nothing_are_not_given_back(play: Play) -> None:
    model, server = play(in_turn(Say("\n\n", Call("run")), Say("Done.")))
    first = ask(model)
    assert first.message.text == "\n\n"
    ask(model, GO, first.message, results(first))
    assert [item["type"] for item in server.bodies[1]["messages"][1]["content"]] == ["tool_use"]
    assert server.broken == []


def test_malformed_arguments_are_given_back_as_such(play: Play) -> None:
    model, server = play(in_turn(Say("", Call("run", '{"command": "ls')), Say("Done.")))
    first = ask(model)
    ask(model, GO, first.message, results(first))
    assert server.bodies[1]["messages"][1]["content"][0]["input"] == {"INVALID_JSON": '{"command": "ls'}


def test_a_paused_turn_goes_on_by_itself(play: Play) -> None:
    def script(asked: Asked) -> Say:
        if asked.turn == 0:
            return Say("First, ", stop="pause_turn", thinking="Hm.")
        return Say("second.", Call("run")) if asked.number == 1 else Say("Done.")

    model, server = play(script)
    turn = ask(model)
    assert turn.message.text == "First, second."
    assert turn.stop == "tools"
    assert [item["role"] for item in server.bodies[1]["messages"]] == ["user", "assistant"]
    assert server.bodies[1]["messages"][1]["content"][0]["thinking"] == "Hm."
    single = ask(model)
    assert single.message.text == "First, Done."
    assert turn.usage.output > single.usage.output > 0
    assert ask(model, GO, turn.message, results(turn)).message.text == "Done."
    assert server.broken == []


def test_a_turn_that_only_pauses_is_given_up(play: Play) -> None:
    model, server = play(in_turn(Say("Hm.", stop="pause_turn")))
    with pytest.raises(FailedTurnError, match="paused 8 times") as failed:
        ask(model)
    assert len(server.requests) == 8
    assert failed.value.usage.output > 8


@pytest.mark.parametrize(
    ("reason", "stop"), [("end_turn", "ended"), ("stop_sequence", "ended"), ("max_tokens", "length")]
)
def test_reasons_to_stop(play: Play, reason: str, stop: str) -> None:
    model, _ = play(in_turn(Say("So.", stop=reason)))
    assert ask(model).stop == stop


def test_a_dialogue_that_outgrew_the_model(play: Play) -> None:
    model, _ = play(in_turn(Say("So.", stop="model_context_window_exceeded")))
    with pytest.raises(FailedTurnError, match="too long for the model") as failed:
        ask(model)
    assert failed.value.kind == "rejected"
    assert failed.value.usage.output > 0


def test_counts_of_the_last_event_go_before_those_of_the_first(play: Play) -> None:
    last = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {
            "input_tokens": 9,
            "output_tokens": 5,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": None,
        },
    }
    model, _ = play(in_turn(stream(START, *block(0, {"type": "text", "text": "A"}), last)))
    turn = ask(model)
    assert turn.usage == Usage(input=9, output=5, cache_read=3)
    assert turn.usage_told
    assert turn.answered_by == "m"


def test_an_answer_that_is_cut_only_after_all_was_said_is_whole(play: Play) -> None:
    events = (START, *block(0, {"type": "text", "text": "A"}), END[0])
    model, server = play(in_turn(stream(*events, names=False)))
    assert ask(model).message.text == "A"
    assert len(server.requests) == 1


def test_what_a_broken_stream_told_of_its_cost_is_not_counted_twice(play: Play) -> None:
    model, _ = play(in_turn(stream(START), Say("Whole.")))
    turn = ask(model)
    assert turn.untold == 1
    single = ask(model)
    assert single.usage.total == turn.usage.total
    assert single.untold == 0


@pytest.mark.parametrize(
    "events",
    [
        [START, {"type": "content_block_start", "index": 1, "content_block": {"type": "text"}}],
        [START, {"type": "content_block_start", "index": 0, "content_block": "text"}],
        [START, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}],
        [START, *block(0, {"type": "text"}, {"type": "text_delta", "text": 7})],
        [START, *block(0, {"type": "text"}, {"type": "hologram_delta", "hologram": "x"})],
        [START, *(part for index in range(300) for part in block(index, {"type": "text"}))],
    ],
)
def test_streams_that_are_none(play: Play, events: list[dict[str, Any]]) -> None:
    model, server = play(in_turn(stream(*events)))
    with pytest.raises(FailedTurnError) as failed:
        ask(model)
    assert failed.value.kind == "malformed"
    assert (failed.value.usage, failed.value.untold) == (Usage(), 1)
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error", "timeout_error"])
def test_errors_in_the_stream_that_pass(play: Play, kind: str) -> None:
    model, server = play(in_turn(StreamError(kind=kind), Say("Whole.")))
    assert ask(model).message.text == "Whole."
    assert len(server.requests) == 2


def test_errors_in_the_stream_that_stay(play: Play) -> None:
    model, server = play(in_turn(StreamError(kind="invalid_request_error", message="tools.0: bad")))
    with pytest.raises(FailedTurnError, match=r"tools\.0: bad") as failed:
        ask(model)
    assert failed.value.kind == "rejected"
    model, server = play(in_turn(StreamError(kind="authentication_error", message=f"bad {KEY}")))
    with pytest.raises(ModelSpecError, match="authentication_error") as wrong:
        ask(model)
    assert KEY not in str(wrong.value)
    assert len(server.requests) == 1


# -------------------------------------------------------------------------------------------------- settings


def test_a_token_in_place_of_a_key(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-secret")
    model, server = play(in_turn(Say("Yes.")))
    assert ask(model).message.text == "Yes."
    assert server.requests[0].headers["authorization"] == "Bearer token-secret"


def test_a_key_with_the_end_of_a_line_behind_it(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\r\n")
    model, server = play(in_turn(Say("Yes.")))
    assert ask(model).message.text == "Yes."
    headers = server.requests[0].headers
    assert headers.get("x-api-key", headers.get("authorization", "")).endswith(KEY)


def test_no_key_at_all(play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(ModelSpecError, match="key") as failed:
        ask(play(in_turn(Say("Yes.")))[0])
    assert "ANTHROPIC_API_KEY" in str(failed.value)


@pytest.mark.parametrize("key", ["sk-ant\nsecret", "sk-änt-secret", "sk-ant\x00secret"])
def test_a_key_that_cannot_be_sent_is_not_shown(
    play: Play, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    if "\x00" not in key:  # the environment itself holds no such thing
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        with pytest.raises(ModelSpecError, match="no key has") as failed:
            play(in_turn(Say("Yes.")))
        assert "secret" not in str(failed.value)


def test_a_model_that_will_be_gone_some_day_is_used_without_warnings(play: Play) -> None:
    model, server = play(in_turn(Say("Yes.")), model="claude-opus-4-5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(model).message.text == "Yes."
    assert server.bodies[0]["model"] == "claude-opus-4-5"


def test_the_clients_own_log_keeps_requests_to_itself(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("anthropic").setLevel(logging.NOTSET)
    caplog.set_level(logging.DEBUG)
    model, _ = play(in_turn(Say("Confidential answer.")))
    ask(model, UserMessage(text="Confidential question."))
    assert "Confidential" not in caplog.text
    assert KEY not in caplog.text
