"""Pearson correlations of scores with each other and with execution, with bootstrap intervals.

Each pair of scores is correlated over the functions that have both. This module knows nothing of reports and
images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["INTERVAL", "Correlation", "correlations"]

INTERVAL = "percentile bootstrap over functions"
"""Name of the interval of a correlation."""

_FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """One cell of the matrix.

    Attributes:
        first: Name of a score.
        second: Name of another.
        functions: Functions that have both.
        value: Pearson's r; None where there are fewer than three, or one score is the same for all.
        low: Lower bound of the 95 % interval; None with ``value``, or where resamples give no r.
        high: Upper bound.
    """

    first: str
    second: str
    functions: int
    value: float | None
    low: float | None
    high: float | None


def correlations(
    columns: Mapping[str, Sequence[float | None]], *, rounds: int, seed: int
) -> tuple[Correlation, ...]:
    """Every pair of columns, each with every later one.

    Args:
        columns: Scores by name, one for each function, None where a function has no figure.
        rounds: Resamples of the interval.
        seed: Of the draws; the same functions are drawn for every pair that has the same functions.
    """
    names = list(columns)
    return tuple(
        _correlation(first, second, columns[first], columns[second], rounds=rounds, seed=seed)
        for number, first in enumerate(names)
        for second in names[number + 1 :]
    )


def _correlation(
    first: str,
    second: str,
    one: Sequence[float | None],
    other: Sequence[float | None],
    *,
    rounds: int,
    seed: int,
) -> Correlation:
    import numpy as np

    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    value = low = high = None
    x, y = np.array(both, dtype=np.float64).reshape(-1, 2).T
    if len(both) >= _FEWEST and np.ptp(x) > 0 and np.ptp(y) > 0:
        x, y = x - x.mean(), y - y.mean()
        value = float(np.clip((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()), -1.0, 1.0))
        chance = np.random.default_rng(seed)
        found = []
        together = max(1, 2_000_000 // len(both))
        for start in range(0, rounds, together):
            count = min(together, rounds - start)
            weights = chance.multinomial(len(both), np.full(len(both), 1 / len(both)), size=count)
            sums = weights @ np.stack([x, y, x * x, y * y, x * y], axis=1) / len(both)
            spread = (sums[:, 2] - sums[:, 0] ** 2) * (sums[:, 3] - sums[:, 1] ** 2)
            usable = spread > 1e-18  # a resample of one function drawn again and again has no r
            found.append((sums[usable, 4] - sums[usable, 0] * sums[usable, 1]) / np.sqrt(spread[usable]))
        drawn = np.clip(np.concatenate(found), -1.0, 1.0)
        if len(drawn):
            low, high = (float(bound) for bound in np.percentile(drawn, [2.5, 97.5]))
    return Correlation(first=first, second=second, functions=len(both), value=value, low=low, high=high)
