"""Objects that stand in for what is not there: they answer whatever is asked in a fixed way.

A call's answer depends on its path, its arguments and its ordinal among equal calls, and every call is
logged. They know nothing of the audited file.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from . import encoding
from .bytecode import unpacked_into
from .encoding import Json, writable
from .fabrication import MadeUp, fabrication, full_path, set_on, short_path
from .questions import (
    binary,
    bounded,
    compared,
    equal,
    is_instance,
    length_of,
    number_of,
    text_of,
    truth_of,
    unary,
)
from .world import world

SHORT_ARGUMENTS = 40
SHOWN_PATH = 45
CONSUMED_ITEMS = 100
_CLASS_ATTRIBUTES = ("__bases__", "__mro__", "__subclasses__", "__table__", "__tablename__", "__fields__")


def called(full: str, short: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Any = None) -> Any:
    """Answer a call and log it."""
    args = tuple(_consumed(item) for item in args)
    kwargs = {name: _consumed(item) for name, item in kwargs.items()}
    fabrication.note_path(short, "call")

    def answer(ordinal: int, source: Any) -> Any:
        texts = [text_of(item) for item in args] + [f"{k}={text_of(v)}" for k, v in sorted(kwargs.items())]
        shown = ", ".join(texts)
        plain = all(type(item) in (str, int, bool, type(None)) for item in (*args, *kwargs.values()))
        brief = f"{short}({shown})" if plain and len(shown) <= SHORT_ARGUMENTS else f"{short}()"
        if len(shown) > SHORT_ARGUMENTS:
            shown = "…" + hashlib.sha256(shown.encode("utf-8", "backslashreplace")).hexdigest()[:8]
        path = f"{full}({shown})" + (f"#{ordinal + 1}" if ordinal else "")
        found = fabrication.value(bounded(path, short), brief, f"{short}()")
        if kind is not None and isinstance(found, Fabricated):
            object.__setattr__(found, "_fabricated_class", kind)
            set_on(found).update(kwargs)
        return found

    return world.call(full, args, kwargs, answer, True, True)


def _consumed(value: Any) -> Any:
    """What a call is given, with a generator's items taken out, as whoever is called would."""
    if isinstance(value, types.GeneratorType):
        return list(itertools.islice(value, CONSUMED_ITEMS))
    return value


def make(full: str, short: str) -> Any:
    """A fabricated object; its class bears its path as a name, so that error messages tell which it was."""
    # Messages of built-in functions cut names at fifty characters.
    name = writable(short if len(short) <= SHOWN_PATH else "…" + short[1 - SHOWN_PATH :])
    kind = type(name, (Fabricated,), {"__slots__": (), "__module__": "fabricated"})
    made: Any = object.__new__(kind)
    for item, value in (
        ("full", full),
        ("short", short),
        ("set", {}),
        ("made", {}),
        ("class", None),
        ("next", 0),
    ):
        object.__setattr__(made, "_fabricated_" + item, value)
    if fabrication.loading:
        fabrication.preloaded.append(made)
    return made


def is_definition(value: Any) -> bool:
    """Whether a value is what decorators are applied to."""
    return isinstance(value, (types.FunctionType, type, staticmethod, classmethod, property))


class Fabricated(MadeUp):
    """An object that stands in for one that nobody has: it answers every question in a fixed way."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" and name[-2:] == "__":
            if name in ("__name__", "__qualname__"):
                return re.sub(r"\W+", "_", short_path(self).rpartition(".")[2]).strip("_") or "made_up"
            if name not in _CLASS_ATTRIBUTES:
                raise AttributeError(name)
        given = set_on(self)
        if name in given:
            return given[name]
        made: dict[str, Any] = object.__getattribute__(self, "_fabricated_made")
        if name not in made:
            fabrication.note(self, "attribute", name)
            short = f"{short_path(self)}.{name}"
            made[name] = fabrication.value(bounded(f"{full_path(self)}.{name}", short), short)
        return made[name]

    def __setattr__(self, name: str, value: Any) -> None:
        set_on(self)[name] = value

    def __delattr__(self, name: str) -> None:
        set_on(self).pop(name, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer, or decorate."""
        if len(args) == 1 and not kwargs and is_definition(args[0]):
            plain = isinstance(args[0], types.FunctionType) and args[0].__name__ != "<lambda>"
            if fabrication.loading or (plain and short_path(self).endswith(")")):
                return args[0]  # it decorates
        if short_path(self).endswith("with_metaclass") and len(args) > 1:
            return args[-1]
        return called(full_path(self), short_path(self), args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        text = text_of(key) if not isinstance(key, slice) else f"{key.start}:{key.stop}"
        given = set_on(self)
        if f"[{text}]" in given:
            return given[f"[{text}]"]
        fabrication.note(self, "item", text)
        short = f"{short_path(self)}[{text if type(key) is str and len(text) <= SHORT_ARGUMENTS else ''}]"
        return fabrication.value(bounded(f"{full_path(self)}[{text}]", short), short)

    def __setitem__(self, key: Any, value: Any) -> None:
        set_on(self)[f"[{text_of(key)}]"] = value

    def __delitem__(self, key: Any) -> None:
        set_on(self).pop(f"[{text_of(key)}]", None)

    def __contains__(self, item: Any) -> bool:
        text = text_of(item)
        if f"[{text}]" in set_on(self):
            return True
        fabrication.note(self, "contains", text)
        decided = fabrication.decided(f"{text} in {short_path(self)}")
        return fabrication.chance(full_path(self), f"in {text}", 2) == 0 if decided is None else bool(decided)

    def __iter__(self) -> Iterator[Any]:
        wanted = unpacked_into(sys._getframe(1))
        if wanted is None:
            fabrication.note(self, "iterate")
            wanted = length_of(self)
            return iter([self._fabricated_item(number) for number in range(wanted)])
        return iter([self._fabricated_item(number, str(number)) for number in range(wanted)])

    def _fabricated_item(self, number: int, shown: str = "") -> Any:
        given = set_on(self)
        if f"[{number}]" in given:
            return given[f"[{number}]"]
        short = f"{short_path(self)}[{shown}]"
        if short_path(self).endswith(".keys()"):
            return f"key{number + 1}"  # ``**`` takes nothing but texts
        return fabrication.value(bounded(f"{full_path(self)}[{number}]", short), short)

    def __next__(self) -> Any:
        fabrication.note(self, "iterate")
        place: int = object.__getattribute__(self, "_fabricated_next")
        if place >= length_of(self):
            raise StopIteration
        object.__setattr__(self, "_fabricated_next", place + 1)
        return self._fabricated_item(place)

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])

    def __aiter__(self) -> Any:
        return _Awaited(list(self))

    def __await__(self) -> Any:
        yield from ()
        return fabrication.value(f"await {full_path(self)}", f"await {short_path(self)}")

    def __enter__(self) -> Any:
        return fabrication.value(f"{full_path(self)}.__enter__()", f"{short_path(self)}.__enter__()")

    def __exit__(self, *details: Any) -> None:
        return None

    async def __aenter__(self) -> Any:
        return fabrication.value(f"{full_path(self)}.__enter__()", f"{short_path(self)}.__enter__()")

    async def __aexit__(self, *details: Any) -> None:
        return None

    def __len__(self) -> int:
        fabrication.note(self, "length")
        return length_of(self)

    def __bool__(self) -> bool:
        fabrication.note(self, "truth")
        return truth_of(self)

    def __eq__(self, other: object) -> bool:
        return equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal(self, other)

    def __hash__(self) -> int:
        return hash(full_path(self))

    __lt__ = compared("<", lambda a, b: a < b)
    __le__ = compared("<=", lambda a, b: a <= b)
    __gt__ = compared(">", lambda a, b: a > b)
    __ge__ = compared(">=", lambda a, b: a >= b)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __int__(self) -> int:
        fabrication.note(self, "number", "int")
        return int(number_of(self))

    def __float__(self) -> float:
        fabrication.note(self, "number", "float")
        return float(number_of(self))

    def __complex__(self) -> complex:
        return complex(number_of(self))

    def __index__(self) -> int:
        fabrication.note(self, "number", "index")
        return int(number_of(self))

    def __str__(self) -> str:
        fabrication.note(self, "text")
        return writable(full_path(self))

    def __repr__(self) -> str:
        return f"<{writable(full_path(self))}>"

    def __format__(self, form: str) -> str:
        fabrication.note(self, "text", form)
        with contextlib.suppress(ValueError):
            return format(writable(full_path(self)), form)
        with contextlib.suppress(ValueError):
            return format(number_of(self), form)
        return writable(full_path(self))

    def __bytes__(self) -> bytes:
        return full_path(self).encode("utf-8", "backslashreplace")

    def __fspath__(self) -> str:
        fabrication.note(self, "path")
        return re.sub(r"\W+", "_", short_path(self)).strip("_") or "path"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __instancecheck__(self, instance: Any) -> bool:
        return is_instance(instance, short_path(self))

    def __subclasscheck__(self, kind: Any) -> bool:
        return fabrication.chance(full_path(self), f"subclass {kind}", 2) == 0

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any], ...]:
        path = short_path(self)
        module, _, name = path.rpartition(".")
        name = re.sub(r"\W+", "_", name).strip("_") or "Base"
        return (fabrication.class_for(path, module or "fabricated", name, None),)

    def __dir__(self) -> list[str]:
        return sorted(set_on(self))


for _name, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
}.items():  # fmt: skip
    setattr(Fabricated, f"__{_name}__", binary(_symbol, False))
    setattr(Fabricated, f"__r{_name}__", binary(_symbol, True))
for _name, _symbol in {"neg": "-", "pos": "+", "abs": "abs", "invert": "~", "round": "round"}.items():
    setattr(Fabricated, f"__{_name}__", unary(_symbol))
for _name in ("trunc", "floor", "ceil"):
    setattr(Fabricated, f"__{_name}__", Fabricated.__int__)


class _Awaited:
    """Asynchronous iteration over items that are there."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    async def __anext__(self) -> Any:
        if not self.items:
            raise StopAsyncIteration
        return self.items.pop(0)


def _encoded(encoder: Any, value: Any, depth: int) -> Json:
    """A fabricated object by its path, with what was set on it."""
    given = set_on(value)
    attributes = [["path", writable(full_path(value))]]
    attributes += [[writable(str(name)), encoder.node(given[name], depth + 1)] for name in sorted(given)]
    return ["object", "fabricated", attributes, None]


encoding.special_encodings.append((Fabricated, _encoded))
