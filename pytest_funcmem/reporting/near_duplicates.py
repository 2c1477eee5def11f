"""Which functions of a report are near duplicates of each other: a function seen often is learned sooner.

Two bodies are compared token by token, comments and docstrings included. Pairs worth comparing are those that
share rare runs of tokens, so the cost grows with the number of functions and not with that of pairs; a pair
can be missed that shares only runs which many other functions have as well. Nothing is said of functions
outside of the report.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from pytest_funcmem.core.records import SourceFunction

__all__ = ["ALIKE", "Twin", "near_duplicates"]

ALIKE = 0.8
"""Smallest share of equal tokens, as 1 minus the normalised Indel distance."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_RUN = 5  # tokens
_SAMPLED = 4  # one run in so many is kept
_COMMON = 50  # a run that more bodies have tells nothing
_COMPARED = 20
_SHOWN = 10
_TOKENS = 2_000  # of one body


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A function that another is a near duplicate of.

    Attributes:
        place: Its position among the functions.
        similarity: Share of equal tokens, 1 for bodies of the same tokens.
    """

    place: int
    similarity: float


def near_duplicates(functions: Sequence[SourceFunction]) -> list[tuple[Twin, ...]]:
    """The near duplicates of each function, most alike first; at most ten of each.

    Args:
        functions: Each once.
    """
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, function in enumerate(functions):
        places[tuple(_TOKEN.findall(function.body)[:_TOKENS])].append(place)
    bodies = list(places)
    found: list[tuple[Twin, ...]] = [()] * len(functions)
    for number, alike in enumerate(_alike(bodies)):
        own = places[bodies[number]]
        others = [(1.0, place) for place in own]
        others += [(share, place) for share, other in alike for place in places[bodies[other]]]
        others = sorted(others, key=lambda item: (-item[0], item[1]))[: _SHOWN + 1]
        for place in own:
            twins = [Twin(place=other, similarity=share) for share, other in others if other != place]
            found[place] = tuple(twins[:_SHOWN])
    return found


def _alike(bodies: Sequence[tuple[str, ...]]) -> list[list[tuple[float, int]]]:
    """For each body the others that are alike, with the share of equal tokens."""
    runs = [_runs(body) for body in bodies]
    having: dict[int, list[int]] = defaultdict(list)
    for number, own in enumerate(runs):
        for run in own:
            having[run].append(number)
    found: list[list[tuple[float, int]]] = [[] for _ in bodies]
    for number, own in enumerate(runs):
        shared: Counter[int] = Counter()
        for run in own:
            if len(having[run]) <= _COMMON:
                shared.update(having[run])
        del shared[number]
        for other, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:_COMPARED]:
            share = Indel.normalized_similarity(bodies[number], bodies[other], score_cutoff=ALIKE)
            if share >= ALIKE:
                found[number].append((share, other))
    return found


def _runs(body: tuple[str, ...]) -> set[int]:
    """Digests of a sample of a body's runs of tokens; the same run is in every sample or in none."""
    digests = (
        zlib.crc32(" ".join(body[start : start + _RUN]).encode("utf-8", "surrogatepass"))
        for start in range(max(1, len(body) - _RUN + 1))
    )
    return {digest for digest in digests if digest % _SAMPLED == 0}
