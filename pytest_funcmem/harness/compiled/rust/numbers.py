"""Mends numbers whose type was only guessed."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.messages import Message, Work, bare, traced_words

__all__ = ["NUMBERS", "floated", "renumbered"]

NUMBERS = frozenset(
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"]
)


def floated(work: Work, left: str, right: str) -> bool:
    """Numbers that were only guessed to be whole, in a calculation with others that are not."""
    pair = {bare(left), bare(right)}
    other = next(iter(pair - {"i64"}), "")
    if "i64" not in pair or other not in ("f32", "f64"):
        return False
    guessed = [kind for kind in work.plan.types.values() if kind.alias == "i64" and kind.is_weak]
    for kind in guessed:
        kind.alias = other
    return bool(guessed)


def renumbered(work: Work, message: Message, left: str, right: str) -> bool:
    """Where a number that stands in was taken for one type and turns out to be of another."""
    plan = work.plan
    pair = [bare(left), bare(right)]
    if "i64" not in pair or not all(kind in NUMBERS for kind in pair) or pair[0] == pair[1]:
        return False
    other = pair[1 - pair.index("i64")]
    words = set(traced_words(work, message))
    held = [plan.constants[word] for word in sorted(words & plan.constants.keys())]
    held += [
        text
        for kind in plan.types.values()
        for name, text in kind.fields.items()
        if name in words and not name.isdigit()
    ]
    held += [
        function.result
        for table in work.tables()
        for name, function in table.items()
        if name in words and function.result is not None
    ]
    seen: set[str] = set()
    while held:
        # A guess may be part of what is held, such as the value of a future.
        for name in re.findall(r"[A-Za-z_]\w*", held.pop(0)):
            kind = plan.types.get(name)
            if kind is None or kind.alias is None or name in seen:
                continue
            seen.add(name)
            if kind.alias == "i64" and kind.is_weak:
                kind.alias, kind.is_weak = other, False
                return True
            held.append(kind.alias)
    return False
