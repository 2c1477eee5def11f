"""The textual similarities as metrics: BLEU, edit similarity, longest common substring, equality.

Each computes only its own figure, and the same as ``text.text_similarity`` gives for a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from pytest_funcmem.core.protocols import CodePair, Score
from pytest_funcmem.metrics import text

__all__ = ["Bleu", "CommonSubstring", "Edit", "Exact"]


class _TextMetric:
    name: ClassVar[str]

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        return tuple(self._score(pair.original.strip(), pair.candidate.strip()) for pair in pairs)

    def close(self) -> None:
        """Nothing is held."""

    def _score(self, original: str, candidate: str) -> Score:
        raise NotImplementedError


class Bleu(_TextMetric):
    """Sentence BLEU over whitespace tokens, the SIM_text of verdicts."""

    name = "bleu"

    def _score(self, original: str, candidate: str) -> Score:
        return Score(value=text.bleu(original, candidate), signature=text.bleu_signature())


class Edit(_TextMetric):
    """One less the Levenshtein distance over the original's length; 0 where that is negative."""

    name = "edit"

    def _score(self, original: str, candidate: str) -> Score:
        note = ""
        if max(len(original), len(candidate)) > text.EDIT_LIMIT:
            note = f"only the first {text.EDIT_LIMIT} characters of each text were compared"
        return Score(value=text.edit(original, candidate), signature=text.edit_signature(), note=note)


class CommonSubstring(_TextMetric):
    """Length of the longest common substring over the original's length."""

    name = "lcs"

    def _score(self, original: str, candidate: str) -> Score:
        return Score(value=text.common_substring(original, candidate), signature=text.LCS_SIGNATURE)


class Exact(_TextMetric):
    """1 where both texts are the same but for the blanks around them, else 0."""

    name = "exact"

    def _score(self, original: str, candidate: str) -> Score:
        return Score(value=float(original == candidate), signature="exact|version:1|norm:strip")
