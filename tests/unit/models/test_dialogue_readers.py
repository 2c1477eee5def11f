"""Readers of what a model's server sends: whatever comes, an answer or one of the errors that are meant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.models.dialogue.anthropic_stream import AnswerReader
from pytest_funcmem.models.dialogue.chat_stream import ChatReader
from pytest_funcmem.models.dialogue.events import ServerEvent, server_events
from pytest_funcmem.models.dialogue.exchange import MalformedAnswerError, Meter, RejectedError
from pytest_funcmem.models.dialogue.hostile import (
    CallIds,
    arguments_of,
    count_of,
    known_name,
    read_json,
    sendable,
)
from pytest_funcmem.models.dialogue.records import ModelMessage, ToolCall
from pytest_funcmem.models.http_answers import PassingError, Shown

MEANT = (PassingError, RejectedError, MalformedAnswerError, ModelSpecError)

# Not seldom what an API would send, and not seldom something else in its place.
texts = st.text(max_size=8) | st.sampled_from(["tool_use", "end_turn", "{}", '{"a": 1}', "[[["])
floats = st.floats(allow_nan=False, allow_infinity=False)
odd = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def mostly(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 39).flatmap(lambda number: strategy if number else odd)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return mostly(st.fixed_dictionaries({}, optional={name: mostly(value) for name, value in fields.items()}))


counts = st.integers(-1, 100)
usage = record(
    input_tokens=counts,
    output_tokens=counts,
    cache_read_input_tokens=counts,
    prompt_tokens=counts,
    completion_tokens=counts,
)
started = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_use", "redacted_thinking", "new"])},
    optional={"text": mostly(texts), "id": mostly(texts), "name": mostly(texts), "input": odd},
)
deltas = st.one_of(
    st.fixed_dictionaries({"type": st.just("text_delta"), "text": mostly(texts)}),
    st.fixed_dictionaries({"type": st.just("input_json_delta"), "partial_json": mostly(texts)}),
    st.fixed_dictionaries({"type": st.just("thinking_delta"), "thinking": mostly(texts)}),
    st.fixed_dictionaries(
        {"type": st.just("citations_delta"), "citation": st.dictionaries(texts, odd, max_size=2)}
    ),
)
ended = st.fixed_dictionaries(
    {
        "type": st.just("message_delta"),
        "delta": record(stop_reason=texts | st.just("max_tokens"), stop_details=odd),
        "usage": usage,
    }
)
others = record(type=st.sampled_from(["error", "ping", "message_stop", "later"]), error=odd)


@st.composite
def message_streams(draw: st.DrawFn) -> list[Any]:
    """An answer of the Messages API, and now and then something else in a place of it."""
    found: list[Any] = []
    for index, (block, pieces) in enumerate(
        draw(st.lists(st.tuples(mostly(started), st.lists(mostly(deltas), max_size=3)), max_size=4))
    ):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found += [{"type": "content_block_delta", "index": index, "delta": piece} for piece in pieces]
    found.append(draw(mostly(ended)))
    if draw(st.integers(0, 9)) == 0:
        found.insert(draw(st.integers(0, len(found))), draw(others))
    return found


calls = mostly(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({}, optional={"name": mostly(texts), "arguments": mostly(texts)})},
        optional={"index": mostly(st.integers(0, 2)), "id": mostly(texts)},
    )
)
parts = record(content=texts, refusal=texts, reasoning_content=texts, tool_calls=st.lists(calls, max_size=3))
choices = mostly(
    st.fixed_dictionaries({"delta": parts, "message": parts}, optional={"finish_reason": mostly(texts)})
)
chunks = mostly(
    st.fixed_dictionaries(
        {"choices": mostly(st.lists(choices, min_size=1, max_size=2))},
        optional={"usage": usage, "model": mostly(texts)},
    )
)


def held_to(calls: Sequence[ToolCall]) -> None:
    assert len({call.id for call in calls}) == len(calls)
    for call in calls:
        assert isinstance(call.arguments, dict)
        assert not (call.malformed and call.arguments)
        json.dumps(call.arguments, allow_nan=False).encode()


@settings(max_examples=120, deadline=None)
@given(message_streams())
def test_no_stream_of_the_messages_api_breaks_its_reader(stream: list[Any]) -> None:
    meter = Meter()
    meter.begin()
    reader = AnswerReader(meter=meter, shown=Shown(""), where="m")
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 1}}}
    try:
        for event in (start, *stream):
            reader.see(ServerEvent(name="", data=json.dumps(event)))
    except MEANT:
        return
    back, calls = reader.blocks(CallIds(()))
    held_to(calls)
    json.dumps(back, ensure_ascii=False, allow_nan=False).encode("utf-8")
    meter.end()
    assert meter.totals()[0].input >= 0


@settings(max_examples=120, deadline=None)
@given(st.lists(chunks, max_size=6), st.booleans())
def test_no_answer_of_a_chat_endpoint_breaks_its_reader(stream: list[Any], whole: bool) -> None:
    reader = ChatReader(meter=Meter(), shown=Shown(""))
    try:
        for chunk in stream:
            reader.see(json.dumps(chunk), whole=whole)
    except MEANT:
        return
    back, calls = reader.calls(CallIds(()))
    held_to(calls)
    json.dumps([back, reader.text, reader.thoughts], ensure_ascii=False, allow_nan=False).encode("utf-8")
    for call in back:
        function = call["function"]
        assert isinstance(function, dict)
        assert isinstance(json.loads(str(function["arguments"])), dict)


async def _events(pieces: list[bytes]) -> list[ServerEvent]:
    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return [event async for event in server_events(chunks())]


LINES = st.sampled_from(["data: a", "data:b", "event: e", ": c", "", "", "id: 1", "data", "dat\u00e4"])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(LINES, max_size=9),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 80), max_size=6),
)
def test_events_are_the_same_however_they_are_cut(lines: list[str], end: str, cuts: list[int]) -> None:
    raw = (end.join(lines) + end).encode()
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[start:stop] for start, stop in pairwise(places)]
    assert b"".join(pieces) == raw
    found = asyncio.run(_events(pieces))
    assert found == asyncio.run(_events([raw]))
    assert sum(event.data.count("a") for event in found) == lines.count("data: a")


def test_a_long_line_is_read_in_linear_time() -> None:
    pieces = [b"data: ", *[b"x" * 2000] * 10_000, b"\n\n"]
    (event,) = asyncio.run(_events(pieces))
    assert len(event.data) == 20_000_000


@given(st.text() | odd.map(json.dumps), st.booleans())
def test_arguments_are_an_object_or_malformed(text: str, cut_off: bool) -> None:
    arguments, malformed = arguments_of(text, cut_off=cut_off)
    assert isinstance(arguments, dict)
    if not malformed and text.strip():
        assert isinstance(json.loads(text), dict)
    json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode("utf-8")


@given(st.text())
def test_names_are_such_as_every_api_takes(text: str) -> None:
    name = known_name(text)
    assert 1 <= len(name) <= 64
    assert all(char.isascii() and (char.isalnum() or char in "_-") for char in name)
    assert known_name(name) == name


@given(odd)
def test_what_is_sent_has_a_form_in_utf8(value: Any) -> None:
    json.dumps(sendable(value), ensure_ascii=False).encode("utf-8")


def test_lone_surrogates_are_replaced_in_keys_too() -> None:
    assert sendable({"\ud800": ["a\udfff", {"b": "\U0001f980"}]}) == {"?": ["a?", {"b": "\U0001f980"}]}


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e400", "[" * 99 + "]" * 99, "{", ""])
def test_json_that_is_none_by_the_letter(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_counts() -> None:
    assert [count_of(value) for value in (0, 7, -1, True, 1.0, "1", None, 2**60)] == [0, 7, *[None] * 6]


def test_ids_of_a_dialogue_are_not_given_again() -> None:
    said = ModelMessage(text="", calls=(ToolCall(id="call_1", name="run"), ToolCall(id="b", name="run")))
    ids = CallIds([said])
    found = [ids.of(given) for given in ("call_1", "b", "c", None, 7, "", "x" * 65, "c")]
    assert len({*found, "call_1", "b"}) == 10
    assert found[2] == "c"
