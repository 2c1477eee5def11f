"""Rankings beside all orders gone through, correlations beside numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pytest_funcmem.studies.cascade import at_random, cascade, executions_at_random, random_range
from pytest_funcmem.studies.correlation import correlations


def test_ties_are_expected_exactly() -> None:
    scores = [0.9, 0.5, 0.5, 0.5, 0.1]
    leaks = [False, True, True, False, True]
    found = cascade(scores, leaks).found
    orders = [[leaks[place] for place in (0, *middle, 4)] for middle in itertools.permutations((1, 2, 3))]
    for executed in range(6):
        assert found[executed] == pytest.approx(sum(sum(o[:executed]) for o in orders) / len(orders))
    curve = cascade(scores, leaks)
    assert curve.leaks == 3
    assert [curve.executions(share) for share in (0.5, 1.0)] == [4, 5]
    assert cascade([0.3], [False]).executions(1.0) is None


def test_random_order_is_expected_exactly() -> None:
    leaks = [True, True, False, False, False, False]
    orders = set(itertools.permutations(leaks))
    for executed in range(7):
        mean = sum(sum(order[:executed]) for order in orders) / len(orders)
        assert at_random(executed, 2, 6) == pytest.approx(mean)
    for number in (1, 2):
        waits = [next(place for place in range(7) if sum(order[:place]) == number) for order in orders]
        assert executions_at_random(number, 2, 6) == pytest.approx(sum(waits) / len(waits))
    assert random_range(3, 2, 6) == (0, 2)


def test_correlations_are_pearsons_over_what_both_have() -> None:
    chance = np.random.default_rng(1)
    x = chance.normal(size=200)
    y = 0.6 * x + chance.normal(size=200)
    columns = {
        "x": list(map(float, x)),
        "y": [None if place % 10 == 0 else float(value) for place, value in enumerate(y)],
        "flat": [0.5] * 200,
        "few": [1.0, 2.0, *[None] * 198],
    }
    found = {(item.first, item.second): item for item in correlations(columns, rounds=400, seed=3)}
    assert len(found) == 6
    kept = np.arange(200) % 10 != 0
    item = found["x", "y"]
    assert item.functions == 180
    assert item.value == pytest.approx(np.corrcoef(x[kept], y[kept])[0, 1], abs=1e-9)
    assert item.low is not None
    assert item.high is not None
    assert item.low < item.value < item.high
    # Fisher's interval, an independent way to nearly the same bounds.
    spread = 1.96 / np.sqrt(177)
    assert item.low == pytest.approx(np.tanh(np.arctanh(item.value) - spread), abs=0.05)
    assert item.high == pytest.approx(np.tanh(np.arctanh(item.value) + spread), abs=0.05)
    assert found["x", "flat"].value is None
    assert (found["x", "few"].value, found["x", "few"].functions) == (None, 2)
    again = correlations(columns, rounds=400, seed=3)
    assert again == tuple(found.values())
