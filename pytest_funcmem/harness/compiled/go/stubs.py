"""Stubs of a Go function that no harness may take for the original."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from pytest_funcmem.core.records import Json, OutputState, SourceFunction
from pytest_funcmem.harness.compiled.go.renaming import function_node
from pytest_funcmem.harness.compiled.toolkit import StandIn
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["make_stubs"]

_SIZES = ("", "8", "16", "32", "64")
_INTEGERS = frozenset(
    {"byte", "rune", "uintptr", *(f"int{size}" for size in _SIZES), *(f"uint{size}" for size in _SIZES)}
)
_FLOATS = frozenset(("float32", "float64"))
_PLAIN = _INTEGERS | _FLOATS | {"string", "bool"}
_LITERALS = frozenset(
    ("int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal", "true", "false")
)
_MOST_CONSTANTS = 8
_MOST_ECHOES = 4
_MOST_LITERAL = 400
_MOST_ITEMS = 20
_INTEGER = re.compile(r"\d{1,2}")
_ZERO = "zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What a stub has to know of the function.

    Attributes:
        head: From the signature to before the body's brace.
        results: Type of each result, as source.
        parameters: Name and type of each parameter that has a name.
    """

    head: str
    results: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]


def make_stubs(function: SourceFunction, expected: Sequence[OutputState]) -> tuple[StandIn, ...]:
    """Make the stubs of a function.

    Args:
        function: The original.
        expected: What it did on the states of a harness.
    """
    tree = SyntaxTree("go", function.text)
    node = function_node(tree, function)
    body = node.child_by_field_name("body") if node is not None else None
    if node is None or body is None:
        return ()
    shape = _Shape(
        head=function.text[function.signature_start : tree.start(body)],
        results=tuple(_results(tree, node)),
        parameters=tuple(_parameters(tree, node)),
    )
    stubs = {"nothing": _body(shape, {}), "panic": 'panic("stub")'}
    if shape.results:
        for literal in _constants(tree, body):
            place = next((n for n, kind in enumerate(shape.results) if _fits(literal, kind)), None)
            if place is not None:
                stubs[f"constant {literal}"] = _body(shape, {place: literal})
        common = _commonest(shape, expected)
        if common is not None:
            stubs["commonest"] = common
        for number, (name, kind) in enumerate(shape.parameters):
            if kind == shape.results[0] and number < _MOST_ECHOES:
                stubs[f"echo {number}"] = _body(shape, {0: name})
    return tuple(StandIn(name=name, code=f"{shape.head}{{ {code} }}") for name, code in stubs.items())


def _body(shape: _Shape, values: dict[int, str]) -> str:
    """A body that returns the given results, and zero values for the others."""
    if not shape.results:
        return ""
    parts = [f"var funcmemR{n} {kind}; " for n, kind in enumerate(shape.results) if n not in values]
    results = [values.get(n, f"funcmemR{n}") for n in range(len(shape.results))]
    return "".join(parts) + "return " + ", ".join(results)


def _results(tree: SyntaxTree, node: Node) -> list[str]:
    result = node.child_by_field_name("result")
    if result is None:
        return []
    if result.type != "parameter_list":
        return [tree.source(result)]
    found: list[str] = []
    for child in result.named_children:
        kind = child.child_by_field_name("type")
        if child.type == "parameter_declaration" and kind is not None:
            found += [tree.source(kind)] * max(1, len(child.children_by_field_name("name")))
    return found


def _parameters(tree: SyntaxTree, node: Node) -> list[tuple[str, str]]:
    parameters = node.child_by_field_name("parameters")
    found: list[tuple[str, str]] = []
    for child in parameters.named_children if parameters is not None else ():
        kind = child.child_by_field_name("type")
        if kind is None:
            continue
        variadic = "[]" if child.type == "variadic_parameter_declaration" else ""
        text = variadic + tree.source(kind)
        found += [(tree.source(name), text) for name in child.children_by_field_name("name")]
    return [(name, kind) for name, kind in found if name != "_"]


def _constants(tree: SyntaxTree, body: Node) -> list[str]:
    found = {
        tree.source(node): None
        for node in inner_nodes(body)
        if node.type in _LITERALS and node.end_byte - node.start_byte < _MOST_LITERAL
    }
    return [*list(found)[:_MOST_CONSTANTS], *(text for text in ("true", "false") if text not in found)]


def _fits(literal: str, kind: str) -> bool:
    if literal in ("true", "false"):
        return kind == "bool"
    if literal[0] in '"`':
        return kind == "string"
    return kind in _FLOATS or (kind in _INTEGERS and _INTEGER.fullmatch(literal) is not None)


def _commonest(shape: _Shape, expected: Sequence[OutputState]) -> str | None:
    """A body that returns what the original returned most often, if that can be written down."""
    counts = Counter(
        json.dumps(output.value, sort_keys=True) for output in expected if output.outcome == "returned"
    )
    for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        value = json.loads(text)
        parts = value[1] if len(shape.results) > 1 and isinstance(value, list) else [value]
        if not isinstance(parts, list) or len(parts) != len(shape.results):
            continue
        written = [_literal(part, kind) for part, kind in zip(parts, shape.results, strict=True)]
        known = [text for text in written if text is not None]
        if len(known) == len(written):
            return _body(shape, {n: text for n, text in enumerate(known) if text != _ZERO})
    return None


def _literal(value: Json, kind: str) -> str | None:
    """A value as Go source; ``zero`` for the zero value, None where it cannot be written."""
    cast = "" if kind in _PLAIN else kind
    if cast and not cast.isidentifier() and not isinstance(value, list) and value is not None:
        return None
    match value:
        case None:
            return _ZERO if kind not in _PLAIN else None
        case bool():
            return _as(cast, str(value).lower())
        case int():
            return _as(cast, str(value))
        case str():
            text = json.dumps(value, ensure_ascii=True)
            return None if len(text) > 4 * _MOST_LITERAL or "\\ud" in text else _as(cast, text)
        case ["float", str(text)] if text not in ("nan", "inf", "-inf"):
            return text if kind in _FLOATS else None
        case ["dict", []] if kind.startswith("map["):
            return f"{kind}{{}}"
        case ["list", list(items)] if kind.startswith("[]") and len(items) <= _MOST_ITEMS:
            written = [_literal(item, kind[2:]) for item in items]
            known = [text for text in written if text is not None and text != _ZERO]
            return f"{kind}{{{', '.join(known)}}}" if len(known) == len(written) else None
    return None


def _as(cast: str, text: str) -> str:
    return f"{cast}({text})" if cast else text
