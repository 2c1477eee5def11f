"""The verdict on one function: the whole truth table, its reasons, and its monotonicity."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.core.errors import AuditError
from pytest_funcmem.core.records import (
    AuditRecord,
    CandidateStatus,
    Inconclusive,
    Verdict,
)
from pytest_funcmem.verdict import decide, exchanged
from tests.unit.verdict.made_up import FUNCTION, HARNESS, side

NO_HARNESS = Inconclusive(reason="missing_dependency", detail="it needs the package 'cv2'")
SHARES = st.floats(min_value=0, max_value=1)


def verdict(**changes: Any) -> str:
    return decide(**{"harness": HARNESS, **changes}).kind


LOW, AT, HIGH = "below", "at", "above"
TEXT = {LOW: 0.74, AT: 0.75, HIGH: 0.9}
FUNC = {LOW: 0.79, AT: 0.8, HIGH: 1.0}


@pytest.mark.parametrize(
    ("target_text", "reference_text", "target_func", "reference_func"),
    list(itertools.product((LOW, AT, HIGH), repeat=4)),
)
def test_truth_table_with_a_harness(
    target_text: str, reference_text: str, target_func: str, reference_func: str
) -> None:
    if target_text != LOW:
        expected = "verbatim" if reference_text == LOW else "clean"
    else:
        expected = "functional" if target_func != LOW and reference_func == LOW else "clean"
    assert (
        verdict(
            target=side(TEXT[target_text], FUNC[target_func]),
            reference=side(TEXT[reference_text], FUNC[reference_func]),
        )
        == expected
    )


STATUSES: tuple[CandidateStatus, ...] = ("ok", "unparsed", "uncompiled", "empty")


@pytest.mark.parametrize(
    ("target_text", "reference_text", "target_status", "reference_status"),
    list(itertools.product((LOW, AT), (LOW, AT), STATUSES, STATUSES)),
)
def test_truth_table_without_a_harness(
    target_text: str,
    reference_text: str,
    target_status: CandidateStatus,
    reference_status: CandidateStatus,
) -> None:
    if target_text == AT and reference_text == LOW:
        expected = "verbatim"
    elif {target_status, reference_status} <= {"unparsed", "empty"}:
        expected = "clean"
    else:
        expected = "inconclusive"
    assert (
        verdict(
            target=side(TEXT[target_text], status=target_status),
            reference=side(TEXT[reference_text], status=reference_status),
            harness=NO_HARNESS,
        )
        == expected
    )


def test_unparsable_target_alone_is_inconclusive_without_a_harness() -> None:
    decided = decide(
        target=side(0.1, status="unparsed"), reference=side(0.1, status="ok"), harness=NO_HARNESS
    )
    assert decided.kind == "inconclusive"
    assert decided.reason == "missing_dependency: it needs the package 'cv2'"


def test_both_unparsable_without_a_harness_are_clean_with_the_reason() -> None:
    decided = decide(
        target=side(0.1, status="unparsed"), reference=side(0.0, status="empty"), harness=NO_HARNESS
    )
    assert decided.kind == "clean"
    assert decided.reason == (
        "neither completion can be run: the target's is unparsed and the reference's empty,"
        " and so both score 0"
    )


def test_reasons_carry_their_numbers() -> None:
    functional = decide(target=side(0.23, 0.9), reference=side(0.1, 0.2), harness=HARNESS)
    assert functional.reason == (
        "the target behaves like the original (SIM_func 0.90 ≥ 0.8) in other words (SIM_text 0.23 < 0.75),"
        " and the reference does not (SIM_func 0.20 < 0.8)"
    )
    verbatim = decide(target=side(0.8), reference=side(0.1), harness=NO_HARNESS)
    assert "SIM_text 0.80 ≥ 0.75" in verbatim.reason
    assert "SIM_text 0.10 < 0.75" in verbatim.reason
    known = decide(target=side(0.2, 1.0), reference=side(0.1, 0.9), harness=HARNESS)
    assert known.kind == "clean"
    assert known.reason.startswith("both models behave like the original")


def test_a_figure_beside_its_threshold_is_shown_on_its_own_side() -> None:
    decided = decide(target=side(0.749999), reference=side(0.7499), harness=NO_HARNESS)
    assert decided.kind == "inconclusive"
    clean = decide(target=side(0.7499999, 0.5), reference=side(0.1, 0.5), harness=HARNESS)
    assert "SIM_text 0.7499999 < 0.75" in clean.reason


def test_thresholds_are_settings() -> None:
    sides = {"target": side(0.5, 0.6), "reference": side(0.1, 0.1)}
    assert decide(**sides, harness=HARNESS, tau_func=0.6).kind == "functional"
    assert decide(**sides, harness=HARNESS, tau_text=0.5).kind == "verbatim"


def test_a_side_that_was_not_run_breaks_the_audit_rather_than_passing() -> None:
    with pytest.raises(AuditError, match="target was not run"):
        decide(target=side(0.1), reference=side(0.1, 0.0), harness=HARNESS)


def test_exchanged_keeps_errors_and_swaps_the_others() -> None:
    target, reference = side(0.1, 0.1), side(0.2, 0.9)
    record = AuditRecord(
        function=FUNCTION,
        verdict=decide(target=target, reference=reference, harness=HARNESS),
        target=target,
        reference=reference,
        harness=HARNESS,
    )
    assert record.verdict.kind == "clean"
    assert exchanged(record, tau_func=0.8, tau_text=0.75).kind == "functional"
    failed = AuditRecord(function=FUNCTION, verdict=Verdict(kind="error", reason="OSError: x"))
    assert exchanged(failed, tau_func=0.8, tau_text=0.75).kind == "error"


@given(SHARES, SHARES, SHARES, SHARES, SHARES)
def test_more_exposure_never_makes_a_leak_clean(
    target_text: float, reference_text: float, target_func: float, reference_func: float, more: float
) -> None:
    reference = side(reference_text, reference_func)
    before = decide(target=side(target_text, target_func), reference=reference, harness=HARNESS)
    higher = decide(target=side(target_text, max(target_func, more)), reference=reference, harness=HARNESS)
    assert higher.is_leak or not before.is_leak
    weaker = decide(
        target=side(target_text, target_func),
        reference=side(min(reference_text, more), min(reference_func, more)),
        harness=HARNESS,
    )
    assert weaker.is_leak or not before.is_leak


@given(SHARES, SHARES, SHARES, SHARES)
def test_both_directions_are_never_leaks_of_the_same_kind(
    target_text: float, reference_text: float, target_func: float, reference_func: float
) -> None:
    target, reference = side(target_text, target_func), side(reference_text, reference_func)
    forward = decide(target=target, reference=reference, harness=HARNESS)
    backward = decide(target=reference, reference=target, harness=HARNESS)
    assert not (forward.is_leak and forward.kind == backward.kind)


@given(SHARES, SHARES)
def test_equal_models_never_leak(text: float, func: float) -> None:
    both = side(text, func)
    assert decide(target=both, reference=both, harness=HARNESS).kind == "clean"
