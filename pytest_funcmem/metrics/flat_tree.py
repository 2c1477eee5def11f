"""A syntax tree as plain lists, read once, for the metrics that walk it often.

Reading a node of tree-sitter costs many times what reading a list does. Nodes are numbered in preorder, so
a subtree is a range of numbers and its nodes can be visited without recursion, however deep it is.

This module knows nothing of metrics.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from functools import lru_cache

from pytest_funcmem.core.records import Language
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["TEXT_LIMIT", "FlatTree", "flatten", "grammar_signature"]

TEXT_LIMIT = 100_000
"""Characters of each text that are parsed; what is beyond is not compared, and the score says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTree:
    """One parsed text. The lists have an item for each node, in preorder.

    Attributes:
        source: The text as bytes, to which ``starts`` and ``ends`` refer.
        kinds: Node types of the grammar.
        fields: Field by which the parent holds the node, or None.
        named: Whether the node stands in the tree's S-expression: a named node, or a token that the parser
            made up where the text lacks it.
        children: Numbers of the children.
        starts: First byte.
        ends: Byte after the last.
        has_error: Whether the text does not parse as a whole.
        is_cut: Whether ``TEXT_LIMIT`` cut the text.
    """

    source: bytes
    kinds: list[str]
    fields: list[str | None]
    named: list[bool]
    children: list[list[int]]
    starts: list[int]
    ends: list[int]
    has_error: bool
    is_cut: bool

    def text(self, node: int) -> str:
        """Text of a node."""
        return self.source[self.starts[node] : self.ends[node]].decode("utf-8", "replace")


@lru_cache(maxsize=8)
def flatten(language: Language, text: str) -> FlatTree:
    """Parse a text. The last few are remembered, since several metrics ask for the same pair.

    Args:
        language: Grammar to parse it with.
        text: Any string; blanks around it do not count.
    """
    text = text.strip()
    is_cut = len(text) > TEXT_LIMIT
    text = text[:TEXT_LIMIT]
    root = SyntaxTree(language, text).root
    kinds: list[str] = []
    fields: list[str | None] = []
    named: list[bool] = []
    children: list[list[int]] = []
    starts: list[int] = []
    ends: list[int] = []
    cursor = root.walk()
    path: list[int] = []
    while True:
        node = cursor.node
        assert node is not None
        number = len(kinds)
        if path:
            children[path[-1]].append(number)
        kinds.append(node.type)
        fields.append(cursor.field_name)
        named.append(node.is_named or node.is_missing)
        children.append([])
        starts.append(node.start_byte)
        ends.append(node.end_byte)
        if cursor.goto_first_child():
            path.append(number)
            continue
        while not cursor.goto_next_sibling():
            if not path or not cursor.goto_parent():
                return FlatTree(
                    # Lone surrogates take three bytes each, as many as what the parser was given for them.
                    source=text.encode("utf-8", "surrogatepass"),
                    kinds=kinds,
                    fields=fields,
                    named=named,
                    children=children,
                    starts=starts,
                    ends=ends,
                    has_error=root.has_error,
                    is_cut=is_cut,
                )
            path.pop()


@lru_cache(maxsize=8)
def grammar_signature(language: Language) -> str:
    """Name and version of the grammar, for signatures."""
    package = f"tree-sitter-{language}"
    return f"{package}:{importlib.metadata.version(package)}"
