"""Dialogues over OpenAI-compatible endpoints, with all that servers leave out or do in their own way."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from played_models import Asked, Body, Call, PlayedOpenAi, Refuse, Say, Script, in_turn

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.opening import open_dialogue
from pytest_funcmem.models.dialogue.records import (
    DialogueModel,
    Message,
    Tool,
    ToolResult,
    Turn,
    UserMessage,
)
from pytest_funcmem.models.http_answers import RetryPolicy

Play = Callable[..., tuple[DialogueModel, PlayedOpenAi]]

RUN = Tool(name="run", description="Run it.", parameters={"type": "object", "properties": {}})
GO = UserMessage(text="Go.")


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ExitStack() as stack:

        def start(script: Script, *, path: str = "", **settings: Any) -> tuple[DialogueModel, PlayedOpenAi]:
            server = stack.enter_context(PlayedOpenAi(script, **settings))
            opened = open_dialogue(
                f"openai:{server.url}{path}#qwen",
                timeout_s=10,
                retry=RetryPolicy(attempts=3, first_wait_s=0.01),
            )
            stack.callback(opened.close)
            return opened, server

        yield start


def ask(model: DialogueModel, *messages: Message) -> Turn:
    return model.turn("Build.", messages or (GO,), [RUN], max_tokens=500)


def results(turn: Turn, text: str = "done") -> UserMessage:
    return UserMessage(results=tuple(ToolResult(call=call.id, text=text) for call in turn.message.calls))


def chunks(*deltas: dict[str, Any], reason: str = "stop", done: bool = True) -> Body:
    parts = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    parts.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    text = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + ("data: [DONE]\n\n" if done else "")
    return Body(text.encode(), kind="text/event-stream")


def whole(message: Any, reason: Any = "stop") -> Body:
    body = {"choices": [{"message": message, "finish_reason": reason}]}
    return Body(json.dumps(body).encode(), kind="application/json")


def call(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"function": function, **more}


def test_what_is_sent(play: Play) -> None:
    model, server = play(in_turn(Say("", Call("run", {"command": "ls"})), Say("Done.")))
    first = ask(model)
    said = UserMessage(
        text="Mind the time.",
        results=(ToolResult(call=first.message.calls[0].id, text="no", is_error=True),),
    )
    ask(model, GO, first.message, said)
    first_body, second_body = server.bodies
    assert first_body["model"] == "qwen"
    assert first_body["max_tokens"] == 500
    assert first_body["stream_options"] == {"include_usage": True}
    assert first_body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "run",
                "description": "Run it.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    assert [message["role"] for message in first_body["messages"]] == ["system", "user"]
    assert [message["role"] for message in second_body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    back = second_body["messages"][2]["tool_calls"][0]
    assert back == {
        "id": first.message.calls[0].id,
        "type": "function",
        "function": {"name": "run", "arguments": '{"command": "ls"}'},
    }
    assert second_body["messages"][3]["content"] == "[failed] no"
    assert "authorization" not in server.requests[0].headers
    assert server.broken == []


@pytest.mark.parametrize("path", ["/", "/chat/completions"])
def test_the_address_may_end_in_the_endpoint(play: Play, path: str) -> None:
    model, server = play(in_turn(Say("Yes.")), path=path)
    assert ask(model).message.text == "Yes."
    assert model.identity == f"openai:{server.url}#qwen"


def test_servers_without_ids_and_indices(play: Play) -> None:
    say = Say("", Call("run", {"n": 1}), Call("run", {"n": 2}))
    for streams in (True, False):
        model, server = play(in_turn(say, Say("Done.")), ids=False, streams=streams)
        first = ask(model)
        assert [item.arguments for item in first.message.calls] == [{"n": 1}, {"n": 2}]
        assert ask(model, GO, first.message, results(first)).stop == "ended"
        assert server.broken == []


def test_calls_in_one_piece_each(play: Play) -> None:
    pieces = [
        {"tool_calls": [call("run", '{"n": 1}', index=0, id="a"), call("run", '{"n": 2}', index=1, id="b")]},
        {"tool_calls": [call("run", {"n": 3}, index=1, id="c")]},
        {"tool_calls": [call("run", None, index=2, id="d")]},
    ]
    model, _ = play(in_turn(chunks(*pieces, reason="stop", done=False)))
    turn = ask(model)
    assert [(item.id, item.arguments) for item in turn.message.calls] == [
        ("a", {"n": 1}),
        ("b", {"n": 2}),
        ("c", {"n": 3}),
        ("d", {}),
    ]
    assert turn.stop == "tools"


def test_a_name_and_arguments_in_pieces_of_two_calls_at_once(play: Play) -> None:
    pieces = [
        {"tool_calls": [call("ru", "", index=0, id="a"), call("read", "", index=1, id="b")]},
        {"tool_calls": [call("n", '{"x"', index=0), call(None, '{"y": ', index=1)]},
        {"tool_calls": [call(None, "2}", index=1), call(None, ": 1}", index=0)]},
    ]
    model, _ = play(in_turn(chunks(*pieces, reason="tool_calls")))
    turn = ask(model)
    assert [(item.name, item.arguments) for item in turn.message.calls] == [
        ("run", {"x": 1}),
        ("read", {"y": 2}),
    ]


def test_more_calls_than_anyone_makes(play: Play) -> None:
    many = {"tool_calls": [call("run", "{}", index=number) for number in range(200)]}
    model, _ = play(in_turn(chunks(many, reason="tool_calls")))
    with pytest.raises(FailedTurnError, match="more than 128 calls") as failed:
        ask(model)
    assert failed.value.kind == "malformed"


def test_text_in_parts_and_a_refusal_in_its_own_field(play: Play) -> None:
    parts = [{"type": "text", "text": "A"}, {"type": "odd"}, {"type": "text", "text": "B"}]
    refusal = {"content": None, "refusal": "No.", "tool_calls": [call("run", "{}")]}
    streamed = chunks({"refusal": "N"}, {"refusal": "o."})
    model, _ = play(in_turn(whole({"content": parts}), whole(refusal), streamed))
    assert ask(model).message.text == "AB"
    for _ in range(2):
        turn = ask(model)
        assert (turn.stop, turn.message.text, turn.message.calls) == ("refused", "No.", ())


def test_thoughts_are_given_back_with_the_calls_that_came_of_them(play: Play) -> None:
    pieces = [
        {"reasoning_content": "Let me "},
        {"reasoning_content": "look.", "content": None},
        {"tool_calls": [call("run", "{}", index=0, id="a")]},
    ]
    alone = whole({"content": "Done.", "reasoning": "Well."})
    model, server = play(in_turn(chunks(*pieces, reason="tool_calls"), alone, Say("Bye.")))
    first = ask(model)
    second = ask(model, GO, first.message, results(first))
    ask(model, GO, first.message, results(first), second.message, UserMessage(text="Thanks."))
    said = [message for message in server.bodies[2]["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in said] == ["Let me look.", None]
    assert "reasoning" not in said[1]
    assert second.message.text == "Done."


@pytest.mark.parametrize(
    "body",
    [
        whole("text"),
        whole({"content": 7}),
        whole({"content": "A"}, None),
        whole({"content": None, "tool_calls": "run"}),
        whole({"content": None, "tool_calls": ["run"]}),
        whole({"content": None, "tool_calls": [{"function": "run"}]}),
        whole({"content": None, "tool_calls": [call("run", 7)]}),
        Body(b'{"choices": []}', kind="application/json"),
        Body(b'{"choices": ["A"]}', kind="application/json"),
        Body(b'data: {"choices": ["A"]}\n\n', kind="text/event-stream"),
        Body(b'data: {"choices": [{"delta": 7}]}\n\n', kind="text/event-stream"),
        Body(b"<!doctype html>", kind="application/json"),
    ],
)
def test_answers_that_are_none(play: Play, body: Body) -> None:
    model, server = play(in_turn(body))
    with pytest.raises(FailedTurnError) as failed:
        ask(model)
    assert failed.value.kind == "malformed"
    assert len(server.requests) == 1


def test_an_error_with_status_200_is_one(play: Play) -> None:
    error = Body(b'{"error": {"message": "loading model"}}', kind="application/json")
    model, _ = play(in_turn(error, error, Say("Here.")))
    assert ask(model).message.text == "Here."
    model, _ = play(in_turn(error))
    with pytest.raises(FailedTurnError, match="loading model"):
        ask(model)


def test_servers_that_take_another_limit(play: Play) -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."

    def script(asked: Asked) -> Any:
        return Refuse(400, message) if "max_tokens" in asked.body else Say("Yes.")

    model, server = play(script)
    assert ask(model).untold == 0
    assert ask(model).message.text == "Yes."
    assert [("max_tokens" in body, body.get("max_completion_tokens")) for body in server.bodies] == [
        (True, None),
        (False, 500),
        (False, 500),
    ]


def test_servers_that_do_not_know_stream_options(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    def script(asked: Asked) -> Any:
        return Refuse(422, "extra field: stream_options") if "stream_options" in asked.body else Say("Yes.")

    model, server = play(script)
    with caplog.at_level(logging.WARNING, logger="pytest_funcmem"):
        turns = [ask(model), ask(model)]
    assert [turn.usage_told for turn in turns] == [False, False]
    assert len(server.requests) == 3
    assert caplog.text.count("does not tell how many tokens") == 1


def test_a_server_that_refuses_whatever_is_left_out_is_not_asked_for_ever(play: Play) -> None:
    message = "max_completion_tokens and stream_options"
    model, server = play(in_turn(Refuse(400, message)))
    with pytest.raises(FailedTurnError) as failed:
        ask(model)
    assert failed.value.kind == "rejected"
    assert len(server.requests) == 3


def test_events_in_the_wildest_form_that_is_one(play: Play) -> None:
    text = (
        ": a comment\r\n\r\n"
        "id: 1\r\nretry: 5\r\n"
        'data: {"choices":\r\ndata: [{"delta": {"content": "A"}}]}\r\n\r\n'
        'data:{"choices": [{"delta": {"content": "B"}, "finish_reason": null}]}\r\r'
        'data: {"choices": [{"delta": {"content": "C"}, "finish_reason": "stop"}], "usage": null}'
    )
    pieces = (bytes([byte]) for byte in text.encode())
    model, _ = play(in_turn(Body(pieces, kind="text/event-stream")))
    assert ask(model).message.text == "ABC"


def test_the_key_is_sent_and_an_unfit_one_is_not_shown(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " sk-secret ")
    model, server = play(in_turn(Say("Yes.")))
    server.script = in_turn(Say("Yes."))
    assert ask(model).message.text == "Yes."
    for key in ("sk\nsecret", "sk-\u00e4-secret"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(ModelSpecError, match="OPENAI_API_KEY") as failed:
            play(in_turn(Say("Yes.")))
        assert "secret" not in str(failed.value)
