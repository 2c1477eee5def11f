"""What a baseline knows, and what a run makes of it."""

from __future__ import annotations

import datetime

import pytest

from pytest_funcmem.core.records import Verdict
from pytest_funcmem.verdict.baseline import AcceptedLeak, Baseline, Seen

DAY = datetime.date(2027, 3, 31)
NEXT = datetime.date(2027, 4, 1)


def accepted(digit: str, verdict: str = "functional", function: str = "a.py::f") -> AcceptedLeak:
    return AcceptedLeak(
        sha256=digit * 64, verdict=verdict, function=function, reason="why", who="me", until=DAY
    )  # type: ignore[arg-type]


def seen(digit: str, verdict: str) -> Seen:
    return Seen(sha256=digit * 64, function=f"{digit}.py::f", verdict=verdict)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("digit", "kind", "today", "status"),
    [
        ("1", "functional", DAY, "accepted"),
        ("1", "functional", NEXT, "expired"),
        ("1", "verbatim", DAY, "new"),
        ("2", "functional", DAY, "new"),
    ],
)
def test_status_of_a_leak(digit: str, kind: str, today: datetime.date, status: str) -> None:
    verdict = Verdict(kind=kind, reason="")  # type: ignore[arg-type]
    assert Baseline([accepted("1")]).status(digit * 64, verdict, today=today) == status


def test_what_is_gone_is_told_from_what_is_only_not_known() -> None:
    baseline = Baseline([accepted(digit) for digit in "123456"])
    present = frozenset(digit * 64 for digit in "12345")
    run = [
        seen("1", "functional"),
        seen("2", "clean"),
        seen("3", "inconclusive"),
        seen("4", "clean"),
        seen("4", "functional"),  # by another model
    ]
    sweep = baseline.sweep(run, present=present)
    assert [entry.sha256[0] for entry in sweep.vanished] == ["2"]
    assert [entry.sha256[0] for entry in sweep.absent] == ["6"]
    after = baseline.updated(
        [*run, seen("5", "verbatim"), seen("7", "functional")],
        present=present,
        reason="r",
        who="w",
        until=NEXT,
    )
    # 5 leaks in another way than was accepted: that one is new, and the old one is gone.
    assert {(entry.sha256[0], entry.verdict, entry.who) for entry in after.entries} == {
        ("1", "functional", "me"),
        ("3", "functional", "me"),
        ("4", "functional", "me"),
        ("5", "verbatim", "w"),
        ("7", "functional", "w"),
    }


def test_order_of_entries_does_not_matter() -> None:
    entries = [accepted("2", function="b"), accepted("1", function="a"), accepted("1", "verbatim", "a")]
    assert Baseline(entries).entries == Baseline(reversed(entries)).entries
