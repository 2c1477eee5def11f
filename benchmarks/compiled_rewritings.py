"""Rewritings of a function in a compiled language that do not change what it does.

Made by editing its syntax tree's text, one grammar table for the four languages. Operands change places only
where evaluating them has no effect. What does not compile is not counted: types may stand against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["INTEGERS", "Edit", "applied", "rewritten"]

_MIRRORED: Mapping[str, str] = MappingProxyType(
    {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
)
_COMPOUND = frozenset({"assignment_expression", "assignment_statement", "compound_assignment_expr"})
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*|\d+")
_DECIMAL = re.compile(r"[2-9]|[1-9]\d+")
INTEGERS = frozenset({"decimal_integer_literal", "int_literal", "integer_literal", "number_literal"})
_FIXED = frozenset(
    {"array_declarator", "array_type", "bitfield_clause", "case_statement", "const_item", "enumerator"}
    | {"expression_case", "match_pattern", "switch_label", "type_arguments", "range_expression"}
    | {"tuple_struct_pattern", "index_expression", "array_expression", "tuple_index_expression"}
)

Edit = tuple[int, int, str]
"""Characters from one place to another become a text."""


def rewritten(function: SourceFunction) -> dict[str, str]:
    """Rewritings by name, each the function from its signature to its end, none the original's text."""
    tree = SyntaxTree(function.language, function.text)
    nodes = [
        node
        for node in inner_nodes(tree.root)
        if tree.start(node) >= function.signature_end and tree.end(node) <= function.end
    ]
    found: dict[str, str] = {}
    makers: Mapping[str, Callable[[SyntaxTree, Node], Iterator[Edit]]] = {
        "comparisons mirrored": _mirrored,
        "branches turned": _turned,
        "De Morgan": _de_morgan,
        "assignments spelled out": _spelled_out,
        "constants as sums": _as_sums,
    }
    for name, maker in makers.items():
        edits = _apart([edit for node in nodes for edit in maker(tree, node)])
        if edits:
            found[name] = applied(function, edits)
    return found


def _apart(edits: list[Edit]) -> list[Edit]:
    """The edits without those inside another."""
    kept: list[Edit] = []
    for edit in sorted(edits):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept


def applied(function: SourceFunction, edits: list[Edit]) -> str:
    """The function from its signature to its end, after edits that are in order and apart."""
    parts, place = [], function.signature_start
    for start, end, text in edits:
        parts += [function.text[place:start], text]
        place = end
    return "".join([*parts, function.text[place : function.end]])


def _operands(tree: SyntaxTree, node: Node) -> tuple[str, str, str] | None:
    left, operator, right = map(node.child_by_field_name, ("left", "operator", "right"))
    if node.type != "binary_expression" or left is None or operator is None or right is None:
        return None
    return tree.source(left), tree.source(operator), tree.source(right)


def _mirrored(tree: SyntaxTree, node: Node) -> Iterator[Edit]:
    parts = _operands(tree, node)
    if parts is not None and parts[1] in _MIRRORED and _SIMPLE.fullmatch(parts[0]):
        left, operator, right = parts
        if _SIMPLE.fullmatch(right):
            yield tree.start(node), tree.end(node), f"{right} {_MIRRORED[operator]} {left}"


def _turned(tree: SyntaxTree, node: Node) -> Iterator[Edit]:
    """``if (c) {A} else {B}`` with the condition negated and the branches exchanged."""
    if node.type not in ("if_statement", "if_expression"):
        return
    condition, one, other = map(node.child_by_field_name, ("condition", "consequence", "alternative"))
    if condition is None or one is None or other is None or "let" in condition.type:
        return
    second = tree.source(other)
    if other.type == "else_clause":
        second = second.removeprefix("else").strip()
    if not (tree.source(one).startswith("{") and second.startswith("{")):
        return
    source = tree.source(condition)
    negated = f"(!{source})" if condition.type == "parenthesized_expression" else f"!({source})"
    yield (
        tree.start(condition),
        tree.end(node),
        f"{negated} {second} else {tree.source(one)}",
    )


def _de_morgan(tree: SyntaxTree, node: Node) -> Iterator[Edit]:
    parts = _operands(tree, node)
    if parts is not None and parts[1] in ("&&", "||") and "let " not in parts[0] + parts[2]:
        left, operator, right = parts
        yield (
            tree.start(node),
            tree.end(node),
            f"!(!({left}) {'||' if operator == '&&' else '&&'} !({right}))",
        )


def _spelled_out(tree: SyntaxTree, node: Node) -> Iterator[Edit]:
    """``x += e`` as ``x = x + (e)`` where x is a plain name."""
    left, operator, right = map(node.child_by_field_name, ("left", "operator", "right"))
    if node.type not in _COMPOUND or left is None or operator is None or right is None:
        return
    sign, name = tree.source(operator), tree.source(left)
    if sign in ("+=", "-=", "*=", "|=", "&=", "^=") and _SIMPLE.fullmatch(name):
        yield tree.start(node), tree.end(node), f"{name} = {name} {sign[0]} ({tree.source(right)})"


def _as_sums(tree: SyntaxTree, node: Node) -> Iterator[Edit]:
    if node.type not in INTEGERS or not _DECIMAL.fullmatch(tree.source(node)):
        return
    above = node.parent
    while above is not None and not above.type.endswith(("block", "body", "compound_statement")):
        if above.type in _FIXED or "pattern" in above.type or "case" in above.type or "label" in above.type:
            return
        above = above.parent
    value = int(tree.source(node))
    yield tree.start(node), tree.end(node), f"({value - 1} + 1)"
