"""Stands in for what is not there: modules, classes, exceptions and objects that answer whatever is asked.

What a fabricated object answers is a choice of the input state: it is drawn from the state's seed and the
object's path (``client.get('/a').status``), unless the state's answers say otherwise. A call's answer
depends on its path, its arguments and its ordinal among equal calls, and every call is logged. What was asked
is noted down, so that a search can see which answers a branch hangs on. It knows nothing of the audited file.
"""

from __future__ import annotations

import abc
import contextlib
import hashlib
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import encoding
from .bytecode import is_looked_into, unpacked_into
from .encoding import Json, encode, mro_of, writable
from .world import encode_argument, world

MAX_ASKED = 400  # questions that are reported for one state
MAX_QUESTIONS = 4_000  # questions after which a run counts as endless
PATIENCE = 20  # truthy answers of one object after which it turns false, so that loops end
SHORT_ARGUMENTS = 40
LONG_PATH = 160
SHOWN_PATH = 45
_NUMBERS = (2, 1, 3, 0, 5, 10, 7, 100)
_CLASS_ATTRIBUTES = ("__bases__", "__mro__", "__subclasses__", "__table__", "__tablename__", "__fields__")
_DOTTED = re.compile(r"\w+(\.\w+)+")
_EXCEPTION_NAME = re.compile(r"(Error|Exception|Warning|Interrupt|NotFound|DoesNotExist|Timeout|Failure)$")


class EndlessError(BaseException):
    """More was asked than any sensible run asks."""


class Raising:
    """An answer that is no value but an exception."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Fabrication:
    """The answers of one input state, and what was asked."""

    def __init__(self) -> None:
        self.enabled = False
        self.modules: set[str] = set()
        self.exceptions: set[str] = set()
        self.inherited: set[str] = set()
        self.made_modules: list[str] = []
        self.classes: dict[str, type[Any]] = {}
        self.preloaded: list[Any] = []
        self.loading = False
        self.codes: dict[int, int] = {}
        self.begin(0, {}, {})

    def begin(self, seed: int, answers: dict[str, str], space: dict[str, Any]) -> None:
        """Begin a state."""
        self.seed = seed
        self.answers = answers
        self.space = space
        self.given: dict[str, Any] = {}
        self.current = ""
        self.forget()
        for made in self.preloaded:
            object.__getattribute__(made, "_fabricated_made").clear()

    def rebind(self) -> None:
        """Give the globals that were made up while loading the values that the state says."""
        modules = [vars(sys.modules[name]) for name in self.made_modules if name in sys.modules]
        for names in (self.space, *modules) if self.answers else ():
            for name, value in list(names.items()):
                if isinstance(value, Fabricated) and _short(value) in self.answers:
                    with contextlib.suppress(Exception):
                        names[name] = self.evaluate(self.answers[_short(value)])

    def forget(self) -> None:
        """Forget what was asked while the state was built."""
        self.asked: dict[tuple[str, str, str, int], None] = {}
        self.questions = 0
        self.truths: dict[str, int] = {}
        self.held: dict[tuple[int, str], Any] = {}

    def note(self, fabricated: Any, kind: str, operand: str = "") -> None:
        """Note a question, with the line of the function under test that asked it."""
        self.note_path(_short(fabricated), kind, operand)

    def note_path(self, path: str, kind: str, operand: str = "") -> None:
        """Note a question about a path."""
        self.questions += 1
        if self.questions > MAX_QUESTIONS:
            raise EndlessError
        if len(self.asked) < MAX_ASKED:
            frame: types.FrameType | None = sys._getframe(1)
            while frame is not None and id(frame.f_code) not in self.codes:
                frame = frame.f_back
            line = frame.f_lineno - self.codes[id(frame.f_code)] if frame is not None else -1
            self.asked.setdefault((path, kind, operand[:200], line))

    def chance(self, path: str, question: str, count: int) -> int:
        """A number below ``count`` that the state's seed, the path and the question decide."""
        drawn = hashlib.sha256(f"{self.seed} {path} {question}".encode("utf-8", "backslashreplace")).digest()
        return int.from_bytes(drawn[:6], "big") % count

    def decided(self, question: str) -> Any:
        """What the state's answers say to a question about an object; None if nothing."""
        text = self.answers.get(question)
        return None if text is None else self.evaluate(text)

    def evaluate(self, text: str) -> Any:
        """The value of an answer's expression."""
        code = compile(text.strip(), "<answer>", "eval", dont_inherit=True)
        return eval(code, {**self.space, **HELPERS})

    def value(self, full: str, *shorts: str) -> Any:
        """What stands at a path: the state's answer, or a fabricated object.

        Raises:
            BaseException: The answer is that exception.
        """
        if full in self.given:
            found = self.given[full]
        else:
            self.current = full
            text = next((self.answers[key] for key in (full, *shorts) if key in self.answers), None)
            found = self.unanswered(full, shorts[0]) if text is None else self.evaluate(text)
            self.given[full] = found
        if isinstance(found, Raising):
            raise found.error
        return found

    def unanswered(self, full: str, short: str) -> Any:
        """What stands at a path that the state says nothing of."""
        module, _, name = short.rpartition(".")
        if short in self.exceptions:
            return self.class_for(short, module, name, Exception)
        if full == short and short.partition(".")[0] in self.modules and _DOTTED.fullmatch(short):
            return self.named(short, module, name)
        return make(full, short)

    def named(self, path: str, module: str, name: str) -> Any:
        """What stands for a missing name of a module: an exception type, a class, or an object."""
        if path in self.exceptions or (_EXCEPTION_NAME.search(name) and name[:1].isupper()):
            return self.class_for(path, module, name, Exception)
        if name[:1].isupper() and not name.isupper():
            return self.class_for(path, module, name, None)
        return make(path, path)

    def class_for(self, path: str, module: str, name: str, base: type[Any] | None) -> type[Any]:
        """A real class that can be caught, raised, subclassed and instantiated."""
        if path not in self.classes:
            members: dict[str, Any] = {"__module__": module, "__qualname__": name}
            if base is not None:
                self.classes[path] = FabricatedExceptionClass(name, (FabricatedException, base), members)
            else:
                members["_fabricated_path"] = path
                members.update(
                    {item: _inherited(path, item) for item in sorted(self.inherited) if item[:2] != "__"}
                )
                self.classes[path] = FabricatedClass(name, (FabricatedBase,), members)
        return self.classes[path]


def _inherited(path: str, name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _called(f"{path}.{name}", f"{path}.{name}", args, kwargs)

    method.__name__ = name
    return method


def _called(full: str, short: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Any = None) -> Any:
    """Answer a call and log it."""
    fabrication.note_path(short, "call")

    def answer(ordinal: int, source: Any) -> Any:
        texts = [_text_of(item) for item in args] + [f"{k}={_text_of(v)}" for k, v in sorted(kwargs.items())]
        shown = ", ".join(texts)
        plain = all(type(item) in (str, int, bool, type(None)) for item in (*args, *kwargs.values()))
        brief = f"{short}({shown})" if plain and len(shown) <= SHORT_ARGUMENTS else f"{short}()"
        if len(shown) > SHORT_ARGUMENTS:
            shown = "…" + hashlib.sha256(shown.encode("utf-8", "backslashreplace")).hexdigest()[:8]
        path = f"{full}({shown})" + (f"#{ordinal + 1}" if ordinal else "")
        found = fabrication.value(_bounded(path, short), brief, f"{short}()")
        if kind is not None and isinstance(found, Fabricated):
            object.__setattr__(found, "_fabricated_class", kind)
            _set_of(found).update(kwargs)
        return found

    return world.call(full, args, kwargs, answer, True, True)


def _bounded(path: str, short: str) -> str:
    if len(path) <= LONG_PATH:
        return path
    digest = hashlib.sha256(path.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{short[:LONG_PATH]}…{digest}"


def _text_of(value: Any) -> str:
    if isinstance(value, Fabricated):
        return _full(value)
    if type(value) in (str, int, bool, float, bytes, type(None)):
        return repr(value)
    return json.dumps(encode_argument(value))


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


def _full(value: Any) -> str:
    found: str = object.__getattribute__(value, "_fabricated_full")
    return found


def _short(value: Any) -> str:
    found: str = object.__getattribute__(value, "_fabricated_short")
    return found


def _set_of(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = object.__getattribute__(value, "_fabricated_set")
    return found


def _number(value: Any) -> Any:
    """The number that an object stands for wherever one is needed."""
    decided = fabrication.decided(f"int({_short(value)})")
    return _NUMBERS[fabrication.chance(_full(value), "number", len(_NUMBERS))] if decided is None else decided


def _truth(value: Any) -> bool:
    decided = fabrication.decided(f"bool({_short(value)})")
    if decided is None:
        decided = fabrication.chance(_full(value), "truth", 4) > 0
    if decided:
        asked = fabrication.truths[_full(value)] = fabrication.truths.get(_full(value), 0) + 1
        return asked <= PATIENCE
    return False


def _length(value: Any) -> int:
    decided = fabrication.decided(f"len({_short(value)})")
    if decided is None:
        return 1 + fabrication.chance(_full(value), "length", 3) if _plain_truth(value) else 0
    return int(decided)


def _plain_truth(value: Any) -> bool:
    decided = fabrication.decided(f"bool({_short(value)})")
    return bool(decided) if decided is not None else fabrication.chance(_full(value), "truth", 4) > 0


def _equal(value: Any, other: Any) -> bool:
    if value is other:
        return True
    text = _text_of(other)
    fabrication.note(value, "eq", text)
    decided = fabrication.decided(f"{_short(value)} == {text}")
    if decided is not None:
        return bool(decided)
    if isinstance(other, Fabricated):
        if _full(other) == _full(value):
            return True
        pair = "==".join(sorted((_full(value), _full(other))))
        return fabrication.chance(pair, "equal", 4) == 0
    if other is None:
        return False
    if isinstance(other, bool):
        return _plain_truth(value) == other
    if isinstance(other, (int, float)):
        return bool(_number(value) == other)
    known = fabrication.held.get((id(value), "=="))
    if known is not None:
        return bool(known == text)
    if fabrication.chance(_full(value), f"== {text}", 3) == 0:
        fabrication.held[(id(value), "==")] = text
        return True
    return False


def _compared(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        text = _text_of(other)
        if is_looked_into(sys._getframe(1)):
            short = f"({_short(self)} {symbol} …)"
            return fabrication.value(_bounded(f"({_full(self)} {symbol} {text})", short), short)
        fabrication.note(self, "order", f"{symbol} {text}")
        decided = fabrication.decided(f"{_short(self)} {symbol} {text}")
        if decided is not None:
            return bool(decided)
        if isinstance(other, Fabricated):
            return compare((_number(self), _full(self)), (_number(other), _full(other)))
        if isinstance(other, (int, float)):
            return compare(_number(self), other)
        return fabrication.chance(_full(self), f"{symbol} {text}", 2) == 0

    return method


def _binary(symbol: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, str) and symbol == "+":
            fabrication.note(self, "text")
            return other + str(self) if reflected else str(self) + other
        kind = "list" if isinstance(other, (list, tuple)) else "number"
        fabrication.note(self, kind, symbol)
        sides = (_text_of(other), _full(self)) if reflected else (_full(self), _text_of(other))
        brief = ("…", _short(self)) if reflected else (_short(self), "…")
        short = f"({brief[0]} {symbol} {brief[1]})"
        return fabrication.value(_bounded(f"({sides[0]} {symbol} {sides[1]})", short), short)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any, *args: Any) -> Any:
        fabrication.note(self, "number", name)
        short = f"{name}({_short(self)})"
        return fabrication.value(_bounded(f"{name}({_full(self)})", short), short)

    return method


class Fabricated:
    """An object that stands in for one that nobody has: it answers every question in a fixed way."""

    __slots__ = (
        "_fabricated_class",
        "_fabricated_full",
        "_fabricated_made",
        "_fabricated_next",
        "_fabricated_set",
        "_fabricated_short",
    )

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" and name[-2:] == "__":
            if name in ("__name__", "__qualname__"):
                return re.sub(r"\W+", "_", _short(self).rpartition(".")[2]).strip("_") or "made_up"
            if name not in _CLASS_ATTRIBUTES:
                raise AttributeError(name)
        given = _set_of(self)
        if name in given:
            return given[name]
        made: dict[str, Any] = object.__getattribute__(self, "_fabricated_made")
        if name not in made:
            fabrication.note(self, "attribute", name)
            short = f"{_short(self)}.{name}"
            made[name] = fabrication.value(_bounded(f"{_full(self)}.{name}", short), short)
        return made[name]

    def __setattr__(self, name: str, value: Any) -> None:
        _set_of(self)[name] = value

    def __delattr__(self, name: str) -> None:
        _set_of(self).pop(name, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer, or decorate."""
        if len(args) == 1 and not kwargs and _is_definition(args[0]):
            plain = isinstance(args[0], types.FunctionType) and args[0].__name__ != "<lambda>"
            if fabrication.loading or (plain and _short(self).endswith(")")):
                return args[0]  # it decorates
        if _short(self).endswith("with_metaclass") and len(args) > 1:
            return args[-1]
        return _called(_full(self), _short(self), args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        text = _text_of(key) if not isinstance(key, slice) else f"{key.start}:{key.stop}"
        given = _set_of(self)
        if f"[{text}]" in given:
            return given[f"[{text}]"]
        fabrication.note(self, "item", text)
        short = f"{_short(self)}[{text if type(key) is str and len(text) <= SHORT_ARGUMENTS else ''}]"
        return fabrication.value(_bounded(f"{_full(self)}[{text}]", short), short)

    def __setitem__(self, key: Any, value: Any) -> None:
        _set_of(self)[f"[{_text_of(key)}]"] = value

    def __delitem__(self, key: Any) -> None:
        _set_of(self).pop(f"[{_text_of(key)}]", None)

    def __contains__(self, item: Any) -> bool:
        text = _text_of(item)
        if f"[{text}]" in _set_of(self):
            return True
        fabrication.note(self, "contains", text)
        decided = fabrication.decided(f"{text} in {_short(self)}")
        return fabrication.chance(_full(self), f"in {text}", 2) == 0 if decided is None else bool(decided)

    def __iter__(self) -> Iterator[Any]:
        wanted = unpacked_into(sys._getframe(1))
        if wanted is None:
            fabrication.note(self, "iterate")
            wanted = _length(self)
            return iter([self._fabricated_item(number) for number in range(wanted)])
        return iter([self._fabricated_item(number, str(number)) for number in range(wanted)])

    def _fabricated_item(self, number: int, shown: str = "") -> Any:
        given = _set_of(self)
        if f"[{number}]" in given:
            return given[f"[{number}]"]
        short = f"{_short(self)}[{shown}]"
        if _short(self).endswith(".keys()"):
            return f"key{number + 1}"  # ``**`` takes nothing but texts
        return fabrication.value(_bounded(f"{_full(self)}[{number}]", short), short)

    def __next__(self) -> Any:
        fabrication.note(self, "iterate")
        place: int = object.__getattribute__(self, "_fabricated_next")
        if place >= _length(self):
            raise StopIteration
        object.__setattr__(self, "_fabricated_next", place + 1)
        return self._fabricated_item(place)

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])

    def __aiter__(self) -> Any:
        return _Awaited(list(self))

    def __await__(self) -> Any:
        yield from ()
        return fabrication.value(f"await {_full(self)}", f"await {_short(self)}")

    def __enter__(self) -> Any:
        return fabrication.value(f"{_full(self)}.__enter__()", f"{_short(self)}.__enter__()")

    def __exit__(self, *details: Any) -> None:
        return None

    async def __aenter__(self) -> Any:
        return fabrication.value(f"{_full(self)}.__enter__()", f"{_short(self)}.__enter__()")

    async def __aexit__(self, *details: Any) -> None:
        return None

    def __len__(self) -> int:
        fabrication.note(self, "length")
        return _length(self)

    def __bool__(self) -> bool:
        fabrication.note(self, "truth")
        return _truth(self)

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not _equal(self, other)

    def __hash__(self) -> int:
        return hash(_full(self))

    __lt__ = _compared("<", lambda a, b: a < b)
    __le__ = _compared("<=", lambda a, b: a <= b)
    __gt__ = _compared(">", lambda a, b: a > b)
    __ge__ = _compared(">=", lambda a, b: a >= b)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __int__(self) -> int:
        fabrication.note(self, "number", "int")
        return int(_number(self))

    def __float__(self) -> float:
        fabrication.note(self, "number", "float")
        return float(_number(self))

    def __complex__(self) -> complex:
        return complex(_number(self))

    def __index__(self) -> int:
        fabrication.note(self, "number", "index")
        return int(_number(self))

    def __str__(self) -> str:
        fabrication.note(self, "text")
        return writable(_full(self))

    def __repr__(self) -> str:
        return f"<{writable(_full(self))}>"

    def __format__(self, form: str) -> str:
        fabrication.note(self, "text", form)
        with contextlib.suppress(ValueError):
            return format(writable(_full(self)), form)
        with contextlib.suppress(ValueError):
            return format(_number(self), form)
        return writable(_full(self))

    def __bytes__(self) -> bytes:
        return _full(self).encode("utf-8", "backslashreplace")

    def __fspath__(self) -> str:
        fabrication.note(self, "path")
        return re.sub(r"\W+", "_", _short(self)).strip("_") or "path"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __instancecheck__(self, instance: Any) -> bool:
        return _is_instance(instance, _short(self))

    def __subclasscheck__(self, kind: Any) -> bool:
        return fabrication.chance(_full(self), f"subclass {kind}", 2) == 0

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any], ...]:
        path = _short(self)
        module, _, name = path.rpartition(".")
        name = re.sub(r"\W+", "_", name).strip("_") or "Base"
        return (fabrication.class_for(path, module or "fabricated", name, None),)

    def __dir__(self) -> list[str]:
        return sorted(_set_of(self))


for _name, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
}.items():  # fmt: skip
    setattr(Fabricated, f"__{_name}__", _binary(_symbol, False))
    setattr(Fabricated, f"__r{_name}__", _binary(_symbol, True))
for _name, _symbol in {"neg": "-", "pos": "+", "abs": "abs", "invert": "~", "round": "round"}.items():
    setattr(Fabricated, f"__{_name}__", _unary(_symbol))
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


class FabricatedBase:
    """What fabricated classes inherit from: its instances make up the attributes that they lack."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            with contextlib.suppress(AttributeError):
                setattr(self, name, value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    def __getattr__(self, name: str) -> Any:
        return _lacked(self, name)


def _lacked(receiver: Any, name: str, whose: str = "self") -> Any:
    """An attribute that an instance lacks."""
    if name[:2] == "__" and name[-2:] == "__":
        raise AttributeError(f"{type(receiver).__name__!r} object has no attribute {name!r}")
    key = (id(receiver), name)
    if key not in fabrication.held:
        fabrication.note_path(whose, "attribute", name)
        fabrication.held[key] = fabrication.value(f"{whose}.{name}", f"{whose}.{name}")
    return fabrication.held[key]


class FabricatedExceptionClass(type):
    """The class of fabricated exceptions: a made-up object may be one of them."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Fabricated):
            return _is_instance(instance, cls.__qualname__)
        return cls in mro_of(type(instance))


class FabricatedException(Exception, metaclass=FabricatedExceptionClass):  # noqa: N818  (the base of what bears all kinds of names)
    """What fabricated exceptions inherit from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args)
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:
        return _lacked(self, name, "error")


class FabricatedClass(abc.ABCMeta):
    """The class of fabricated classes, and of what the file derives from them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        path = cls.__dict__.get("_fabricated_path")
        if path is None:
            return super().__call__(*args, **kwargs)
        if fabrication.loading and len(args) == 1 and not kwargs and _is_definition(args[0]):
            return args[0]
        return _called(path, path, args, kwargs, cls)

    def __getattr__(cls, name: str) -> Any:
        path = next(
            (
                base.__dict__["_fabricated_path"]
                for base in mro_of(cls)
                if "_fabricated_path" in base.__dict__
            ),
            None,
        )
        if path is None or (name[:2] == "__" and name[-2:] == "__") or name[:5] == "_abc_":
            raise AttributeError(name)
        return fabrication.value(f"{path}.{name}", f"{path}.{name}")

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(cls.__dict__.get("_fabricated_path"), str):
            return super().__instancecheck__(instance)
        if isinstance(instance, Fabricated):
            known = object.__getattribute__(instance, "_fabricated_class")
            return known is cls if known is not None else _is_instance(instance, cls.__qualname__)
        return cls in mro_of(type(instance))

    def __subclasscheck__(cls, kind: Any) -> bool:
        if not isinstance(kind, Fabricated):
            return super().__subclasscheck__(kind)
        fabrication.note(kind, "instance", cls.__qualname__)
        decided = fabrication.decided(f"isinstance({_short(kind)}, {cls.__qualname__})")
        return fabrication.chance(_full(kind), "subclass", 2) == 0 if decided is None else bool(decided)

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls.__getattr__("members"))

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls


def _is_instance(instance: Any, name: str) -> bool:
    if not isinstance(instance, Fabricated):
        return False
    fabrication.note(instance, "instance", name)
    decided = fabrication.decided(f"isinstance({_short(instance)}, {name})")
    return fabrication.chance(_full(instance), f"is a {name}", 2) == 0 if decided is None else bool(decided)


def _is_definition(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, type, staticmethod, classmethod, property))


def note_failure(error: BaseException) -> None:
    """Note where the function under test failed, and the keys that a made-up key could have been."""
    trace = error.__traceback__
    failed, last = None, None
    helper: types.CodeType | None = None
    local: dict[str, Any] = {}
    while trace is not None:
        last = trace.tb_frame
        if id(last.f_code) in fabrication.codes:
            helper = None
            failed, local = trace.tb_lineno - fabrication.codes[id(last.f_code)], last.f_locals
        elif failed is not None and helper is None:
            helper = last.f_code
        trace = trace.tb_next
    if failed is not None and helper is not None:
        fabrication.asked.setdefault(("", "helper", helper.co_name, failed))
    if failed is not None:
        fabrication.asked.setdefault(("", "error", "", failed))
        for name, value in list(local.items())[:60]:
            if isinstance(value, Fabricated):
                fabrication.asked.setdefault((_short(value), "local", name, failed))
    if not isinstance(error, KeyError) or last is None or not error.args:
        return
    key = error.args[0]
    path = _short(key) if isinstance(key, Fabricated) else ""
    names = set(last.f_code.co_names)
    values = [*last.f_locals.values(), *(last.f_globals[name] for name in last.f_globals if name in names)]
    for value in values:
        if type(value) is dict:
            for known in [item for item in value if type(item) in (str, int)][:12]:
                fabrication.asked.setdefault((path, "key", repr(known), failed if failed is not None else -1))


def stand_in(kind: Any, **attributes: Any) -> Any:
    """An instance of a class made without its constructor; attributes that it lacks are made up."""
    members: dict[str, Any] = {
        "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__
    }  # fmt: skip
    if "__getattr__" not in {name for base in mro_of(kind) for name in vars(base)}:
        members["__getattr__"] = _lacked
    members.update(
        {name: value for name, value in attributes.items() if hasattr(type(_declared(kind, name)), "__set__")}
    )
    derived: Any = type(kind)(kind.__name__, (kind,), members)
    with contextlib.suppress(AttributeError, TypeError):
        derived.__abstractmethods__ = frozenset()
    made = derived.__new__(derived)
    for name, value in attributes.items():
        if name not in members:
            object.__setattr__(made, name, value)
    return made


def _declared(kind: Any, name: str) -> Any:
    return next((vars(base)[name] for base in mro_of(kind) if name in vars(base)), None)


def fabricated(path: str) -> Any:
    """A fabricated object by its path, for the expressions of input states."""
    return fabrication.value(path, path)


def fabricated_name(name: str) -> Any:
    """What stands for a global name that nothing defines, for the scaffold's prelude."""
    return fabrication.named(name, "fabricated", name)


def outside(path: str) -> tuple[Any, ...]:
    """What a state says to a call of the real outside; empty if nothing."""
    if not fabrication.enabled:
        return ()
    fabrication.note_path(path, "outside")
    text = fabrication.answers.get(f"{path}()")
    if text is None:
        return ()
    found = fabrication.evaluate(text)
    if isinstance(found, Raising):
        raise found.error
    return (found,)


world.outside = outside


def raising(error: BaseException) -> Raising:
    """An answer that raises."""
    return Raising(error)


def either(*values: Any) -> Any:
    """An answer that is one value here and another there: which one, the full path decides."""
    return values[fabrication.chance(fabrication.current, "either", len(values))]


HELPERS: dict[str, Any] = {
    "either": either,
    "fabricated": fabricated,
    "fabricated_name": fabricated_name,
    "raising": raising,
    "stand_in": stand_in,
}
"""What the expressions of input states may use beside the names of the file."""


fabrication = Fabrication()


def _encoded(encoder: Any, value: Any, depth: int) -> Json:
    """A fabricated object by its path, with what was set on it."""
    given = _set_of(value)
    attributes = [["path", writable(_full(value))]]
    attributes += [[writable(str(name)), encoder.node(given[name], depth + 1)] for name in sorted(given)]
    return ["object", "fabricated", attributes, None]


encoding.special_encodings.append((Fabricated, _encoded))

__all__ = ["EndlessError", "Fabricated", "encode", "fabrication"]
