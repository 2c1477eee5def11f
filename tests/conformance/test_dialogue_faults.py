"""What every model that can be talked to does when its server fails, and when it is given up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dialogue_support import KEY, Play, ask, streamed
from played_models import (
    Asked,
    Body,
    Call,
    PlayedOpenAi,
    Refuse,
    Say,
    Silence,
    StreamError,
    in_turn,
)

from pytest_funcmem.core.errors import EngineError, ModelSpecError
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.records import (
    Usage,
    UserMessage,
)
from pytest_funcmem.models.http_answers import RetryPolicy

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
