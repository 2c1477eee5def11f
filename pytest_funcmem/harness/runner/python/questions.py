"""How a made-up object answers what is asked of it as a value: truth, length, number, equality, order.

An answer comes from the state's own answers or is drawn from its seed; every question is noted. It knows
nothing of the audited file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any

from .bytecode import is_looked_into
from .encoding import neutral
from .fabrication import MadeUp, fabrication, full_path, short_path
from .world import encode_argument

PATIENCE = 20  # truthy answers of one object after which it turns false, so that loops end
LONG_PATH = 160
_NUMBERS = (2, 1, 3, 0, 5, 10, 7, 100)


def bounded(path: str, short: str) -> str:
    """A path that is not too long: beyond a length its end is a digest."""
    if len(path) <= LONG_PATH:
        return path
    digest = hashlib.sha256(path.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{short[:LONG_PATH]}…{digest}"


def text_of(value: Any) -> str:
    """How a value is written inside a path."""
    if isinstance(value, MadeUp):
        return full_path(value)
    if type(value) is str:
        return repr(neutral(value))  # what a path depends on holds no address, as what is logged holds none
    if type(value) in (int, bool, float, bytes, type(None)):
        return repr(value)
    return json.dumps(encode_argument(value))


def number_of(value: Any) -> Any:
    """The number that an object stands for wherever one is needed."""
    decided = fabrication.decided(f"int({short_path(value)})")
    return (
        _NUMBERS[fabrication.chance(full_path(value), "number", len(_NUMBERS))]
        if decided is None
        else decided
    )


def truth_of(value: Any) -> bool:
    """How an object counts in a condition; what is true turns false at length, so that loops end."""
    decided = fabrication.decided(f"bool({short_path(value)})")
    if decided is None:
        decided = fabrication.chance(full_path(value), "truth", 4) > 0
    if decided:
        asked = fabrication.truths[full_path(value)] = fabrication.truths.get(full_path(value), 0) + 1
        return asked <= PATIENCE
    return False


def length_of(value: Any) -> int:
    """How many items an object gives."""
    decided = fabrication.decided(f"len({short_path(value)})")
    if decided is None:
        return 1 + fabrication.chance(full_path(value), "length", 3) if plain_truth(value) else 0
    return int(decided)


def plain_truth(value: Any) -> bool:
    """How an object counts in a condition, however often it was asked."""
    decided = fabrication.decided(f"bool({short_path(value)})")
    return bool(decided) if decided is not None else fabrication.chance(full_path(value), "truth", 4) > 0


def equal(value: Any, other: Any) -> bool:
    """Whether an object equals another value; a text that it equalled once stays its only one."""
    if value is other:
        return True
    text = text_of(other)
    fabrication.note(value, "eq", text)
    decided = fabrication.decided(f"{short_path(value)} == {text}")
    if decided is not None:
        return bool(decided)
    if isinstance(other, MadeUp):
        if full_path(other) == full_path(value):
            return True
        pair = "==".join(sorted((full_path(value), full_path(other))))
        return fabrication.chance(pair, "equal", 4) == 0
    if other is None:
        return False
    if isinstance(other, bool):
        return plain_truth(value) == other
    if isinstance(other, (int, float)):
        return bool(number_of(value) == other)
    known = fabrication.held.get((id(value), "=="))
    if known is not None:
        return bool(known == text)
    if fabrication.chance(full_path(value), f"== {text}", 3) == 0:
        fabrication.held[(id(value), "==")] = text
        return True
    return False


def compared(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """The method for an order comparison."""

    def method(self: Any, other: Any) -> Any:
        text = text_of(other)
        if is_looked_into(sys._getframe(1)):
            short = f"({short_path(self)} {symbol} …)"
            return fabrication.value(bounded(f"({full_path(self)} {symbol} {text})", short), short)
        fabrication.note(self, "order", f"{symbol} {text}")
        decided = fabrication.decided(f"{short_path(self)} {symbol} {text}")
        if decided is not None:
            return bool(decided)
        if isinstance(other, MadeUp):
            return compare((number_of(self), full_path(self)), (number_of(other), full_path(other)))
        if isinstance(other, (int, float)):
            return compare(number_of(self), other)
        return fabrication.chance(full_path(self), f"{symbol} {text}", 2) == 0

    return method


def binary(symbol: str, reflected: bool) -> Callable[[Any, Any], Any]:
    """The method for a binary operator."""

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, str) and symbol == "+":
            fabrication.note(self, "text")
            return other + str(self) if reflected else str(self) + other
        kind = "list" if isinstance(other, (list, tuple)) else "number"
        fabrication.note(self, kind, symbol)
        sides = (text_of(other), full_path(self)) if reflected else (full_path(self), text_of(other))
        brief = ("…", short_path(self)) if reflected else (short_path(self), "…")
        short = f"({brief[0]} {symbol} {brief[1]})"
        return fabrication.value(bounded(f"({sides[0]} {symbol} {sides[1]})", short), short)

    return method


def unary(name: str) -> Callable[[Any], Any]:
    """The method for a unary operator."""

    def method(self: Any, *args: Any) -> Any:
        fabrication.note(self, "number", name)
        short = f"{name}({short_path(self)})"
        return fabrication.value(bounded(f"{name}({full_path(self)})", short), short)

    return method


def is_instance(instance: Any, name: str) -> bool:
    """Whether a made-up object is an instance of a made-up class."""
    if not isinstance(instance, MadeUp):
        return False
    fabrication.note(instance, "instance", name)
    decided = fabrication.decided(f"isinstance({short_path(instance)}, {name})")
    return (
        fabrication.chance(full_path(instance), f"is a {name}", 2) == 0 if decided is None else bool(decided)
    )
