"""Shares as in the paper's Figure 2: who gives back text, who behaviour, and who alone."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_funcmem.core.records import AuditRecord, Verdict
from pytest_funcmem.verdict.prevalence import prevalence, prevalence_by_language
from tests.unit.reporting.conftest import REFERENCE, make_function, make_side

TAUS = {"tau_func": 0.8, "tau_text": 0.75}


def record(
    kind: str,
    *,
    func: tuple[int | None, int | None],
    text: tuple[bool, bool] = (False, False),
    language: str = "python",
) -> AuditRecord:
    function = dataclasses.replace(make_function(), language=language)  # type: ignore[arg-type]
    sides = [
        make_side(name, function.body if same else REFERENCE, matches=matches)
        for name, matches, same in zip(("target", "reference"), func, text, strict=True)
    ]
    return AuditRecord(
        function=function,
        verdict=Verdict(kind=kind, reason="made up"),  # type: ignore[arg-type]
        target=sides[0],
        reference=sides[1],
    )


RECORDS = [
    record("functional", func=(9, 1)),
    record("functional", func=(8, 7)),
    record("clean", func=(10, 10)),
    record("verbatim", func=(10, 0), text=(True, False)),
    record("clean", func=(None, None), text=(True, True)),
    record("clean", func=(7, 9), language="rust"),
    record("inconclusive", func=(None, None), language="rust"),
    record("error", func=(None, None)),
]


def test_shares_have_one_denominator() -> None:
    shares = prevalence(RECORDS, **TAUS)
    counts = {
        field.name: getattr(shares, field.name).numerator
        for field in dataclasses.fields(shares)
        if field.name != "by_text_alone"
    }
    assert counts == {
        "text_reference": 1,
        "text_target": 2,
        "text_only_target": 1,
        "behaviour_reference": 2,
        "behaviour_target": 4,
        "behaviour_only_target": 3,
        "behaviour_unseen": 2,
    }
    assert shares.text_target.denominator == shares.behaviour_unseen.denominator == 6
    assert shares.by_text_alone == 1


def test_leaks_are_what_only_the_target_gives_back() -> None:
    shares = prevalence(RECORDS, **TAUS)
    kinds = [item.verdict.kind for item in RECORDS]
    assert shares.behaviour_unseen.numerator == kinds.count("functional")
    assert shares.text_only_target.numerator == kinds.count("verbatim")


def test_languages_come_in_their_order_and_only_those_that_occur() -> None:
    found = prevalence_by_language(list(reversed(RECORDS)), **TAUS)
    assert list(found) == ["python", "rust"]
    assert found["rust"].behaviour_reference.numerator == 1
    assert found["rust"].behaviour_reference.denominator == 1
    assert found["rust"].behaviour_reference.high == 1.0


def test_nothing_decided_is_no_share() -> None:
    shares = prevalence(RECORDS[-2:], **TAUS)
    assert shares.text_target.value is None
    assert shares.text_target.denominator == 0


@pytest.mark.parametrize(("tau_func", "expected"), [(0.95, 2), (0.7, 5)])
def test_thresholds_count(tau_func: float, expected: int) -> None:
    assert prevalence(RECORDS, tau_func=tau_func, tau_text=0.75).behaviour_target.numerator == expected
