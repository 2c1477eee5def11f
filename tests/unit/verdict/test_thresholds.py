"""What a verdict would be under other thresholds: the same rule, told from figures alone."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import (
    AuditRecord,
    Harness,
    Inconclusive,
    InputState,
    OutputState,
    Side,
    StateComparison,
    Verdict,
)
from pytest_funcmem.reporting.html.details import details
from pytest_funcmem.reporting.json_report import function_line
from pytest_funcmem.reporting.markdown_report import MarkdownReporter
from pytest_funcmem.reporting.summary import summary_lines
from pytest_funcmem.verdict.rates import summarise
from pytest_funcmem.verdict.rules import decide
from pytest_funcmem.verdict.thresholds import (
    Figures,
    Thresholds,
    figures_of,
    sensitivity_of,
    verdict_under,
)
from tests.unit.verdict.made_up import FUNCTION, HARNESS, side

FIGURES = Figures(
    target_text=0.2,
    reference_text=0.1,
    target_func=0.9,
    reference_func=0.1,
    runnable=True,
    lacks="",
    valid=10,
    coverage=0.9,
    stub=0.3,
)


def record(target: Side, reference: Side, harness: Harness | Inconclusive) -> AuditRecord:
    return AuditRecord(
        function=FUNCTION,
        verdict=decide(target=target, reference=reference, harness=harness),
        target=target,
        reference=reference,
        harness=harness,
    )


SHARES = st.floats(min_value=0, max_value=1)
STATUSES = st.sampled_from(["ok", "unparsed", "empty", "uncompiled"])


@given(
    texts=st.tuples(SHARES, SHARES),
    funcs=st.tuples(SHARES, SHARES),
    statuses=st.tuples(STATUSES, STATUSES),
    harness=st.sampled_from([HARNESS, Inconclusive(reason="missing_dependency", detail="cv2")]),
)
def test_under_its_own_thresholds_a_verdict_is_what_was_decided(
    texts: Any, funcs: Any, statuses: Any, harness: Any
) -> None:
    proved = isinstance(harness, Harness)
    sides = [
        side(text, (0.0 if status in ("unparsed", "empty") else func) if proved else None, status)
        for text, func, status in zip(texts, funcs, statuses, strict=True)
    ]
    found = record(sides[0], sides[1], harness)
    figures = figures_of(found)
    assert figures is not None
    assert verdict_under(figures, Thresholds()) == found.verdict.kind


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"tau_func": 0.95}, "clean"),
        ({"tau_func": 0.1}, "inconclusive"),  # a stub would pass for the original
        ({"tau_text": 0.15}, "verbatim"),
        ({"tau_text": 0.05}, "clean"),  # both texts count as near-verbatim
        ({"min_coverage": 0.95}, "inconclusive"),
        ({"min_inputs": 11}, "inconclusive"),
        ({"min_inputs": 1, "min_coverage": 0.0}, "functional"),
    ],
)
def test_each_threshold_turns_a_verdict(changed: dict[str, Any], verdict: str) -> None:
    assert verdict_under(FIGURES, Thresholds()) == "functional"
    assert verdict_under(FIGURES, replace(Thresholds(), **changed)) == verdict


def test_what_only_a_new_run_could_tell_is_not_guessed() -> None:
    short = replace(FIGURES, target_func=None, reference_func=None, lacks="coverage", coverage=0.75)
    assert verdict_under(short, Thresholds()) == "inconclusive"
    assert verdict_under(short, Thresholds(min_coverage=0.7)) is None
    assert verdict_under(replace(short, valid=None), Thresholds(min_coverage=0.7)) == "inconclusive"
    assert verdict_under(replace(short, lacks="language"), Thresholds(min_coverage=0.7)) == "inconclusive"
    with pytest.raises(ValueError, match="two functional similarities"):
        verdict_under(replace(FIGURES, target_func=None), Thresholds())


def test_a_record_says_under_which_thresholds_nearby_it_changes() -> None:
    found = sensitivity_of(record(side(0.72, 0.8), side(0.1, 0.1), HARNESS), Thresholds())
    assert found is not None
    assert [(change.under, change.verdict) for change in found.changes] == [
        ("tau_func=0.9", "clean"),
        ("tau_text=0.7", "verbatim"),
    ]
    firm = sensitivity_of(record(side(0.2, 1.0), side(0.1, 0.1), HARNESS), Thresholds())
    assert firm is not None
    assert firm.changes == ()
    assert firm.states is None
    broken = AuditRecord(function=FUNCTION, verdict=Verdict(kind="error", reason="gone"))
    assert sensitivity_of(broken, Thresholds()) is None


def test_choices_of_states_are_counted_as_by_going_through_them() -> None:
    matches = [(True, False)] * 7 + [(True, True)] + [(False, False)] * 2
    comparisons = tuple(
        StateComparison(
            state=InputState(),
            original=OutputState(outcome="returned"),
            target=None,
            reference=None,
            target_matches=target,
            reference_matches=reference,
        )
        for target, reference in matches
    )
    found = replace(record(side(0.2, 0.8), side(0.1, 0.1), HARNESS), comparisons=comparisons)
    sensitivity = sensitivity_of(found, Thresholds())
    assert sensitivity is not None
    same = 0
    for chosen in itertools.combinations(matches, 8):
        target = sum(item[0] for item in chosen) / 8
        reference = sum(item[1] for item in chosen) / 8
        same += target >= 0.8 > reference
    assert (sensitivity.states, sensitivity.choices) == (8, math.comb(10, 8))
    assert 0 < sensitivity.choices_same == same < 45


def test_every_report_says_what_a_verdict_near_a_threshold_turns_on(tmp_path: Path) -> None:
    near = record(side(0.72, 0.8), side(0.1, 0.1), HARNESS)
    near = replace(near, sensitivity=sensitivity_of(near, Thresholds()))
    firm = record(side(0.2, 1.0), side(0.1, 0.1), HARNESS)
    firm = replace(firm, sensitivity=sensitivity_of(firm, Thresholds()))
    summary = summarise([near, firm])
    assert [item.key for item in summary.near] == ["a.py::f"]
    lines = "\n".join(summary_lines(summary))
    assert "1 of 2 verdicts change under a threshold nearby" in lines
    assert "functional    clean at tau_func=0.9, verbatim at tau_text=0.7" in lines
    path = tmp_path / "out.md"
    MarkdownReporter(Settings()).write({"settings": {}}, [near, firm], ["a.py::f", "b.py::g"], path)
    assert (
        "| `a.py::f` | functional | `clean at tau_func=0.9, verbatim at tau_text=0.7` |" in path.read_text()
    )
    assert "tau_func=0.9" in str(details(near))
    assert "tau_func=0.9" not in str(details(firm))
    (change, _) = function_line(near, "a.py::f")["sensitivity"]["changes"]
    assert change == {"under": "tau_func=0.9", "verdict": "clean"}
