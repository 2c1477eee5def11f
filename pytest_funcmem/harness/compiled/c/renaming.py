"""The original with its local names changed: a rewriting that cannot change behaviour."""

from __future__ import annotations

import re

from tree_sitter import Node

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.c.chunks import identifiers, tokens
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["renamed_code"]


def renamed_code(function: SourceFunction) -> str | None:
    """Rename the variables that the body declares; None where it declares none.

    Names that a directive, a label, a member or a macro of the file shares keep theirs: a macro may reach for
    a local variable by its name.
    """
    code = function.code
    words = tuple(tokens(code))
    tree = SyntaxTree("c", code)
    names = dict.fromkeys(tree.source(name) for node in inner_nodes(tree.root) for name in _declared(node))
    shared = set(identifiers([token for token in words if token.kind == "directive"]))
    for match in re.finditer(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*", function.text, re.MULTILINE):
        shared.update(re.findall(r"[A-Za-z_]\w*", match[0]))
    for node in inner_nodes(tree.root):
        if node.type in ("statement_identifier", "field_identifier", "type_identifier"):
            shared.add(tree.source(node))
    shared.update(re.findall(r"[A-Za-z_]\w*", function.signature))
    taken = identifiers(words)
    mapping: dict[str, str] = {}
    for number, name in enumerate(name for name in names if name not in shared):
        new = f"{name}_{number}_renamed"
        while new in taken:
            new += "_"
        mapping[name] = new
    if not mapping:
        return None
    pieces = []
    done = 0
    for token in words:
        if token.kind == "name" and token.text in mapping and token.start >= len(function.signature):
            pieces += [code[done : token.start], mapping[token.text]]
            done = token.end
    return "".join([*pieces, code[done:]]) if pieces else None


def _declared(node: Node) -> list[Node]:
    """Names that a declaration inside a function declares."""
    if node.type != "declaration" or node.has_error:
        return []  # such as where a macro stands behind a name
    if any(child.type == "storage_class_specifier" for child in node.children):
        return []
    parent = node.parent
    if parent is None or parent.type not in ("compound_statement", "for_statement", "case_statement"):
        return []
    found = []
    for child in node.children_by_field_name("declarator"):
        inner: Node | None = child
        while inner is not None and inner.type != "identifier":
            if inner.type == "function_declarator":
                inner = None
                break
            inner = inner.child_by_field_name("declarator")
        if inner is not None:
            found.append(inner)
    return found
