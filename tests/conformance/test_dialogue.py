"""What every model that can be talked to keeps to, whichever API it is reached by."""

from __future__ import annotations

import pickle

import pytest
from dialogue_support import KEY, Play, answers, ask
from played_models import (
    Asked,
    Call,
    Refuse,
    Say,
    StreamError,
    in_turn,
)

from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.records import (
    Message,
    ModelMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)

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
