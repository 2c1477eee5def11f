"""Edits of a Java function by its syntax: local names changed, and bodies that no harness may take for it.

It parses with tree-sitter, which survives whatever the file holds, and never writes outside the function.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from pytest_funcmem.core.records import Json, OutputState, SourceFunction
from pytest_funcmem.harness.compiled.toolkit import StandIn
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["renamed_code", "stand_ins"]

_METHODS = frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"})
_OTHER_NAMES = frozenset(
    {"element_value_pair", "labeled_statement", "break_statement", "continue_statement", "switch_label"}
)
_MOST_CONSTANTS = 6
_NUMBERS = frozenset(
    {"int", "long", "short", "byte", "double", "float", "Integer", "Long", "Double", "Object", "Number"}
)
_TEXTS = frozenset({"String", "CharSequence", "Object"})
_LITERALS = {
    "decimal_integer_literal": _NUMBERS,
    "hex_integer_literal": _NUMBERS,
    "decimal_floating_point_literal": frozenset({"double", "float", "Double", "Object"}),
    "string_literal": _TEXTS,
    "character_literal": frozenset({"char", "Character", "int", "Object"}),
    "true": frozenset({"boolean", "Boolean", "Object"}),
    "false": frozenset({"boolean", "Boolean", "Object"}),
}


def renamed_code(function: SourceFunction) -> str | None:
    """The function with its parameters and local variables renamed; None where it has none."""
    tree = SyntaxTree("java", function.text)
    node = _function_node(tree, function)
    if node is None:
        return None
    declared = {tree.source(name): None for name in _declared(node)}
    for name in _kept(node):
        declared.pop(tree.source(name), None)
    if not declared:
        return None
    names = {name: _free(f"{name}_{number}_renamed", function.text) for number, name in enumerate(declared)}
    pieces: list[str] = []
    position = function.signature_start
    for item in inner_nodes(node):
        if item.type != "identifier" or not _is_variable(item):
            continue
        start, end = tree.start(item), tree.end(item)
        new = names.get(function.text[start:end])
        if new is not None and start >= position:
            pieces += [function.text[position:start], new]
            position = end
    pieces.append(function.text[position : function.end])
    return "".join(pieces)


def stand_ins(function: SourceFunction, expected: Sequence[OutputState]) -> tuple[StandIn, ...]:
    """Stubs: nothing, each constant of the body, the commonest output, an exception, an argument."""
    tree = SyntaxTree("java", function.text)
    node = _function_node(tree, function)
    body = None if node is None else node.child_by_field_name("body")
    if node is None or body is None:
        return ()
    head = function.text[function.signature_start : tree.start(body)]
    kind = node.child_by_field_name("type")
    returned = "" if kind is None else tree.source(kind)
    first = next(
        (child for child in body.named_children if child.type == "explicit_constructor_invocation"), None
    )
    chain = "" if first is None else f" {tree.source(first)}"
    bodies: dict[str, str] = {}
    if returned in ("", "void"):
        bodies["nothing"] = f"{{{chain} }}"
    else:
        bodies["nothing"] = f"{{ return {_zero(returned)}; }}"
        constants = [
            tree.source(item)
            for item in inner_nodes(body)
            if returned in _LITERALS.get(item.type, frozenset())
        ]
        for number, constant in enumerate(list(dict.fromkeys(constants))[:_MOST_CONSTANTS]):
            bodies[f"constant {number}"] = f"{{ return {_cast(returned)}{constant}; }}"
        commonest = _commonest(returned, expected)
        if commonest is not None:
            bodies["commonest"] = f"{{ return {_cast(returned)}{commonest}; }}"
        for number, (name, type_text) in enumerate(_parameters(tree, node), 1):
            if type_text == returned:
                bodies[f"echo {number}"] = f"{{ return {name}; }}"
    bodies["raise"] = f'{{{chain} throw new IllegalStateException("stub"); }}'
    original = "".join(function.text[tree.start(body) : tree.end(body)].split())
    return tuple(
        StandIn(name=name, code=head + text)
        for name, text in bodies.items()
        if "".join(text.split()) != original
    )


def _function_node(tree: SyntaxTree, function: SourceFunction) -> Node | None:
    node = tree.root.descendant_for_byte_range(
        tree.byte(function.signature_start), tree.byte(max(function.signature_start, function.end - 1))
    )
    while node is not None and node.type not in _METHODS:
        node = node.parent
    return node


def _declared(node: Node) -> Iterator[Node]:
    """Names of the parameters and local variables of a function, those of lambdas included."""
    for item in inner_nodes(node):
        name = item.child_by_field_name("name")
        if name is None or name.type != "identifier":
            continue
        parent = item.parent
        if item.type == "variable_declarator":
            if parent is not None and parent.type == "local_variable_declaration":
                yield name
        elif item.type in (
            "formal_parameter",
            "catch_formal_parameter",
            "enhanced_for_statement",
            "resource",
        ):
            yield name


def _kept(node: Node) -> Iterator[Node]:
    """Names that mean something else too: fields of classes inside, keys of annotations, labels."""
    for item in inner_nodes(node):
        if item.type == "field_declaration":
            for child in item.named_children:
                name = child.child_by_field_name("name")
                if child.type == "variable_declarator" and name is not None:
                    yield name
        elif item.type in _OTHER_NAMES:
            yield from (child for child in item.children if child.type == "identifier")


def _is_variable(item: Node) -> bool:
    """Whether an identifier is a variable by its place: no member, method, type or label."""
    parent = item.parent
    if parent is None:
        return False
    if parent.type == "field_access":
        return parent.child_by_field_name("field") != item
    if parent.type == "method_invocation":
        return parent.child_by_field_name("name") != item
    if parent.type == "method_reference":
        return parent.children[0] == item
    return parent.type not in (
        "method_declaration",
        "constructor_declaration",
        "compact_constructor_declaration",
        "class_declaration",
        "marker_annotation",
        "annotation",
        "scoped_identifier",
        "scoped_type_identifier",
    )


def _free(name: str, text: str) -> str:
    while name in text:
        name += "_"
    return name


def _parameters(tree: SyntaxTree, node: Node) -> Iterator[tuple[str, str]]:
    parameters = node.child_by_field_name("parameters")
    for item in parameters.named_children if parameters is not None else ():
        name, kind = item.child_by_field_name("name"), item.child_by_field_name("type")
        if name is not None and kind is not None:
            yield tree.source(name), tree.source(kind)


def _zero(returned: str) -> str:
    if returned == "boolean":
        return "false"
    return "0" if returned in ("int", "long", "short", "byte", "char", "double", "float") else "null"


def _cast(returned: str) -> str:
    """Narrow types take no constant of a wider one."""
    return f"({returned}) " if returned in ("char", "short", "byte", "float") else ""


def _commonest(returned: str, expected: Sequence[OutputState]) -> str | None:
    values = [json.dumps(output.value) for output in expected if output.outcome == "returned"]
    if not values:
        return None
    counts = Counter(values)
    top = max(counts.values())
    return _literal(returned, json.loads(next(value for value in values if counts[value] == top)))


def _literal(returned: str, value: Json) -> str | None:
    """A value as Java writes it; None where that takes more than a literal."""
    match value:
        case None:
            return "null" if _zero(returned) == "null" else None
        case bool():
            return str(value).lower()
        case int() if abs(value) < 2**31:
            return f"{value}L" if returned in ("long", "Long") else str(value)
        case int():
            return f"{value}L"
        case str() if value.isascii() and value.isprintable():
            return json.dumps(value)
        case ["float", str(text)] if text not in ("nan", "inf", "-inf"):
            return text
        case ["value", "Character", str(text)] if text.isalnum() and text.isascii():
            return f"'{text}'"
    return None
