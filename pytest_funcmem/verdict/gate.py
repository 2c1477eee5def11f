"""The gate: whether a run may exit 0, and which rule says so.

By default any leak fails. With maximal rates, a leak that one of them covers is counted instead, and the
upper bound of the rate's 95 % Clopper-Pearson interval is held against it: a rate passes where even that
bound is at or below its maximum. However the leaks stand, a run that decided too little does not pass.

This module knows neither baselines nor how a decision is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import LANGUAGES, Language, Rate, Verdict
from pytest_funcmem.verdict.rates import Rates, Summary, rate

__all__ = [
    "GateRule",
    "LimitResult",
    "RateKind",
    "RateLimit",
    "RunDecision",
    "covers",
    "exit_decision",
    "limit_results",
    "parse_limits",
]

RateKind = Literal["leaks", "functional", "verbatim"]
KINDS: tuple[RateKind, ...] = get_args(RateKind)

GateRule = Literal["errors", "leaks", "max-rate", "conclusive", "clean"]
"""What decided: audits that broke, leaks that fail by themselves, a maximal rate, too little that was
conclusive, or none of these."""

_LIMIT = re.compile(r"(?:(?P<kind>[a-z]*)(?:/(?P<language>[a-z]+))?=)?(?P<rate>[^=/]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A maximal rate.

    Attributes:
        kind: Which leaks are counted; ``leaks`` means both kinds together.
        language: Over which functions; None means those of all languages.
        maximum: Largest accepted rate, in [0, 1].
    """

    kind: RateKind
    language: Language | None
    maximum: float

    @property
    def name(self) -> str:
        """For people: ``functional leaks in python``."""
        kind = "leaks" if self.kind == "leaks" else f"{self.kind} leaks"
        return kind if self.language is None else f"{kind} in {self.language}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitResult:
    """A maximal rate held against what was found.

    Attributes:
        limit: The maximal rate.
        rate: The rate with its interval.
        wanted: Functions that would have to be decided without a leak for the bound to be low enough.
    """

    limit: RateLimit
    rate: Rate
    wanted: int

    @property
    def passed(self) -> bool:
        """Whether even the upper bound is low enough."""
        return self.rate.high <= self.limit.maximum


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDecision:
    """Whether a run may exit 0.

    Attributes:
        exit_code: 0 clean, 1 leaks or errors, 6 too little was conclusive to decide.
        reason: Why, in one sentence with its numbers.
        rule: Which rule decided.
    """

    exit_code: int
    reason: str
    rule: GateRule

    @property
    def may_pass(self) -> bool:
        """Whether the run may exit 0."""
        return self.exit_code == 0


def parse_limits(texts: Sequence[str]) -> tuple[RateLimit, ...]:
    """Read maximal rates: ``0.01``, ``functional=0.02``, ``verbatim/java=0.005``, ``/go=0.1``.

    Args:
        texts: As given to ``--funcmem-max-rate``.

    Raises:
        UsageError: One is not of this form, or two are of the same kind and language.
    """
    found: dict[tuple[str, str | None], RateLimit] = {}
    for text in texts:
        limit = _parse_limit(text)
        if (limit.kind, limit.language) in found:
            raise UsageError(
                f"There are two maximal rates of {limit.name}.",
                where=f"--funcmem-max-rate={text}",
                remedy="Give one for each kind and language.",
            )
        found[limit.kind, limit.language] = limit
    return tuple(found.values())


def _parse_limit(text: str) -> RateLimit:
    match = _LIMIT.fullmatch(text)
    if match is not None:
        kind, language = match["kind"] or "leaks", match["language"]
        try:
            maximum = float(match["rate"])
        except ValueError:
            maximum = -1.0
        if kind in KINDS and (language is None or language in LANGUAGES) and 0.0 <= maximum <= 1.0:
            return RateLimit(
                kind=next(item for item in KINDS if item == kind),
                language=next((item for item in LANGUAGES if item == language), None),
                maximum=maximum,
            )
    raise UsageError(
        f"{text!r} is no maximal rate.",
        where="--funcmem-max-rate",
        expected=f"[KIND][/LANGUAGE]=RATE with a kind of {', '.join(KINDS)}, a language of"
        f" {', '.join(LANGUAGES)}, and a rate from 0 to 1",
        remedy="Write for instance --funcmem-max-rate=0.01 or --funcmem-max-rate=functional/python=0.02.",
    )


def covers(limits: Sequence[RateLimit], verdict: Verdict, language: str) -> bool:
    """Whether a leak is counted by a maximal rate, and so does not fail by itself."""
    return any(
        limit.kind in ("leaks", verdict.kind) and limit.language in (None, language) for limit in limits
    )


def limit_results(summary: Summary, limits: Sequence[RateLimit]) -> tuple[LimitResult, ...]:
    """Hold the rates of a run against their maxima, in the order of the maxima."""
    by_language: dict[str | None, Rates] = {item.language: item.rates for item in summary.languages}
    by_language[None] = summary.rates
    results = []
    for limit in limits:
        rates = by_language.get(limit.language)
        found = rate(0, 0) if rates is None else getattr(rates, limit.kind)
        results.append(LimitResult(limit=limit, rate=found, wanted=_wanted(limit.maximum)))
    return tuple(results)


def _wanted(maximum: float) -> int:
    """Least n whose upper bound for no leak in n is at most the maximum; 0 where none is."""
    if maximum <= 0.0:
        return 0
    low, high = 0, 1
    while rate(0, high).high > maximum:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rate(0, middle).high > maximum else (low, middle)
    return high


def exit_decision(
    summary: Summary,
    *,
    min_conclusive: float,
    limits: Sequence[RateLimit] = (),
    failing: int | None = None,
) -> RunDecision:
    """Decide whether a run may exit 0.

    Args:
        summary: The run's summary.
        min_conclusive: Smallest share of functions that must be decided, in [0, 1].
        limits: Maximal rates.
        failing: Leaks that fail by themselves, being neither accepted nor counted by a maximal rate; None
            means all leaks.

    Returns:
        Exit code 1 on an error, on a leak that fails by itself, and on leaks whose rate may be over its
        maximum; else 6 if nothing, or less than the wanted share, was decided, or too little to bring the
        bound of a rate without any leak under its maximum; else 0.
    """
    leaks, errors = summary.rates.leaks.numerator, summary.counts["error"]
    failing = leaks if failing is None else failing
    if failing or errors:
        return RunDecision(
            exit_code=1,
            reason=f"{_count(failing, 'leak')} and {_count(errors, 'error')}",
            rule="leaks" if failing else "errors",
        )
    failed = [result for result in limit_results(summary, limits) if not result.passed]
    for result in failed:
        if result.rate.numerator:
            return RunDecision(exit_code=1, reason=f"{_over(result)}", rule="max-rate")
    decided, total = summary.conclusive.numerator, summary.conclusive.denominator
    if decided == 0:
        return RunDecision(
            exit_code=6, reason=f"none of {_count(total, 'function')} could be decided", rule="conclusive"
        )
    if decided / total < min_conclusive:
        return RunDecision(
            exit_code=6,
            reason=f"only {decided} of {_count(total, 'function')} could be decided ({decided / total:.1%});"
            f" at least {min_conclusive:.1%} is wanted",
            rule="conclusive",
        )
    for result in failed:
        wanted = f"; {result.wanted} decided without a leak would be enough" if result.wanted else ""
        return RunDecision(exit_code=6, reason=f"{_over(result)}{wanted}", rule="max-rate")
    if limits:
        reason = f"{decided} of {_count(total, 'function')} decided, every rate surely within its maximum"
        return RunDecision(exit_code=0, reason=reason, rule="max-rate")
    counted = "no leak" if not leaks else f"no leak but {leaks} accepted"
    return RunDecision(
        exit_code=0, reason=f"{decided} of {_count(total, 'function')} decided, {counted}", rule="clean"
    )


def _over(result: LimitResult) -> str:
    found = result.rate
    return (
        f"the rate of {result.limit.name} may be over its maximum of {100 * result.limit.maximum:.4g} %:"
        f" {found.numerator} of {found.denominator} decided, upper bound {100 * found.high:.4g} %"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
