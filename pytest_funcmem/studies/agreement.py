"""How far two raters agree: exactly, within one, on who passes a threshold, and beyond chance.

Kappa is Cohen's (1960), with quadratic weights for the ratings themselves (1968). This module knows neither
functions nor raters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_funcmem.core.records import Rate
from pytest_funcmem.verdict.rates import rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ratings = NDArray[np.int64]

__all__ = ["Agreement", "agreement", "weighted_kappa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Over the functions that both rated.

    Attributes:
        functions: How many these are.
        exact: Share of equal ratings, with its Clopper-Pearson interval.
        within_one: Share of ratings at most one apart, likewise.
        passed: Share on which both say alike whether the threshold is reached, likewise.
        kappa: Quadratically weighted kappa; None where both raters give one rating alone.
        kappa_interval: Its percentile-bootstrap interval of 95 %; None with it.
        spearman: Rank correlation; None where one rater gives one rating alone.
    """

    functions: int
    exact: Rate
    within_one: Rate
    passed: Rate
    kappa: float | None
    kappa_interval: tuple[float, float] | None
    spearman: float | None


def agreement(
    one: Sequence[int | None],
    other: Sequence[int | None],
    *,
    threshold: int,
    rounds: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Compare the ratings of two raters.

    Args:
        one: Ratings from 1 to 10, None for none.
        other: Of the same functions.
        threshold: Rating that a function must reach to be kept.
        rounds: Resamples of the interval.
        seed: Of their draws.
    """
    import numpy as np
    from scipy.stats import spearmanr

    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    x, y = np.array(both, dtype=np.int64).reshape(-1, 2).T
    kappa = weighted_kappa(x, y) if both else None
    interval = None
    if kappa is not None:
        chance = np.random.default_rng(seed)
        drawn = (
            weighted_kappa(x[rows], y[rows])
            for rows in (chance.integers(0, len(x), len(x)) for _ in range(rounds))
        )
        low, high = np.percentile([value for value in drawn if value is not None], [2.5, 97.5])
        interval = float(low), float(high)
    varied = len(both) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0
    return Agreement(
        functions=len(both),
        exact=rate(int((x == y).sum()), len(both)),
        within_one=rate(int((abs(x - y) <= 1).sum()), len(both)),
        passed=rate(int(((x >= threshold) == (y >= threshold)).sum()), len(both)),
        kappa=kappa,
        kappa_interval=interval,
        spearman=float(spearmanr(x, y).statistic) if varied else None,
    )


def weighted_kappa(one: Ratings, other: Ratings) -> float | None:
    """Cohen's kappa with quadratic weights; None where no disagreement could be expected."""
    seen = float(((one - other) ** 2).mean())
    expected = float(one.var() + other.var() + (one.mean() - other.mean()) ** 2)
    return 1.0 - seen / expected if expected > 0 else None
