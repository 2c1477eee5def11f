"""Turns and messages as plain JSON, for stores and digests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pytest_funcmem.core.records import Json
from pytest_funcmem.models.dialogue.records import (
    ModelMessage,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    UserMessage,
)

__all__ = ["message_json", "read_results", "read_turn", "turn_json"]

_USAGE = ("input", "output", "cache_read", "cache_write")


def message_json(message: UserMessage | ModelMessage) -> Json:
    """A message; equal messages give equal JSON."""
    if isinstance(message, UserMessage):
        results: list[Json] = [[result.call, result.text, result.is_error] for result in message.results]
        return {"text": message.text, "results": results}
    calls: list[Json] = [
        {"id": call.id, "name": call.name, "arguments": dict(call.arguments), "malformed": call.malformed}
        for call in message.calls
    ]
    return {"text": message.text, "calls": calls, "raw": message.raw}


def turn_json(turn: Turn) -> Json:
    """A turn; ``read_turn`` gives an equal one back."""
    return {
        "message": message_json(turn.message),
        "stop": turn.stop,
        "usage": {name: getattr(turn.usage, name) for name in _USAGE},
        "usage_told": turn.usage_told,
        "untold": turn.untold,
        "answered_by": turn.answered_by,
    }


def read_turn(value: Json) -> Turn | None:
    """The turn; None for what is none."""
    try:
        return _turn(value)
    except (KeyError, TypeError):
        return None


def read_results(value: Json, message: ModelMessage) -> tuple[ToolResult, ...] | None:
    """Results as ``message_json`` writes them; None where they are not those of the message's calls."""
    try:
        found = tuple(
            ToolResult(call=_text(call), text=_text(text), is_error=is_error is True)
            for call, text, is_error in value
        )
    except (TypeError, ValueError):
        return None
    return found if [result.call for result in found] == [call.id for call in message.calls] else None


def _turn(value: Json) -> Turn:
    message, usage = _object(value["message"]), _object(value["usage"])
    if value["stop"] not in get_args(Stop):
        raise TypeError(value["stop"])
    calls = tuple(
        ToolCall(
            id=_text(call["id"]),
            name=_text(call["name"]),
            arguments=_object(call["arguments"]),
            malformed=_text(call["malformed"]),
        )
        for call in message["calls"]
    )
    return Turn(
        message=ModelMessage(text=_text(message["text"]), calls=calls, raw=message["raw"]),
        stop=value["stop"],
        usage=Usage(**{name: _count(usage[name]) for name in _USAGE}),
        usage_told=value["usage_told"] is True,
        untold=_count(value["untold"]),
        answered_by=_text(value["answered_by"]),
    )


def _object(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _count(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(value)
    return value
