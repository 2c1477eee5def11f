"""Which lines of a function are no code that runs: left out by conditionals, or static data."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

from pytest_funcmem.harness.compiled.c.chunks import tokens

__all__ = ["condition_lines", "inactive_lines", "static_lines"]

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif|define|undef)\b(.*)$")
_THERE = frozenset({"__GNUC__", "__linux__", "__linux", "linux", "__unix__", "__unix", "unix", "__x86_64__"})
_COMPARISONS: Mapping[type, Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def condition_lines(code: str) -> frozenset[int]:
    """Lines of a function on which the compiler, not the program, decides, counted from 0."""
    found = set()
    for number, line in enumerate(code.split("\n")):
        match = _DIRECTIVE.match(line)
        if match is not None and match[1] not in ("define", "undef"):
            found.add(number)
    return frozenset(found)


def static_lines(code: str) -> frozenset[int]:
    """Lines of a function on which static data of its own has its values, counted from 0."""
    found: set[int] = set()
    start, depth = -1, 0
    words = list(tokens(code))
    for token, before in zip(words, [None, *words], strict=False):
        if start < 0 and token.text == "static" and before is not None and before.text in "{};":
            start, depth = token.start, 0
        elif start >= 0:
            depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "mark" else 0
            if token.text == ";" and depth == 0:
                first = code.count("\n", 0, start)
                found.update(range(first, first + code.count("\n", start, token.end) + 1))
                start = -1
    return frozenset(found)


def inactive_lines(text: str, first: int, last: int) -> frozenset[int]:
    """Lines of a part of a file that no compiler sees there, counted from 0 at the part's first line.

    Conditions that cannot be decided, and those around the whole part, count as true in every branch.

    Args:
        text: The file.
        first: The part's first line, counted from 0.
        last: Its last line.
    """
    macros: dict[str, str] = {}
    stack: list[
        tuple[bool | None, bool]
    ] = []  # whether this branch holds, and whether an earlier one surely did
    found = set()
    for number, line in enumerate(text.split("\n")[: last + 1]):
        if number == first:
            stack = [(None, False)] * len(stack)  # what stands around the part is decided for it
        match = _DIRECTIVE.match(line)
        if match is None:
            if number >= first and any(holds is False for holds, _done in stack):
                found.add(number - first)
            continue
        word, rest = match[1], re.sub(r"/\*.*?\*/|//.*", "", match[2]).strip()
        if word in ("if", "ifdef", "ifndef"):
            holds = _decided(word, rest, macros)
            stack.append((holds, holds is True))
        elif word in ("elif", "else") and stack:
            before, done = stack[-1]
            holds = False if done else None if before is None else True
            if word == "elif" and not done:
                holds = _decided("if", rest, macros)
            stack[-1] = (holds, done or holds is True)
        elif word == "endif" and stack:
            stack.pop()
        elif word == "define" and number < first:
            name = re.match(r"(\w+)(.*)", rest)
            if name is not None:
                macros[name[1]] = name[2].strip()
        elif word == "undef" and number < first:
            macros.pop(rest, None)
    return frozenset(found)


def _decided(word: str, rest: str, macros: Mapping[str, str]) -> bool | None:
    if word in ("ifdef", "ifndef"):
        name = re.match(r"\w+", rest)
        return None if name is None else _is_there(name[0], macros) == (word == "ifdef")

    def defined(match: re.Match[str]) -> str:
        return str(int(_is_there(match[1] or match[2], macros)))

    text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))", defined, rest)
    for _ in range(4):
        text = re.sub(r"\b[A-Za-z_]\w*\b(?!\s*\()", lambda name: macros.get(name[0], "0") or "0", text)
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", text).replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    try:
        return _value(ast.parse(text.strip()[:200], mode="eval").body) != 0
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_there(name: str, macros: Mapping[str, str]) -> bool:
    return name in macros or name in _THERE


def _value(node: ast.expr) -> int:
    """The value of a condition made of numbers, comparisons and logic."""
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return int(not _value(operand))
        case ast.BoolOp(op=ast.And(), values=values):
            return int(all([_value(value) for value in values]))  # noqa: C419  (all have to be readable)
        case ast.BoolOp(values=values):
            return int(any([_value(value) for value in values]))  # noqa: C419  (all have to be readable)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return int(_COMPARISONS[type(op)](_value(left), _value(right)))
    raise ValueError("it is not decided here")
