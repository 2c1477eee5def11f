"""How a text uses names: with how many arguments, as which kind of path, with which fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["FUTURE", "Call", "Uses", "find_uses"]

FUTURE = -1
"""Number of parameters of what is no function but gives a value when it is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a function or method.

    Attributes:
        arity: Number of arguments.
        closures: Arguments that are closures, with their number of parameters, or futures.
        is_statement: Whether nothing is done with the result.
        line: Line of the name.
        arguments: Texts of the arguments.
        types: How many types the call names.
        inferred: Which of those it leaves to the compiler.
    """

    arity: int
    closures: tuple[tuple[int, int], ...]
    is_statement: bool
    line: int
    arguments: tuple[str, ...] = ()
    types: int = 0
    inferred: tuple[int, ...] = ()


@dataclass
class Uses:
    """All uses in a text, by name.

    Attributes:
        calls: Calls of plain functions.
        methods: Calls of methods.
        paths: For ``A::b``: by A, then b, the calls of it (None where it is not called).
        fields_of: For ``A { x }`` or ``A::B { x }``: names of fields, by path.
        tuples_of: For patterns ``A(x)`` or ``A::B(x)``: numbers of parts, by path.
        generics: For types: numbers of lifetimes and of types that are given.
        types: Names that stand where a type does.
        macros: Macro calls: whether each stands where a statement does.
        type_macros: Macros that stand where a type does.
    """

    calls: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    methods: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    paths: dict[str, dict[str, list[Call | None]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    fields_of: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    tuples_of: dict[str, int] = field(default_factory=dict)
    generics: dict[str, tuple[int, int]] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    macros: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    type_macros: set[str] = field(default_factory=set)

    def all_calls(self) -> Iterator[tuple[str, Call]]:
        """Every call with the last part of the name that it calls."""
        for calls_of in (self.calls, self.methods):
            for name, calls in calls_of.items():
                yield from ((name, call) for call in calls)
        for inner in self.paths.values():
            for name, found in inner.items():
                yield from ((name, call) for call in found if call is not None)


_TYPE_PLACES = frozenset({"type_arguments", "ordered_field_declaration_list", "reference_type", "tuple_type"})
_IN_MACRO = "__funcmem_macro"
_DEEPEST_MACRO = 6


def find_uses(text: str) -> Uses:
    """Read a text."""
    uses = Uses()
    _read(text, 0, 0, uses)
    uses.calls.pop(_IN_MACRO, None)
    return uses


def _read(text: str, first: int, depth: int, uses: Uses) -> None:
    """Read a text that begins ``first`` lines into another; what macros are given is read as arguments."""
    tree = SyntaxTree("rust", text)
    for node in inner_nodes(tree.root):
        match node.type:
            case "call_expression":
                _call(tree, node, uses, first)
            case "scoped_identifier" | "scoped_type_identifier":
                _path(tree, node, uses, first)
            case "type_identifier":
                if node.parent is None or node.parent.type not in (
                    "struct_expression",
                    "tuple_struct_pattern",
                ):
                    uses.types.add(tree.source(node))
            case "generic_type":
                _generic(tree, node, uses)
            case "struct_expression":
                name = node.child_by_field_name("name")
                body = node.child_by_field_name("body")
                if name is not None and body is not None:
                    fields = uses.fields_of[_bare(tree, name)]
                    for part in body.children:
                        if part.type == "field_initializer":
                            field_node = part.child_by_field_name("field") or part.children[0]
                            fields.append(tree.source(field_node))
                        elif part.type == "shorthand_field_initializer":
                            fields.append(tree.source(part.children[-1]))
            case "struct_pattern":
                kind = node.child_by_field_name("type")
                if kind is not None:
                    fields = uses.fields_of[_bare(tree, kind)]
                    for part in node.children:
                        if part.type == "field_pattern":
                            inner = part.child_by_field_name("name")
                            if inner is not None:
                                fields.append(tree.source(inner))
            case "tuple_struct_pattern":
                kind = node.child_by_field_name("type")
                if kind is not None:
                    parts = [c for c in node.children if c.is_named or tree.source(c) == "_"]
                    count = sum(1 for c in parts if c.id != kind.id and "comment" not in c.type)
                    path = _bare(tree, kind)
                    uses.tuples_of[path] = max(count, uses.tuples_of.get(path, 0))
            case "macro_invocation":
                name = node.child_by_field_name("macro")
                if name is not None:
                    uses.macros[tree.source(name)].append(_is_statement(node))
                    if _is_type(node):
                        uses.type_macros.add(tree.source(name))
                given = node.children[-1]
                if given.type == "token_tree" and depth < _DEEPEST_MACRO:
                    told = tree.source(given)[1:-1]
                    line = first + given.start_point[0]
                    asked, comma, patterns = told.partition(",")
                    is_match = name is not None and tree.source(name).endswith("matches") and comma
                    read = f"match {asked} {{ {patterns} => {{}} }}" if is_match else f"{_IN_MACRO}({told})"
                    _read(f"fn f() {{ let x = {read}; }}", line, depth + 1, uses)


def _bare(tree: SyntaxTree, node: Node) -> str:
    """A path without type arguments."""
    if node.type == "generic_type":
        inner = node.child_by_field_name("type")
        return _bare(tree, inner) if inner is not None else ""
    if node.type in ("scoped_identifier", "scoped_type_identifier"):
        path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
        left = _bare(tree, path) if path is not None else ""
        return f"{left}::{tree.source(name)}" if name is not None else left
    return tree.source(node)


def _made_call(tree: SyntaxTree, node: Node, name: Node, first: int) -> Call:
    listed = node.child_by_field_name("arguments")
    arguments = (
        [c for c in listed.children if c.is_named and "comment" not in c.type] if listed is not None else []
    )
    closures = []
    for place, argument in enumerate(arguments):
        if argument.type == "closure_expression":
            parameters = argument.child_by_field_name("parameters")
            count = (
                sum(1 for c in parameters.children if c.is_named or tree.source(c) == "_")
                if parameters
                else 0
            )
            closures.append((place, count))
        elif argument.type == "async_block":
            closures.append((place, FUTURE))
    return Call(
        arity=len(arguments),
        closures=tuple(closures),
        is_statement=_is_statement(node),
        line=first + name.start_point[0] + 1,
        arguments=tuple(tree.source(argument) for argument in arguments),
        types=len(_types_named(tree, node)),
        inferred=tuple(place for place, text in enumerate(_types_named(tree, node)) if text == "_"),
    )


def _types_named(tree: SyntaxTree, node: Node) -> list[str]:
    called = node.child_by_field_name("function")
    listed = called.child_by_field_name("type_arguments") if called is not None else None
    return [tree.source(part) for part in listed.children if part.is_named] if listed is not None else []


def _is_statement(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "expression_statement":
        return False
    return parent.children[-1].type == ";"


def _is_type(node: Node) -> bool:
    """Whether a node stands where a type does."""
    parent = node.parent
    if parent is None:
        return False
    named = (parent.child_by_field_name(name) for name in ("type", "return_type"))
    return parent.type in _TYPE_PLACES or any(part is not None and part.id == node.id for part in named)


def _call(tree: SyntaxTree, node: Node, uses: Uses, first: int) -> None:
    called = node.child_by_field_name("function")
    if called is not None and called.type == "generic_function":
        called = called.child_by_field_name("function")
    if called is None:
        return
    if called.type == "identifier":
        uses.calls[tree.source(called)].append(_made_call(tree, node, called, first))
    elif called.type == "field_expression":
        name = called.child_by_field_name("field")
        if name is not None and name.type == "field_identifier":
            uses.methods[tree.source(name)].append(_made_call(tree, node, name, first))


def _path(tree: SyntaxTree, node: Node, uses: Uses, first: int) -> None:
    path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is None or name is None:
        return
    left = _bare(tree, path)
    parent = node.parent
    if parent is not None and parent.type == "generic_function":
        node, parent = parent, parent.parent
    called = None
    if parent is not None and parent.type == "call_expression":
        function = parent.child_by_field_name("function")
        if function is not None and function.id == node.id:
            called = _made_call(tree, parent, name, first)
    uses.paths[left][tree.source(name)].append(called)


def _generic(tree: SyntaxTree, node: Node, uses: Uses) -> None:
    kind, listed = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
    if kind is None or listed is None:
        return
    given = [c for c in listed.children if c.is_named and "comment" not in c.type]
    lifetimes = sum(1 for c in given if c.type == "lifetime")
    types = sum(1 for c in given if c.type not in ("lifetime", "type_binding"))
    name = tree.source(kind)
    before = uses.generics.get(name, (0, 0))
    uses.generics[name] = (max(before[0], lifetimes), max(before[1], types))
