"""Finds what stands at a place of a diagnostic: the expression in the generated text, macros' bodies too."""

from __future__ import annotations

import re
from functools import lru_cache

from tree_sitter import Node

from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["argument_count", "expression_at", "source"]


@lru_cache(maxsize=64)
def _tree(text: str) -> SyntaxTree:
    return SyntaxTree("c", text)


def expression_at(line: str, column: int, context: str, row: int) -> tuple[Node, bytes] | None:
    """The node that begins at or spans a place.

    Args:
        line: The line of the diagnostic.
        column: Byte column in it, counted from 1.
        context: The text that the line stands in.
        row: Which of its lines, counted from 0.

    Returns:
        The smallest named node there, and the text that its bytes are in.
    """
    if re.match(r"\s*#\s*define\b", line):
        match = re.match(r"\s*#\s*define\s+\w+(\([^)]*\))?", line)
        start = match.end() if match else 0
        text = f"void f(void) {{ {line[start:].rstrip(chr(92))} ; }}"
        where = column - 1 - start + len("void f(void) { ")
        return _node(text, 0, where)
    return _node(context, row, column - 1)


def _node(text: str, row: int, column: int) -> tuple[Node, bytes] | None:
    if column < 0:
        return None
    tree = _tree(text)
    node = tree.root.descendant_for_point_range((row, column), (row, column + 1))
    return None if node is None else (node, text.encode("utf-8", "surrogatepass"))


def source(node: Node, text: bytes) -> str:
    """Text of a node."""
    return text[node.start_byte : node.end_byte].decode("utf-8", "replace")


def argument_count(node: Node, text: bytes, name: str) -> int | None:
    """Arguments of the call of a function that a node stands in, or that stands below it."""
    current: Node | None = node
    for _ in range(6):
        if current is None:
            break
        for inner in inner_nodes(current) if current.end_byte - current.start_byte < 4000 else (current,):
            if inner.type == "call_expression":
                called = inner.child_by_field_name("function")
                arguments = inner.child_by_field_name("arguments")
                if called is not None and arguments is not None and source(called, text) == name:
                    return sum(child.type != "comment" for child in arguments.named_children)
        current = current.parent
    return None
