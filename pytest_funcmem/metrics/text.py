"""Textual similarity of two function bodies: BLEU, edit similarity, longest common substring, equality.

Every figure is in [0, 1], does not depend on call order, and takes bounded time on hostile text. An original
without a single token has no text to leak: it scores 0 against everything.

This module knows nothing of languages, models or thresholds.
"""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache

from pytest_funcmem.core.records import Similarity, TextScore
from pytest_funcmem.metrics.ngrams import shared_ngrams
from pytest_funcmem.metrics.substring import longest_common_substring

__all__ = [
    "EDIT_LIMIT",
    "LCS_SIGNATURE",
    "bleu",
    "bleu_signature",
    "common_substring",
    "edit",
    "edit_signature",
    "text_similarity",
]

EDIT_LIMIT = 200_000
"""Characters of each body that the edit distance looks at; its time grows with their product."""

LCS_SIGNATURE = "lcs|version:1|unit:char|norm:strip"


def text_similarity(original_body: str, candidate_body: str) -> Similarity:
    """Compare a candidate's body to the original's.

    Args:
        original_body: Body of the original, docstring and comments included, signature excluded.
        candidate_body: Body of the candidate, or the raw completion where it does not parse.

    Returns:
        BLEU over whitespace tokens (SIM_text of the verdict), edit similarity, longest common substring over
        the original's length, and whether both are the same text. All but BLEU look at the bodies without
        the blanks around them.
    """
    original, candidate = original_body.strip(), candidate_body.strip()
    return Similarity(
        bleu=TextScore(value=bleu(original, candidate), signature=bleu_signature()),
        edit=TextScore(value=edit(original, candidate), signature=edit_signature()),
        lcs=TextScore(value=common_substring(original, candidate), signature=LCS_SIGNATURE),
        exact=original == candidate,
    )


def bleu(original: str, candidate: str) -> float:
    """Sentence BLEU over whitespace tokens, in [0, 1]."""
    from sacrebleu.metrics.bleu import BLEU

    # sacrebleu's own counting takes several times as long; its formula is what makes its figures.
    shared = shared_ngrams(original.split(), candidate.split())
    score = BLEU.compute_bleu(
        correct=list(shared.matched),
        total=list(shared.total(shared.candidate)),
        sys_len=shared.candidate,
        ref_len=shared.original,
        smooth_method="exp",
        effective_order=True,
    )
    return _clamp(float(score.score) / 100.0)


@lru_cache(maxsize=1)
def bleu_signature() -> str:
    """Tool, version and settings of ``bleu``."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize="none", smooth_method="exp", effective_order=True)
    metric.sentence_score("a", ["a"])  # the signature exists only after a first score
    return f"BLEU|{metric.get_signature()}"


def edit(original: str, candidate: str) -> float:
    """Edit similarity of two texts without blanks around them, in [0, 1]."""
    from rapidfuzz.distance import Levenshtein

    original, candidate = original[:EDIT_LIMIT], candidate[:EDIT_LIMIT]
    length = len(original)
    # A text at least twice as long differs by at least the original's length.
    if length == 0 or len(candidate) >= 2 * length:
        return 0.0
    return _clamp(1.0 - Levenshtein.distance(original, candidate) / length)


@lru_cache(maxsize=1)
def edit_signature() -> str:
    """Tool, version and settings of ``edit``."""
    version = importlib.metadata.version("rapidfuzz")
    return f"edit|levenshtein|unit:char|norm:strip|first:{EDIT_LIMIT}|rapidfuzz:{version}"


def common_substring(original: str, candidate: str) -> float:
    """Longest common substring of two such texts over the original's length."""
    if not original:
        return 0.0
    return longest_common_substring(original, candidate) / len(original)


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
