"""Mends results of what stands in: guessed ones, those that each call decides, and ``?`` on them."""

from __future__ import annotations

import re
from functools import partial

from pytest_funcmem.harness.compiled.rust.messages import TICKS, Message, Work, bare
from pytest_funcmem.harness.compiled.rust.typetext import is_open, normal, settle

__all__ = ["answered", "loosened", "tried", "unguessed", "unsized"]

_DEEPEST_RESULT = 8
_GUESSED = frozenset({"bool", "usize", "String", "&'static str", "()"})


def tried(work: Work, message: Message) -> bool:
    """``?`` on what stands in: it is an option where the function gives one, else a result."""
    plan = work.plan
    is_option = "-> Option" in plan.function.signature
    form = "Option<{value}>" if is_option else "std::result::Result<{value}, {error}>"
    labels = [label for span in message["spans"] for label in TICKS.findall(str(span["label"]))]
    for name in map(bare, [*TICKS.findall(message["message"]), *labels]):
        if is_open(plan, name):
            error = "" if is_option else plan.fresh(name + "_error")
            return settle(plan, name, form.format(value=plan.fresh(name + "_value"), error=error))
    words = {word for span in message["spans"] for word in re.findall(r"\w+", str(span["text"]))}
    for table in work.tables():
        for name, function in table.items():
            if name not in words or ("tried", name) in plan.history:
                continue
            is_given = function.result is None and function.turbofish
            if is_given or function.result in ("Self", *_GUESSED):
                plan.history.add(("tried", name))
                value = "X0" if is_given else str(function.result)
                error = "" if is_option else plan.fresh(name + "_error")
                function.result = form.format(value=value, error=error)
                return True
    return False


def answered(work: Work, message: Message, kind: str) -> bool:
    """A result of which nothing was known but that it is added to a number."""
    plan = work.plan
    said = " ".join(str(span["text"]) for span in message["spans"])
    names = re.findall(r"(\w+)\s*\(", said)
    for table in work.tables():
        for name in names:
            function = table.get(name)
            if function is not None and (function.result is None or function.result == "()"):
                text = normal(plan, bare(kind))
                if text is None or function.turbofish:
                    continue
                is_tried = re.search(r"\)\s*\?", said)
                error = plan.fresh(name + "_error") if is_tried else ""
                function.result = f"std::result::Result<{text}, {error}>" if is_tried else text
                return True
    return False


def loosened(work: Work, name: str) -> bool:
    """A part of a result that cannot be one type for all calls: each call decides for itself, once."""
    plan = work.plan
    kind = plan.types.get(name)
    if kind is None or (kind.alias is None and not is_open(plan, name)) or ("free", name) in plan.history:
        return False
    for table in work.tables():
        for called, function in table.items():
            if function.result is None or function.turbofish or function.is_const:
                continue
            if ("freed", called) in plan.history and not function.free:
                continue
            text = function.result
            for _ in range(_DEEPEST_RESULT):
                words = re.findall(r"[A-Za-z_]\w*", text)
                if name in words:
                    plan.history |= {("free", name), ("freed", called)}
                    free = f"F{len(function.free)}"
                    function.result = re.sub(rf"\b{name}\b", free, text)
                    function.free.append(free)
                    return True
                aliases = {
                    word: plan.types[word].alias
                    for word in words
                    if word in plan.types and plan.types[word].alias is not None
                }
                if not aliases:
                    break
                text = re.sub(r"[A-Za-z_]\w*", partial(_spelled, aliases), text)
    return False


def _spelled(aliases: dict[str, str | None], match: re.Match[str]) -> str:
    return aliases.get(match[0]) or match[0]


def unguessed(work: Work, message: Message) -> bool:
    """A result that was guessed from a name, where nothing fits: of a type of its own instead, once."""
    plan = work.plan
    for span in message["spans"]:
        for name in re.findall(r"\w+", str(span["text"])):
            for table in work.tables():
                function = table.get(name)
                if function is None or function.result not in _GUESSED:
                    continue
                if ("unguessed", name) not in plan.history:
                    plan.history.add(("unguessed", name))
                    function.result = plan.fresh(name)
                    return True
    return False


def unsized(work: Work, message: Message) -> bool:
    """A type that a call names was taken for its result's, and has no size: the result is of another."""
    notes = " ".join(child["message"] for child in message["children"])
    if "return type of a function must have" not in notes:
        return False
    for span in message["spans"]:
        for name in re.findall(r"(\w+)\s*::\s*<", str(span["text"])):
            for table in work.tables():
                function = table.get(name)
                if function is not None and function.turbofish and function.result is None:
                    function.result = work.plan.fresh(name)
                    return True
    return False
