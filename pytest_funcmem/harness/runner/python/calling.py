"""Calls the function, takes out of its result what is computed on demand, and describes what it raises."""

# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations

import ast
import asyncio
import contextlib
import functools
import hashlib
import itertools
import json
import re
import types
from collections.abc import Callable, Coroutine
from typing import Any

from .encoding import FILENAME, Json, class_name, encode, message_of, mro_of
from .loading import Loaded, leads_to
from .made_objects import Fabricated
from .world import Loop

DRAINED_ITEMS = 1_000  # items taken from a generator


def bound(loaded: Loaded, receiver: Any, has_receiver: bool) -> Callable[..., Any]:
    """The callable for a receiver: ``type(self).method`` bound, whatever kind of method it is."""
    raw: Any = loaded.raw
    if isinstance(raw, staticmethod):
        return raw.__func__
    if isinstance(raw, classmethod):
        if isinstance(receiver, Fabricated):
            unbound: Any = raw.__func__
            return functools.partial(unbound, receiver)
        owner = receiver if isinstance(receiver, type) else type(receiver)
        return raw.__get__(None, owner if has_receiver else loaded.owner)
    if isinstance(raw, property):
        parts = (raw.fget, raw.fset, raw.fdel)
        raw = next(part for part in parts if part is not None and leads_to(part, loaded.captured))
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
        loop = Loop()
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
    loop = Loop()
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
        return ["cut", class_name(type(item)), len(text), digest, text[:200]]
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
    elif not authored and not entered and isinstance(error, TypeError) and "argument" in message_of(error):
        origin = "scaffold"  # the call does not bind
    elif last is not None and in_file:
        origin = "function" if id(last.tb_frame.f_code) in codes else "file"
    else:
        origin = "library" if any(_in_file(frame) for frame in frames) else "scaffold"
    names = documented(ast.get_docstring(loaded.node) or "")
    said = {kind.__name__ for kind in mro_of(type(error))} - {"object", "Exception", "BaseException"}
    said.add(type(error).__name__)
    return {
        "type": class_name(type(error)),
        "message": message_of(error),
        "own": origin != "scaffold" and (authored or bool(names & said)),
        "authored": authored,
        "origin": origin,
    }


def _in_file(frame: types.TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename == FILENAME


def _is_raise(frame: types.TracebackType) -> bool:
    import opcode

    return frame.tb_frame.f_code.co_code[frame.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
