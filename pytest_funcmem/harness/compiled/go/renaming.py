"""The original with other names for what is local to it: it must do the same."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["function_node", "renamed_code"]

_DECLARATIONS = ("function_declaration", "method_declaration")


def function_node(tree: SyntaxTree, function: SourceFunction) -> Node | None:
    """The node of a function in its file's tree."""
    for node in inner_nodes(tree.root):
        if node.type in _DECLARATIONS and tree.start(node) == function.signature_start:
            return node
    return None


def renamed_code(function: SourceFunction) -> str | None:
    """The function with receiver, parameters, named results and variables renamed; None without any."""
    tree = SyntaxTree("go", function.text)
    node = function_node(tree, function)
    if node is None:
        return None
    locals_ = set(_declared(tree, node))
    taken = {tree.source(inner) for inner in inner_nodes(node) if inner.type.endswith("identifier")}
    # A name before a colon in a literal may be a field's.
    for inner in inner_nodes(node):
        if inner.type == "keyed_element":
            for part in inner_nodes(inner.children[0]):
                if part.type == "identifier":
                    locals_.discard(tree.source(part))
        # The grammar takes some indexes for type arguments, in which a name may be a type's or a variable's.
        elif inner.type == "type_identifier":
            locals_.discard(tree.source(inner))
    locals_ -= _imported(tree)
    locals_.discard("_")
    if not locals_:
        return None
    names: dict[str, str] = {}
    for name in sorted(locals_):
        new = f"{name}Renamed"
        while new in taken:
            new += "X"
        names[name] = new
        taken.add(new)
    own = node.child_by_field_name("name")
    edits = [
        (tree.start(inner), tree.end(inner), names[tree.source(inner)])
        for inner in inner_nodes(node)
        # No package has the name of what is left, so there the grammar has taken a variable for one.
        if inner.type in ("identifier", "package_identifier") and inner != own and tree.source(inner) in names
    ]
    text = function.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    grown = len(text) - len(function.text)
    return text[function.signature_start : function.end + grown]


def _declared(tree: SyntaxTree, function: Node) -> Iterator[str]:
    for node in inner_nodes(function):
        for target in _targets(node):
            for inner in inner_nodes(target):
                if inner.type == "identifier":
                    yield tree.source(inner)


def _targets(node: Node) -> list[Node]:
    """The parts of a node in which identifiers are declared."""
    field = ""
    if node.type in ("parameter_declaration", "variadic_parameter_declaration", "var_spec"):
        field = "name"
    elif node.type == "short_var_declaration":
        field = "left"
    elif node.type in ("range_clause", "receive_statement"):
        field = "left" if any(child.type == ":=" for child in node.children) else ""
    elif node.type == "type_switch_statement":
        field = "alias"
    return node.children_by_field_name(field) if field else []


def _imported(tree: SyntaxTree) -> set[str]:
    """Names that imports of the file may bind."""
    found: set[str] = set()
    for node in tree.root.children:
        if node.type != "import_declaration":
            continue
        for spec in inner_nodes(node):
            if spec.type == "import_spec":
                words = tree.source(spec).translate(str.maketrans('"/-', "   ")).split()
                found.update(words)
                found.update(word.partition(".")[0] for word in words)
    return found
