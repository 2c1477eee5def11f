"""The textual similarities as metrics: BLEU, edit similarity, longest common substring, equality.

Each computes only its own figure, and the same as ``text.text_similarity`` gives for a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from pytest_funcmem.core.protocols import CodePair, Score
from pytest_funcmem.core.records import Language
from pytest_funcmem.metrics import text

__all__ = ["Bleu", "CommonSubstring", "Edit", "Exact"]


class _TextMetric:
    name: ClassVar[str]

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        return tuple(self._score(pair.original.strip(), pair.candidate.strip()) for pair in pairs)

    def signature(self, language: Language) -> str:
        """How figures are computed; see ``Metric.signature``."""
        return self._signature()

    def close(self) -> None:
        """Nothing is held."""

    def _signature(self) -> str:
        raise NotImplementedError

    def _score(self, original: str, candidate: str) -> Score:
        raise NotImplementedError


class Bleu(_TextMetric):
    """Sentence BLEU over whitespace tokens, the SIM_text of verdicts."""

    name = "bleu"

    def _signature(self) -> str:
        return text.bleu_signature()

    def _score(self, original: str, candidate: str) -> Score:
        return Score(value=text.bleu(original, candidate), signature=self._signature())


class Edit(_TextMetric):
    """One less the Levenshtein distance over the original's length; 0 where that is negative."""

    name = "edit"

    def _signature(self) -> str:
        return text.edit_signature()

    def _score(self, original: str, candidate: str) -> Score:
        note = ""
        if max(len(original), len(candidate)) > text.EDIT_LIMIT:
            note = f"only the first {text.EDIT_LIMIT} characters of each text were compared"
        return Score(value=text.edit(original, candidate), signature=self._signature(), note=note)


class CommonSubstring(_TextMetric):
    """Length of the longest common substring over the original's length."""

    name = "lcs"

    def _signature(self) -> str:
        return text.LCS_SIGNATURE

    def _score(self, original: str, candidate: str) -> Score:
        return Score(value=text.common_substring(original, candidate), signature=self._signature())


class Exact(_TextMetric):
    """1 where both texts are the same but for the blanks around them, else 0."""

    name = "exact"

    def _signature(self) -> str:
        return "exact|version:1|norm:strip"

    def _score(self, original: str, candidate: str) -> Score:
        return Score(value=float(original == candidate), signature=self._signature())
