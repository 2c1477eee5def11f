"""The Go front end."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.core.records import Language
from pytest_funcmem.languages.braces import BracedFrontend, Lexicon
from pytest_funcmem.languages.findings import Finding
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["GoFrontend"]


class GoFrontend(BracedFrontend):
    """Finds Go functions and methods (``Receiver.method``) and reads completions of them."""

    language: Language = "go"
    suffixes = (".go",)
    lexicon = Lexicon(
        literals=r'"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\\?\Z)|`[^`]*+(?:`|\Z)'
        r"|'(?:[^'\\\n]|\\.)*+(?:'|(?=\n)|\\?\Z)"
    )
    keyword = "func"
    type_words = frozenset({"interface", "struct"})

    def _find(self, tree: SyntaxTree) -> Iterator[Finding]:
        stack = [tree.root]
        while stack:
            node = stack.pop()
            if node.type not in ("function_declaration", "method_declaration"):
                stack.extend(node.children)
                continue
            name = node.child_by_field_name("name")
            if name is None:
                continue
            start = tree.start(node)
            yield self._finding(
                tree,
                node,
                qualname=".".join([*_receiver(tree, node), tree.source(name)]),
                definition_start=start,
                signature_start=start,
            )

    def _is_definition(self, previous: str, head: list[str]) -> bool:
        # A method's receiver stands in parentheses between the keyword and the name.
        return previous in ("func", ")") and "func" in head[-1:]


def _receiver(tree: SyntaxTree, node: Node) -> list[str]:
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return []
    # The variable before the type is an identifier; type parameters come after the type's own name.
    types = (tree.source(inner) for inner in inner_nodes(receiver) if inner.type == "type_identifier")
    return [next(types)] if receiver.named_child_count else []
