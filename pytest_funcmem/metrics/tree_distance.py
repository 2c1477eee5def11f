"""Edit distance of ordered labelled trees, exact, by whole rows of numbers at a time.

The recurrence is that of Zhang and Shasha (1989). For each key root of the first tree and each node below it,
one row is computed that spans the forests of *all* key roots of the second tree; an insertion's cost grows
with the column, so a running minimum along the row takes the place of the inner loop. A forest that ends
inside another's is needed before it; key roots are therefore ordered by how many others they hold, and only
the rows along a leftmost path go through these levels one after the other. Where the mirrored trees have
smaller key roots, they are used: the distance is the same.

This module knows nothing of code: trees are lists of labels and children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["LabelledTree", "prefix", "tree_distance", "tree_work"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTree:
    """A tree whose nodes are numbered in preorder.

    Attributes:
        labels: Label of each node.
        parents: Number of each node's parent, which is smaller than its own; -1 for the root.
    """

    labels: Sequence[str]
    parents: Sequence[int]

    def __len__(self) -> int:
        return len(self.labels)


def prefix(tree: LabelledTree, size: int) -> LabelledTree:
    """The first nodes of a tree in preorder, which are a tree again."""
    return LabelledTree(labels=tree.labels[:size], parents=tree.parents[:size])


def tree_work(first: LabelledTree, second: LabelledTree) -> tuple[int, int]:
    """What a distance would take: numbers computed, and numbers held at one time."""
    layouts = _cheaper(first, second)
    width = layouts[1].width
    return layouts[0].width * width, len(first) * (width + len(second))


def tree_distance(first: LabelledTree, second: LabelledTree, *, delete: int, insert: int, rename: int) -> int:
    """Least cost of turning one tree into another.

    Args:
        first: A tree with at least one node.
        second: Another.
        delete: Cost of deleting a node of the first tree; its children take its place.
        insert: Cost of a node of the second tree that the first lacks.
        rename: Cost of changing a label.
    """
    import numpy as np

    rows, columns = _cheaper(first, second)
    numbers: dict[str, int] = {}
    labels = [
        np.array([numbers.setdefault(label, len(numbers)) for label in part.labels])
        for part in (rows, columns)
    ]
    return _distance(rows, columns, labels[0], labels[1], delete=delete, insert=insert, rename=rename)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """A tree in postorder.

    Attributes:
        labels: Label of each node.
        leftmost: The first leaf below each node.
        roots: Key roots: nodes that are no leftmost child, ascending.
        width: Sum of the sizes of the key roots' subtrees, one more for each.
    """

    labels: list[str]
    leftmost: list[int]
    roots: list[int]
    width: int


def _cheaper(first: LabelledTree, second: LabelledTree) -> tuple[_Layout, _Layout]:
    plain = _layout(first, mirrored=False), _layout(second, mirrored=False)
    mirrored = _layout(first, mirrored=True), _layout(second, mirrored=True)
    if mirrored[0].width * mirrored[1].width < plain[0].width * plain[1].width:
        return mirrored
    return plain


def _layout(tree: LabelledTree, *, mirrored: bool) -> _Layout:
    children: list[list[int]] = [[] for _ in tree.labels]
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            children[parent].append(node)
    labels: list[str] = []
    leftmost: list[int] = []
    first_leaf: dict[int, int] = {}
    stack = [(0, False)]
    while stack:
        node, is_done = stack.pop()
        below = children[node][::-1] if mirrored else children[node]
        if not is_done:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(below))
            continue
        leaf = first_leaf[below[0]] if below else len(labels)
        first_leaf[node] = leaf
        labels.append(tree.labels[node])
        leftmost.append(leaf)
    last = {leaf: node for node, leaf in enumerate(leftmost)}
    roots = sorted(last.values())
    return _Layout(
        labels=labels,
        leftmost=leftmost,
        roots=roots,
        width=sum(root - leftmost[root] + 2 for root in roots),
    )


def _levels(layout: _Layout) -> list[list[int]]:
    """Key roots by the number of others that they hold, one inside the other."""
    levels: list[list[int]] = []
    open_roots: list[tuple[int, int]] = []  # key roots that no later one holds yet, with their levels
    for root in layout.roots:
        level = 0
        while open_roots and open_roots[-1][0] >= layout.leftmost[root]:
            level = max(level, open_roots.pop()[1] + 1)
        open_roots.append((root, level))
        if level == len(levels):
            levels.append([])
        levels[level].append(root)
    return levels


def _distance(
    rows: _Layout,
    columns: _Layout,
    row_labels: Numbers,
    column_labels: Numbers,
    *,
    delete: int,
    insert: int,
    rename: int,
) -> int:
    import numpy as np

    size = len(columns.labels)
    far = (delete + insert + rename) * (len(rows.labels) + size + 2)
    levels = _levels(columns)
    roots = [root for level in levels for root in level]
    lengths = [root - columns.leftmost[root] + 1 for root in roots]
    bases = np.concatenate(([0], np.cumsum([length + 1 for length in lengths])))
    # For each column: which node it ends with (``size`` for the empty forest), its place in its forest, and
    # the column of the forest that remains when that node's subtree is taken away.
    node = np.full(bases[-1], size)
    place = np.zeros(bases[-1], dtype=np.int64)
    segment = np.zeros(bases[-1], dtype=np.int64)
    leftmost = np.array(columns.leftmost)
    remains = np.zeros(bases[-1], dtype=np.int64)
    on_path = np.zeros(bases[-1], dtype=bool)
    for number, (root, length) in enumerate(zip(roots, lengths, strict=True)):
        base = int(bases[number])
        start = columns.leftmost[root]
        span = slice(base + 1, base + 1 + length)
        node[span] = np.arange(start, root + 1)
        place[base : base + 1 + length] = np.arange(length + 1)
        segment[base : base + 1 + length] = number
        remains[span] = base + leftmost[start : root + 1] - start
        on_path[span] = leftmost[start : root + 1] == start
        remains[base] = base
    # The running minimum goes over all forests at once: each lies lower than all that stand before it.
    highest = insert * (size + 1) + 2 * far * (len(roots) + 2)
    exact = np.int32 if highest < 2**31 else np.int64  # half the bytes take half the time
    ramp = (insert * place + segment * 2 * far).astype(exact)
    low = -ramp
    empty = (insert * place).astype(exact)
    ends = bases[np.cumsum([len(level) for level in levels])]
    spans = list(zip([0, *map(int, ends[:-1])], map(int, ends), strict=True))
    paths = [np.flatnonzero(on_path[start:end]) + start for start, end in spans]
    same = np.append(column_labels, -1)[node]
    distances = np.full((len(rows.labels), size + 1), 2 * far, dtype=exact)

    for root in rows.roots:
        start = rows.leftmost[root]
        forests = np.empty((root - start + 2, len(node)), dtype=exact)
        forests[0] = empty
        for row, x in enumerate(range(start, root + 1), start=1):
            above, current = forests[row - 1], forests[row]
            rest = forests[rows.leftmost[x] - start]
            if rows.leftmost[x] != start:
                best = rest[remains]
                best += distances[x][node]
                np.minimum(best, above + delete, out=best)
                best += low
                np.minimum.accumulate(best, out=best)
                np.add(best, ramp, out=current)
                continue
            for (left, right), path in zip(spans, paths, strict=True):
                best = rest[remains[left:right]]
                best += distances[x][node[left:right]]
                best[path - left] = above[path - 1] + (same[path] != row_labels[x]) * exact(rename)
                np.minimum(best, above[left:right] + delete, out=best)
                best += low[left:right]
                np.minimum.accumulate(best, out=best)
                np.add(best, ramp[left:right], out=current[left:right])
                distances[x][node[path]] = current[path]
    return int(distances[len(rows.labels) - 1, size - 1])
