"""Canonical encodings of values: what of a value counts, as JSON. See ``harness.values`` for the format.

It never calls what the audited file defines, and knows nothing of worlds and runs.
"""

# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations

import array
import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import hashlib
import io
import json
import logging
import pathlib
import re
import types
import unittest.mock
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from typing import Any

Json = Any

MODULE = "audited"
FILENAME = "audited.py"
VALUE_NODES = 20_000  # nodes that a value may have and still be kept whole
HASHED_NODES = 400_000  # nodes that a value may have and still be told from others by its digest
TEXT_LENGTH = 100_000  # characters or bytes of one text that are kept
NESTING = 16  # levels of a value that are written into each other; deeper ones go to the table


class _TooLargeError(Exception):
    """A value has more nodes than may be kept."""


paths: list[tuple[str, str]] = []  # (real directory, what it is called in every record)
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,16}\b")


def neutral(text: str) -> str:
    """A text without the addresses that default reprs print and without this task's own directories."""
    if "0x" in text:
        text = _ADDRESS.sub("at 0x…", text)
    for real, neutral in paths:
        if real in text:
            text = text.replace(real, neutral)
    return text


def writable(text: str) -> str:
    """A text in which lone surrogates are spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def class_name(kind: type[Any]) -> str:
    """Qualified name of a class, read past any metaclass; built-in ones without their module."""
    name = type.__dict__["__qualname__"].__get__(kind)
    if "__module__" in type.__dict__["__dict__"].__get__(kind):
        module = type.__dict__["__dict__"].__get__(kind)["__module__"]
    else:
        module = type.__dict__["__module__"].__get__(kind)
    return writable(name if module == "builtins" or type(module) is not str else module + "." + name)


def mro_of(kind: type[Any]) -> tuple[type[Any], ...]:
    """Classes of a class in the order in which attributes are looked up, read past any metaclass."""
    found: tuple[type[Any], ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def encode_text(text: str) -> Json:
    """A text, told by its digest where it is long."""
    text = neutral(text)
    if len(text) > TEXT_LENGTH:
        whole = text.encode("utf-8", "surrogatepass")
        return ["cut", "str", len(text), hashlib.sha256(whole).hexdigest(), writable(text[:200])]
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return ["str", text.encode("utf-8", "surrogatepass").hex()]
    return text


def encode_bytes(tag: str, content: bytes | bytearray) -> Json:
    """Bytes, told by their digest where they are many."""
    if len(content) > TEXT_LENGTH:
        head = repr(bytes(content[:100]))
        return ["cut", tag, len(content), hashlib.sha256(content).hexdigest(), head]
    return [tag, bytes(content).decode("latin-1")]


def _encode_int(number: int) -> Json:
    return number if -(2**53) <= number <= 2**53 else ["int", format(number, "x")]


def _function_name(function: Any) -> str:
    name = getattr(function, "__qualname__", "?")
    module = getattr(function, "__module__", None)
    # How a function inside a function is called is a matter of local names, not of behaviour.
    if type(name) is not str or "<locals>" in name or "<lambda>" in name:
        return "<local>"
    return writable(module + "." + name if type(module) is str and module != "builtins" else name)


_ATOMS: dict[type[Any], Callable[[Any], Json]] = {
    int: _encode_int,
    str: encode_text,
    float: lambda value: ["float", repr(value)],
    complex: lambda value: ["complex", repr(value.real), repr(value.imag)],
    bytes: lambda value: encode_bytes("bytes", value),
    range: lambda value: ["value", "range", repr(value)],
    types.FunctionType: lambda value: ["function", _function_name(value)],
    types.BuiltinFunctionType: lambda value: ["function", _function_name(value)],
    types.MethodType: lambda value: ["function", _function_name(value.__func__)],
    types.ModuleType: lambda value: ["module", writable(str(vars(value).get("__name__")))],
    # What is under way shows nothing but how its code was written.
    **{
        kind: (lambda value: ["opaque", type(value).__name__])
        for kind in (
            types.GeneratorType,
            types.CoroutineType,
            types.AsyncGeneratorType,
            types.CodeType,
            types.FrameType,
            types.TracebackType,
        )
    },
    type(NotImplemented): lambda value: ["opaque", "NotImplemented"],
    type(Ellipsis): lambda value: ["opaque", "Ellipsis"],
}
# Values that a text says everything about, for instances of subclasses as well.
_TEXTS: tuple[tuple[type[Any], Callable[[Any], str]], ...] = (
    (datetime.datetime, datetime.datetime.isoformat),
    (datetime.date, datetime.date.isoformat),
    (datetime.time, datetime.time.isoformat),
    (datetime.timedelta, datetime.timedelta.__repr__),
    (datetime.timezone, datetime.timezone.__str__),
    (zoneinfo.ZoneInfo, zoneinfo.ZoneInfo.__str__),
    (decimal.Decimal, decimal.Decimal.__str__),
    (fractions.Fraction, fractions.Fraction.__str__),
    (uuid.UUID, uuid.UUID.__str__),
    (pathlib.PurePath, lambda value: neutral(str(value))),
    (re.Pattern, lambda value: f"{value.flags}:{value.pattern!r}"),
    (logging.Logger, lambda value: str(value.name)),
)
_CONTENTS: tuple[Any, ...] = (
    list,
    dict,
    tuple,
    set,
    frozenset,
    collections.deque,
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
)
# Classes of these modules are machinery: what they hold says much about the run, nothing of the function.
_MACHINERY = {"_asyncio", "_thread", "asyncio", "concurrent", "logging", "multiprocessing", "selectors"}
_MACHINERY |= {"_socket", "socket", "threading", "_io", "weakref", "subprocess"}


def _shows_state(bases: tuple[type[Any], ...]) -> bool:
    """Whether instances of a class keep what they hold in attributes that can be read without their help."""
    members = [type.__dict__["__dict__"].__get__(base) for base in bases]
    return any("__dict__" in names or "__slots__" in names for names in members)


special_encodings: list[tuple[type[Any], Callable[[Any, Any, int], Json]]] = []
"""Classes whose instances encode themselves in a way of their own; called with encoder, value and depth."""


class _Entry:
    """A value with an identity that was met: its node, and its place in the table once it is needed twice."""

    __slots__ = ("done", "index", "node")

    def __init__(self) -> None:
        self.node: list[Json] = []
        self.index: int | None = None
        self.done = False


class _Encoder:
    """Encodes one value; see ``harness.values`` for the format. Never calls what the file defines."""

    def __init__(self, nodes: int) -> None:
        self.left = nodes
        self.memo: dict[int, _Entry] = {}
        self.kept: list[Any] = []  # keeps what was met alive, so that no identity is used twice
        self.table: list[Json] = []
        self.deep: collections.deque[tuple[Any, int]] = collections.deque()
        self.path: list[int] = []
        self.in_key = 0

    def run(self, value: Any) -> Json:
        root = self.node(value, 0)
        while self.deep:
            item, index = self.deep.popleft()
            self.table[index] = self.content(item, type(item), 1)
        return ["graph", root, self.table] if self.table else root

    def node(self, value: Any, depth: int) -> Json:
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind in _ATOMS:
            return _ATOMS[kind](value)
        identity = id(value)
        if self.in_key:
            if identity in self.path:
                return ["cycle", self.path.index(identity)]
            if depth > NESTING:
                return ["opaque", class_name(kind)]
            return self.content(value, kind, depth)
        if kind is tuple or kind is frozenset:
            if depth < NESTING:
                return self.content(value, kind, depth)
            return self._postpone(value)
        entry = self.memo.get(identity)
        if entry is not None:
            if entry.index is None:
                entry.index = self._row(list(entry.node) if entry.done else None)
                if entry.done:
                    entry.node[:] = ["ref", entry.index]
            return ["ref", entry.index]
        entry = self.memo[identity] = _Entry()
        self.kept.append(value)
        if depth >= NESTING:
            node = self._postpone(value)
            entry.index, entry.done = node[1], True
            return node
        content = self.content(value, kind, depth)
        entry.done = True
        if entry.index is not None:
            self.table[entry.index] = content
            content = ["ref", entry.index]
        entry.node[:] = content
        return entry.node

    def _row(self, content: Any) -> int:
        self.table.append(content)
        return len(self.table) - 1

    def _postpone(self, value: Any) -> Json:
        index = self._row(None)
        self.deep.append((value, index))
        return ["ref", index]

    def key(self, value: Any, depth: int) -> Json:
        """A set item or a dictionary key: no references, so that its text does not depend on its place."""
        self.in_key += 1
        try:
            return self.node(value, depth)
        finally:
            self.in_key -= 1

    def content(self, value: Any, kind: type[Any], depth: int) -> Json:
        self.path.append(id(value))
        try:
            if kind in (list, tuple):
                return [kind.__name__, [self.node(item, depth + 1) for item in value]]
            if kind is dict:
                pairs = list(value.items())
                return ["dict", [[self.key(k, depth + 1), self.node(v, depth + 1)] for k, v in pairs]]
            if kind in (set, frozenset):
                return [kind.__name__, self.sorted_items(value, depth)]
            if kind is bytearray:
                return encode_bytes("bytearray", value)
            return self.special(value, kind, depth)
        finally:
            self.path.pop()

    def sorted_items(self, items: Iterable[Any], depth: int) -> list[Json]:
        return sorted((self.key(item, depth + 1) for item in list(items)), key=json.dumps)

    def special(self, value: Any, kind: type[Any], depth: int) -> Json:
        bases = mro_of(kind)
        if type in bases:
            return ["type", class_name(value)]
        for base, described in special_encodings:
            if base in bases:
                return described(self, value, depth)
        name = class_name(kind)
        if enum.Enum in bases:
            member = object.__getattribute__(value, "_name_")
            return ["value", name, writable(str(member or object.__getattribute__(value, "_value_")))]
        for base, text in _TEXTS:
            if base in bases:
                return ["value", name, writable(text(value))]
        if kind is re.Match:
            found = (value.span(), value.group(), value.groups(), value.groupdict())
            return ["object", name, [], self.node(found, depth + 1)]
        if kind is slice:
            return ["object", name, [], self.node((value.start, value.stop, value.step), depth + 1)]
        if io.StringIO in bases or io.BytesIO in bases:
            base = io.StringIO if io.StringIO in bases else io.BytesIO
            if base.closed.__get__(value):
                return ["object", name, [["closed", True]], None]
            return [
                "object",
                name,
                [["position", base.tell(value)]],
                self.node(base.getvalue(value), depth + 1),
            ]
        if kind.__module__ == "numpy" and hasattr(kind, "tolist"):
            return ["object", name, [["dtype", str(value.dtype)]], self.node(value.tolist(), depth + 1)]
        if name.partition(".")[0] in _MACHINERY:
            return ["opaque", name]
        if unittest.mock.NonCallableMock in bases:
            return ["opaque", name]
        attributes = self.attributes(value, bases, depth)
        contents = self.contents(value, kind, bases, depth)
        if not attributes and contents is None and kind is not object and not _shows_state(bases):
            return self.reduced(value, kind, name, depth)
        return ["object", name, attributes, contents]

    def reduced(self, value: Any, kind: type[Any], name: str, depth: int) -> Json:
        """An instance of a class written in C that shows no attributes: what it would be copied by."""
        try:
            reduce: Any = kind.__reduce_ex__
            parts = reduce(value, 2)
        except Exception:  # it cannot be copied: its type is all there is to say
            return ["opaque", name]
        if type(parts) is not tuple:
            return ["opaque", name]
        return ["object", name, [], self.node(parts[1:3], depth + 1)]

    def attributes(self, value: Any, bases: tuple[type[Any], ...], depth: int) -> list[Json]:
        found = {}
        for base in reversed(bases):
            for name, member in type.__dict__["__dict__"].__get__(base).items():
                if type(member) is types.MemberDescriptorType:
                    with contextlib.suppress(AttributeError):
                        found[name] = member.__get__(value)
        with contextlib.suppress(AttributeError):
            own = object.__getattribute__(value, "__dict__")
            if type(own) is dict:
                found.update(own)
        for base, name in ((collections.deque, "maxlen"), (array.array, "typecode")):
            if base in bases:
                found[name] = getattr(base, name).__get__(value)
        names = [name for name in found if type(name) is str and not name.startswith("__")]
        return [[writable(name), self.node(found[name], depth + 1)] for name in sorted(names)]

    def contents(self, value: Any, kind: type[Any], bases: tuple[type[Any], ...], depth: int) -> Json:
        """What an instance of a subclass of a built-in type holds beside its attributes, or None."""
        if BaseException in bases:
            return self.node(BaseException.__dict__["args"].__get__(value), depth + 1)
        if collections.OrderedDict in bases:  # two of these are equal only in the same order
            pairs = list(collections.OrderedDict.items(value))
            return ["list", [["tuple", [self.key(k, depth + 1), self.node(v, depth + 1)]] for k, v in pairs]]
        if array.array in bases:
            return self.node(array.array.tolist(value), depth + 1)
        if kind in (type({}.keys()), type({}.values()), type({}.items())):
            return ["list", [self.node(item, depth + 1) for item in value]]
        for base in _CONTENTS:
            if base in bases:
                if base is dict:
                    pairs = list(dict.items(value))
                    return ["dict", [[self.key(k, depth + 1), self.node(v, depth + 1)] for k, v in pairs]]
                if base in (set, frozenset):
                    return [base.__name__, self.sorted_items(base.__iter__(value), depth)]
                if base in (list, tuple, collections.deque):
                    tag = "tuple" if base is tuple else "list"
                    return [tag, [self.node(item, depth + 1) for item in base.__iter__(value)]]
                if base is bytearray:
                    return encode_bytes("bytearray", bytearray(memoryview(value)))
                if base is str:
                    return _ATOMS[str](str.__str__(value) if kind is str else "".join(str.__iter__(value)))
                if base is bytes:
                    return encode_bytes("bytes", bytes(memoryview(value)))
                if base is int:
                    return _encode_int(int.__index__(value))
                if base is float:
                    return ["float", float.__repr__(value)]
                return ["complex", repr(complex.real.__get__(value)), repr(complex.imag.__get__(value))]
        return None


def encode(value: Any, nodes: int = VALUE_NODES, hashed: int = HASHED_NODES) -> Json:
    """The canonical encoding of a value; a digest of it where it has too many nodes.

    Args:
        value: Any value, hostile ones included.
        nodes: Nodes up to which the encoding is kept whole.
        hashed: Nodes up to which a digest tells it from others; beyond, it equals nothing.
    """
    try:
        return _Encoder(nodes).run(value)
    except _TooLargeError:
        pass
    except Exception:  # a file's class can be so broken that reading it raises
        return ["opaque", "unreadable " + class_name(type(value))]
    try:
        text = json.dumps(_Encoder(hashed).run(value))
    except Exception:  # beyond all bounds: without a digest it equals nothing
        return ["cut", class_name(type(value)), -1, "", ""]
    return ["cut", class_name(type(value)), len(text), hashlib.sha256(text.encode()).hexdigest(), text[:200]]


def message_of(error: BaseException) -> str:
    """Text of an exception, as far as it can be read."""
    try:
        text = str(error)
    except BaseException:
        text = "<its text cannot be read>"
    return writable(neutral(str.__str__(text))[:4000])
