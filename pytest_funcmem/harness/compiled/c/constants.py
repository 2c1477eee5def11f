"""Values of expressions that are made of numbers: what macros and enumerators stand for."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

__all__ = ["constant_value", "number"]

_LONGEST = 200
_BITS = 62
_CAST = re.compile(r"\(\s*(?:unsigned|signed|int|long|char|short|size_t|u?int\d+_t|\s)+\)\s*(?=[\w(~-])")
_OPERATIONS: Mapping[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}


def number(text: str) -> int | None:
    """The value of a literal; the whole part of one with a fraction."""
    stripped = text.rstrip("uUlLfF") if not text.lower().startswith("0x") else text.rstrip("uUlL")
    try:
        if re.fullmatch(r"0[0-7]+", stripped):
            return int(stripped, 8)
        if re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)", stripped):
            return int(stripped, 0)
        return int(float(stripped))
    except (ValueError, OverflowError):
        return None


def constant_value(text: str, value_of: Callable[[str], int | None]) -> int | None:
    """The value of a text where it is a number, a character, or an expression of those and of known names.

    Args:
        text: As behind the name of a macro.
        value_of: Value of a name.

    Returns:
        None for anything else, and for what is too large.
    """
    text = re.sub(r"/\*.*?\*/|//.*", "", text).strip()
    text = _CAST.sub("", text)
    if not text or len(text) > _LONGEST:
        return None
    letter = re.fullmatch(r"\(?'(\\?.)'\)?", text)
    if letter is not None:
        plain = {"\\n": 10, "\\t": 9, "\\r": 13, "\\0": 0, "\\\\": 92, "\\'": 39}
        return plain.get(letter[1], ord(letter[1]) if len(letter[1]) == 1 else None)
    text = re.sub(
        r"(?<![\w.])\d[\w.]*", lambda match: str(0 if (value := number(match[0])) is None else value), text
    )
    try:
        value = _value(ast.parse(text, mode="eval").body, value_of)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return value if abs(value) < 1 << _BITS else None


def _value(node: ast.expr, value_of: Callable[[str], int | None]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            known = value_of(name)
            if known is not None:
                return known
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, value_of)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return ~_value(operand, value_of)
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _value(left, value_of), _value(right, value_of)
            if type(op) in _OPERATIONS and max(abs(first), abs(second)) < 1 << _BITS:
                return _OPERATIONS[type(op)](first, second)
            if isinstance(op, ast.LShift) and 0 <= second < _BITS and abs(first) < 1 << _BITS:
                return first << second
    raise ValueError("it is no number")
