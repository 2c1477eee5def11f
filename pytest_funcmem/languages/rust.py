"""The Rust front end."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.core.records import Language
from pytest_funcmem.languages.braces import BracedFrontend, Lexicon
from pytest_funcmem.languages.findings import Finding
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["RustFrontend"]


class RustFrontend(BracedFrontend):
    """Finds Rust functions and the methods of impl blocks and traits (``Type.method``); reads completions.

    What macros would expand to is not seen.
    """

    language: Language = "rust"
    suffixes = (".rs",)
    lexicon = Lexicon(
        literals=r'[bc]?r(?P<hashes>#*+)"[\s\S]*?(?:"(?P=hashes)|\Z)'
        r'|[bc]?"(?:[^"\\]|\\[\s\S])*+(?:"|\\?\Z)'
        r"|b?'(?:\\(?:u\{[^}'\n]*+\}|x[0-9A-Fa-f]{2}|[^ux])'|[^'\\\n]'|\\[^'\n]{0,10}\Z|[^'\\\n]?\Z)",
        nests_comments=True,
    )
    keyword = "fn"
    openers = frozenset({"impl", "trait", "mod"})

    def _find(self, tree: SyntaxTree) -> Iterator[Finding]:
        stack: list[tuple[Node, tuple[str, ...]]] = [(tree.root, ())]
        while stack:
            node, types = stack.pop()
            match node.type:
                case "function_item" | "function_signature_item":
                    name = node.child_by_field_name("name")
                    if name is not None:
                        yield self._finding(
                            tree,
                            node,
                            qualname=".".join((*types, tree.source(name).removeprefix("r#"))),
                            definition_start=_attributes_start(tree, node),
                            signature_start=tree.start(node),
                        )
                    continue
                case "impl_item":
                    types = _type_name(tree, node.child_by_field_name("type"))
                case "trait_item":
                    types = _type_name(tree, node.child_by_field_name("name"))
                case "mod_item":
                    types = ()
                case "block" | "token_tree":
                    continue
            stack.extend((child, types) for child in node.children)


def _type_name(tree: SyntaxTree, node: Node | None) -> tuple[str, ...]:
    """Last name of a type's path, without generics, references or lifetimes."""
    while node is not None:
        match node.type:
            case "generic_type" | "reference_type" | "pointer_type":
                node = node.child_by_field_name("type")
            case "scoped_type_identifier":
                node = node.child_by_field_name("name")
            case "type_identifier" | "primitive_type":
                return (tree.source(node),)
            case _:
                inner = inner_nodes(node)
                names = [part for part in inner if part.type in ("type_identifier", "primitive_type")]
                return (tree.source(names[0]),) if names else ()
    return ()


def _attributes_start(tree: SyntaxTree, node: Node) -> int:
    first = node
    before = node.prev_sibling
    while before is not None and (before.type == "attribute_item" or "comment" in before.type):
        if before.type == "attribute_item":
            first = before
        before = before.prev_sibling
    return tree.start(first)
