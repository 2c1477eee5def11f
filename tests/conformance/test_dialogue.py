"""What every model that can be talked to keeps to, whichever API it is reached by."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from played_models import (
    Asked,
    Body,
    Call,
    PlayedAnthropic,
    PlayedOpenAi,
    PlayedServer,
    Refuse,
    Say,
    Script,
    Silence,
    StreamError,
    in_turn,
)

from pytest_funcmem.core.errors import EngineError, ModelSpecError
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.opening import open_dialogue
from pytest_funcmem.models.dialogue.records import (
    DialogueModel,
    Message,
    ModelMessage,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    UserMessage,
)
from pytest_funcmem.models.http_answers import RetryPolicy

Play = Callable[..., tuple[DialogueModel, PlayedServer]]

RUN = Tool(
    name="run",
    description="Run a command.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
)
READ = Tool(name="read", description="Read a file.", parameters={"type": "object", "properties": {}})
KEY = "sk-very-secret"
QUICK = RetryPolicy(attempts=3, first_wait_s=0.01, longest_wait_s=0.3)


@pytest.fixture(params=("anthropic", "openai", "openai-whole"))
def play(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as stack:

        def start(script: Script, *, timeout_s: float = 10.0) -> tuple[DialogueModel, PlayedServer]:
            server: PlayedServer
            if request.param == "anthropic":
                server = stack.enter_context(PlayedAnthropic(script))
                monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
                spec = "anthropic:claude-sonnet-5"
            else:
                server = stack.enter_context(PlayedOpenAi(script, streams=request.param == "openai"))
                spec = f"openai:{server.url}#qwen"
            model = open_dialogue(spec, timeout_s=timeout_s, retry=QUICK)
            stack.callback(model.close)
            return model, server

        yield start


streamed = pytest.mark.parametrize("play", ["anthropic", "openai"], indirect=True)
"""For faults that do not depend on whether an answer comes in one piece."""


def ask(model: DialogueModel, *messages: Message, **settings: Any) -> Turn:
    settings = {"max_tokens": 500, **settings}
    return model.turn("You build harnesses.", messages or (UserMessage(text="Go."),), [RUN, READ], **settings)


def answers(turn: Turn, text: str = "done") -> UserMessage:
    results = tuple(
        ToolResult(call=call.id, text=call.malformed or text, is_error=bool(call.malformed))
        for call in turn.message.calls
    )
    return UserMessage(results=results)


# ---------------------------------------------------------------------------------------------- conversations


def test_a_conversation_of_several_turns(play: Play) -> None:
    def script(asked: Asked) -> Say:
        if asked.turn == 0:
            return Say("I will look.", Call("run", {"command": "ls 'ä'"}))
        if asked.turn == 1:
            return Say("", Call("read", {"path": asked.results[0].text}))
        return Say(f"It holds {asked.results[0].text}.")

    model, server = play(script)
    dialogue: list[Message] = [UserMessage(text="Go.")]
    first = ask(model, *dialogue)
    assert (first.message.text, first.stop) == ("I will look.", "tools")
    assert [(call.name, call.arguments) for call in first.message.calls] == [("run", {"command": "ls 'ä'"})]
    dialogue += [first.message, answers(first, "a.py")]
    second = ask(model, *dialogue)
    assert (second.message.text, second.stop) == ("", "tools")
    assert second.message.calls[0].arguments == {"path": "a.py"}
    dialogue += [second.message, answers(second, "x = 1")]
    third = ask(model, *dialogue)
    assert (third.message.text, third.stop, third.message.calls) == ("It holds x = 1.", "ended", ())

    assert server.broken == []
    assert [asked.turn for asked in server.requests] == [0, 1, 2]
    last = server.requests[-1]
    assert last.system == "You build harnesses."
    assert last.tools == ("run", "read")
    assert last.said == ("Go.",)
    assert last.called == ("run", "read")
    assert last.max_tokens == 500


def test_usage_is_told_and_grows_with_the_dialogue(play: Play) -> None:
    model, server = play(lambda asked: Say("Yes. " * 10, *([Call("run")] if asked.turn == 0 else [])))
    first = ask(model, UserMessage(text="word " * 100))
    second = ask(model, UserMessage(text="word " * 100), first.message, answers(first))
    for turn in (first, second):
        assert turn.usage_told
        assert turn.untold == 0
        assert turn.usage.output > 10
    assert first.usage.total - first.usage.output > 100
    assert second.usage.total - second.usage.output > first.usage.total - first.usage.output
    assert first.answered_by == server.bodies[0]["model"]


def test_calls_in_parallel_keep_their_order(play: Play) -> None:
    def script(asked: Asked) -> Say:
        if asked.turn == 0:
            return Say("", Call("run", {"command": "1"}), Call("read"), Call("run", {"command": "3"}))
        return Say(" ".join(result.text for result in asked.results))

    model, server = play(script)
    first = ask(model)
    assert [(call.name, call.arguments.get("command")) for call in first.message.calls] == [
        ("run", "1"),
        ("read", None),
        ("run", "3"),
    ]
    assert len({call.id for call in first.message.calls}) == 3
    results = tuple(
        ToolResult(call=call.id, text=f"r{number}", is_error=number == 1)
        for number, call in enumerate(first.message.calls)
    )
    second = ask(model, UserMessage(text="Go."), first.message, UserMessage(results=results, text="And now?"))
    assert second.message.text == "r0 r1 r2"
    asked = server.requests[-1]
    assert [result.is_error for result in asked.results] == [False, True, False]
    assert [result.call for result in asked.results] == [call.id for call in first.message.calls]
    assert asked.said == ("Go.", "And now?")
    assert server.broken == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ('{"command": "ls"', "no JSON"),
        ("[1, 2]", "no JSON object"),
        ('"ls"', "no JSON object"),
        ("null", "no JSON object"),
        ('{"n": NaN}', "NaN"),
        ('{"n": 1e999}', "too large"),
        ('{"n": ' + "9" * 5000 + "}", "no JSON"),
        ('{"n": ' + "[" * 100 + "]" * 100 + "}", "too deep"),
        ('{"n": ' + "[" * 100_000 + "]" * 100_000 + "}", "too deep"),
    ],
)
def test_malformed_arguments_are_said_and_can_be_answered(play: Play, given: str, reason: str) -> None:
    model, server = play(in_turn(Say("", Call("run", given), Call("read")), Say("I see.")))
    first = ask(model)
    bad, good = first.message.calls
    assert first.stop == "tools"
    assert bad.arguments == {}
    assert reason in bad.malformed
    assert len(bad.malformed) < 200
    assert good.malformed == ""
    second = ask(model, UserMessage(text="Go."), first.message, answers(first))
    assert second.message.text == "I see."
    assert server.broken == []
    assert bad.malformed in [result.text for result in server.requests[-1].results]


def test_a_stop_for_length_amid_a_call(play: Play) -> None:
    def script(asked: Asked) -> Say:
        limit = "max_tokens" if "system" in asked.body else "length"
        if asked.turn == 0:
            return Say("Long", Call("read"), Call("run", '{"command": "ec'), stop=limit)
        return Say("", Call("run", ""), stop=limit) if asked.turn == 1 else Say("Short.")

    model, server = play(script)
    first = ask(model)
    assert first.stop == "length"
    assert [bool(call.malformed) for call in first.message.calls] == [False, True]
    assert "cut off" in first.message.calls[1].malformed
    dialogue = [UserMessage(text="Go."), first.message, answers(first)]
    second = ask(model, *dialogue)
    assert "cut off" in second.message.calls[0].malformed
    assert ask(model, *dialogue, second.message, answers(second)).stop == "ended"
    assert server.broken == []


def test_a_refusal_ends_without_calls(play: Play) -> None:
    def script(asked: Asked) -> Say:
        reason = "refusal" if "system" in asked.body else "content_filter"
        return Say("I can't.", Call("run"), stop=reason) if asked.turn == 0 else Say("Fine.")

    model, server = play(script)
    first = ask(model)
    assert (first.stop, first.message.calls, first.message.text) == ("refused", (), "I can't.")
    assert first.usage.output > 0
    again = ask(model, UserMessage(text="Go."), first.message, UserMessage(text="Please."))
    assert again.message.text == "Fine."
    assert server.broken == []


def test_ids_are_made_unique(play: Play) -> None:
    twice = Say("", *(Call("run", id=given) for given in ("a", "a", "no id; at all", "")))
    model, server = play(in_turn(twice, twice, Say("Done.")))
    first = ask(model)
    dialogue: list[Message] = [UserMessage(text="Go."), first.message, answers(first)]
    second = ask(model, *dialogue)
    ids = [call.id for call in (*first.message.calls, *second.message.calls)]
    assert ids[0] == "a"
    assert len(set(ids)) == 8
    assert ask(model, *dialogue, second.message, answers(second)).stop == "ended"
    assert server.broken == []


def test_calls_of_what_is_no_tool_come_through(play: Play) -> None:
    name = "rm -rf / ; 'ü'" + "x" * 300
    model, server = play(in_turn(Say("", Call(name)), Say("Sorry.")))
    first = ask(model)
    assert first.message.calls[0].name == name[:200]
    assert ask(model, UserMessage(text="Go."), first.message, answers(first)).stop == "ended"
    assert server.requests[-1].called[0].startswith("rm_-rf____")
    assert len(server.requests[-1].called[0]) <= 64


def test_a_message_that_says_nothing_can_be_gone_on_from(play: Play) -> None:
    model, server = play(in_turn(Say(""), Say("Now.")))
    first = ask(model)
    assert (first.message.text, first.stop) == ("", "ended")
    second = ask(model, UserMessage(text="Go."), first.message, UserMessage(text="Say something."))
    assert second.message.text == "Now."
    assert server.broken == []


def test_text_without_a_form_in_utf8_is_sent_all_the_same(play: Play) -> None:
    model, server = play(in_turn(Say("", Call("run", '{"command": "\\ud800"}')), Say("Done.")))
    first = ask(model, UserMessage(text="a \udcff b \x00"))
    command = first.message.calls[0].arguments["command"]
    assert isinstance(command, str)
    command.encode()
    second = ask(
        model, UserMessage(text="a \udcff b \x00"), first.message, answers(first, "out \ud800 \U0001f980")
    )
    assert second.stop == "ended"
    assert server.requests[-1].results[0].text == "out ? \U0001f980"
    assert server.requests[-1].said == ("a ? b \x00",)


def test_a_dialogue_kept_as_json_goes_on(play: Play) -> None:
    """A message that another client wrote, or nobody, is told by its text and its calls."""
    model, server = play(lambda asked: Say(f"{asked.turn} {asked.called} {asked.results[0].text}"))
    call = ToolCall(id="call_7", name="run", arguments={"command": "ls"})
    for raw in (None, {"other": [{"type": "odd"}]}, 7):
        said = ModelMessage(text="Look.", calls=(call,), raw=raw)
        told = UserMessage(results=(ToolResult(call="call_7", text="r"),))
        turn = ask(model, UserMessage(text="Go."), said, told)
        assert turn.message.text == "1 ('run',) r"
    assert server.broken == []


def test_no_system_prompt_and_no_tools(play: Play) -> None:
    model, server = play(in_turn(Say("Hello.")))
    turn = model.turn("", [UserMessage(text="Hi.")], max_tokens=5)
    assert turn.message.text == "Hello."
    assert "tools" not in server.bodies[0]
    assert server.requests[0].system == ""


CALL = ToolCall(id="c", name="run")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [UserMessage(text=" ")],
        [UserMessage(text="Go."), ModelMessage(text="Yes.")],
        [UserMessage(text="Go."), ModelMessage(text="", calls=(CALL,)), UserMessage(text="Hm.")],
        [UserMessage(text="Go."), UserMessage(results=(ToolResult(call="c", text="r"),))],
        [
            UserMessage(text="Go."),
            ModelMessage(text="", calls=(CALL,)),
            UserMessage(results=(ToolResult(call="d", text="r"),)),
        ],
    ],
)
def test_what_is_no_dialogue_is_not_sent(play: Play, messages: list[Message]) -> None:
    model, server = play(in_turn(Say("Hello.")))
    with pytest.raises(ValueError, match=r"message|dialogue"):
        ask(model, *messages) if messages else model.turn("", [], max_tokens=5)
    assert server.requests == []


# ----------------------------------------------------------------------------------------------------- faults


@streamed
@pytest.mark.parametrize("status", [429, 500, 502, 529])
def test_failures_that_pass_are_repeated(play: Play, status: int) -> None:
    model, server = play(in_turn(Refuse(status), Refuse(status), Say("Here.")))
    turn = ask(model)
    assert turn.message.text == "Here."
    assert len(server.requests) == 3
    assert turn.untold == 0
    assert server.bodies[0] == server.bodies[2]


@streamed
def test_retry_after_is_kept_to_and_bounded(play: Play) -> None:
    limited = Refuse(429, headers={"Retry-After": "0.2"})
    model, _ = play(in_turn(limited, Refuse(429, headers={"Retry-After": "86400"}), Say("Here.")))
    begun = time.monotonic()
    assert ask(model).message.text == "Here."
    assert 0.5 <= time.monotonic() - begun < 5.0  # 0.2 as asked, then 0.3, the policy's longest


@streamed
def test_what_goes_on_failing_ends_in_an_error(play: Play) -> None:
    model, server = play(in_turn(Refuse(529, message=f"Overloaded {KEY}")))
    with pytest.raises(FailedTurnError, match=r"3 times.*529") as failed:
        ask(model)
    assert len(server.requests) == 3
    assert failed.value.kind == "failed"
    assert (failed.value.usage, failed.value.untold) == (Usage(), 0)
    assert KEY not in str(failed.value)


@streamed
@pytest.mark.parametrize(("status", "kind"), [(400, "rejected"), (413, "rejected"), (422, "rejected")])
def test_a_request_that_is_refused_is_not_repeated(play: Play, status: int, kind: str) -> None:
    model, server = play(in_turn(Refuse(status, message="prompt is too long")))
    with pytest.raises(FailedTurnError, match="prompt is too long") as failed:
        ask(model)
    assert failed.value.kind == kind
    assert len(server.requests) == 1


@streamed
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_the_users_to_mend(play: Play, status: int) -> None:
    model, server = play(in_turn(Refuse(status, message=f"bad key {KEY}\x1b[31m")))
    with pytest.raises(ModelSpecError, match="bad key") as failed:
        ask(model)
    assert len(server.requests) == 1
    assert KEY not in str(failed.value)
    assert "\x1b" not in str(failed.value)


@streamed
def test_redirects_are_not_followed(play: Play) -> None:
    with PlayedOpenAi(in_turn(Say("Here."))) as elsewhere:
        model, _ = play(in_turn(Refuse(307, headers={"Location": elsewhere.url})))
        with pytest.raises((ModelSpecError, EngineError)):
            ask(model)
        assert elsewhere.requests == []


@streamed
def test_a_cut_stream_is_asked_for_again(play: Play) -> None:
    cut = Say("The beginning of a long answer", Call("run", {"command": "x" * 50}), cut_after=4)
    model, server = play(in_turn(cut, Say("Whole.")))
    turn = ask(model)
    assert turn.message.text == "Whole."
    assert turn.message.calls == ()
    assert turn.untold == 1
    assert len(server.requests) == 2


def test_an_error_inside_the_stream(play: Play) -> None:
    model, server = play(in_turn(StreamError(), StreamError(), Say("Whole.")))
    turn = ask(model)
    assert turn.message.text == "Whole."
    assert turn.untold == 2
    assert len(server.requests) == 3


@streamed
def test_silence_is_given_up_and_asked_again(play: Play) -> None:
    model, server = play(in_turn(Silence(30, after_headers=False), Silence(30), Say("Here.")), timeout_s=0.4)
    begun = time.monotonic()
    turn = ask(model)
    assert turn.message.text == "Here."
    assert turn.untold == 2
    assert time.monotonic() - begun < 10
    assert len(server.requests) == 3


@streamed
def test_silence_for_ever_says_so(play: Play) -> None:
    model, _ = play(in_turn(Silence(30)), timeout_s=0.5)
    with pytest.raises(FailedTurnError, match=r"silent for 0\.5 s") as failed:
        ask(model)
    assert failed.value.untold == 3


@streamed
def test_a_slow_drip_that_goes_on_is_waited_for(play: Play) -> None:
    drip = Say("A slow answer, all of it.", Call("run", {"command": "ls"}), pause_s=0.15)
    model, server = play(in_turn(drip), timeout_s=1.0)
    begun = time.monotonic()
    turn = ask(model)
    assert turn.message.text == "A slow answer, all of it."
    assert turn.untold == 0
    assert len(server.requests) == 1
    assert time.monotonic() - begun > 1.2


@streamed
def test_a_server_that_is_not_there(play: Play) -> None:
    model, server = play(in_turn(Say("Here.")))
    server.close()
    with pytest.raises(FailedTurnError, match="no connection") as failed:
        ask(model)
    assert failed.value.untold == 0


@streamed
@pytest.mark.parametrize(
    "body",
    [
        Body(b"<html>Sign in</html>"),
        Body(b"hello", kind="text/plain"),
        Body(b"", kind="application/octet-stream"),
        Body(b'data: {"hello": 1}\n\n', kind="text/event-stream"),
        Body(b"data: [1]\n\n", kind="text/event-stream"),
        Body(b'event: x\ndata: {"type": "content_block_stop"}\n\n', kind="text/event-stream"),
        Body(b'{"hello": 1}', kind="application/json"),
    ],
    ids=lambda body: f"{body.kind}-{len(body.content)}",
)
def test_what_is_no_answer_is_no_answer(play: Play, body: Body) -> None:
    model, server = play(in_turn(body))
    with pytest.raises(FailedTurnError) as failed:
        ask(model)
    assert failed.value.kind == "malformed"
    assert len(server.requests) == 1
    assert failed.value.remedy


@streamed
@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: " + b"[" * 100_000 + b"\n\n", b""])
def test_a_stream_that_cannot_be_read_is_a_broken_one(play: Play, data: bytes) -> None:
    model, server = play(in_turn(Body(data, kind="text/event-stream")))
    with pytest.raises(FailedTurnError) as failed:
        ask(model)
    assert failed.value.kind == "failed"
    assert failed.value.untold == 3
    assert len(server.requests) == 3


@streamed
def test_an_endless_answer_is_not_read_to_its_end(play: Play) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        yield b"data: "
        while sent < 400:
            sent += 1
            yield b"x" * 1_000_000

    model, _ = play(in_turn(Body(endless(), kind="text/event-stream")))
    with pytest.raises(FailedTurnError, match="larger than 64 MiB") as failed:
        ask(model)
    assert failed.value.kind == "malformed"
    assert sent < 200


@streamed
@pytest.mark.parametrize("reason", ["function_call", "dreaming\x1b[0m"])
def test_an_unknown_reason_to_stop_is_named(play: Play, reason: str) -> None:
    model, _ = play(in_turn(Say("Hm.", stop=reason)))
    with pytest.raises(FailedTurnError, match=reason[:8]) as failed:
        ask(model)
    assert failed.value.kind == "malformed"
    assert failed.value.usage.output > 0
    assert "\x1b" not in str(failed.value)


def test_waiting_for_tools_that_were_not_called(play: Play) -> None:
    def script(asked: Asked) -> Say:
        return Say("Hm.", stop="tool_use" if "system" in asked.body else "tool_calls")

    model, _ = play(script)
    with pytest.raises(FailedTurnError, match="calls none"):
        ask(model)


def test_usage_that_is_not_told(play: Play) -> None:
    model, _ = play(in_turn(Say("Hello.", usage=None)))
    turn = ask(model)
    assert not turn.usage_told
    assert turn.usage == Usage()


@streamed
@pytest.mark.parametrize("count", [-1, "12", 1.5, None, True, 10**400])
def test_counts_that_are_none_are_not_told(play: Play, count: Any) -> None:
    usage = {"input_tokens": count, "prompt_tokens": count, "output_tokens": 3, "completion_tokens": 3}
    model, _ = play(in_turn(Say("Hello.", usage=usage)))
    turn = ask(model)
    assert not turn.usage_told
    assert turn.usage.input == 0


# ------------------------------------------------------------------------------------------------ giving up


@streamed
@pytest.mark.parametrize(
    "answer",
    [Silence(30), Silence(30, after_headers=False), Say("x" * 4000, pause_s=0.1), Refuse(529)],
    ids=["silence", "no-headers", "drip", "waiting"],
)
def test_a_cancelled_request_is_given_up_at_once(play: Play, answer: Any) -> None:
    slow = RetryPolicy(attempts=2, first_wait_s=30.0)
    model, server = play(in_turn(answer), timeout_s=30)
    model._retry = slow  # type: ignore[attr-defined]  # or the wait would be over too soon
    cancelled = threading.Event()
    threading.Timer(0.4, cancelled.set).start()
    begun = time.monotonic()
    with pytest.raises(FailedTurnError, match="given up") as failed:
        ask(model, cancelled=cancelled.is_set)
    assert 0.3 < time.monotonic() - begun < 5
    assert failed.value.kind == "cancelled"
    assert failed.value.untold == (0 if isinstance(answer, Refuse) else 1)
    assert len(server.requests) == 1


@streamed
def test_another_attempt_is_made_only_where_it_may_be_paid_for(play: Play) -> None:
    model, server = play(in_turn(Refuse(529), StreamError(), StreamError(), Say("Whole.")))
    asked: list[bool] = []

    def may_repeat() -> bool:
        asked.append(len(asked) < 1)
        return asked[-1]

    model._retry = RetryPolicy(attempts=9, first_wait_s=0.01)  # type: ignore[attr-defined]
    with pytest.raises(FailedTurnError, match="no room for another") as failed:
        ask(model, may_repeat=may_repeat)
    assert asked == [True, False]
    assert failed.value.kind == "unaffordable"
    assert failed.value.untold == 2
    assert len(server.requests) == 3
    assert ask(model, may_repeat=lambda: False).message.text == "Whole."


@streamed
def test_what_cancelled_raises_comes_through(play: Play) -> None:
    model, _ = play(in_turn(Silence(30)))

    def stop() -> bool:
        if calls.append(1) or len(calls) > 2:
            raise KeyboardInterrupt
        return False

    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        ask(model, cancelled=stop)


@streamed
def test_nothing_is_sent_for_what_is_cancelled_before(play: Play) -> None:
    model, server = play(in_turn(Say("Here.")))
    with pytest.raises(FailedTurnError, match="given up"):
        ask(model, cancelled=lambda: True)
    assert server.requests == []


def test_several_dialogues_at_once(play: Play) -> None:
    model, server = play(lambda asked: Say(asked.said[0] * 3, pause_s=0.01))

    def talk(number: int) -> str:
        return ask(model, UserMessage(text=f"{number};")).message.text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(talk, range(24))) == [f"{number};" * 3 for number in range(24)]
    assert len(server.requests) == 24


def test_closing_gives_up_what_is_under_way(play: Play) -> None:
    model, server = play(in_turn(Silence(30)))

    def close() -> None:
        while not server.requests:
            time.sleep(0.02)
        model.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(FailedTurnError, match="given up"):
        ask(model)
    closing.join()


def test_closing_twice_and_after_nothing(play: Play) -> None:
    model, _ = play(in_turn(Say("Here.")))
    model.close()
    model.close()
    with pytest.raises(ValueError, match="closed"):
        ask(model)


# -------------------------------------------------------------------------------------------- what is kept


def test_the_identity_names_the_model_and_no_secret(play: Play) -> None:
    model, server = play(in_turn(Say("Here.")))
    ask(model)
    assert model.identity.endswith(server.bodies[0]["model"])
    assert KEY not in model.identity


def test_neither_key_nor_request_is_logged(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    model, _ = play(in_turn(Refuse(500), StreamError(), Say("Confidential answer.")))
    ask(model, UserMessage(text="Confidential question."))
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "asking again" in text
    assert "Confidential" not in text
    assert KEY not in text


def test_a_failure_can_be_sent_between_processes() -> None:
    failure = FailedTurnError(
        "Gone.", kind="cancelled", usage=Usage(input=3), untold=1, where="w", expected="e", remedy="r"
    )
    copy = pickle.loads(pickle.dumps(failure))
    assert (copy.kind, copy.usage, copy.untold, str(copy)) == ("cancelled", Usage(input=3), 1, str(failure))
