"""The confidence sequence: its formula, its coverage over all moments, and what it settles."""

from __future__ import annotations

import random

import pytest
from scipy.optimize import brentq
from scipy.stats import betabinom, binom

from pytest_funcmem.core.records import Verdict
from pytest_funcmem.verdict.gate import parse_limits
from pytest_funcmem.verdict.sequence import Question, confidence_sequence

CLEAN, LEAK = Verdict(kind="clean", reason=""), Verdict(kind="functional", reason="")


@pytest.mark.parametrize(("leaks", "n"), [(0, 1), (0, 50), (3, 40), (40, 40), (500, 1000)])
def test_agrees_with_the_ratio_of_a_beta_binomial_to_a_binomial(leaks: int, n: int) -> None:
    """The binomial coefficients of both cancel, so their ratio is the martingale."""

    def excess(p: float) -> float:
        return betabinom.logpmf(leaks, n, 0.5, 0.5) - binom.logpmf(leaks, n, p) - 2.995732273553991

    found = confidence_sequence(leaks, n)
    low = 0.0 if leaks == 0 else brentq(excess, 1e-12, max(leaks / n - 1e-12, 2e-12))
    high = 1.0 if leaks == n else brentq(excess, min(leaks / n + 1e-12, 1 - 2e-12), 1 - 1e-12)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_nothing_is_known_of_no_function() -> None:
    assert confidence_sequence(0, 0).low == 0.0
    assert confidence_sequence(0, 0).high == 1.0
    with pytest.raises(ValueError, match="numerator"):
        confidence_sequence(2, 1)


@pytest.mark.parametrize("true", [0.02, 0.2])
def test_the_true_rate_stays_inside_at_all_moments_together(true: float) -> None:
    """Of 300 seeded sequences of 400 functions, at most the promised share ever leaves the true rate out.

    Beyond the promised 5 % a binomial count of 300 lies above 27 with probability under 0.1 %.
    """
    draw = random.Random(f"coverage {true}")
    bounds = {}
    missed = 0
    for _ in range(300):
        leaks = 0
        outside = False
        for n in range(1, 401):
            leaks += draw.random() < true
            if (leaks, n) not in bounds:
                found = confidence_sequence(leaks, n)
                bounds[leaks, n] = found.low <= true <= found.high
            outside = outside or not bounds[leaks, n]
        missed += outside
    assert missed <= 27, missed


def question(*limits: str, min_conclusive: float = 0.5) -> Question:
    return Question(parse_limits(limits), min_conclusive=min_conclusive)


def test_settled_as_passed_once_every_bound_is_low_enough() -> None:
    asked = question("0.05", "functional/java=0.5")
    number = 0
    while asked.answer() is None:
        asked.add(CLEAN, "java" if number % 2 else "python")
        number += 1
        assert number < 1000
    assert confidence_sequence(0, number).high <= 0.05 < confidence_sequence(0, number - 1).high
    assert "within 5 %" in str(asked.answer())


def test_settled_as_failed_once_one_bound_is_too_high() -> None:
    asked = question("0.05", "verbatim=0.9")
    number = 0
    while asked.answer() is None:
        asked.add(LEAK, "python")
        number += 1
        assert number < 20
    assert confidence_sequence(number, number).low > 0.05
    assert "is over 5 %" in str(asked.answer())


def test_open_while_too_little_is_conclusive() -> None:
    asked = question("0.9")
    for _ in range(20):
        asked.add(CLEAN, "python")
    for _ in range(21):
        asked.add(Verdict(kind="inconclusive", reason="coverage: x"), "python")
    assert asked.answer() is None
    asked.add(CLEAN, "python")
    assert asked.answer() is not None
