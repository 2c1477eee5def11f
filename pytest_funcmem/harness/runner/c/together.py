"""Puts programs that differ in one function into one text, which is compiled and linked once for all.

The first of them is the program itself. What the others have in the function's place stands behind it under
names of their own, and the native half sends each call of the function there: by its address, so that
pointers to it and calls of itself mean the same as in a program that holds nothing else.
"""

from __future__ import annotations

import re

_SUFFIX = "_fm_instead_"
_HEAD = re.compile(r"[^{]*")
_LEFT_OUT = re.compile(
    r"^[ \t]*(?:#|%:)[ \t]*(?![ \t]|if|el|endif)|\b_*asm_*\b|__attribute|__COUNTER__", re.MULTILINE
)
"""What reaches beyond a function, or makes another function of it."""
_COPIED = re.compile(r"always_inline|gnu_inline")
"""What lets a compiler put the function where it is called."""
_WHERE = re.compile(r"(?:\S+: )?In function [^A-Za-z_]*(\w+)|\S+: At top level")


def can_share(code: str, name: str, around: str) -> bool:
    """Whether a function may stand beside others of its kind, as far as text tells.

    Args:
        code: From its signature to its end.
        name: Of the function.
        around: What all programs share.
    """
    head = _HEAD.match(code)
    found = re.findall(rf"\b{name}\b(\s*\()?", head[0] if head else "")
    return (
        len(found) == 1
        and found[0] != ""
        and code.rstrip().endswith("}")
        and re.search(r"\bextern\b", head[0] if head else "") is None
        and _LEFT_OUT.search(code) is None
        and _COPIED.search(code + around) is None
        and _SUFFIX not in code + around
        and re.search(rf"#[ \t]*(?:define|undef)[ \t]+{name}\b", around) is None
    )


def joined(around: str, hole: str, name: str, codes: list[str]) -> str:
    """One text with several functions of one name; the first keeps it.

    Args:
        around: What all programs share.
        hole: What in it stands for the function.
        name: Of the function.
        codes: The functions, each of which can share.
    """
    spoken = ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__")
    if name == "main":
        # What has another name is not said to return nothing where it comes to its end.
        codes = [codes[0], *(code.rstrip()[:-1] + "return 0;}" for code in codes[1:])]
    parts = [codes[0], *(f'#define {word} "{name}"' for word in spoken)]
    for number, code in enumerate(codes[1:], 1):
        parts += ['# 1 "function.c"', re.sub(rf"\b{name}\b", f"{name}{_SUFFIX}{number}", code, count=1)]
    parts += [f"#undef {word}" for word in spoken]
    names = [name, *(f"{name}{_SUFFIX}{number}" for number in range(1, len(codes)))]
    table = ", ".join(f"(void *)&{item}" for item in names)
    return around.replace(hole, "\n".join(parts)) + f"\nvoid *fm_instead[] = {{{table}}};\n"


def at_fault(said: str, name: str) -> set[int] | None:
    """Places of the functions in which the compiler found errors; None where some are in none of them."""
    found: set[int] = set()
    place = None
    for line in said.splitlines():
        where = _WHERE.match(line)
        if where is not None:
            place = place_of(where[1] or "", name)
        elif re.search(r": (?:fatal )?error: ", line):
            if place is None:
                return None
            found.add(place)
    return found or None


def place_of(function: str, name: str) -> int | None:
    """Which of the functions in one text has a name there; None if none has."""
    if function == name:
        return 0
    number = function[len(name + _SUFFIX) :]
    return int(number) if function.startswith(name + _SUFFIX) and number.isdigit() else None
