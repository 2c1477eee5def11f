"""Turns a changed syntax tree of a Python function back into code that fits in the original's place."""

from __future__ import annotations

import ast
import io
import tokenize

from pytest_funcmem.core.records import SourceFunction

__all__ = ["UnwritableCodeError", "code_with_body"]

_STEP = "    "


class UnwritableCodeError(Exception):
    """The changed tree cannot be written as source."""


def code_with_body(function: SourceFunction, body: list[ast.stmt]) -> str:
    """The original's signature with another body.

    Args:
        function: The original; its signature stays as it is written.
        body: Statements of the new body; not empty.

    Raises:
        UnwritableCodeError: The tree nests too deeply, or does not come out as text that reads back.
    """
    try:
        tree = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
        text = ast.unparse(tree)
        lines = _indented(text, _indentation(function) + _STEP)
    except (RecursionError, MemoryError, ValueError, SyntaxError, tokenize.TokenError) as exc:
        raise UnwritableCodeError(str(exc)) from exc
    return function.signature + "\n" + "\n".join(lines)


def _indentation(function: SourceFunction) -> str:
    line_start = function.text.rfind("\n", 0, function.signature_start) + 1
    before = function.text[line_start : function.signature_start]
    return before if not before.strip() else before[: len(before) - len(before.lstrip())]


def _indented(text: str, indent: str) -> list[str]:
    """Indent every line that does not begin inside a string."""
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        inside.update(range(token.start[0] + 1, token.end[0] + 1))
    return [
        line if number in inside or not line else indent + line
        for number, line in enumerate(text.split("\n"), start=1)
    ]
