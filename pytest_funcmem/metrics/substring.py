"""Longest common substring by prefix doubling: exact, and near-linear on hostile text.

Python's ``difflib`` needs quadratic time on repetitive text, and a suffix automaton of dicts needs hundreds
of megabytes for a megabyte of text. Here every block of 2^k characters of both texts gets a rank, equal ranks
meaning equal blocks (Karp, Miller and Rosenberg, 1972). Two blocks of 2^k that overlap cover any
length from 2^k to 2^(k+1), so one level of ranks is enough to search the length by bisection. For texts of
the size of a function, plain search is many times quicker, and is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ranks = NDArray[np.int64]

__all__ = ["longest_common_substring"]


# Product of the lengths up to which searching in C is quicker on code, and still no worse than a tenth of a
# second on text that was made to slow it down.
_SMALL = 2_000_000


def longest_common_substring(first: str, second: str) -> int:
    """Length in characters of the longest text that stands in both.

    Args:
        first: One text.
        second: The other; the order does not matter.
    """
    import numpy as np

    # Equal texts, or one inside the other, are common enough in audits to be worth a search in C.
    shorter, longer = sorted((first, second), key=len)
    if shorter in longer:
        return len(shorter)
    if len(shorter) * len(longer) <= _SMALL:
        return _by_search(shorter, longer)
    ranks = _code_points(shorter), _code_points(longer)
    if np.intersect1d(*ranks).size == 0:
        return 0
    block = 1
    while 2 * block <= len(shorter):
        doubled = _join(ranks, offset=block)
        if np.intersect1d(*doubled).size == 0:
            break
        ranks, block = doubled, 2 * block
    low, high = block, min(2 * block - 1, len(shorter))
    while low < high:
        middle = (low + high + 1) // 2
        if np.intersect1d(*_join(ranks, offset=middle - block)).size:
            low = middle
        else:
            high = middle - 1
    return low


def _by_search(shorter: str, longer: str) -> int:
    """Let a window of the shorter text grow wherever the longer text holds it."""
    best = 0
    for start in range(len(shorter)):
        while start + best < len(shorter) and shorter[start : start + best + 1] in longer:
            best += 1
        if start + best >= len(shorter):
            break
    return best


def _code_points(text: str) -> Ranks:
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)


def _join(ranks: tuple[Ranks, Ranks], *, offset: int) -> tuple[Ranks, Ranks]:
    """Rank each block together with the block ``offset`` characters after it, over both texts alike."""
    import numpy as np

    size = int(max(part.max() for part in ranks)) + 1
    pairs = [part[: len(part) - offset] * size + part[offset:] for part in ranks]
    joined = np.unique(np.concatenate(pairs), return_inverse=True)[1].reshape(-1)
    return joined[: len(pairs[0])], joined[len(pairs[0]) :]
