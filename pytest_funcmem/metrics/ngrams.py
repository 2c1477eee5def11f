"""N-grams that two texts share, and the two n-gram parts of CodeBLEU that are made of them.

CodeBLEU's parts follow Ren et al. (2020), section 3.1, with the smoothing of those who compute it: where
no n-gram of an order matches, a tenth of one counts (method 1 of Chen and Cherry, 2014). Unlike theirs, an
order for which a text has too few tokens is left out.

This module knows nothing of languages; keywords are handed in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

__all__ = ["ORDERS", "OTHER_WEIGHT", "SharedNgrams", "ngram_match", "shared_ngrams", "weighted_ngram_match"]

ORDERS = 4
"""N-grams of one to four tokens."""
EPSILON = 0.1
OTHER_WEIGHT = 0.2
"""Weight of a token that is no keyword; keywords weigh 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNgrams:
    """What two lists of tokens share; the tuples have an item for each order.

    Attributes:
        original: Number of the original's tokens.
        candidate: Number of the candidate's.
        matched: How many n-grams of one match some of the other, each only once.
        single: How often each token that the original has stands in both.
        counts: How often each token stands in the original.
    """

    original: int
    candidate: int
    matched: tuple[int, ...]
    single: dict[tuple[str, ...], int]
    counts: Counter[tuple[str, ...]]

    def total(self, tokens: int) -> tuple[int, ...]:
        """N-grams of each order in so many tokens."""
        return tuple(max(0, tokens - order) for order in range(ORDERS))


def shared_ngrams(original: Sequence[str], candidate: Sequence[str]) -> SharedNgrams:
    """Count the n-grams that two lists of tokens share."""
    matched: list[int] = []
    singles: dict[tuple[str, ...], int] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for order in range(1, ORDERS + 1):
        if matched and not matched[-1]:
            matched.append(0)  # what shares no n-gram shares no longer one
            continue
        known, given = _ngrams(original, order), _ngrams(candidate, order)
        both = {gram: min(count, given[gram]) for gram, count in known.items() if gram in given}
        matched.append(sum(both.values()))
        if order == 1:
            singles, counts = both, known
    return SharedNgrams(
        original=len(original),
        candidate=len(candidate),
        matched=tuple(matched),
        single=singles,
        counts=counts,
    )


def ngram_match(shared: SharedNgrams) -> float:
    """BLEU of the candidate's tokens against the original's (precision, with a brevity penalty)."""
    brevity = 1.0
    if shared.candidate <= shared.original:
        brevity = math.exp(1 - shared.original / shared.candidate) if shared.candidate else 0.0
    return brevity * _mean(list(zip(shared.matched, shared.total(shared.candidate), strict=True)))


def weighted_ngram_match(shared: SharedNgrams, keywords: Collection[str]) -> float:
    """Share of the original's n-grams that the candidate has; single keywords weigh more than the rest."""

    def weigh(counts: dict[tuple[str, ...], int]) -> float:
        return math.fsum(
            count * (1.0 if gram[0] in keywords else OTHER_WEIGHT) for gram, count in counts.items()
        )

    # A recall punishes what is too short by itself: there is no brevity penalty here, as in the figures that
    # are published (their code has one, and measures it against a length of 2).
    totals = shared.total(shared.original)
    singles = weigh(shared.single), weigh(shared.counts)
    return _mean([singles, *zip(shared.matched[1:], totals[1:], strict=True)])


def _ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    if order == 1:
        return Counter(zip(tokens, strict=True))
    return Counter(zip(*[tokens[start:] for start in range(order)], strict=False))


def _mean(shares: Sequence[tuple[float, float]]) -> float:
    if shares[0][0] == 0:
        return 0.0
    # Orders for which a text is too short say nothing of it: two equal texts of one token are equal.
    logs = [math.log((matched or EPSILON) / total) for matched, total in shares if total]
    return math.exp(math.fsum(logs) / len(logs))
