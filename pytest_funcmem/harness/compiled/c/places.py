"""Finds what stands at a place of a diagnostic: the expression in the generated text, macros' bodies too."""

from __future__ import annotations

import re
from functools import lru_cache

from tree_sitter import Node

from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["argument_count", "call_arguments", "call_around", "expression", "expression_at", "source"]


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
    lines = context.split("\n")
    first = row
    while 0 < first < len(lines) and lines[first - 1].endswith("\\"):
        first -= 1
    head = re.match(r"\s*#\s*define\s+\w+(\([^)]*\))?", lines[first] if first < len(lines) else line)
    if head is None:
        return _node(context, row, column - 1)
    # A grammar takes the body of a macro for one piece: it is read as a statement, at the same places.
    last = row
    while last + 1 < len(lines) and lines[last].endswith("\\"):
        last += 1
    body = [item.removesuffix("\\") for item in lines[first : last + 1]]
    body[0] = " " * head.end() + body[0][head.end() :]
    text = "\n".join(["void f(void) {", *body, ";}"])
    return _node(text, row - first + 1, column - 1)


def expression(text: str) -> tuple[Node, bytes] | None:
    """The expression that a text is."""
    found = _node(f"void f(void) {{\n({text});}}", 1, 1)
    node = found[0] if found is not None else None
    while node is not None and node.type not in ("parenthesized_expression", "compound_statement"):
        node = node.parent
    if found is None or node is None or node.type != "parenthesized_expression" or not node.named_children:
        return None
    return node, found[1]


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


def call_arguments(text: str) -> list[str]:
    """Arguments of the call that a text begins with, as they are written."""
    depth = 0
    found = [""]
    for letter in text:
        if letter in "([{":
            depth += 1
            if depth == 1:
                continue
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif letter == "," and depth == 1:
            found.append("")
            continue
        if depth:
            found[-1] += letter
    return [item.strip() for item in found]


def call_around(text: str, line: int, column: int) -> tuple[str, list[str], int] | None:
    """The call whose arguments a place stands among, by brackets alone: text that a grammar may not know.

    Args:
        text: A part of the program.
        line: Counted from 1.
        column: Counted from 1.

    Returns:
        What is called, the arguments as written, and which of them the place is in.
    """
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    before = "\n".join([*lines[max(0, line - 4) : line - 1], lines[line - 1][: column - 1]])
    depth = 0
    for start in range(len(before) - 1, -1, -1):
        depth += (before[start] == ")") - (before[start] == "(")
        if depth < 0:
            break
    else:
        return None
    called = re.search(r"([A-Za-z_]\w*)\s*$", before[:start])
    if called is None:
        return None
    written = "\n".join([before[start:] + lines[line - 1][column - 1 :], *lines[line : line + 3]])
    return called[1], call_arguments(written), len(call_arguments(before[start:])) - 1
