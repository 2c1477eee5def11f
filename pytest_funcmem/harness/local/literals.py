"""Literals of the original and of the constants it names, as source expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_funcmem.harness.local.analysis import Analysis

__all__ = ["LiteralPool", "constant_text", "literals_in", "mine"]

_MAX_TEXT = 200
_MAX_DIGITS = 40
_MAX_POOL = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralPool:
    """Constants worth trying, in order of appearance, as source expressions."""

    numbers: tuple[str, ...]
    strings: tuple[str, ...]
    others: tuple[str, ...]


def constant_text(node: ast.expr) -> str | None:
    """Source of a constant, a negative number included; None for anything else or anything huge."""
    match node:
        case ast.Constant(value=str() | bytes() as value) if len(value) <= _MAX_TEXT:
            return repr(value)
        case ast.Constant(value=bool() | None as value):
            return repr(value)
        case ast.Constant(value=int() as value) if value.bit_length() < _MAX_DIGITS * 3:
            return repr(value)
        case ast.Constant(value=float() as value) if value - value == 0:
            return repr(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            inner = constant_text(node.operand)
            return None if inner is None or isinstance(value, bool) else f"-{inner}"
        case _:
            return None


def literals_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Constants below some nodes, in source order, docstrings and parts of f-strings left out."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.JoinedStr):
            stack.extend(value for value in reversed(node.values) if isinstance(value, ast.FormattedValue))
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Raise):
            continue  # what a message says is no input
        if isinstance(node, ast.expr):
            text = constant_text(node)
            if text is not None:
                yield text
                continue
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


def mine(analysis: Analysis) -> LiteralPool:
    """Collect the constants of the body, then those of the module constants and helpers that it names."""
    named: dict[str, ast.AST] = {}
    for node in ast.walk(analysis.node):
        if isinstance(node, ast.Name) and node.id in analysis.definitions and node.id not in named:
            definition = analysis.definitions[node.id]
            if definition is not analysis.node and not isinstance(definition, ast.ClassDef):
                named[node.id] = definition
    found = dict.fromkeys(literals_in(analysis.node.body))
    for text in literals_in(named.values()):
        found.setdefault(text)
    numbers, strings, others = [], [], []
    for text in found:
        if text[0] in "-0123456789":
            numbers.append(text)
        elif text[0] in "'\"":
            strings.append(text)
        else:
            others.append(text)
    return LiteralPool(
        numbers=tuple(numbers[:_MAX_POOL]),
        strings=tuple(strings[:_MAX_POOL]),
        others=tuple(others[:_MAX_POOL]),
    )
