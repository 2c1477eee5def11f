"""Counts, rates with Clopper-Pearson intervals, and the noise floor.

A rate's denominator is the functions decided, by execution or by text alone; inconclusive functions and
errors are counted beside it and never inside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pytest_funcmem.core.records import (
    LANGUAGES,
    AuditRecord,
    Language,
    Rate,
    Sensitivity,
    Verdict,
    VerdictKind,
)
from pytest_funcmem.verdict.rules import exchanged

__all__ = [
    "NO_JUDGE",
    "LanguageSummary",
    "NearThreshold",
    "Rates",
    "ScoreSummary",
    "Summary",
    "rate",
    "summarise",
]

NO_JUDGE = "no judge filtered these functions"
"""What stands beside rates over functions that may be trivial or boilerplate."""

KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The leak rates of a set of functions.

    Attributes:
        functional: Share of ``functional`` verdicts.
        verbatim: Share of ``verbatim`` verdicts.
        leaks: Share of both together.
    """

    functional: Rate
    verbatim: Rate
    leaks: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSummary:
    """The functions of one language: counts by verdict, their rates and noise floor."""

    language: Language
    counts: Mapping[VerdictKind, int]
    rates: Rates
    noise_floor: Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class NearThreshold:
    """A function whose verdict changes under a threshold nearby."""

    key: str
    verdict: VerdictKind
    sensitivity: Sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """What one metric gave for one side.

    Attributes:
        figures: Functions with a figure.
        missing: Functions without one, such as those where a judge failed.
        mean: Mean of the figures; None without any.
    """

    name: str
    side: Literal["target", "reference"]
    figures: int
    missing: int
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All that is said about a run as a whole.

    Attributes:
        counts: Functions by verdict, every verdict named, in the order of the contract.
        rates: Leak rates over all languages.
        noise_floor: The same rates by the same rule with target and reference exchanged.
        conclusive: Share of all functions, errors included, that were decided.
        reasons: Inconclusive functions by reason code, most frequent first.
        languages: The same by language, in the fixed order of languages; only those that occur.
        note: What a reader of the rates must know.
        near: Functions whose verdict changes under a threshold nearby, by key.
        scores: What each metric gave for each side.
    """

    counts: Mapping[VerdictKind, int]
    rates: Rates
    noise_floor: Rates
    conclusive: Rate
    reasons: Mapping[str, int]
    languages: tuple[LanguageSummary, ...]
    note: str = NO_JUDGE
    near: tuple[NearThreshold, ...] = ()
    scores: tuple[ScoreSummary, ...] = ()

    @property
    def functions(self) -> int:
        """Number of functions, whatever became of them."""
        return sum(self.counts.values())

    @property
    def decided(self) -> int:
        """Number of functions that were decided."""
        return self.conclusive.numerator


def rate(numerator: int, denominator: int, *, confidence: float = 0.95) -> Rate:
    """Make a share with its two-sided Clopper-Pearson interval (Clopper and Pearson, 1934).

    Args:
        numerator: Functions counted.
        denominator: Functions decided.
        confidence: Two-sided confidence of the interval.

    Raises:
        ValueError: The counts are negative, or more are counted than there are.
    """
    if not 0 <= numerator <= denominator:
        raise ValueError(f"a rate needs 0 <= numerator <= denominator, not {numerator} of {denominator}")
    # scipy.special gives the beta quantiles without the second that importing scipy.stats takes.
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low, high = 0.0, 1.0
    if numerator > 0:
        low = float(betaincinv(numerator, denominator - numerator + 1, tail))
    if numerator < denominator:
        high = float(betaincinv(numerator + 1, denominator - numerator, 1.0 - tail))
    return Rate(
        numerator=numerator,
        denominator=denominator,
        value=numerator / denominator if denominator else None,
        low=low,
        high=high,
        confidence=confidence,
    )


def summarise(records: Sequence[AuditRecord], *, tau_func: float = 0.8, tau_text: float = 0.75) -> Summary:
    """Count verdicts and compute rates. The order of the records does not matter.

    Args:
        records: Finished records.
        tau_func: Threshold the verdicts were made with, for the noise floor.
        tau_text: Threshold the verdicts were made with, for the noise floor.
    """
    verdicts = [record.verdict for record in records]
    swapped = [exchanged(record, tau_func=tau_func, tau_text=tau_text) for record in records]
    languages = []
    for language in LANGUAGES:
        chosen = [index for index, record in enumerate(records) if record.function.language == language]
        if chosen:
            own = [verdicts[index] for index in chosen]
            languages.append(
                LanguageSummary(
                    language=language,
                    counts=_counts(own),
                    rates=_rates(own),
                    noise_floor=_rates([swapped[index] for index in chosen]),
                )
            )
    reasons = Counter(
        verdict.reason.partition(":")[0] for verdict in verdicts if verdict.kind == "inconclusive"
    )
    return Summary(
        counts=_counts(verdicts),
        rates=_rates(verdicts),
        noise_floor=_rates(swapped),
        conclusive=rate(sum(verdict.is_decided for verdict in verdicts), len(verdicts)),
        reasons=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        languages=tuple(languages),
        note=_note(records),
        near=tuple(sorted(_near(records), key=lambda item: item.key)),
        scores=tuple(_scores(records)),
    )


def _note(records: Sequence[AuditRecord]) -> str:
    """Whether something rated the functions before they were counted, and what."""
    rated = [record.severity for record in records if record.severity is not None]
    if not rated:
        return NO_JUDGE
    raters = ", ".join(sorted({severity.signature.partition("|")[0] for severity in rated}))
    unrated = len(records) - sum(severity.value is not None for severity in rated)
    lowest = min((severity.value for severity in rated if severity.value is not None), default=None)
    said = f"functions were rated by {raters}"
    if lowest is not None:
        said += f", none of these below severity {lowest}"
    return said + (f"; {unrated} of them got no rating" if unrated else "")


def _scores(records: Iterable[AuditRecord]) -> Iterator[ScoreSummary]:
    sides: tuple[Literal["target", "reference"], ...] = ("target", "reference")
    found: dict[tuple[str, Literal["target", "reference"]], list[float | None]] = {}
    for record in records:
        for side, measured in zip(sides, (record.target, record.reference), strict=True):
            for score in () if measured is None else measured.scores:
                found.setdefault((score.name, side), []).append(score.value)
    for (name, side), values in found.items():
        figures = sorted(value for value in values if value is not None)  # one sum in any order
        yield ScoreSummary(
            name=name,
            side=side,
            figures=len(figures),
            missing=len(values) - len(figures),
            mean=math.fsum(figures) / len(figures) if figures else None,
        )


def _near(records: Iterable[AuditRecord]) -> Iterator[NearThreshold]:
    for record in records:
        if record.sensitivity is not None and record.sensitivity.changes:
            yield NearThreshold(
                key=record.function.key, verdict=record.verdict.kind, sensitivity=record.sensitivity
            )


def _counts(verdicts: Iterable[Verdict]) -> dict[VerdictKind, int]:
    found = Counter(verdict.kind for verdict in verdicts)
    return {kind: found[kind] for kind in KINDS}


def _rates(verdicts: Sequence[Verdict]) -> Rates:
    decided = sum(verdict.is_decided for verdict in verdicts)
    functional = sum(verdict.kind == "functional" for verdict in verdicts)
    verbatim = sum(verdict.kind == "verbatim" for verdict in verdicts)
    return Rates(
        functional=rate(functional, decided),
        verbatim=rate(verbatim, decided),
        leaks=rate(functional + verbatim, decided),
    )
