"""The program that runs a Python function on input states. It lives inside the sandbox.

``main(payload, emit)`` loads a file as a module, forks a child for every input state, and emits one record
each: a JSON header, a newline, and what the child said, which this process does not read. Everything that the
child does is up to hostile code, so nothing here may be relied upon outside the sandbox.

The file stands alone: a sandbox loads it by its path, from any CPython from 3.9 on, with nothing but the
standard library. It knows nothing of verdicts, of expected outputs, or of the package around it.

Sections: encoding of values, the tamed world, loading, calling, recording, and the program itself.
"""

# ruff: noqa: B905, PTH103, PTH109, PTH115, PTH118, PTH120, PTH123
# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations
import __future__

import array
import ast
import asyncio
import builtins
import collections
import contextlib
import ctypes
import datetime
import decimal
import enum
import errno
import fractions
import functools
import gc
import getpass
import hashlib
import http.client
import io
import itertools
import json
import linecache
import logging
import os
import pathlib
import platform
import random
import re
import secrets
import select
import selectors
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import unittest.mock
import urllib.request
import uuid
import warnings
import zoneinfo
from collections.abc import Callable, Coroutine, Iterable
from typing import IO, Any, NoReturn

Json = Any

MODULE = "audited"
FILENAME = "audited.py"
VALUE_NODES = 20_000  # nodes that a value may have and still be kept whole
HASHED_NODES = 400_000  # nodes that a value may have and still be told from others by its digest
TEXT_LENGTH = 100_000  # characters or bytes of one text that are kept
NESTING = 16  # levels of a value that are written into each other; deeper ones go to the table
DRAINED_ITEMS = 1_000  # items taken from a generator
STREAM_BYTES = 256 * 1024  # kept of standard output and of standard error
LOGGED_CALLS = 1_000
FILE_BYTES = 64 * 1024  # a longer file is recorded by its digest

# The program's own use of what it takes away from the code under test.
_real_monotonic = time.monotonic
_real_sleep = time.sleep
_real_fork = os.fork
_real_exit = os._exit
_real_kill = os.kill
_RealRandom = random.Random


# ------------------------------------------------------------------------------------ encoding of values


class _TooLargeError(Exception):
    """A value has more nodes than may be kept."""


_paths: list[tuple[str, str]] = []  # (real directory, what it is called in every record)
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,16}\b")


def _neutral(text: str) -> str:
    """A text without the addresses that default reprs print and without this task's own directories."""
    if "0x" in text:
        text = _ADDRESS.sub("at 0x…", text)
    for real, neutral in _paths:
        if real in text:
            text = text.replace(real, neutral)
    return text


def _writable(text: str) -> str:
    """A text in which lone surrogates are spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _class_name(kind: type[Any]) -> str:
    """Qualified name of a class, read past any metaclass; built-in ones without their module."""
    name = type.__dict__["__qualname__"].__get__(kind)
    if "__module__" in type.__dict__["__dict__"].__get__(kind):
        module = type.__dict__["__dict__"].__get__(kind)["__module__"]
    else:
        module = type.__dict__["__module__"].__get__(kind)
    return _writable(name if module == "builtins" or type(module) is not str else module + "." + name)


def _mro(kind: type[Any]) -> tuple[type[Any], ...]:
    found: tuple[type[Any], ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def _encode_text(text: str) -> Json:
    text = _neutral(text)
    if len(text) > TEXT_LENGTH:
        whole = text.encode("utf-8", "surrogatepass")
        return ["cut", "str", len(text), hashlib.sha256(whole).hexdigest(), _writable(text[:200])]
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return ["str", text.encode("utf-8", "surrogatepass").hex()]
    return text


def _encode_bytes(tag: str, content: bytes | bytearray) -> Json:
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
    return _writable(module + "." + name if type(module) is str and module != "builtins" else name)


_ATOMS: dict[type[Any], Callable[[Any], Json]] = {
    int: _encode_int,
    str: _encode_text,
    float: lambda value: ["float", repr(value)],
    complex: lambda value: ["complex", repr(value.real), repr(value.imag)],
    bytes: lambda value: _encode_bytes("bytes", value),
    range: lambda value: ["value", "range", repr(value)],
    types.FunctionType: lambda value: ["function", _function_name(value)],
    types.BuiltinFunctionType: lambda value: ["function", _function_name(value)],
    types.MethodType: lambda value: ["function", _function_name(value.__func__)],
    types.ModuleType: lambda value: ["module", _writable(str(vars(value).get("__name__")))],
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
    (pathlib.PurePath, lambda value: _neutral(str(value))),
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
                return ["opaque", _class_name(kind)]
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
                return _encode_bytes("bytearray", value)
            return self.special(value, kind, depth)
        finally:
            self.path.pop()

    def sorted_items(self, items: Iterable[Any], depth: int) -> list[Json]:
        return sorted((self.key(item, depth + 1) for item in list(items)), key=json.dumps)

    def special(self, value: Any, kind: type[Any], depth: int) -> Json:
        bases = _mro(kind)
        if type in bases:
            return ["type", _class_name(value)]
        name = _class_name(kind)
        if enum.Enum in bases:
            member = object.__getattribute__(value, "_name_")
            return ["value", name, _writable(str(member or object.__getattribute__(value, "_value_")))]
        for base, text in _TEXTS:
            if base in bases:
                return ["value", name, _writable(text(value))]
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
        return [[_writable(name), self.node(found[name], depth + 1)] for name in sorted(names)]

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
                    return _encode_bytes("bytearray", bytearray(memoryview(value)))
                if base is str:
                    return _ATOMS[str](str.__str__(value) if kind is str else "".join(str.__iter__(value)))
                if base is bytes:
                    return _encode_bytes("bytes", bytes(memoryview(value)))
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
        return ["opaque", "unreadable " + _class_name(type(value))]
    try:
        text = json.dumps(_Encoder(hashed).run(value))
    except Exception:  # beyond all bounds: without a digest it equals nothing
        return ["cut", _class_name(type(value)), -1, "", ""]
    return ["cut", _class_name(type(value)), len(text), hashlib.sha256(text.encode()).hexdigest(), text[:200]]


# -------------------------------------------------------------------------------------- the tamed world

_STDLIB = os.path.dirname(os.__file__) + os.sep
EPOCH_S = 1_709_294_400  # 2024-03-01 12:00:00 UTC
STEP_NS = 1_000_000  # by which a clock advances from one call to the next
_OWN_FILE = __file__


def _is_plumbing(filename: str) -> bool:
    """Whether code belongs to the standard library (or to this program), whose calls are not logged."""
    if filename.startswith(_STDLIB):
        return "-packages" + os.sep not in filename
    return filename.startswith("<frozen") or filename == _OWN_FILE


def _encode_argument(value: Any) -> Json:
    """The encoding of what a logged call takes or gives: asked for often, so that it must be cheap."""
    found = encode(value, 500, 20_000)
    if type(value) in (list, tuple, dict, set, frozenset) and found[0] == "cut" and not found[3]:
        return ["cut", type(value).__name__, len(value), "unread", ""]
    return found


class World:
    """Answers for random sources, clocks, identifiers, processes and the network, and logs who asked.

    The nth equal call gets an equal answer, whatever else is called in between: an answer depends on the
    state's seed, the path, the arguments and that n.
    """

    def __init__(self) -> None:
        self.seeded: random.Random | None = None  # the generator that the code itself seeded, if it did
        self.local = threading.local()
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a state."""
        self.seed = seed
        self.start_ns = (EPOCH_S + seed % 3_650 * 86_461) * 10**9
        self.forget()

    def forget(self) -> None:
        """Start counting and logging anew."""
        self.counts: dict[str, int] = {}
        self.calls: list[Json] = []
        self.dropped = 0
        self.slept_ns = 0

    def call(
        self,
        path: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        answer: Callable[..., Any],
        always: bool = False,
    ) -> Any:
        """Answer a call of the outside, and log it unless it is plumbing or part of another one.

        ``answer`` gets the ordinal among equal calls and a random source of this call's own.
        """
        busy = getattr(self.local, "busy", False)
        quiet = busy or not (always or not _is_plumbing(sys._getframe(2).f_code.co_filename))
        arguments = [_encode_argument(item) for item in args]
        keywords = {_writable(name): _encode_argument(item) for name, item in sorted(kwargs.items())}
        key = json.dumps([path, quiet, arguments, keywords])
        ordinal = self.counts.get(key, 0)
        self.counts[key] = ordinal + 1
        entry = {"path": path, "arguments": arguments, "keywords": keywords, "answer": None}
        if not quiet:
            if len(self.calls) < LOGGED_CALLS:
                self.calls.append(entry)
            else:
                self.dropped += 1
        digest = hashlib.sha256(f"{self.seed} {ordinal} {key}".encode()).digest()
        self.local.busy = True
        try:
            result = answer(ordinal, _RealRandom(int.from_bytes(digest, "big")))
            entry["answer"] = _encode_argument(result)
            return result
        except BaseException as error:
            entry["answer"] = ["value", "raised", _class_name(type(error))]
            raise
        finally:
            self.local.busy = busy

    def log(self) -> list[Json]:
        """What was called, and how many calls more than are kept."""
        if not self.dropped:
            return self.calls
        rest: Json = {"path": "and more calls", "arguments": [self.dropped], "keywords": {}, "answer": None}
        return [*self.calls, rest]

    def now_ns(self, ordinal: int) -> int:
        """Nanoseconds since 1970 at the nth question for the time."""
        return self.start_ns + ordinal * STEP_NS + self.slept_ns


world = World()


def _stand_in(
    path: str, original: Callable[..., Any], answer: Callable[..., Any], always: bool = False
) -> Callable[..., Any]:
    """A function that looks like the original and asks the world.

    ``answer`` gets the ordinal, a random source, and the call's own arguments.
    """

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return world.call(path, args, kwargs, lambda n, source: answer(n, source, *args, **kwargs), always)

    with contextlib.suppress(AttributeError, TypeError):
        functools.update_wrapper(stand_in, original)
        vars(stand_in).pop("__wrapped__", None)
    return stand_in


def _replace_in_type(kind: type[Any], name: str, value: Any) -> None:
    """Replace a method of a built-in class in place, so that the class stays the one that it is."""
    namespace = gc.get_referents(type.__dict__["__dict__"].__get__(kind))[0]
    namespace[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


class _Random(_RealRandom):
    """``random.Random`` that draws its missing seed from the world."""

    def __init__(self, x: Any = None) -> None:
        self.seed(x)

    def seed(self, a: Any = None, version: int = 2) -> None:
        if a is None:
            a = world.call("random.Random", (), {}, lambda n, source: source.getrandbits(64))
        super().seed(a, version)


class _SystemRandom(_RealRandom):
    """``random.SystemRandom`` whose entropy is the world's."""

    def random(self) -> float:
        drawn: float = world.call("random.SystemRandom.random", (), {}, lambda n, source: source.random())
        return drawn

    def getrandbits(self, k: int) -> int:
        path = "random.SystemRandom.getrandbits"
        drawn: int = world.call(path, (k,), {}, lambda n, source: source.getrandbits(k))
        return drawn

    def randbytes(self, n: int) -> bytes:
        return self.getrandbits(n * 8).to_bytes(n, "big")

    def seed(self, *args: Any, **kwargs: Any) -> None:
        return None

    def getstate(self) -> NoReturn:
        raise NotImplementedError("System entropy source does not have state.")

    def setstate(self, state: Any) -> NoReturn:
        raise NotImplementedError("System entropy source does not have state.")


def _tame_random() -> None:
    names = "random uniform randint randrange choice choices sample shuffle gauss normalvariate betavariate"
    names += (
        " expovariate gammavariate lognormvariate triangular vonmisesvariate paretovariate weibullvariate"
    )
    names += " getrandbits randbytes"

    def drawn(name: str) -> Callable[..., Any]:
        return lambda n, source, *args, **kwargs: getattr(world.seeded or source, name)(*args, **kwargs)

    for name in names.split():
        setattr(random, name, _stand_in("random." + name, getattr(random, name), drawn(name)))

    def seed(n: int, source: random.Random, a: Any = None, version: int = 2) -> None:
        world.seeded = None
        if a is not None:
            world.seeded = _RealRandom()
            world.seeded.seed(a, version)

    def setstate(n: int, source: random.Random, state: Any) -> None:
        world.seeded = _RealRandom()
        world.seeded.setstate(state)

    random.seed = _stand_in("random.seed", random.seed, seed)
    random.setstate = _stand_in("random.setstate", random.setstate, setstate)
    random.getstate = lambda: (world.seeded or _RealRandom(world.seed)).getstate()
    for kind, name in ((_Random, "Random"), (_SystemRandom, "SystemRandom")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "random"
        setattr(random, name, kind)
    setattr(secrets, "SystemRandom", _SystemRandom)  # noqa: B010 - or mypy sees a redefinition
    draws: dict[str, Callable[..., Any]] = {
        "token_bytes": lambda n, s, nbytes=None: s.randbytes(32 if nbytes is None else nbytes),
        "token_hex": lambda n, s, nbytes=None: s.randbytes(32 if nbytes is None else nbytes).hex(),
        "token_urlsafe": lambda n, s, nbytes=None: _urlsafe(s.randbytes(32 if nbytes is None else nbytes)),
        "choice": lambda n, s, seq: s.choice(seq),
        "randbelow": lambda n, s, exclusive_upper_bound: s.randrange(exclusive_upper_bound),
        "randbits": lambda n, s, k: s.getrandbits(k),
    }
    for name, draw in draws.items():
        setattr(secrets, name, _stand_in("secrets." + name, getattr(secrets, name), draw))
    os.urandom = _stand_in("os.urandom", os.urandom, lambda n, s, size: s.randbytes(size))
    os.getrandom = _stand_in("os.getrandom", os.urandom, lambda n, s, size, flags=0: s.randbytes(size))
    uuid.uuid1 = _stand_in(
        "uuid.uuid1",
        uuid.uuid1,
        lambda n, s, node=None, clock_seq=None: uuid.UUID(bytes=s.randbytes(16), version=1),
    )
    uuid.uuid4 = _stand_in("uuid.uuid4", uuid.uuid4, lambda n, s: uuid.UUID(bytes=s.randbytes(16), version=4))
    vars(tempfile)["_name_sequence"] = (f"name{number:04}" for number in itertools.count())


def _urlsafe(content: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _tame_clock() -> None:
    def seconds(n: int, source: random.Random) -> float:
        return world.now_ns(n) / 10**9

    def elapsed_s(n: int, source: random.Random) -> float:
        return (world.now_ns(n) - world.start_ns) / 10**9 + 1_000.0

    def elapsed_ns(n: int, source: random.Random) -> int:
        return world.now_ns(n) - world.start_ns + 1_000 * 10**9

    answers: dict[str, Callable[..., Any]] = {"time": seconds, "time_ns": lambda n, source: world.now_ns(n)}
    answers["clock_gettime"] = lambda n, source, clock: seconds(n, source)
    answers["clock_gettime_ns"] = lambda n, source, clock: world.now_ns(n)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        answers[name] = elapsed_s
        answers[name + "_ns"] = elapsed_ns
    for name, answer in answers.items():
        setattr(time, name, _stand_in("time." + name, getattr(time, name), answer))

    def sleep(n: int, source: random.Random, secs: float) -> None:
        if secs < 0:
            raise ValueError("sleep length must be non-negative")
        world.slept_ns += int(secs * 10**9)
        _real_sleep(0)  # lets other threads run

    time.sleep = _stand_in("time.sleep", time.sleep, sleep)

    def told(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """``gmtime`` and its like: they ask the clock only where no time is given."""
        asked = _stand_in("time." + name, original, lambda n, source: original(world.now_ns(n) // 10**9))
        return lambda secs=None: asked() if secs is None else original(secs)

    gmtime = time.gmtime
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, told(name, getattr(time, name)))
    strftime, asctime = time.strftime, time.asctime

    def formatted(n: int, source: random.Random, layout: str) -> str:
        return strftime(layout, gmtime(world.now_ns(n) // 10**9))

    asked = _stand_in("time.strftime", strftime, formatted)
    time.strftime = lambda layout, t=None: asked(layout) if t is None else strftime(layout, t)
    asked_plain = _stand_in(
        "time.asctime", asctime, lambda n, source: asctime(gmtime(world.now_ns(n) // 10**9))
    )
    time.asctime = lambda t=None: asked_plain() if t is None else asctime(t)

    utc = datetime.timezone.utc  # noqa: UP017 - the alias is newer than the oldest interpreter
    start = datetime.datetime(1970, 1, 1, tzinfo=utc)

    def moment(n: int) -> datetime.datetime:
        return start + datetime.timedelta(microseconds=world.now_ns(n) // 1_000)

    def as_class(cls: Any, at: datetime.datetime, tz: datetime.tzinfo | None) -> Any:
        at = at.astimezone(tz) if tz is not None else at.replace(tzinfo=None)
        return cls(*at.timetuple()[:6], at.microsecond, at.tzinfo)

    def now(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
        args = () if tz is None else (tz,)
        return world.call("datetime.datetime.now", args, {}, lambda n, source: as_class(cls, moment(n), tz))

    def utcnow(cls: Any) -> Any:
        return world.call("datetime.datetime.utcnow", (), {}, lambda n, s: as_class(cls, moment(n), None))

    def today(cls: Any) -> Any:
        if issubclass(cls, datetime.datetime):
            path = "datetime.datetime.today"
            return world.call(path, (), {}, lambda n, source: as_class(cls, moment(n), None))
        return world.call("datetime.date.today", (), {}, lambda n, s: cls(*moment(n).timetuple()[:3]))

    _replace_in_type(datetime.datetime, "now", classmethod(now))
    _replace_in_type(datetime.datetime, "utcnow", classmethod(utcnow))
    _replace_in_type(datetime.date, "today", classmethod(today))
    if datetime.date.today().year < 2024 or datetime.datetime.now().year < 2024:
        raise RuntimeError("the clock of this interpreter's datetime module cannot be replaced")


def _tame_processes() -> None:
    def refused(error: type[OSError], number: int, message: str) -> Callable[..., Any]:
        def answer(n: int, source: random.Random, *args: Any, **kwargs: Any) -> None:
            raise error(number, message)

        return answer

    def run_inside(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda n, source, *args, **kwargs: original(*args, **kwargs)

    absent = refused(FileNotFoundError, errno.ENOENT, "No such file or directory")
    exhausted = refused(BlockingIOError, errno.EAGAIN, "Resource temporarily unavailable")
    unknown = refused(ProcessLookupError, errno.ESRCH, "No such process")
    for name in ("run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"):
        original = getattr(subprocess, name)
        setattr(subprocess, name, _stand_in("subprocess." + name, original, run_inside(original), True))

    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        world.call("subprocess.Popen", args, kwargs, lambda n, source: absent(n, source), True)

    setattr(subprocess.Popen, "__init__", start)  # noqa: B010 - as above
    os.system = _stand_in("os.system", os.system, lambda n, source, command: 127 << 8, True)
    os.popen = _stand_in("os.popen", os.popen, run_inside(os.popen), True)
    for name in ("fork", "forkpty"):
        setattr(os, name, _stand_in("os." + name, getattr(os, name), exhausted, True))
    for name in ("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"):
        setattr(os, name, _stand_in("os." + name, getattr(os, name), absent, True))
    for name in ("posix_spawn", "posix_spawnp"):
        setattr(os, name, _stand_in("os." + name, getattr(os, name), absent, True))
    for name in ("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe"):
        setattr(os, name, _stand_in("os." + name, getattr(os, name), lambda n, source, *args: 127, True))
    for name in ("kill", "killpg"):
        setattr(os, name, _stand_in("os." + name, getattr(os, name), unknown, True))


def _tame_network() -> None:
    def run_inside(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda n, source, *args, **kwargs: original(*args, **kwargs)

    def unresolved(n: int, source: random.Random, *args: Any, **kwargs: Any) -> NoReturn:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        setattr(socket, name, _stand_in("socket." + name, getattr(socket, name), unresolved, True))
    for module, path, name in (
        (socket, "socket", "create_connection"),
        (urllib.request, "urllib.request", "urlopen"),
        (urllib.request, "urllib.request", "urlretrieve"),
    ):
        original = getattr(module, name)
        setattr(module, name, _stand_in(f"{path}.{name}", original, run_inside(original), True))

    def refuse(self: Any, *args: Any) -> NoReturn:
        if self.family == socket.AF_UNIX:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    def method(
        kind: type[Any],
        name: str,
        path: str,
        what: Callable[..., Any] | None = None,
        receiver: Callable[[Any], list[Any]] = lambda self: [],
    ) -> None:
        original = what or getattr(kind, name)

        def stand_in(self: Any, *args: Any, **kwargs: Any) -> Any:
            shown = (*receiver(self), *args)
            return world.call(path, shown, kwargs, lambda n, source: original(self, *args, **kwargs), True)

        setattr(kind, name, functools.wraps(original)(stand_in))

    def place(self: Any) -> list[Any]:
        return [self.host, self.port]

    method(socket.socket, "connect", "socket.socket.connect", refuse)
    method(socket.socket, "connect_ex", "socket.socket.connect_ex", lambda self, *args: errno.ECONNREFUSED)
    method(socket.socket, "sendto", "socket.socket.sendto", refuse)
    method(urllib.request.OpenerDirector, "open", "urllib.request.OpenerDirector.open")
    method(http.client.HTTPConnection, "request", "http.client.HTTPConnection.request", receiver=place)
    method(http.client.HTTPConnection, "connect", "http.client.HTTPConnection.connect", receiver=place)
    method(smtplib.SMTP, "connect", "smtplib.SMTP.connect")


def _tame_identity() -> None:
    """What would tell one run or machine from another, and is no effect: fixed and not logged."""
    fixed = {"getpid": 4242, "getppid": 4241, "getlogin": "user", "cpu_count": 4}
    fixed.update(dict.fromkeys(("getuid", "geteuid", "getgid", "getegid"), 1000))
    for name, value in fixed.items():
        setattr(os, name, lambda value=value: value)
    machine = os.uname_result(("Linux", "host", "6.1.0", "#1 SMP", "x86_64"))
    os.uname = lambda: machine
    socket.gethostname = lambda: "host"
    socket.getfqdn = lambda name="": name or "host"
    platform.uname = lambda: platform.uname_result("Linux", "host", "6.1.0", "#1 SMP", "x86_64")
    platform.node = lambda: "host"
    platform.platform = lambda aliased=False, terse=False: "Linux-6.1.0-x86_64"
    uuid.getnode = lambda: 0x02AABBCCDDEE

    def read_password(prompt: str = "Password: ", stream: IO[str] | None = None) -> str:
        (stream or sys.stderr).write(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    getpass.getpass = read_password
    # Frames, line numbers and source lines are the runtime's own; the last line of a traceback is not.
    setattr(traceback.StackSummary, "format", lambda self, **options: [])  # noqa: B010 - as above
    warnings.formatwarning = lambda message, category, *place: f"{category.__name__}: {message}\n"
    warnings.resetwarnings()
    for category in (
        DeprecationWarning,
        PendingDeprecationWarning,
        ImportWarning,
        ResourceWarning,
        SyntaxWarning,
    ):
        warnings.simplefilter("ignore", category)
    warnings.simplefilter("always", UserWarning)
    asyncio.set_event_loop_policy(_Policy())


class _Selector(selectors.DefaultSelector):
    """Waits for no timer: where nothing is ready, the loop's own time jumps."""

    loop: _Loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        # Only a worker thread of the loop could make something ready meanwhile.
        ready = super().select(0.05 if vars(self.loop)["_default_executor"] is not None else 0)
        if not ready:
            self.loop.passed_s += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose timers take no real time."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return 1_000.0 + self.passed_s


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the policy system is deprecated from 3.14 on

    class _Policy(asyncio.DefaultEventLoopPolicy):
        _loop_factory = _Loop


# --------------------------------------------------------------------------------------------- loading


class _LoadTimeoutError(BaseException):
    """The file's top-level statements took too long."""


class Loaded:
    """A file as a module, with the function to call.

    ``problem`` says why the function cannot be called; None if it can.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self.line = task["line"]
        self.qualname = task["qualname"]
        self.problem: str | None = None
        self.notes: list[str] = []
        self.skipped: list[dict[str, Json]] = []
        self.captured: Any = None
        self.node: Any = None
        self.owner: type[Any] | None = None
        self.raw: Any = None
        self.flags = 0
        self.named: set[str] = set()
        self.module = types.ModuleType(MODULE)
        self.space = vars(self.module)
        self.space["__file__"] = FILENAME
        self.space["__builtins__"] = {
            **vars(builtins),
            "__funcmem_capture__": self.capture,
            "id": _Identities(),
        }
        sys.modules[MODULE] = self.module

    def capture(self, function: Any) -> Any:
        """The innermost decorator of the function: notes it and leaves it as it is."""
        self.captured = function
        return function


class _Identities:
    """The built-in ``id`` as small numbers in the order of asking, so that no address reaches a value."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, Any]] = {}

    def __call__(self, value: Any) -> int:
        number, _ = self.known.setdefault(id(value), (len(self.known) + 1, value))
        return number


def load(task: dict[str, Any]) -> Loaded:
    """Execute a file statement by statement and find the function in it."""
    loaded = Loaded(task)
    previous = signal.signal(signal.SIGALRM, _stop_loading)
    # Again and again, since the file may catch the first one.
    signal.setitimer(signal.ITIMER_REAL, task["load_timeout_s"], 0.05)
    try:
        for index, node in enumerate(_parsed(task["prelude"], loaded, 0)[0]):
            _execute(loaded, node, -1 - index, "<prelude>")
        nodes, rejected = _parsed(task["text"], loaded, task["line"])
        target = _find_target(nodes, loaded)
        if target is None:
            reason = next((error for first, last, error in rejected if first <= loaded.line <= last), None)
            loaded.problem = reason or f"there is no function {loaded.qualname} at line {loaded.line}"
            return loaded
        linecache.cache[FILENAME] = (len(task["text"]), None, task["text"].splitlines(True), FILENAME)
        for index, node in enumerate(nodes):
            if node is target:
                _execute_target(loaded, node, index)
            else:
                _execute(loaded, node, index, FILENAME)
        if loaded.problem is None:
            _resolve(loaded)
    except _LoadTimeoutError:
        loaded.problem = f"its top-level statements took more than {task['load_timeout_s']:g} s"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return loaded


def _stop_loading(number: int, frame: Any) -> None:
    raise _LoadTimeoutError


def _parsed(text: str, loaded: Loaded, line: int) -> tuple[list[ast.stmt], list[tuple[int, int, str]]]:
    """Top-level statements of a text as far as it parses; (first line, last line, error) of the rest."""
    try:
        return ast.parse(text).body, []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    lines = text.replace("\0", " ").split("\n")
    starts = [
        number for number, content in enumerate(lines) if content[:1] == "@" or content[:1].isidentifier()
    ]
    starts = [number for number in starts if not re.match(r"(elif|else|except|finally)\b", lines[number])]
    edges = [*starts, len(lines)]
    nodes: list[ast.stmt] = []
    rejected: list[tuple[int, int, str]] = []
    if edges[0] > 0 and any(content.strip() for content in lines[: edges[0]]):
        rejected.append((1, edges[0], "SyntaxError: the file begins in the middle of something"))
    place = 0
    while place < len(starts):
        first_error = ""
        # A statement may go on past a line that looks like a start (a text in triple quotes, a decorator).
        for end in range(place + 1, min(place + 13, len(edges))):
            chunk = "\n".join(lines[edges[place] : edges[end]]) + "\n"
            try:
                found = ast.parse(chunk).body
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if not first_error:
                    first_error = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
                continue
            nodes.extend(ast.increment_lineno(node, edges[place]) for node in found)
            place = end
            break
        else:
            rejected.append((edges[place] + 1, edges[place + 1], first_error))
            place += 1
    for first, _, problem in rejected:
        kind, _, message = problem.partition(": ")
        loaded.skipped.append(
            {"index": -1, "line": first, "names": [], "error": kind, "message": _writable(message)}
        )
    return nodes, rejected


def _find_target(nodes: list[ast.stmt], loaded: Loaded) -> ast.stmt | None:
    """The top-level statement that holds the function; its own node is noted."""
    name = loaded.qualname.rpartition(".")[2]
    for statement in nodes:
        if not statement.lineno - 50 <= loaded.line <= (statement.end_lineno or 0):
            continue
        for node in ast.walk(statement):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if node.name == name and first <= loaded.line <= node.lineno:
                loaded.node, loaded.line = node, node.lineno
                return statement
    return None


def _names(node: ast.stmt) -> list[str]:
    found = []
    for item in ast.walk(node):
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(item.name)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            found.append(item.id)
        elif isinstance(item, ast.alias):
            found.append((item.asname or item.name).partition(".")[0])
    return sorted({_writable(name) for name in found})


def _attempt(loaded: Loaded, node: ast.stmt, filename: str, flags: int = 0) -> BaseException | None:
    """Compile and execute one statement; the exception if it fails."""
    try:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for item in node.names:
                loaded.flags |= getattr(getattr(__future__, item.name, None), "compiler_flag", 0)
        tree = ast.fix_missing_locations(ast.Module(body=[node], type_ignores=[]))
        code = compile(tree, filename, "exec", flags=loaded.flags | flags, dont_inherit=True)
        exec(code, loaded.space)
    except _LoadTimeoutError:
        raise
    except BaseException as error:
        return error
    return None


_POSTPONED = __future__.annotations.compiler_flag


def _execute(loaded: Loaded, node: ast.stmt, index: int, filename: str) -> None:
    error = _attempt(loaded, node, filename)
    if error is not None and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        # A hint that cannot be evaluated is no reason to lose what it stands on.
        again = _attempt_in_parts(loaded, node, index, filename)
        error = again and error
    if error is not None:
        names = _names(node) if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) else [node.name]
        _skip(loaded, index, node, names, error)


def _skip(loaded: Loaded, index: int, node: Any, names: list[str], error: BaseException) -> None:
    loaded.skipped.append(
        {
            "index": index,
            "line": node.lineno,
            "names": names,
            "error": _class_name(type(error)),
            "message": _message(error),
        }
    )


def _attempt_in_parts(loaded: Loaded, node: Any, index: int, filename: str) -> BaseException | None:
    """Execute a definition without the hints and, of a class, without the parts that fail by themselves."""
    error = _attempt(loaded, node, filename, _POSTPONED)
    while error is not None and isinstance(node, ast.ClassDef):
        found = _failing_part(loaded, node, error, filename)
        if found is None:
            break
        parts, part = found
        parts.remove(part)
        if not node.body:
            node.body.append(ast.copy_location(ast.Pass(), node))
        names = _names(part) if isinstance(part, ast.stmt) else [_writable(ast.unparse(part))]
        _skip(loaded, index, part, [f"{node.name}.{name}" for name in names], error)
        error = _attempt(loaded, node, filename, _POSTPONED)
    return error


def _failing_part(
    loaded: Loaded, node: ast.ClassDef, error: BaseException, filename: str
) -> tuple[list[Any], Any] | None:
    """The statement, base or decorator of a class that an error comes from, with the list it stands in."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == filename and code.co_name == node.name:
            for part in node.body:
                inner = list(ast.walk(part))
                first = min(item.lineno for item in inner if hasattr(item, "lineno"))
                if first <= trace.tb_lineno <= (part.end_lineno or 0):
                    return None if loaded.node in inner else (node.body, part)
            return None
        trace = trace.tb_next
    for parts in (node.bases, node.decorator_list):
        for base in parts:
            if _attempt(loaded, ast.copy_location(ast.Expr(base), node), filename) is not None:
                return parts, base
    return None


def _execute_target(loaded: Loaded, statement: ast.stmt, index: int) -> None:
    target = loaded.node
    hook = ast.copy_location(ast.Name(id="__funcmem_capture__", ctx=ast.Load()), target)
    # Innermost, on the line of ``def``: sees the plain function and shifts no line.
    hook.end_lineno, hook.end_col_offset = target.lineno, target.col_offset
    target.decorator_list.append(hook)
    error = _attempt(loaded, statement, FILENAME)
    if error is not None:
        again = _attempt_in_parts(loaded, statement, index, FILENAME)
        if again is not None and len(target.decorator_list) > 1:
            kept = [item for item in target.decorator_list if _is_plain_decorator(item)]
            if len(kept) < len(target.decorator_list):
                target.decorator_list = kept
                again = _attempt_in_parts(loaded, statement, index, FILENAME)
                if again is None:
                    loaded.notes.append(
                        "a decorator of the function failed and was left out: " + _line(error)
                    )
        if again is not None:
            loaded.problem = _line(again)
            return
    if loaded.captured is None and not any(
        isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node is not target
        for node in ast.walk(statement)
        if target in ast.walk(node)
    ):
        # It stands in a branch that was not taken (``if __name__ == "__main__"``).
        error = _attempt(loaded, target, FILENAME, _POSTPONED)
        loaded.problem = None if error is None else _line(error)


def _is_plain_decorator(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in ("staticmethod", "classmethod", "property", "__funcmem_capture__")
    return isinstance(node, ast.Attribute) and node.attr in ("setter", "getter", "deleter")


def _line(error: BaseException) -> str:
    return f"{_class_name(type(error))}: {_message(error)}"[:500]


def _leads_to(value: Any, function: Any, depth: int = 0) -> bool:
    """Whether an object is the function or wraps it in one of the usual ways."""
    if value is function:
        return True
    if depth > 6 or value is None or isinstance(value, (type, types.ModuleType)):
        return False
    for name in ("__func__", "__wrapped__", "fget", "fset", "fdel", "func"):
        with contextlib.suppress(Exception):
            if _leads_to(object.__getattribute__(value, name), function, depth + 1):
                return True
    for cell in getattr(value, "__closure__", None) or () if isinstance(value, types.FunctionType) else ():
        with contextlib.suppress(ValueError):
            if _leads_to(cell.cell_contents, function, depth + 1):
                return True
    return False


def _resolve(loaded: Loaded) -> None:
    """Find what the function's name stands for: the decorated function if that lives, else the plain one."""
    if loaded.captured is None:
        loaded.problem = f"{loaded.qualname} is defined inside a function or in a branch that was not taken"
        return
    owner: Any = loaded.module
    value: Any = loaded.module
    for part in loaded.qualname.split("."):
        owner = value
        value = vars(owner).get(part) if isinstance(owner, (type, types.ModuleType)) else None
    loaded.owner = owner if isinstance(owner, type) else None
    if _leads_to(value, loaded.captured):
        loaded.raw = value
        return
    loaded.raw = loaded.captured
    for node in loaded.node.decorator_list:
        if isinstance(node, ast.Name) and node.id in ("staticmethod", "classmethod"):
            loaded.raw = {"staticmethod": staticmethod, "classmethod": classmethod}[node.id](loaded.captured)
    loaded.notes.append("the plain function is called: its name stands for something that hides it")


# --------------------------------------------------------------------------------------------- calling


def bound(loaded: Loaded, receiver: Any, has_receiver: bool) -> Callable[..., Any]:
    """The callable for a receiver: ``type(self).method`` bound, whatever kind of method it is."""
    raw: Any = loaded.raw
    if isinstance(raw, staticmethod):
        return raw.__func__
    if isinstance(raw, classmethod):
        owner = receiver if isinstance(receiver, type) else type(receiver)
        return raw.__get__(None, owner if has_receiver else loaded.owner)
    if isinstance(raw, property):
        parts = (raw.fget, raw.fset, raw.fdel)
        raw = next(part for part in parts if part is not None and _leads_to(part, loaded.captured))
    elif isinstance(raw, functools.cached_property):
        raw = raw.func
    if has_receiver and hasattr(type(raw), "__get__"):
        method: Callable[..., Any] = type(raw).__get__(raw, receiver, type(receiver))
        return method
    plain: Callable[..., Any] = functools.partial(raw, receiver) if has_receiver else raw
    return plain


_ITERATORS: tuple[Any, ...] = (
    map,
    filter,
    zip,
    enumerate,
    reversed,
    type(iter([])),
    type(iter(())),
    type(iter({})),
)
_ITERATORS += (type(iter(set())), type(iter("")), type(iter(range(0))), type(reversed([])))
_ITERATORS += (itertools.chain, itertools.islice, itertools.starmap, itertools.count, itertools.cycle)
_ITERATORS += (itertools.takewhile, itertools.dropwhile, itertools.product, itertools.permutations)
_ITERATORS += (itertools.combinations, itertools.groupby, itertools.accumulate, itertools.repeat)


class Taken:
    """What was taken out of a result: filled while it runs, so that it is not lost where an item raises."""

    def __init__(self) -> None:
        self.value: Json = None


def take(result: Any, taken: Taken) -> None:
    """Encode a result; what is computed only on demand is demanded (coroutines, generators, iterators)."""
    if isinstance(result, types.CoroutineType):
        result = _awaited(result)
    if isinstance(result, types.GeneratorType):
        _take_items(result, taken, "generator", lambda: next(result))
        result.close()
    elif isinstance(result, types.AsyncGeneratorType):
        loop = _Loop()
        _take_items(result, taken, "async_generator", lambda: loop.run_until_complete(result.__anext__()))
    elif type(result) in _ITERATORS:
        _take_items(result, taken, type(result).__name__, lambda: next(result))
    elif type(result) is contextlib._GeneratorContextManager:
        with result as entered:
            taken.value = [
                "object",
                "contextlib._GeneratorContextManager",
                [["entered", encode(entered)]],
                None,
            ]
    else:
        taken.value = encode(result)


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    loop = _Loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(coroutine)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())


def _take_items(result: Any, taken: Taken, name: str, following: Callable[[], Any]) -> None:
    items: list[Json] = []
    taken.value = ["iterator", name, items, None]
    for _ in range(DRAINED_ITEMS):
        try:
            items.append(_whole(following()))
        except StopIteration as end:
            taken.value[3] = _whole(end.value)
            return
        except StopAsyncIteration:
            return
    taken.value[3] = ["opaque", "more items"]


def _whole(item: Any) -> Json:
    """An item's encoding, which stands inside another one and so may not bring a table of its own."""
    found = encode(item, 2_000)
    if isinstance(found, list) and found[0] == "graph":
        text = json.dumps(found)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return ["cut", _class_name(type(item)), len(text), digest, text[:200]]
    return found


_DOCUMENTED = re.compile(r"(?::raises?|@raises?|:exception|:except)\s+([\w.]+)")
_SECTION = re.compile(r"^[ \t]*(?:Raises|Throws|Exceptions)[ \t]*:?[ \t]*$", re.MULTILINE)


def documented(docstring: str) -> set[str]:
    """Names of the exceptions that a docstring says are raised."""
    names = {found.rpartition(".")[2] for found in _DOCUMENTED.findall(docstring)}
    for section in _SECTION.finditer(docstring):
        for line in docstring[section.end() :].lstrip("\n").split("\n"):
            if not line.strip() or re.match(r"\s*[A-Z][a-z]+:\s*$", line):
                break
            found = re.match(r"\s*[-*`]*([A-Za-z_][\w.]*)`?\s*(?::|$|\s-)", line)
            if found:
                names.add(found.group(1).rpartition(".")[2])
    return names


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:
        text = "<its text cannot be read>"
    return _writable(_neutral(str.__str__(text))[:4000])


def describe(error: BaseException, loaded: Loaded, codes: set[int]) -> dict[str, Json]:
    """An exception as a record: where it was raised, and whether the file's code means to raise it."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    last = frames[-1] if frames else None
    filename = last.tb_frame.f_code.co_filename if last else ""
    in_file = filename == FILENAME
    authored = last is not None and in_file and _is_raise(last)
    authored = authored or (isinstance(error, SystemExit) and any(_in_file(frame) for frame in frames))
    entered = any(id(frame.tb_frame.f_code) in codes for frame in frames)
    if not authored and isinstance(error, (ImportError, NameError)) and type(error) is not UnboundLocalError:
        origin = "scaffold"
    elif not authored and not entered and isinstance(error, TypeError) and "argument" in _message(error):
        origin = "scaffold"  # the call does not bind
    elif last is not None and in_file:
        origin = "function" if id(last.tb_frame.f_code) in codes else "file"
    else:
        origin = "library" if any(_in_file(frame) for frame in frames) else "scaffold"
    names = documented(ast.get_docstring(loaded.node) or "")
    said = {kind.__name__ for kind in _mro(type(error))} - {"object", "Exception", "BaseException"}
    said.add(type(error).__name__)
    return {
        "type": _class_name(type(error)),
        "message": _message(error),
        "own": origin != "scaffold" and (authored or bool(names & said)),
        "authored": authored,
        "origin": origin,
    }


def _in_file(frame: types.TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename == FILENAME


def _is_raise(frame: types.TracebackType) -> bool:
    import opcode

    return frame.tb_frame.f_code.co_code[frame.tb_lasti] == opcode.opmap["RAISE_VARARGS"]


# ------------------------------------------------------------------------------------------- recording


class _Stream(io.RawIOBase):
    """Keeps the head of what is written, and a digest of all of it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.kept, self.length, self.digest = bytearray(), 0, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        content = bytes(content)
        self.kept += content[: max(0, STREAM_BYTES - len(self.kept))]
        self.length += len(content)
        self.digest.update(content)
        return len(content)

    def text(self) -> str:
        found = bytes(self.kept).decode("utf-8", "replace")
        if self.length > len(self.kept):
            found += f"\n… {self.length} bytes, SHA-256 {self.digest.hexdigest()}"
        return _writable(_neutral(found))


class Streams:
    """Standard output and standard error, both as Python's objects and as file descriptors."""

    def __init__(self) -> None:
        self.raw = [_Stream(), _Stream()]
        wrapped = [
            io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=errors, write_through=True)
            for raw, errors in zip(self.raw, ("surrogateescape", "backslashreplace"))
        ]
        self.wrapped = wrapped
        self.files: list[int] = []
        standard = vars(sys)
        standard["stdout"], standard["stderr"] = standard["__stdout__"], standard["__stderr__"] = wrapped

    def begin(self, stdin: str) -> None:
        """In the child: forget what loading printed, and lay standard input."""
        self.files = [os.memfd_create("stream"), os.memfd_create("stream")]
        for number, file in enumerate(self.files):
            os.dup2(file, number + 1)
        content = io.BytesIO(stdin.encode("utf-8", "surrogatepass"))
        reader = io.TextIOWrapper(content, encoding="utf-8", errors="surrogateescape")
        vars(sys)["stdin"] = vars(sys)["__stdin__"] = reader

    def clear(self) -> None:
        """Forget what was written so far."""
        self._flush()
        for raw in self.raw:
            raw.clear()

    def _flush(self) -> None:
        # The code may have put wrappers of its own around them, or closed them.
        for stream in (sys.stdout, sys.stderr, *self.wrapped):
            with contextlib.suppress(Exception):
                stream.flush()

    def texts(self) -> list[str]:
        """What was written to standard output and to standard error."""
        found = []
        self._flush()
        for raw, file in zip(self.raw, self.files):
            if os.fstat(file).st_size:
                os.lseek(file, 0, os.SEEK_SET)
                raw.write(os.read(file, STREAM_BYTES))
            found.append(raw.text())
        return found


def _function_codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.extend(_function_codes(constant))
    return found


def _code_lines(code: types.CodeType) -> set[int]:
    if hasattr(code, "co_lines"):
        return {line for _, _, line in code.co_lines() if line is not None}
    import dis

    return {line for _, line in dis.findlinestarts(code)}


def executable_lines(loaded: Loaded) -> list[int]:
    """Lines of the function's code relative to its signature; without decorators, signature and docstring."""
    lines: set[int] = set()
    for code in _function_codes(loaded.captured.__code__):
        lines |= _code_lines(code)
    relative = {line - loaded.line for line in lines if line >= loaded.line}
    body = {line for line in relative if line > 0}
    return sorted(body or relative)


# Cheaper than tracing, from 3.12 on.
_monitoring: Any = getattr(sys, "monitoring", None)


class Coverage:
    """Lines of the function that were executed, its inner functions included."""

    def __init__(self, codes: list[types.CodeType]) -> None:
        self.codes = {id(code): code for code in codes}
        self.lines: set[int] = set()

    def start(self) -> None:
        """Begin to watch."""
        if _monitoring is not None:
            events, tool = _monitoring.events, _monitoring.COVERAGE_ID
            _monitoring.use_tool_id(tool, "funcmem")
            _monitoring.register_callback(tool, events.LINE, self._monitored)
            for code in self.codes.values():
                _monitoring.set_local_events(tool, code, events.LINE)
        else:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def stop(self) -> None:
        """Watch no longer."""
        if _monitoring is not None:
            _monitoring.free_tool_id(_monitoring.COVERAGE_ID)
        else:
            sys.settrace(None)

    def _monitored(self, code: types.CodeType, line: int) -> Any:
        self.lines.add(line)
        return _monitoring.DISABLE

    def _called(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        return self._traced if id(frame.f_code) in self.codes else None

    def _traced(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines.add(frame.f_lineno)
        return self._traced


_FIXED: tuple[Any, ...] = (type(None), bool, int, float, complex, str, bytes, range, type)
_FIXED += (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)


class Snapshot:
    """Encodings of what a call may change, taken before it; the differences, taken after it."""

    def __init__(self, loaded: Loaded, receiver: Any, has_receiver: bool, arguments: dict[str, Any]) -> None:
        self.loaded = loaded
        self.receiver = receiver
        self.has_receiver = has_receiver
        self.arguments = {name: value for name, value in arguments.items() if not isinstance(value, _FIXED)}
        self.before_receiver = encode(receiver) if has_receiver else None
        self.before_arguments = {name: encode(value) for name, value in self.arguments.items()}
        self.identities = self._globals()
        self.before_globals = {
            name: encode(value) for name, value in self.identities.items() if not isinstance(value, _FIXED)
        }

    def _globals(self) -> dict[str, Any]:
        """Global values that the file's code names, and data of the file's classes, by dotted name."""
        found = {}
        for name, value in list(self.loaded.space.items()):
            if isinstance(value, type) and vars(value).get("__module__") == MODULE:
                for attribute, item in list(vars(value).items()):
                    if not attribute.startswith("__") and not hasattr(type(item), "__get__"):
                        found[f"{name}.{attribute}"] = item
            elif name in self.loaded.named and not isinstance(value, (type, types.ModuleType)):
                found[name] = value
        return found

    def receiver_after(self) -> Json:
        """State of the receiver, ``unchanged`` if so, None where there is none."""
        if not self.has_receiver:
            return None
        after = encode(self.receiver)
        return ["unchanged"] if after == self.before_receiver else after

    def arguments_after(self) -> dict[str, Json]:
        """States of the mutable arguments by position or name."""
        found = {}
        for name, value in self.arguments.items():
            after = encode(value)
            changed = after != self.before_arguments[name]
            if changed or not isinstance(value, (tuple, frozenset)):
                found[_writable(name)] = after if changed else ["unchanged"]
        return found

    def globals_after(self) -> dict[str, Json]:
        """Globals whose value changed."""
        after = self._globals()
        found = {_writable(name): ["deleted"] for name in self.identities if name not in after}
        for name, value in after.items():
            if name in self.identities and isinstance(value, _FIXED) and value is self.identities[name]:
                continue
            encoded = encode(value)
            before = self.before_globals.get(name)
            if name in self.identities and before is None:
                before = encode(self.identities[name])
            if name not in self.identities or encoded != before:
                found[_writable(name)] = encoded
        return found


def _named_globals(space: dict[str, Any]) -> set[str]:
    """Names that the functions of the file refer to, so that data no code names is not watched."""
    names: set[str] = set()
    pending: list[Any] = [value for value in space.values() if isinstance(value, (types.FunctionType, type))]
    seen = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.CodeType):
            names.update(value.co_names)
            pending.extend(item for item in value.co_consts if isinstance(item, types.CodeType))
        elif isinstance(value, types.FunctionType):
            if value.__code__.co_filename == FILENAME:
                pending.append(value.__code__)
            pending.extend(item for item in (value.__dict__.get("__wrapped__"),) if item is not None)
        elif isinstance(value, (staticmethod, classmethod)):
            pending.append(value.__func__)
        elif isinstance(value, property):
            pending.extend(item for item in (value.fget, value.fset, value.fdel) if item is not None)
        elif isinstance(value, type) and vars(value).get("__module__") == MODULE:
            pending.extend(vars(value).values())
    return names


def _lay_files(files: list[list[str]]) -> None:
    for path, content in files:
        place = pathlib.Path(path)
        if place.is_absolute() or ".." in place.parts:
            raise ValueError(f"the path of a file leaves the working directory: {path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode("utf-8", "surrogatepass"))


def _read_files() -> dict[str, bytes | None]:
    """Contents of the working directory by relative path; None for a directory."""
    found: dict[str, bytes | None] = {}
    pending = ["."]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                path = entry.path[2:]
                if entry.is_dir(follow_symlinks=False):
                    found[path + "/"] = None
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    with open(entry.path, "rb") as file:
                        found[path] = file.read()
                else:
                    found[path] = os.fsencode(os.readlink(entry.path)) if entry.is_symlink() else b""
    return found


def _changed_files(before: dict[str, bytes | None]) -> dict[str, Json]:
    after = _read_files()
    found: dict[str, Json] = {path: ["deleted"] for path in before if path not in after}
    for path, content in after.items():
        if path in before and before[path] == content:
            continue
        if content is None:
            found[path] = ["directory"]
        elif len(content) > FILE_BYTES:
            digest = hashlib.sha256(content).hexdigest()
            found[path] = ["cut", "file", len(content), digest, repr(content[:100])]
        else:
            try:
                found[path] = _encode_text(content.decode("utf-8"))
            except UnicodeDecodeError:
                found[path] = _encode_bytes("bytes", content)
    return {_writable(path): found[path] for path in sorted(found)}


def run_state(
    loaded: Loaded, streams: Streams, state: dict[str, Any], with_coverage: bool
) -> dict[str, Json]:
    """Run the function on one input state, in a process of its own, and describe what it did."""
    record: dict[str, Json] = {
        "outcome": "raised",
        "value": None,
        "exception": None,
        "calls": [],
        "receiver": None,
        "arguments": {},
        "module_globals": {},
        "stdout": "",
        "stderr": "",
        "files": {},
        "lines": [],
        "detail": "",
    }
    world.reset(state["seed"])
    os.environ.update(state["environment"])
    streams.begin(state["stdin"])
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(state["seed"] % 2**32)
    has_receiver = state["receiver"] is not None
    codes = _function_codes(loaded.captured.__code__)
    identities = {id(code) for code in codes}
    try:
        _lay_files(state["files"])
        for statement in state["setup"]:
            exec(compile(statement, "<setup>", "exec", dont_inherit=True), loaded.space)

        def value(expression: str) -> Any:
            return eval(compile(expression.strip(), "<input state>", "eval", dont_inherit=True), loaded.space)

        receiver = value(state["receiver"]) if has_receiver else None
        positional = [value(expression) for expression in state["arguments"]]
        keywords = {name: value(expression) for name, expression in state["keywords"]}
        function = bound(loaded, receiver, has_receiver)
        named = {**{str(place): item for place, item in enumerate(positional)}, **keywords}
        snapshot = Snapshot(loaded, receiver, has_receiver, named)
        files = _read_files()
    except BaseException as error:
        record["exception"] = {**describe(error, loaded, identities), "own": False, "origin": "scaffold"}
        return record
    # What building the state printed, drew or asked is none of the function's doing.
    streams.clear()
    world.forget()
    coverage = Coverage(codes) if with_coverage else None
    taken = Taken()
    depth = sys.getrecursionlimit()
    try:
        if coverage is not None:
            coverage.start()
        try:
            take(function(*positional, **keywords), taken)
            record["outcome"] = "returned"
        finally:
            if coverage is not None:
                coverage.stop()
    except BaseException as error:
        sys.setrecursionlimit(depth)
        record["exception"] = describe(error, loaded, identities)
    sys.setrecursionlimit(depth)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(0.2)
    record["value"] = taken.value
    record["calls"] = world.log()
    record["receiver"] = snapshot.receiver_after()
    record["arguments"] = snapshot.arguments_after()
    record["module_globals"] = snapshot.globals_after()
    record["stdout"], record["stderr"] = streams.texts()
    record["files"] = _changed_files(files)
    if coverage is not None:
        record["lines"] = sorted(line - loaded.line for line in coverage.lines if line >= loaded.line)
    return record


# ------------------------------------------------------------------------------------ the program itself


def _header(**fields: Any) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"


def _prepare(base: str) -> tuple[str, str]:
    """Tame the interpreter, once for a task."""
    run, temporary = os.path.join(base, "run"), os.path.join(base, "tmp")
    _paths[:] = [(run, "/work"), (temporary, "/tmp"), (base, "/base")]
    os.environ.clear()
    os.environ.update({"HOME": run, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "USER": "user"})
    os.environ.update({"LOGNAME": "user", "TMPDIR": temporary, "PWD": run})
    time.tzset()
    sys.argv = [FILENAME]
    tempfile.tempdir = None
    _tame_random()
    _tame_clock()
    _tame_processes()
    _tame_network()
    _tame_identity()
    return run, temporary


def _read_exactly(pipe: int, count: int, deadline: float) -> bytes | None:
    """Bytes from a pipe; fewer where it was closed, None where time ran out."""
    parts, missing = [], count
    poll = select.poll()
    poll.register(pipe, select.POLLIN | select.POLLHUP)
    while missing:
        left = deadline - _real_monotonic()
        if left <= 0 or not poll.poll(max(1, left * 1000)):
            if deadline <= _real_monotonic():
                return None
            continue
        part = os.read(pipe, min(missing, 1 << 20))
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _wait(child: int, deadline: float) -> int | None:
    """Exit status of a child; None where it does not end in time."""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if _real_monotonic() >= deadline:
            return None
        _real_sleep(0.001)


def _in_child(
    loaded: Loaded, streams: Streams, state: dict[str, Any], with_coverage: bool, pipe: int, run: str
) -> None:
    os.chdir(run)
    body = json.dumps(run_state(loaded, streams, state, with_coverage)).encode("ascii")
    content = len(body).to_bytes(8, "big") + body
    while content:
        content = content[os.write(pipe, content) :]


def _state_record(
    loaded: Loaded, streams: Streams, state: dict[str, Any], index: int, task: dict[str, Any], run: str
) -> bytes:
    """Fork a child for a state, wait for what it says, and wrap that up."""
    started = _real_monotonic()
    deadline = started + task["state_timeout_s"]
    reading, writing = os.pipe()
    child = _real_fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            _in_child(loaded, streams, state, task["coverage"], writing, run)
            status = 0
        finally:
            _real_exit(status)
    os.close(writing)
    outcome, detail, body = "missing", "", b""
    head = _read_exactly(reading, 8, deadline)
    if head is not None and len(head) == 8:
        length = int.from_bytes(head, "big")
        if length > task["record_bytes"]:
            outcome, detail = "refused", f"its record has {length} bytes"
        else:
            got = _read_exactly(reading, length, deadline)
            if got is None:
                head = None
            elif len(got) == length:
                outcome, body = "recorded", got
    os.close(reading)
    ended: int | None = _wait(child, deadline) if outcome == "missing" and head is not None else None
    if ended is None:
        with contextlib.suppress(ProcessLookupError):
            _real_kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if outcome == "missing":
            outcome, detail = "timeout", f"it did not end within {task['state_timeout_s']:g} s"
    elif os.WIFSIGNALED(ended):
        number = os.WTERMSIG(ended)
        # Nobody here sends SIGKILL without a timeout: it was the kernel, for memory.
        outcome = "memory" if number == signal.SIGKILL else "signal"
        detail = signal.Signals(number).name
    elif outcome == "missing":
        detail = f"the process ended with status {os.WEXITSTATUS(ended)} before its record was written"
    spent = _real_monotonic() - started
    return _header(kind="state", index=index, outcome=outcome, detail=detail, seconds=spent) + body


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Run a task: load the file, run every state, emit a record for each.

    Args:
        payload: JSON, as ``harness.execution`` writes it.
        emit: Called with the bytes of each record.
    """
    task = json.loads(payload)
    base = os.getcwd()
    run, temporary = _prepare(base)
    streams = Streams()
    for directory in (run, temporary):
        os.makedirs(directory, exist_ok=True)
    os.chdir(run)
    loaded = load(task)
    lines = executable_lines(loaded) if loaded.problem is None else []
    emit(
        _header(
            kind="load",
            loaded=loaded.problem is None,
            detail=loaded.problem or "; ".join(loaded.notes),
            skipped=loaded.skipped,
            executable_lines=lines,
        )
    )
    if loaded.problem is None:
        loaded.named = _named_globals(loaded.space)
        streams.clear()
        gc.freeze()
        for index, state in enumerate(task["states"]):
            # Each state starts in empty directories.
            os.chdir(base)
            for directory in (run, temporary):
                shutil.rmtree(directory, ignore_errors=True)
                os.makedirs(directory, exist_ok=True)
            emit(_state_record(loaded, streams, state, index, task, run))
    emit(_header(kind="done"))
