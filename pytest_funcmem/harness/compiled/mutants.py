"""Small mutants of a function in a compiled language, made by editing its syntax tree's tokens.

One table serves the four grammars: they name operators and literals alike, or nearly so. It does not know
which of them compile; a mutant that does not is no mutant, and whoever runs them leaves it out of the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tree_sitter import Node

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.toolkit import StandIn
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["tree_mutants"]

_COMPARISONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "<": ("<=", ">"),
        "<=": ("<", ">"),
        ">": (">=", "<"),
        ">=": (">", "<"),
        "==": ("!=",),
        "!=": ("==",),
    }
)
_ARITHMETIC: Mapping[str, str] = MappingProxyType(
    {
        "+": "-",
        "-": "+",
        "*": "+",
        "/": "*",
        "%": "*",
        "&": "|",
        "|": "&",
        "^": "&",
        "<<": ">>",
        ">>": "<<",
        ">>>": "<<",
        "+=": "-=",
        "-=": "+=",
        "*=": "+=",
        "/=": "*=",
        "%=": "*=",
        "&=": "|=",
        "|=": "&=",
        "^=": "&=",
        "<<=": ">>=",
        ">>=": "<<=",
        "++": "--",
        "--": "++",
    }
)
_BOOLEAN: Mapping[str, str] = MappingProxyType({"&&": "||", "||": "&&"})
_OPERATOR_PARENTS = frozenset(
    {
        "assignment_expression",
        "assignment_statement",
        "binary_expression",
        "compound_assignment_expr",
        "dec_statement",
        "inc_statement",
        "update_expression",
    }
)
_INTEGERS = frozenset(
    {
        "binary_integer_literal",
        "decimal_integer_literal",
        "hex_integer_literal",
        "int_literal",
        "integer_literal",
        "number_literal",
        "octal_integer_literal",
    }
)
_FLOATS = frozenset({"decimal_floating_point_literal", "float_literal"})
_STRINGS = frozenset({"interpreted_string_literal", "raw_string_literal", "string_literal"})
_CONDITIONALS = frozenset({"if_expression", "if_statement", "while_expression", "while_statement"})
_TERNARIES = frozenset({"conditional_expression", "ternary_expression"})
_LEFT_ALONE = frozenset(
    {
        # Types, patterns and things that are fixed when the program is compiled.
        *{"array_type", "attribute_item", "attribute", "annotation", "marker_annotation"},
        *{"type_arguments", "type_parameters", "lifetime", "preproc_include", "array_declarator"},
        *{"bitfield_clause", "import_declaration", "macro_invocation_name"},
    }
)
_BLOCKS = frozenset(
    {
        *{"block", "compound_statement", "case_statement", "constructor_body", "statement_list"},
        *{"switch_block_statement_group", "expression_case", "default_case", "type_case"},
    }
)
"""What statements stand in."""
_ARMS = frozenset({"match_arm", "switch_rule"})
"""What has an expression in the place of a statement."""
_DECIMAL = re.compile(r"(\d+)([A-Za-z_][A-Za-z0-9_]*)?")
_FLOAT = re.compile(r"(\d+\.\d*|\.\d+|\d+)([fFdDlL]|_?f32|_?f64)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """One change: characters ``start`` to ``end`` of a statement that begins at another become ``text``."""

    start: int
    end: int
    text: str
    sort: str
    statement: int


def tree_mutants(function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
    """Make mutants, spread evenly over the function where there are more than wanted.

    Args:
        function: The original.
        limit: Most mutants.
    """
    tree = SyntaxTree(function.language, function.text)
    edits = sorted(
        _edits(tree, function.signature_end, function.end), key=lambda edit: (edit.start, edit.text)
    )
    if len(edits) > limit:
        edits = [edits[number * len(edits) // limit] for number in range(limit)]
    text, first = function.text, function.signature_start
    return tuple(
        StandIn(
            name=f"{edit.sort} {number}",
            code=text[first : edit.start] + edit.text + text[edit.end : function.end],
            lines=_lines_of(text, function, edit),
        )
        for number, edit in enumerate(edits)
    )


def _lines_of(text: str, function: SourceFunction, edit: _Edit) -> frozenset[int]:
    """Lines from the statement's first to the change's last: coverage may know only those that begin one."""
    begin = text.count("\n", function.signature_start, edit.statement)
    return frozenset(range(begin, begin + 1 + text.count("\n", edit.statement, edit.end)))


def _statement_start(tree: SyntaxTree, node: Node, begin: int) -> int:
    """Where the statement around a node begins, or what stands in a block like one."""
    while node.parent is not None and node.parent.type not in _BLOCKS:
        is_value = node.parent.type in _ARMS and node.parent.child_by_field_name("value") == node
        if is_value or tree.start(node.parent) < begin:
            break
        node = node.parent
    return tree.start(node)


def _edits(tree: SyntaxTree, begin: int, end: int) -> Iterator[_Edit]:
    inside: list[tuple[int, int]] = []
    for node in _overlapping(tree.root, tree.byte(begin), tree.byte(end)):
        start, stop = tree.start(node), tree.end(node)
        if start < begin or stop > end or any(low <= start and stop <= high for low, high in inside):
            continue
        if node.type in _LEFT_ALONE:
            inside.append((start, stop))
            continue
        for text, sort, place in _variants(tree, node):
            yield _Edit(
                start=tree.start(place),
                end=tree.end(place),
                text=text,
                sort=sort,
                statement=_statement_start(tree, place, begin),
            )


def _overlapping(root: Node, begin: int, end: int) -> Iterator[Node]:
    """The nodes that have some of the bytes from one to another, in order; a file has many that do not."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.end_byte > begin and node.start_byte < end:
            yield node
            stack.extend(reversed(node.children))


def _variants(tree: SyntaxTree, node: Node) -> Iterator[tuple[str, str, Node]]:
    """What may stand in a node's place or in that of a part of it, as (text, sort, replaced node)."""
    kind = node.type
    parent = node.parent.type if node.parent is not None else ""
    if not node.is_named and parent in _OPERATOR_PARENTS:
        for other in _COMPARISONS.get(kind, ()):
            yield other, "comparison", node
        if kind in _ARITHMETIC:
            yield _ARITHMETIC[kind], "operator", node
        if kind in _BOOLEAN:
            yield _BOOLEAN[kind], "boolean", node
    elif kind in _INTEGERS or kind in _FLOATS:
        for text in _other_numbers(tree.source(node), whole=kind in _INTEGERS):
            yield text, "constant", node
    elif kind in _STRINGS:
        source = tree.source(node)
        quote = next((position for position, mark in enumerate(source) if mark in '"`'), None)
        if quote is not None and len(source) < 400:
            yield source[: quote + 1] + "x" + source[quote + 1 :], "constant", node
    elif kind in ("true", "false") and (node.is_named or parent == "boolean_literal"):
        yield "false" if kind == "true" else "true", "constant", node
    elif kind in _CONDITIONALS:
        condition = node.child_by_field_name("condition")
        if condition is not None and "let" not in condition.type:
            source = tree.source(condition)
            bare = source[1:-1] if condition.type == "parenthesized_expression" else source
            negated = f"!({bare})"
            yield (f"({negated})" if bare is not source else negated), "branch", condition
    elif kind in _TERNARIES:
        condition, *ways = map(node.child_by_field_name, ("condition", "consequence", "alternative"))
        if condition is not None and ways[0] is not None and ways[1] is not None:
            swapped = f"{tree.source(condition)} ? {tree.source(ways[1])} : {tree.source(ways[0])}"
            yield swapped, "branch", node
    elif kind == "unary_expression" and node.children and node.children[0].type == "!":
        operand = node.children[-1]
        yield tree.source(operand), "boolean", node
    elif kind in ("break_statement", "break_expression") and node.child_count <= 2:
        yield tree.source(node).replace("break", "continue", 1), "branch", node
    elif kind in ("continue_statement", "continue_expression") and node.child_count <= 2:
        yield tree.source(node).replace("continue", "break", 1), "branch", node


def _other_numbers(source: str, *, whole: bool) -> list[str]:
    """Numbers beside a literal, written with the same suffix."""
    if re.match(r"0[xXbBoO]", source):
        match = re.fullmatch(r"(0[xX])([0-9a-fA-F]+)([uUlL]*)", source)
        return [] if match is None else [f"{match[1]}{int(match[2], 16) + 1:x}{match[3]}"]
    match = _DECIMAL.fullmatch(source) if whole else None
    if match is not None and not (match[1].startswith("0") and len(match[1]) > 1):
        value, suffix = int(match[1]), match[2] or ""
        return [f"{value + 1}{suffix}", *([f"{value - 1}{suffix}"] if value > 1 else [])]
    match = _FLOAT.fullmatch(source)
    if match is not None and ("." in source or not whole):
        return [f"{float(match[1]) * 2 + 1.0:.1f}{match[2] or ''}"]
    return []
