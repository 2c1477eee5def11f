"""Maximal rates, and which rule decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import AuditRecord, SourceFunction, Verdict
from pytest_funcmem.verdict.gate import RateLimit, covers, exit_decision, limit_results, parse_limits
from pytest_funcmem.verdict.rates import Summary, rate, summarise

FUNCTION = SourceFunction(
    path="a.py", qualname="f", language="python", line=1, text="", definition_start=0, signature_start=0,
    signature_end=0, end=0,
)  # fmt: skip


def summary(**counts: int) -> Summary:
    """A run by verdict; ``java_functional`` and the like are of that language."""
    records = []
    for name, number in counts.items():
        language, _, kind = name.rpartition("_")
        function = replace(FUNCTION, language=language or "python")
        record = AuditRecord(function=function, verdict=Verdict(kind=kind, reason="coverage: x"))
        records += [record] * number
    return summarise(records)


def test_limits_are_read() -> None:
    found = parse_limits(["0.01", "functional=0.02", "verbatim/java=0.005", "/go=0.1"])
    assert [(item.kind, item.language, item.maximum) for item in found] == [
        ("leaks", None, 0.01),
        ("functional", None, 0.02),
        ("verbatim", "java", 0.005),
        ("leaks", "go", 0.1),
    ]
    assert found[2].name == "verbatim leaks in java"


@pytest.mark.parametrize(
    "texts", [["1.1"], ["nan"], ["-0.1"], ["clean=0.1"], ["/cobol=0.1"], ["x"], [""], ["0.1", "leaks=0.2"]]
)
def test_what_is_no_limit_is_refused(texts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_limits(texts)
    assert caught.value.remedy
    assert "--funcmem-max-rate" in str(caught.value)


def test_a_limit_covers_its_kind_and_language_alone() -> None:
    limits = parse_limits(["functional/java=0.1"])
    functional, verbatim = (Verdict(kind=kind, reason="") for kind in ("functional", "verbatim"))
    assert covers(limits, functional, "java")
    assert not covers(limits, functional, "python")
    assert not covers(limits, verbatim, "java")
    assert covers(parse_limits(["0.1"]), verbatim, "c")


def test_limits_are_held_against_the_upper_bound() -> None:
    run = summary(functional=1, clean=99, java_verbatim=2, java_clean=8)
    results = limit_results(
        run, parse_limits(["0.09", "functional/python=0.06", "verbatim/java=0.5", "/go=0.5"])
    )
    assert [result.passed for result in results] == [True, True, False, False]
    assert [(result.rate.numerator, result.rate.denominator) for result in results] == [
        (3, 110),
        (1, 100),
        (2, 10),
        (0, 0),
    ]
    assert results[1].rate == rate(1, 100)


def test_how_many_without_a_leak_would_be_enough() -> None:
    for maximum in (0.5, 0.05, 0.01, 0.001):
        (result,) = limit_results(
            summary(clean=1), (RateLimit(kind="leaks", language=None, maximum=maximum),)
        )
        assert rate(0, result.wanted).high <= maximum < rate(0, result.wanted - 1).high
    (never,) = limit_results(summary(clean=1), (RateLimit(kind="leaks", language=None, maximum=0.0),))
    assert (never.wanted, never.passed) == (0, False)


@pytest.mark.parametrize(
    ("counts", "limits", "failing", "code", "rule"),
    [
        ({"clean": 4}, [], None, 0, "clean"),
        ({"clean": 4, "functional": 1}, [], None, 1, "leaks"),
        ({"clean": 4, "functional": 1}, [], 0, 0, "clean"),
        ({"clean": 4, "error": 1}, ["1"], 0, 1, "errors"),
        ({"clean": 400, "functional": 1}, ["0.02"], 0, 0, "max-rate"),
        ({"clean": 400, "functional": 1}, ["0.005"], 0, 1, "max-rate"),
        ({"clean": 400, "functional": 1}, ["0.02"], 1, 1, "leaks"),
        ({"clean": 4}, ["0.02"], 0, 6, "max-rate"),
        ({"inconclusive": 4}, ["1"], 0, 6, "conclusive"),
        ({"inconclusive": 4}, [], None, 6, "conclusive"),
        ({"inconclusive": 6, "clean": 4}, [], None, 6, "conclusive"),
        ({"inconclusive": 4, "clean": 4}, [], None, 0, "clean"),
        ({}, [], None, 6, "conclusive"),
    ],
)
def test_which_rule_decides(
    counts: dict[str, int], limits: list[str], failing: int | None, code: int, rule: str
) -> None:
    decision = exit_decision(
        summary(**counts), min_conclusive=0.5, limits=parse_limits(limits), failing=failing
    )
    assert (decision.exit_code, decision.rule) == (code, rule)
    assert decision.may_pass is (code == 0)


def test_nothing_decided_never_passes_whatever_share_is_wanted() -> None:
    assert exit_decision(summary(inconclusive=3), min_conclusive=0.0).exit_code == 6
