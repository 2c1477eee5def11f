"""Makes what a model wrote safe to hold: arguments of calls, names, ids, text. All of it is hostile.

Decides nothing by what is meant: a call of a tool that there is not, or arguments that its schema forbids,
are the caller's to judge.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_funcmem.core.records import Json
from pytest_funcmem.models.dialogue.records import Message, ModelMessage

__all__ = ["CallIds", "arguments_of", "count_of", "given_back", "known_name", "read_json", "sendable"]

_DEEPEST = 64
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_NAME = 64
_SHOWN = 80


def read_json(text: str) -> Any:
    """Parse JSON that is JSON by the letter: no NaN, no number too large, no depth that breaks a reader.

    Raises:
        ValueError: It is none.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        level = [inner for outer in level for inner in _inside(outer)]
    return value


def _inside(value: Any) -> Iterable[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in inner if isinstance(item, (dict, list)))


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number in it is too large")
    return value


def arguments_of(text: str, *, cut_off: bool) -> tuple[dict[str, Json], str]:
    """The arguments of a call, and why they are no JSON object; "" where they are one.

    Args:
        text: As the model wrote them; an empty text is a call without arguments.
        cut_off: Whether the model was stopped while it may have been writing them.
    """
    if not text.strip():
        return ({}, "it was cut off before its arguments") if cut_off else ({}, "")
    try:
        value = read_json(text)
    except ValueError as exc:
        reason = f"{exc.msg} at character {exc.pos}" if isinstance(exc, json.JSONDecodeError) else str(exc)
        cut = "they were cut off: " if cut_off else ""
        return {}, f"{cut}its arguments are no JSON: {reason}"
    if not isinstance(value, dict):
        return {}, f"its arguments are no JSON object: {sendable(text)[:_SHOWN]}"
    return sendable(value), ""


def given_back(arguments: Mapping[str, Json], malformed: str, text: str) -> dict[str, Json]:
    """Arguments as an object that every API takes back, malformed ones in the form that is usual for them."""
    return {"INVALID_JSON": sendable(text)} if malformed else dict(arguments)


def known_name(name: str) -> str:
    """The name of a tool as every API takes it back; the model may have called what is no name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST_NAME] or "unnamed"


def count_of(value: object) -> int | None:
    """A count of tokens; None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def sendable(value: Any) -> Any:
    """A text, or JSON, whose texts have a form in UTF-8: lone surrogates are replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sendable(item) for item in value]
    return value


class CallIds:
    """Gives every call of a dialogue an id of its own, the API's wherever that is one.

    Args:
        messages: The dialogue so far.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self._taken = {
            call.id for message in messages if isinstance(message, ModelMessage) for call in message.calls
        }

    def of(self, given: object) -> str:
        """The id of a call that the API named so."""
        name = given if isinstance(given, str) and _ID.fullmatch(given) else ""
        number = len(self._taken)
        while not name or name in self._taken:
            number += 1
            name = f"call_{number}"
        self._taken.add(name)
        return name
