"""The Java front end."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.core.records import Language
from pytest_funcmem.languages.braces import BracedFrontend, Lexicon
from pytest_funcmem.languages.findings import Finding
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["JavaFrontend"]

_TYPES = frozenset(
    {
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "enum_constant",
    }
)
_METHODS = frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"})
_CODE = frozenset({"lambda_expression", "static_initializer", "block", "object_creation_expression"})


class JavaFrontend(BracedFrontend):
    """Finds Java methods and constructors (``Outer.Inner.method``) and reads completions of them.

    Methods of anonymous classes have no name to report them by and are left alone.
    """

    language: Language = "java"
    suffixes = (".java",)
    lexicon = Lexicon(
        literals=r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+(?:"""|\\?\Z)|"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\\?\Z)'
        r"|'(?:[^'\\\n]|\\.)*+(?:'|(?=\n)|\\?\Z)"
    )
    openers = frozenset({"class", "interface", "enum", "record"})

    def _find(self, tree: SyntaxTree) -> Iterator[Finding]:
        stack: list[tuple[Node, tuple[str, ...]]] = [(tree.root, ())]
        while stack:
            node, types = stack.pop()
            if node.type in _CODE:
                continue
            name = node.child_by_field_name("name")
            if node.type in _METHODS and name is not None:
                yield self._finding(
                    tree,
                    node,
                    qualname=".".join((*types, tree.source(name))),
                    definition_start=tree.start(node),
                    signature_start=tree.start(_first_of_signature(node)),
                )
                continue
            if node.type in _TYPES and name is not None:
                types = (*types, tree.source(name))
            stack.extend((child, types) for child in node.children)


def _first_of_signature(node: Node) -> Node:
    """The first token after the leading annotations."""
    for child in node.children:
        parts = child.children if child.type == "modifiers" else [child]
        for part in parts:
            if "annotation" not in part.type and "comment" not in part.type:
                return part
    return node
