"""ROC curves, AUC and thresholds, beside scikit-learn and beside what follows from the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_curve

from pytest_funcmem.studies.curves import auc_interval, operation_at, roc_curve, safe_threshold

LABELLED = st.lists(
    st.tuples(st.integers(0, 12).map(lambda number: number / 12), st.booleans()), min_size=2, max_size=80
)


@given(LABELLED)
def test_curve_and_area_are_those_of_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    scores, flags = [row[0] for row in rows], [row[1] for row in rows]
    curve = roc_curve(scores, flags)
    if len(set(flags)) < 2:
        assert curve.auc is None
        return
    assert curve.auc == pytest.approx(roc_auc_score(flags, scores), abs=1e-9)
    false, true, thresholds = sklearn_curve(flags, scores, drop_intermediate=False)
    assert np.array(curve.false) / curve.negatives == pytest.approx(false, abs=1e-9)
    assert np.array(curve.true) / curve.positives == pytest.approx(true, abs=1e-9)
    assert curve.thresholds[1:] == pytest.approx(thresholds[1:], abs=1e-9)


def test_a_planted_area_is_reproduced() -> None:
    # Normal scores whose means lie d apart have the area Phi(d / sqrt 2); at quantiles it is met closely.
    from scipy.stats import norm

    places = (np.arange(4000) + 0.5) / 4000
    negatives, positives = norm.ppf(places), norm.ppf(places) + 1.2
    flags = [False] * 4000 + [True] * 4000
    scores = [*negatives, *positives]
    curve = roc_curve(scores, flags)
    assert curve.auc == pytest.approx(roc_auc_score(flags, scores), abs=1e-9)
    assert curve.auc == pytest.approx(norm.cdf(1.2 / np.sqrt(2)), abs=1e-4)
    for fpr in (0.001, 0.01, 0.05):
        operation = operation_at(curve, fpr)
        assert operation.fpr.numerator == round(4000 * fpr)
        assert operation.tpr.value == pytest.approx(norm.cdf(1.2 - norm.ppf(1 - fpr)), abs=5e-3)


def test_thresholds_keep_the_rate_and_none_lower_does() -> None:
    scores = [0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    flags = [True, True, False, True, False, True, False, False, False, False]
    curve = roc_curve(scores, flags)
    strict = operation_at(curve, 0.01)
    assert (strict.threshold, strict.tpr.numerator, strict.fpr.numerator) == (0.9, 1, 0)
    loose = operation_at(curve, 0.2)
    assert (loose.threshold, loose.tpr.numerator, loose.fpr.numerator) == (0.7, 3, 1)
    assert (loose.tpr.denominator, loose.fpr.denominator) == (4, 6)
    never = operation_at(roc_curve([0.5, 0.5], [True, False]), 0.1)
    assert (never.threshold, never.tpr.value) == (None, 0.0)
    assert safe_threshold(curve, 0.2) is None  # six negatives prove nothing so small


def test_a_safe_threshold_has_its_whole_interval_below_the_rate() -> None:
    flags = [True] * 50 + [False] * 500
    scores = [1 - place / 100 for place in range(50)] + [place / 1000 for place in range(500)]
    curve = roc_curve(scores, flags)
    safe = safe_threshold(curve, 0.05)
    assert safe is not None
    assert safe.fpr.high <= 0.05
    plain = operation_at(curve, 0.05)
    assert safe.threshold is not None
    assert plain.threshold is not None
    assert safe.threshold > plain.threshold


def test_an_interval_is_seeded_and_covers_as_often_as_it_says() -> None:
    chance = np.random.default_rng(7)
    covered = 0
    for trial in range(60):
        scores = [*chance.normal(0, 1, 60), *chance.normal(1, 1, 40)]
        flags = [False] * 60 + [True] * 40
        found = auc_interval(scores, flags, rounds=300, seed=trial)
        assert found is not None
        assert found == auc_interval(scores, flags, rounds=300, seed=trial)
        covered += found[0] <= 0.7602 <= found[1]
    assert covered >= 51  # 95 % of 60, less four standard deviations
    assert auc_interval([0.1, 0.2], [True, True], rounds=10, seed=0) is None
