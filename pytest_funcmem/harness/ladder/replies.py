"""Reads what the model of the ladder replied: hostile text, held strictly to the form that was asked for."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from typing import NoReturn

from pytest_funcmem.core.records import Json

__all__ = ["MalformedReplyError", "read_inputs", "read_preamble"]

_LONGEST = 400_000
_LONGEST_INPUT = 20_000
_LONGEST_PREAMBLE = 200_000
_DEEPEST = 40
_FENCE = re.compile(r"^[ \t]*(`{3,})[ \t]*[A-Za-z]*[ \t]*\n(.*?)\n[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)


class MalformedReplyError(Exception):
    """A reply is not of the form that was asked for; the message says in what."""


def read_inputs(text: str, *, count: int) -> tuple[Mapping[str, Json], ...]:
    """Inputs by parameter, in order and without repetitions.

    An input whose names are no names of parameters, or that is too large, is left out.

    Args:
        text: The reply.
        count: Most inputs that are taken.

    Raises:
        MalformedReplyError: It is no such reply, or no input of it can be used.
    """
    listed = _field(text, "test_inputs", list, "a list")
    found: dict[str, Mapping[str, Json]] = {}
    for item in listed:
        if isinstance(item, dict) and all(map(_is_parameter, item)) and _depth(item) <= _DEEPEST:
            shown = json.dumps(item, sort_keys=True)
            if len(shown) <= _LONGEST_INPUT:
                found.setdefault(shown, item)
    if not found:
        raise MalformedReplyError(f"none of its {len(listed)} test inputs maps names of parameters to values")
    return tuple(found.values())[:count]


def read_preamble(text: str) -> str:
    """The preamble that a reply gives.

    Raises:
        MalformedReplyError: It is no such reply.
    """
    preamble: str = _field(text, "preamble", str, "a text")
    if len(preamble) > _LONGEST_PREAMBLE:
        raise MalformedReplyError(f"its preamble has {len(preamble)} characters")
    return preamble


def _field(text: str, name: str, kind: type[Json], said: str) -> Json:
    if len(text) > _LONGEST:
        raise MalformedReplyError(f"it has {len(text)} characters")
    fences = _FENCE.findall(text)
    if len(fences) > 1:
        raise MalformedReplyError(f"it has {len(fences)} fenced blocks where one was asked for")
    try:
        value = json.loads(fences[0][1] if fences else text, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        raise MalformedReplyError(f"it is no JSON ({type(exc).__name__}: {str(exc)[:80]})") from exc
    if not isinstance(value, dict):
        raise MalformedReplyError("it is JSON, but no object")
    if not isinstance(value.get(name), kind):
        raise MalformedReplyError(f"it has no {said} as '{name}'")
    return value[name]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _is_parameter(name: str) -> bool:
    # Names become part of a call: nothing but a name may pass.
    return len(name) <= 100 and name.isidentifier() and not keyword.iskeyword(name)


def _depth(value: Json) -> int:
    deepest, pending = 0, [(value, 1)]
    while pending:
        item, depth = pending.pop()
        deepest = max(deepest, depth)
        if depth <= _DEEPEST and isinstance(item, (list, dict)):
            inner = item.values() if isinstance(item, dict) else item
            pending.extend((child, depth + 1) for child in inner)
    return deepest
