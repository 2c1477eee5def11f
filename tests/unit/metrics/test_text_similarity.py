"""Figures of textual similarity: pinned values, an independent computation, hostile text."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from difflib import SequenceMatcher
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.records import Similarity
from pytest_funcmem.core.registry import load
from pytest_funcmem.metrics import substring, text_similarity
from pytest_funcmem.metrics.substring import longest_common_substring

BODIES = st.text(alphabet="ab (=\n\t\x00\u202e\ud800é", max_size=60)


def bleu_by_hand(original: str, candidate: str) -> float:
    """Sentence BLEU (Papineni et al., 2002), exponentially smoothed, with effective order."""
    x, y = original.split(), candidate.split()
    logs, smoothing = [], 1.0
    for order in range(1, 5):
        grams = Counter(tuple(y[i : i + order]) for i in range(len(y) - order + 1))
        known = Counter(tuple(x[i : i + order]) for i in range(len(x) - order + 1))
        total, matched = sum(grams.values()), sum((grams & known).values())
        if total == 0:
            break
        if matched == 0:
            smoothing *= 2
        logs.append(math.log(matched / total if matched else 1 / (smoothing * total)))
    if not logs or not set(x) & set(y):
        return 0.0
    brevity = 1.0 if len(y) >= len(x) else math.exp(1 - len(x) / len(y))
    return brevity * math.exp(sum(logs) / len(logs))


def figures(similarity: Similarity) -> tuple[float, float, float, bool]:
    return similarity.bleu.value, similarity.edit.value, similarity.lcs.value, similarity.exact


def test_values_of_a_small_pair_are_pinned() -> None:
    original = "\n    total = 0\n    for item in items:\n        total += item\n    return total"
    candidate = "\n    total = 0\n    for value in items:\n        total += value\n    return total"
    bleu, edit, lcs, exact = figures(text_similarity(original, candidate))
    assert bleu == pytest.approx((10 / 12 * 7 / 11 * 4 / 10 * 2 / 9) ** 0.25)
    length = len(original.strip())
    assert edit == pytest.approx(1 - 2 * 5 / length)
    assert lcs == pytest.approx(len(" in items:\n        total += ") / length)
    assert exact is False


def test_signatures_name_tool_version_and_normalisation() -> None:
    similarity = text_similarity("return a", "return b")
    assert similarity.bleu.signature == (
        f"BLEU|nrefs:1|case:mixed|eff:yes|tok:none|smooth:exp|version:{version('sacrebleu')}"
    )
    assert similarity.edit.signature.startswith("edit|levenshtein|unit:char|norm:strip|")
    assert similarity.edit.signature.endswith(f"rapidfuzz:{version('rapidfuzz')}")
    assert similarity.lcs.signature == "lcs|version:1|unit:char|norm:strip"


@pytest.mark.parametrize(
    ("original", "candidate", "expected"),
    [
        pytest.param("", "", (0.0, 0.0, 0.0, True), id="both-empty"),
        pytest.param("", "return 1", (0.0, 0.0, 0.0, False), id="empty-original"),
        pytest.param("return 1", "", (0.0, 0.0, 0.0, False), id="empty-candidate"),
        pytest.param("return 1", " \n\t", (0.0, 0.0, 0.0, False), id="blank-candidate"),
        pytest.param("pass", "pass", (1.0, 1.0, 1.0, True), id="one-token"),
        pytest.param("\n    pass", " pass\n", (1.0, 1.0, 1.0, True), id="outer-blanks"),
        pytest.param("ab", "cd", (0.0, 0.0, 0.0, False), id="nothing-common"),
        pytest.param("a\x00b \ud800", "a\x00b \ud800", (1.0, 1.0, 1.0, True), id="nul-and-surrogate"),
        pytest.param("abcd", "abcd" * 2, (0.0, 0.0, 1.0, False), id="twice-as-long"),
    ],
)
def test_edges(original: str, candidate: str, expected: tuple[float, float, float, bool]) -> None:
    assert figures(text_similarity(original, candidate)) == expected


@given(BODIES, BODIES)
@settings(deadline=None)
def test_figures_are_shares_and_agree_with_independent_computations(original: str, candidate: str) -> None:
    bleu, edit, lcs, exact = figures(text_similarity(original, candidate))
    assert 0 <= bleu <= 1
    assert 0 <= edit <= 1
    assert bleu == pytest.approx(bleu_by_hand(original, candidate), abs=1e-9)
    x, y = original.strip(), candidate.strip()
    longest = SequenceMatcher(None, x, y, autojunk=False).find_longest_match().size
    assert lcs == (longest / len(x) if x else 0.0)
    assert exact is (x == y)
    if exact and x:
        assert (bleu, edit, lcs) == (1.0, 1.0, 1.0)


@given(BODIES, BODIES)
@settings(deadline=None, max_examples=30)
def test_figures_do_not_depend_on_earlier_calls(original: str, candidate: str) -> None:
    first = text_similarity(original, candidate)
    text_similarity(candidate, original)
    assert text_similarity(original, candidate) == first


@given(st.text("ab\n", max_size=60), st.text("ab\n", max_size=60))
@settings(deadline=None, max_examples=60)
def test_both_searches_for_a_common_substring_agree(first: str, second: str) -> None:
    quick = longest_common_substring(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(substring, "_SMALL", -1)
        assert longest_common_substring(first, second) == quick
    if quick:
        assert any(first[at : at + quick] in second for at in range(len(first) - quick + 1))


def test_longest_common_substring_of_twenty_kilobytes_is_fast() -> None:
    body = "".join(f"    value_{index % 97} = compute({index})\n" for index in range(800))[:20_000]
    started = time.perf_counter()
    similarity = text_similarity(body, body[:9_000] + "#" + body[9_000:])
    assert similarity.lcs.value == len(body[9_000:].rstrip()) / len(body.strip())
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("unit", ["a", "ab ", "x = 1\n"])
def test_hostile_line_is_bounded(unit: str) -> None:
    # Repetitive text is the worst case of quadratic algorithms, which would take hours here.
    body = unit * (120_000 // len(unit))
    other = body[: len(body) // 2] + "\u0000" + body[len(body) // 2 :]
    started = time.perf_counter()
    similarity = text_similarity(body, other)
    assert 0.49 < similarity.lcs.value < 0.51
    assert similarity.exact is False
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize(
    ("prefix", "printed"), [("05_", 0.26), ("07_", 0.01), ("08_", 0.05), ("11_", 0.23)], ids=lambda v: str(v)
)
def test_bleu_agrees_with_the_paper_on_its_printed_cases(
    shared_dir: Path, prefix: str, printed: float
) -> None:
    cases = shared_dir / "cases"
    lines = (cases / "target.jsonl").read_text(encoding="utf-8").splitlines()
    row = next(item for item in map(json.loads, lines) if item["function"].startswith(prefix))
    known = json.loads((cases / "cases.json").read_text(encoding="utf-8"))
    language = next(case["language"] for case in known if case["function"] == row["function"])
    path = cases / "sources" / row["function"].partition("::")[0]
    frontend = load("language", language)()
    scan = frontend.scan(path.read_text(encoding="utf-8"), path=path.name)
    original = next(item for item in scan.functions if item.key == row["function"])
    candidate = frontend.candidate(original, row["completion"])
    similarity = text_similarity(original.body, candidate.body)
    assert similarity.bleu.value == pytest.approx(printed, abs=0.06)
