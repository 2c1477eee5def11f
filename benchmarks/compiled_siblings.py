"""A function of a compiled language by another rule: other constants, and its checks in another order.

The counterpart of the siblings in ``conclusive_errors.py``, made by editing the text of the syntax tree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from compiled_rewritings import INTEGERS, Edit, applied
from conclusive_errors import SIBLINGS
from tree_sitter import Node

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["siblings"]

_FLOATS = frozenset(
    {"decimal_floating_point_literal", "float_literal", "floating_point_literal", "number_literal"}
)
_TEXTS = frozenset({"interpreted_string_literal", "string_literal"})
_INTEGER = re.compile(r"(0|[1-9]\d{0,8})([uUlL]*|_?[iu](?:8|16|32|64|128|size))")
_FLOAT = re.compile(r"(\d+\.\d+)([fFdD]?|_?f(?:32|64))")
_PROBABILITY = 0.6


def siblings(function: SourceFunction, generator: random.Random) -> Iterator[tuple[str, str]]:
    """Name and code of each; none for a function with fewer than two constants and chains of checks."""
    tree = SyntaxTree(function.language, function.text)
    nodes = [
        node
        for node in inner_nodes(tree.root)
        if function.signature_end <= tree.start(node) and tree.end(node) <= function.end
    ]
    constants = [node for node in nodes if _other(tree, node, random.Random(0)) is not None]
    chains = list(_swapped(tree, nodes))
    if len(constants) + len(chains) < 2:
        return
    for number in range(SIBLINGS):
        edits = []
        for node in constants:
            if node is constants[0] or generator.random() < _PROBABILITY:
                text = _other(tree, node, generator)
                assert text is not None
                edits.append((tree.start(node), tree.end(node), text))
        yield f"sibling {number}", applied(function, _together(edits, chains))


def _other(tree: SyntaxTree, node: Node, generator: random.Random) -> str | None:
    """Another constant of the same type in the place of this one, if it is one."""
    if node.type not in INTEGERS | _FLOATS | _TEXTS:
        return None
    text = tree.source(node)
    if node.type in _TEXTS:
        end = text.rfind('"')
        if end < 1 or text.startswith('"""'):
            return None
        return text[:end] + generator.choice(("_other", "2", "!")) + text[end:]
    if (match := _INTEGER.fullmatch(text)) is not None:
        return str(int(match[1]) + generator.choice((1, 2, 5, 11))) + match[2]
    if (match := _FLOAT.fullmatch(text)) is not None:
        return str(float(match[1]) * 1.7 + 1.0) + match[2]
    return None


def _swapped(tree: SyntaxTree, nodes: list[Node]) -> Iterator[tuple[Edit, Edit]]:
    """The conditions of ``if`` and of the ``else if`` behind it, exchanged; of a longer chain in pairs."""
    taken: set[int] = set()
    for node in nodes:
        inner = (
            node.child_by_field_name("alternative")
            if node.type in ("if_statement", "if_expression")
            else None
        )
        if inner is not None and inner.type == "else_clause":
            inner = next((child for child in inner.named_children if child.type == node.type), None)
        if inner is None or inner.type != node.type or node.start_byte in taken:
            continue
        one, other = node.child_by_field_name("condition"), inner.child_by_field_name("condition")
        if one is None or other is None or inner.child_by_field_name("initializer") is not None:
            continue
        if "let" in one.type or "let" in other.type:
            continue
        taken.add(inner.start_byte)
        yield (
            (tree.start(one), tree.end(one), tree.source(other)),
            (tree.start(other), tree.end(other), tree.source(one)),
        )


def _together(constants: list[Edit], chains: list[tuple[Edit, Edit]]) -> list[Edit]:
    """All edits in order; what is exchanged takes the place of the constants in it."""
    moved = [edit for pair in chains for edit in pair]
    kept = [
        edit for edit in constants if not any(start <= edit[0] and edit[1] <= end for start, end, _ in moved)
    ]
    return sorted(kept + moved)
