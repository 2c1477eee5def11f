"""Rates, their intervals, the noise floor, and the exit decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pytest_funcmem.core.records import (
    AuditRecord,
    Candidate,
    Completion,
    Harness,
    HarnessEvidence,
    Inconclusive,
    Language,
    ModelIdentity,
    Scaffold,
    Side,
    Similarity,
    SourceFunction,
    TextScore,
    Verdict,
)
from pytest_funcmem.verdict import decide, exit_decision, rate, summarise

HARNESS = Harness(
    builder="local/1",
    language="python",
    function_sha256="f" * 64,
    scaffold=Scaffold(),
    states=(),
    expected=(),
    state_timeout_s=1.0,
    evidence=HarnessEvidence(
        inputs=10, valid=10, outputs=2, executable_lines=(), covered_lines=(), mutants=0, mutants_killed=0
    ),
)


def side(text: float, func: float | None) -> Side:
    score = TextScore(value=text, signature="s")
    return Side(
        model=ModelIdentity(spec="replay:a", kind="replay", revision="r"),
        completion=Completion(text="", token_ids=None, stop="stop"),
        candidate=Candidate(status="ok", body="", code=""),
        similarity=Similarity(bleu=score, edit=score, lcs=score, exact=False),
        func=func,
        matches=None,
        outcomes={},
    )


def record(
    target: tuple[float, float | None],
    reference: tuple[float, float | None],
    *,
    language: Language = "python",
    harness: Harness | Inconclusive = HARNESS,
) -> AuditRecord:
    sides = {"target": side(*target), "reference": side(*reference)}
    return AuditRecord(
        function=function(language), verdict=decide(**sides, harness=harness), **sides, harness=harness
    )


def function(language: Language = "python") -> SourceFunction:
    return SourceFunction(
        path="a",
        qualname="f",
        language=language,
        line=1,
        text="f{}",
        definition_start=0,
        signature_start=0,
        signature_end=1,
        end=3,
    )


FUNCTIONAL = record((0.1, 1.0), (0.1, 0.0))
VERBATIM = record((0.9, 1.0), (0.1, 0.0))
CLEAN = record((0.1, 0.0), (0.1, 0.0))
REVERSED = record((0.1, 0.0), (0.1, 1.0))
UNDECIDED = record((0.1, None), (0.1, None), harness=Inconclusive(reason="coverage", detail="3 of 9 lines"))
UNDECIDED_JAVA = record(
    (0.1, None), (0.1, None), language="java", harness=Inconclusive(reason="language", detail="java")
)
BROKEN = AuditRecord(function=function(), verdict=Verdict(kind="error", reason="OSError: gone"))


@pytest.mark.parametrize(
    ("numerator", "denominator", "low", "high"),
    [
        (0, 10, 0.0, 0.30849710781876083),
        (1, 10, 0.0025285785444617848, 0.44501611702819565),
        (10, 10, 0.6915028921812392, 1.0),
        (3, 100, 0.006229971538306394, 0.08517605297428779),
    ],
)
def test_intervals_are_pinned(numerator: int, denominator: int, low: float, high: float) -> None:
    found = rate(numerator, denominator)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    assert found.value == numerator / denominator
    assert found.confidence == 0.95


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_agree_with_the_exact_binomial_test(counts: tuple[int, int]) -> None:
    found = rate(*counts)
    expected = binomtest(*counts).proportion_ci(0.95, method="exact")
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)
    assert found.value is not None
    assert found.low <= found.value <= found.high


def test_nothing_decided_says_nothing() -> None:
    found = rate(0, 0)
    assert (found.value, found.low, found.high) == (None, 0.0, 1.0)


@pytest.mark.parametrize("counts", [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="0 <= numerator <= denominator"):
        rate(*counts)


def test_denominators_are_the_decided_functions() -> None:
    summary = summarise([FUNCTIONAL, VERBATIM, CLEAN, REVERSED, UNDECIDED, UNDECIDED_JAVA, BROKEN])
    assert summary.counts == {"functional": 1, "verbatim": 1, "clean": 2, "inconclusive": 2, "error": 1}
    assert list(summary.counts) == ["functional", "verbatim", "clean", "inconclusive", "error"]
    assert (summary.rates.leaks.numerator, summary.rates.leaks.denominator) == (2, 4)
    assert (summary.rates.functional.numerator, summary.rates.verbatim.numerator) == (1, 1)
    assert (summary.conclusive.numerator, summary.conclusive.denominator) == (4, 7)
    assert (summary.functions, summary.decided) == (7, 4)
    assert summary.reasons == {"coverage": 1, "language": 1}
    assert summary.note == "no judge filtered these functions"


def test_noise_floor_is_the_same_rule_with_the_models_exchanged() -> None:
    records = [FUNCTIONAL, VERBATIM, CLEAN, REVERSED, UNDECIDED]
    summary = summarise(records)
    floor = summary.noise_floor
    # VERBATIM exchanged: the reference becomes a target of low text and no behaviour, hence clean.
    assert (floor.functional.numerator, floor.functional.denominator) == (1, 4)
    assert floor.verbatim.numerator == 0
    assert floor.leaks == rate(1, 4)


def test_languages_are_summarised_apart() -> None:
    summary = summarise([UNDECIDED_JAVA, FUNCTIONAL, CLEAN])
    assert [item.language for item in summary.languages] == ["python", "java"]
    python, java = summary.languages
    assert python.rates.leaks == rate(1, 2)
    assert java.counts["inconclusive"] == 1
    assert java.rates.leaks.value is None


@given(st.permutations([FUNCTIONAL, VERBATIM, CLEAN, REVERSED, UNDECIDED, UNDECIDED_JAVA, BROKEN]))
def test_order_does_not_matter(records: list[AuditRecord]) -> None:
    assert summarise(records) == summarise(
        [FUNCTIONAL, VERBATIM, CLEAN, REVERSED, UNDECIDED, UNDECIDED_JAVA, BROKEN]
    )


@pytest.mark.parametrize(
    ("records", "wanted", "code", "reason"),
    [
        pytest.param([CLEAN, CLEAN], 0.5, 0, "2 of 2 functions decided, no leak", id="clean"),
        pytest.param([CLEAN, UNDECIDED], 0.5, 0, "1 of 2 functions decided, no leak", id="just-enough"),
        pytest.param(
            [CLEAN, UNDECIDED, UNDECIDED],
            0.5,
            6,
            "only 1 of 3 functions could be decided (33.3%); at least 50.0% is wanted",
            id="too-little",
        ),
        pytest.param([UNDECIDED], 0.0, 6, "none of 1 function could be decided", id="none-decided"),
        pytest.param([], 0.0, 6, "none of 0 functions could be decided", id="empty"),
        pytest.param([FUNCTIONAL, UNDECIDED], 1.0, 1, "1 leak and 0 errors", id="leak"),
        pytest.param([BROKEN, CLEAN], 0.0, 1, "0 leaks and 1 error", id="error"),
    ],
)
def test_exit_decision(records: list[AuditRecord], wanted: float, code: int, reason: str) -> None:
    decision = exit_decision(summarise(records), min_conclusive=wanted)
    assert (decision.exit_code, decision.reason) == (code, reason)
    assert decision.may_pass is (code == 0)
