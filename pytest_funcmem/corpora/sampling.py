"""Seeded samples of functions."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.records import SourceFunction

__all__ = ["sample"]


def sample(functions: Sequence[SourceFunction], size: int, *, seed: int) -> tuple[SourceFunction, ...]:
    """Draw functions so that which ones are drawn depends on the seed and on the functions alone.

    Every function is ranked by a digest of the seed, its key and its code, and the lowest ranks are
    taken. So the order of the corpus does not matter, a smaller sample is part of a larger one, and
    adding functions to the corpus or taking some away leaves the others' ranks as they were.

    Args:
        functions: Where to draw from.
        size: How many to draw; all of them if there are fewer.
        seed: Another seed gives another sample.

    Returns:
        The drawn functions, in the order in which they were given.

    Raises:
        ValueError: The size is negative.
    """
    if size < 0:
        raise ValueError(f"a sample cannot have {size} functions")
    ranks = [digest([seed, function.key, function.code]) for function in functions]
    chosen = sorted(range(len(functions)), key=lambda place: (ranks[place], functions[place].key))[:size]
    return tuple(functions[place] for place in sorted(chosen))
