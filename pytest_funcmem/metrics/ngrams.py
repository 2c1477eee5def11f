"""The two n-gram parts of CodeBLEU: BLEU over tokens, and a recall in which keywords weigh more.

Both follow Ren et al. (2020), section 3.1, with the smoothing of the implementations in use: where no n-gram
of an order matches, a tenth of one counts (method 1 of Chen and Cherry, 2014).

This module knows nothing of languages; keywords are handed in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

__all__ = ["OTHER_WEIGHT", "ngram_match", "weighted_ngram_match"]

ORDERS = 4
EPSILON = 0.1
OTHER_WEIGHT = 0.2
"""Weight of a token that is no keyword; keywords weigh 1."""


def ngram_match(original: Sequence[str], candidate: Sequence[str]) -> float:
    """BLEU of a candidate's tokens against the original's (precision, with a brevity penalty)."""
    shares = []
    for order in range(1, ORDERS + 1):
        known, given = _ngrams(original, order), _ngrams(candidate, order)
        matched = sum(min(count, known[gram]) for gram, count in given.items() if gram in known)
        shares.append((float(matched), float(max(1, len(candidate) - order + 1))))
    return _mean(shares) * _brevity(len(original), len(candidate))


def weighted_ngram_match(
    original: Sequence[str], candidate: Sequence[str], keywords: Collection[str]
) -> float:
    """Share of the original's n-grams that the candidate has; single keywords weigh more than the rest."""
    shares = []
    for order in range(1, ORDERS + 1):
        known, given = _ngrams(original, order), _ngrams(candidate, order)
        matched = total = 0.0
        for gram, count in known.items():
            weight = OTHER_WEIGHT if order == 1 and gram[0] not in keywords else 1.0
            matched += weight * min(count, given.get(gram, 0))
            total += weight * count
        shares.append((matched, max(1.0, total)))
    # A recall punishes what is too short by itself: there is no brevity penalty here, as in the figures that
    # are published (their code has one, and measures it against a length of 2).
    return _mean(shares)


def _ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def _mean(shares: Sequence[tuple[float, float]]) -> float:
    if shares[0][0] == 0:
        return 0.0
    logs = [math.log((matched or EPSILON) / total) for matched, total in shares]
    return math.exp(math.fsum(logs) / ORDERS)


def _brevity(original: int, candidate: int) -> float:
    if candidate > original:
        return 1.0
    return math.exp(1 - original / candidate) if candidate else 0.0
