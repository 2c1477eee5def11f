r"""An always-valid confidence sequence for a rate, and whether it settles a question early.

The method of mixtures (Robbins, "Statistical methods related to the law of the iterated logarithm",
Annals of Mathematical Statistics 41, 1970; for Bernoulli means see Howard, Ramdas, McAuliffe and Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49, 2021). Under a
rate p the ratio of the likelihood mixed over Beta(a, b) to the likelihood at p,

    M_n(p) = B(a + s, b + n - s) / (B(a, b) * p^s * (1 - p)^(n - s)),

with s leaks among the first n functions, is a martingale that begins at 1. By Ville's inequality the chance
that it ever reaches 1 / alpha is at most alpha. So { p : M_n(p) < 1 / alpha } holds the true rate at all n
together with probability at least 1 - alpha, and one may look after every function and stop whenever one
likes. The set is an interval, as log M_n is convex in p. The mixture is Jeffreys' a = b = 1/2.

It takes the functions for a random sample, as the Clopper-Pearson interval does; hence the random order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_funcmem.core.records import Verdict
from pytest_funcmem.verdict.gate import RateLimit

__all__ = ["SEQUENCE", "Interval", "Question", "confidence_sequence"]

SEQUENCE = "Beta(1/2, 1/2)-mixture confidence sequence (Robbins 1970), 95 %"
"""How the interval is made, for reports."""

_SHAPE = 0.5
_STEPS = 60  # halvings of an interval of at most 1: below what a float tells apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The rates that are still held possible."""

    low: float
    high: float


def confidence_sequence(numerator: int, denominator: int, *, alpha: float = 0.05) -> Interval:
    """The confidence sequence at one moment.

    Args:
        numerator: Leaks so far.
        denominator: Functions decided so far.
        alpha: Chance, over all moments together, that the true rate is ever outside.

    Raises:
        ValueError: The counts are negative, or more are counted than there are.
    """
    if not 0 <= numerator <= denominator:
        raise ValueError(f"needs 0 <= numerator <= denominator, not {numerator} of {denominator}")
    if denominator == 0:
        return Interval(low=0.0, high=1.0)
    misses = denominator - numerator
    bound = _log_beta(_SHAPE + numerator, _SHAPE + misses) - _log_beta(_SHAPE, _SHAPE) + math.log(alpha)

    def excluded(p: float) -> bool:
        if (p <= 0.0 and numerator) or (p >= 1.0 and misses):
            return True
        hit = numerator * math.log(p) if numerator else 0.0
        miss = misses * math.log1p(-p) if misses else 0.0
        return bound - hit - miss >= 0.0

    best = numerator / denominator
    return Interval(low=_edge(excluded, 0.0, best), high=_edge(excluded, 1.0, best))


def _edge(excluded: Callable[[float], bool], outer: float, inner: float) -> float:
    if not excluded(outer):
        return outer
    for _ in range(_STEPS):
        middle = (outer + inner) / 2.0
        if excluded(middle):
            outer = middle
        else:
            inner = middle
    return outer  # the wider side, so that rounding errs towards going on


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


class Question:
    """Whether maximal rates are kept, asked anew after each function.

    Args:
        limits: The maximal rates.
        min_conclusive: Smallest share of functions that must be decided for a pass.
    """

    def __init__(self, limits: Sequence[RateLimit], *, min_conclusive: float) -> None:
        self._limits = tuple(limits)
        self._min_conclusive = min_conclusive
        self._leaks = [0] * len(self._limits)
        self._decided = [0] * len(self._limits)
        self._all = 0
        self._all_decided = 0

    def add(self, verdict: Verdict, language: str) -> None:
        """Take in the next function, in random order."""
        self._all += 1
        if not verdict.is_decided:
            return
        self._all_decided += 1
        for number, limit in enumerate(self._limits):
            if limit.language in (None, language):
                self._decided[number] += 1
                self._leaks[number] += verdict.is_leak and limit.kind in ("leaks", verdict.kind)

    def intervals(self) -> Mapping[RateLimit, Interval]:
        """What each maximal rate is held against, by maximal rate."""
        return {
            limit: confidence_sequence(self._leaks[number], self._decided[number])
            for number, limit in enumerate(self._limits)
        }

    def answer(self) -> str | None:
        """Why the question is settled, in one phrase; None where it is open."""
        passed = []
        for number, (limit, interval) in enumerate(self.intervals().items()):
            found = f"{self._leaks[number]} of {self._decided[number]}"
            if interval.low > limit.maximum:
                return (
                    f"the rate of {limit.name} is over {100 * limit.maximum:.4g} %: {found},"
                    f" at least {100 * interval.low:.4g} %"
                )
            if interval.high <= limit.maximum:
                passed.append(
                    f"{limit.name} within {100 * limit.maximum:.4g} %: {found},"
                    f" at most {100 * interval.high:.4g} %"
                )
        if len(passed) < len(self._limits) or not passed:
            return None
        if self._all_decided < self._min_conclusive * self._all:
            return None
        return "; ".join(passed)
