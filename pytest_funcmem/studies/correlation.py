"""Pearson correlations of scores with each other and with execution, with bootstrap intervals.

Each pair of scores is correlated over the functions that have both. This module knows nothing of reports and
images.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    import numpy as np

    names = list(columns)
    found: dict[tuple[str, str], Correlation] = {}
    groups: dict[bytes, list[tuple[str, str]]] = {}
    known = {name: np.array([value is not None for value in columns[name]]) for name in names}
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            # Pairs of scores that the same functions have share their resamples.
            groups.setdefault((known[first] & known[second]).tobytes(), []).append((first, second))
    for pairs in groups.values():
        both = known[pairs[0][0]] & known[pairs[0][1]]
        for item in _correlations(columns, pairs, both, rounds=rounds, seed=seed):
            found[item.first, item.second] = item
    return tuple(found[pair] for pair in itertools.combinations(names, 2))


def _correlations(
    columns: Mapping[str, Sequence[float | None]],
    pairs: Sequence[tuple[str, str]],
    both: NDArray[np.bool_],
    *,
    rounds: int,
    seed: int,
) -> Iterator[Correlation]:
    """Pairs of scores over the functions that have all of them."""
    import numpy as np

    count = int(both.sum())
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    values = {name: np.array([float(value or 0.0) for value in columns[name]])[both] for name in names}
    usable = {name for name, column in values.items() if count >= _FEWEST and np.ptp(column) > 0}
    values = {name: values[name] - values[name].mean() for name in usable}
    wanted = [pair for pair in pairs if usable.issuperset(pair)]
    drawn: dict[tuple[str, str], list[NDArray[np.float64]]] = {pair: [] for pair in wanted}
    if wanted:
        place = {name: number for number, name in enumerate(values)}
        single = np.stack(list(values.values()), axis=1)
        products = np.stack([values[first] * values[second] for first, second in wanted], axis=1)
        sums = np.concatenate([single, single**2, products], axis=1)
        chance = np.random.default_rng(seed)
        together = max(1, 2_000_000 // count)
        for start in range(0, rounds, together):
            size = min(together, rounds - start)
            weights = chance.multinomial(count, np.full(count, 1 / count), size=size).astype(np.float64)
            means = weights @ sums / count
            firsts, squares, crossed = np.split(means, [single.shape[1], 2 * single.shape[1]], axis=1)
            spreads = squares - firsts**2
            for number, (first, second) in enumerate(wanted):
                one, other = place[first], place[second]
                spread = spreads[:, one] * spreads[:, other]
                varied = spread > 1e-18  # a resample of one function again and again has no r
                cross = crossed[varied, number] - firsts[varied, one] * firsts[varied, other]
                drawn[first, second].append(np.clip(cross / np.sqrt(spread[varied]), -1.0, 1.0))
    for pair in pairs:
        value = low = high = None
        if pair in drawn:
            x, y = values[pair[0]], values[pair[1]]
            value = float(np.clip((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()), -1.0, 1.0))
            resampled = np.concatenate(drawn[pair])
            if len(resampled):
                low, high = (float(bound) for bound in np.percentile(resampled, [2.5, 97.5]))
        yield Correlation(first=pair[0], second=pair[1], functions=count, value=value, low=low, high=high)
