"""TSED, the tree similarity of edit distance (Song et al., 2024), with its authors' weights and labels.

``max(0, 1 - distance / nodes)``, where a deletion costs 1.0, an insertion 0.8 and a renaming 1.0, and
``nodes`` is the size of the larger tree. Trees are the named nodes of tree-sitter, comments included. As in
the authors' program, which reads labels off the printed tree, a node that holds children by field is
labelled with the last such field, so that figures can be compared.

Large trees are cut to their first nodes, as many as can be compared within the limits; the score says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pytest_funcmem.core.protocols import CodePair, Score
from pytest_funcmem.core.records import Language
from pytest_funcmem.metrics.flat_tree import TEXT_LIMIT, FlatTree, flatten, grammar_signature
from pytest_funcmem.metrics.notes import blank_note, join_notes, text_notes
from pytest_funcmem.metrics.tree_distance import LabelledTree, prefix, tree_distance, tree_work

__all__ = ["NODE_LIMIT", "NUMBERS_HELD", "NUMBERS_LIMIT", "Tsed", "labelled_tree"]

VERSION = 1
SCALE = 5
"""Costs are whole fifths, which keeps sums exact."""
DELETE, INSERT, RENAME = 5, 4, 5

NODE_LIMIT = 4_000
"""Nodes of each tree that are compared."""
NUMBERS_LIMIT = 150_000_000
"""Numbers that one comparison may compute: a few seconds."""
NUMBERS_HELD = 80_000_000
"""Numbers that one comparison may hold at a time: 320 MB, and twice that where they need 64 bits."""


class Tsed:
    """The metric; see ``Metric``."""

    name = "tsed"

    def signature(self, language: Language) -> str:
        """How figures are computed; see ``Metric.signature``."""
        return _signature(language)

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        return tuple(_score(pair) for pair in pairs)

    def close(self) -> None:
        """Nothing is held."""


def _score(pair: CodePair) -> Score:
    signature = _signature(pair.language)
    if blank := blank_note(pair):
        return Score(value=0.0, signature=signature, note=blank)
    original = labelled_tree(flatten(pair.language, pair.original))
    candidate = labelled_tree(flatten(pair.language, pair.candidate))
    size = _affordable(original, candidate)
    note = ""
    if size < max(len(original), len(candidate)):
        note = f"only the first {size} nodes of each tree were compared"
        original, candidate = prefix(original, size), prefix(candidate, size)
    distance = tree_distance(original, candidate, delete=DELETE, insert=INSERT, rename=RENAME)
    nodes = max(len(original), len(candidate))
    value = max(0.0, (SCALE * nodes - distance) / (SCALE * nodes))
    return Score(value=value, signature=signature, note=join_notes(*text_notes(pair), note))


def _affordable(first: LabelledTree, second: LabelledTree) -> int:
    """How many nodes of each tree the limits allow; the larger tree's size where they allow all."""
    size = max(len(first), len(second))
    if size > NODE_LIMIT:
        size = NODE_LIMIT
    while size > 1:
        computed, held = tree_work(prefix(first, size), prefix(second, size))
        if computed <= NUMBERS_LIMIT and held <= NUMBERS_HELD:
            break
        size = size * 3 // 4
    return size


def labelled_tree(tree: FlatTree) -> LabelledTree:
    """The named nodes of a parsed text, labelled as TSED's authors do."""
    labels: list[str] = []
    parents: list[int] = []
    stack = [(0, -1)]
    while stack:
        node, parent = stack.pop()
        if tree.named[node]:
            number = len(labels)
            labels.append(_label(tree, node))
            parents.append(parent)
            parent = number
        stack.extend((child, parent) for child in reversed(tree.children[node]))
    return LabelledTree(labels=labels, parents=parents)


def _label(tree: FlatTree, node: int) -> str:
    fields = [tree.fields[child] for child in tree.children[node] if tree.named[child]]
    shown = [name for name in fields if name is not None]
    return f"{shown[-1]}:" if shown else tree.kinds[node]


@lru_cache(maxsize=8)
def _signature(language: Language) -> str:
    return (
        f"tsed|variant:1.0/0.8/1.0|labels:sexp|version:{VERSION}|first:{NODE_LIMIT} nodes, {TEXT_LIMIT} chars"
        f"|{grammar_signature(language)}"
    )
