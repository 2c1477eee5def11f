"""Lay the lines of a candidate beside those of the original: equal, changed, missing, added.

An order-keeping alignment of lines that maximises their similarity (Needleman and Wunsch, 1970), measured in
words. Lines that have less than half their words in common are never paired. This module knows nothing of
colours and columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Mark", "Row", "align", "beside"]

Mark = Literal["=", "~", "+", "-", " "]
"""``=`` equal, ``~`` changed, ``+`` only in the candidate, ``-`` only in the original, `` `` nothing here."""

_COMPARED = 400  # characters of a line whose words are compared; equality is always that of whole lines
_ALIKE = 0.5
_LONG = 20  # from this length on, a line's agreement counts in full; braces alone should pair nothing

_WORD = re.compile(r"\d+\.\d+|\w+")  # brackets and operators alone make no two lines alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the original (or none), and what stands beside it in both candidates.

    Attributes:
        original: Index of the original's line; None for a line that only candidates have.
        target: Index of the target's line, or None.
        reference: Index of the reference's line, or None.
    """

    original: int | None
    target: int | None
    target_mark: Mark
    reference: int | None
    reference_mark: Mark


def beside(original: Sequence[str], target: Sequence[str], reference: Sequence[str]) -> tuple[Row, ...]:
    """Lay both candidates beside the original.

    Args:
        original: Lines of the original's body.
        target: Lines of the target's body.
        reference: Lines of the reference's body.
    """
    targets, references = align(original, target), align(original, reference)
    rows: list[Row] = []
    left = right = 0
    for index in range(len(original) + 1):
        added_left, added_right = [], []
        while left < len(targets) and targets[left][0] is None:
            added_left.append(targets[left][1])
            left += 1
        while right < len(references) and references[right][0] is None:
            added_right.append(references[right][1])
            right += 1
        for place in range(max(len(added_left), len(added_right))):
            one = added_left[place] if place < len(added_left) else None
            two = added_right[place] if place < len(added_right) else None
            rows.append(
                Row(
                    original=None,
                    target=one,
                    target_mark=" " if one is None else "+",
                    reference=two,
                    reference_mark=" " if two is None else "+",
                )
            )
        if index < len(original):
            one, two = targets[left][1], references[right][1]
            rows.append(
                Row(
                    original=index,
                    target=one,
                    target_mark=_mark(original[index], None if one is None else target[one]),
                    reference=two,
                    reference_mark=_mark(original[index], None if two is None else reference[two]),
                )
            )
            left, right = left + 1, right + 1
    return tuple(rows)


def _mark(original: str, other: str | None) -> Mark:
    if other is None:
        return "-" if original.strip() else " "
    return "=" if _key(original) == _key(other) else "~"


def _key(line: str) -> str:
    # Bodies are shown without their common indentation; blanks at the ends make no line another one.
    return line.strip()


def align(first: Sequence[str], second: Sequence[str]) -> tuple[tuple[int | None, int | None], ...]:
    """Pair lines of two texts, in order; each index of both occurs once.

    Where a line of one is beside nothing, lines of the first come before lines of the second.
    """
    letters: dict[str, str] = {}
    spelled_first, spelled_second = _spelled(first, letters), _spelled(second, letters)
    weights = [[_weight(one, two) for two in spelled_second] for one in spelled_first]
    best = [[0.0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(second) - 1, -1, -1):
            paired = best[i + 1][j + 1] + weights[i][j] if weights[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < len(first) or j < len(second):
        both = i < len(first) and j < len(second)
        if both and weights[i][j] and best[i][j] == best[i + 1][j + 1] + weights[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif i < len(first) and (j == len(second) or best[i][j] == best[i + 1][j]):
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return tuple(pairs)


def _spelled(lines: Sequence[str], letters: dict[str, str]) -> list[tuple[str, str]]:
    """Each line without the blanks around it, and its words, every distinct word as one character."""
    found = []
    for line in lines:
        words = _WORD.findall(line[:_COMPARED])
        found.append((_key(line), "".join(letters.setdefault(word, chr(len(letters) + 1)) for word in words)))
    return found


def _weight(first: tuple[str, str], second: tuple[str, str]) -> float:
    """What pairing two lines is worth; 0 where they must not be paired."""
    from rapidfuzz.distance import Indel

    (one, words), (two, others) = first, second
    length = min(len(one), len(two), _LONG) / _LONG
    if one == two:
        return 0.1 + length
    alike = Indel.normalized_similarity(words, others, score_cutoff=_ALIKE) if words and others else 0.0
    return float(alike * length)
