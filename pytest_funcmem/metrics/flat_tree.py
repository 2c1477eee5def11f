"""A syntax tree as plain lists, read once, for the metrics that walk it often.

Reading a node of tree-sitter costs many times what reading a list does. Nodes are numbered in preorder, so
a subtree is a range of numbers and its nodes can be visited without recursion, however deep it is.

This module knows nothing of metrics.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass, field
from functools import lru_cache

from tree_sitter import Node

from pytest_funcmem.core.records import Language
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["TEXT_LIMIT", "FlatTree", "flatten", "grammar_signature"]

TEXT_LIMIT = 100_000
"""Characters of each text that are parsed; what is beyond is not compared, and the score says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTree:
    """One parsed text. The lists have an item for each node, in preorder.

    Attributes:
        source: The text as bytes, in which the parser counts.
        kinds: Node types of the grammar.
        fields: Field by which the parent holds the node, or None.
        named: Whether the node stands in the tree's S-expression: a named node, or a token that the parser
            made up where the text lacks it.
        children: Numbers of the children.
        nodes: The parser's own nodes, which know where they stand.
        afters: Number of the first node after the subtree: a subtree's nodes are a range of numbers.
        characters: The text itself where each of its characters is one byte, else None.
        has_error: Whether the text does not parse as a whole.
        is_cut: Whether ``TEXT_LIMIT`` cut the text.
    """

    source: bytes
    characters: str | None
    has_error: bool
    is_cut: bool
    kinds: list[str] = field(default_factory=list)
    fields: list[str | None] = field(default_factory=list)
    named: list[bool] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    afters: list[int] = field(default_factory=list)

    def text(self, node: int) -> str:
        """Text of a node."""
        start, end = self.nodes[node].byte_range
        if self.characters is not None:
            return self.characters[start:end]
        return self.source[start:end].decode("utf-8", "replace")


_NONE: list[int] = []  # the children of every leaf: most nodes are leaves


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
    has_error = root.has_error
    # Lone surrogates take three bytes each, as many as what the parser was given for them.
    source = text.encode("utf-8", "surrogatepass")
    tree = FlatTree(
        source=source,
        characters=text if len(source) == len(text) else None,
        has_error=has_error,
        is_cut=is_cut,
    )
    kinds, fields, named, children = tree.kinds, tree.fields, tree.named, tree.children
    nodes, afters = tree.nodes, tree.afters
    known: dict[int, tuple[str, bool]] = {}  # asking a node for its kind costs more than looking it up
    cursor = root.walk()
    # This loop is most of what a score over trees costs: what it uses is looked up beforehand.
    goto_first_child, goto_next_sibling = cursor.goto_first_child, cursor.goto_next_sibling
    add_kind, add_named, add_field = kinds.append, named.append, fields.append
    add_children, add_node, add_after = children.append, nodes.append, afters.append
    path: list[int] = []
    siblings: list[int] = []
    number = 0
    while True:
        node = cursor.node
        assert node is not None
        siblings.append(number)
        kind_id = node.kind_id
        kind = known.get(kind_id)
        if kind is None:
            kind = known[kind_id] = (node.type, node.is_named)
        add_kind(kind[0])
        # Only a text with errors has tokens that the parser made up.
        add_named(kind[1] or (has_error and node.is_missing))
        add_field(cursor.field_name)
        add_children(_NONE)
        add_node(node)
        number += 1
        add_after(number)
        if goto_first_child():
            path.append(number - 1)
            siblings = children[number - 1] = []
            continue
        while not goto_next_sibling():
            if not path or not cursor.goto_parent():
                return tree
            afters[path.pop()] = number
            siblings = children[path[-1]] if path else []


@lru_cache(maxsize=8)
def grammar_signature(language: Language) -> str:
    """Name and version of the grammar, for signatures."""
    package = f"tree-sitter-{language}"
    return f"{package}:{importlib.metadata.version(package)}"
