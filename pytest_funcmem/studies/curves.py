"""ROC curves of a score against execution: AUC, true positives at few false ones, thresholds, intervals.

A function is positive where execution found it alike. A score of at least a threshold calls it so. Nothing is
interpolated: every figure is reached by some threshold on the functions at hand (Fawcett, 2006). Functions
with equal scores are called together. This module knows nothing of reports and images.
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

    Floats = NDArray[np.float64]

__all__ = ["BOOTSTRAP", "Curve", "Operation", "auc_interval", "operation_at", "roc_curve", "safe_threshold"]

BOOTSTRAP = "percentile bootstrap, positives and negatives drawn apart"
"""Name of the interval of an AUC."""

_ROUNDS_TOGETHER = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A ROC curve; the points are those of its thresholds, from the highest down.

    Attributes:
        thresholds: Scores at which the calls change; the first lies above all of them, so that none is made.
        true: Positives called, by threshold.
        false: Negatives called, by threshold.
        positives: Number of positives.
        negatives: Number of negatives.
        auc: Area under the curve; None where one of the classes is empty.
    """

    thresholds: tuple[float, ...]
    true: tuple[int, ...]
    false: tuple[int, ...]
    positives: int
    negatives: int
    auc: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A threshold at work.

    Attributes:
        wanted: False-positive rate that was to be kept.
        threshold: Least score that is called positive; None where no score keeps it, and nothing is called.
        tpr: Share of the positives called, with its Clopper-Pearson interval, the threshold taken as given.
        fpr: Share of the negatives called, likewise.
    """

    wanted: float
    threshold: float | None
    tpr: Rate
    fpr: Rate


def roc_curve(scores: Sequence[float], positive: Sequence[bool]) -> Curve:
    """The curve of a score.

    Args:
        scores: One for each function.
        positive: Whether execution found it alike.
    """
    import numpy as np

    values = np.asarray(scores, dtype=np.float64)
    flags = np.asarray(positive, dtype=bool)
    order = np.argsort(-values, kind="stable")
    values, flags = values[order], flags[order]
    # A point stands behind the last of each group of equal scores.
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True)) if len(values) else np.array([], int)
    true = np.cumsum(flags)[last]
    false = np.cumsum(~flags)[last]
    positives, negatives = int(flags.sum()), int((~flags).sum())
    auc = None
    if positives and negatives:
        heights = np.concatenate(([0], true))
        steps = np.diff(np.concatenate(([0], false)))
        auc = float((steps * (heights[1:] + heights[:-1])).sum() / (2 * positives * negatives))
    return Curve(
        thresholds=(float("inf"), *map(float, values[last])),
        true=(0, *map(int, true)),
        false=(0, *map(int, false)),
        positives=positives,
        negatives=negatives,
        auc=auc,
    )


def operation_at(curve: Curve, fpr: float) -> Operation:
    """The lowest threshold whose false-positive rate on these functions is at most the one wanted."""
    place = 0
    for number, false in enumerate(curve.false):
        if false <= fpr * curve.negatives + 1e-9:
            place = number
    return _operation(curve, place, fpr)


def safe_threshold(curve: Curve, fpr: float) -> Operation | None:
    """The lowest threshold whose false-positive rate lies below the wanted one with 97.5 % confidence.

    That is, whose two-sided Clopper-Pearson interval of 95 % ends there or before. None where there are too
    few negatives to be so sure of any threshold.
    """
    found = None
    for number, false in enumerate(curve.false):
        if rate(false, curve.negatives).high > fpr:
            break
        found = number
    return None if found is None else _operation(curve, found, fpr)


def _operation(curve: Curve, place: int, wanted: float) -> Operation:
    return Operation(
        wanted=wanted,
        threshold=curve.thresholds[place] if place else None,
        tpr=rate(curve.true[place], curve.positives),
        fpr=rate(curve.false[place], curve.negatives),
    )


def auc_interval(
    scores: Sequence[float], positive: Sequence[bool], *, rounds: int, seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of the AUC; see ``BOOTSTRAP``. None where one of the classes is empty.

    Args:
        scores: One for each function.
        positive: Whether execution found it alike.
        rounds: Resamples.
        seed: Of the draws.
        confidence: Two-sided.
    """
    import numpy as np

    values = np.asarray(scores, dtype=np.float64)
    flags = np.asarray(positive, dtype=bool)
    positives, negatives = int(flags.sum()), int((~flags).sum())
    if not positives or not negatives:
        return None
    levels, place = np.unique(values, return_inverse=True)
    chance = np.random.default_rng(seed)
    areas: list[Floats] = []
    # A resample is how often each score was drawn: all that a rank statistic needs.
    shares = [np.bincount(place[chosen], minlength=len(levels)) / chosen.sum() for chosen in (flags, ~flags)]
    for start in range(0, rounds, _ROUNDS_TOGETHER):
        count = min(_ROUNDS_TOGETHER, rounds - start)
        drawn = chance.multinomial(positives, shares[0], size=count)
        others = chance.multinomial(negatives, shares[1], size=count)
        below = np.cumsum(others, axis=1) - others
        areas.append((drawn * (2 * below + others)).sum(axis=1) / (2 * positives * negatives))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(np.concatenate(areas), [tail, 100 - tail])
    return float(low), float(high)
