"""Two reports compared: leaks that are new, gone or the same, and McNemar's test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import binom

from pytest_funcmem.cli import main
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.reporting.comparison import TEST, compare, comparison_json
from pytest_funcmem.reporting.json_report import JsonReport


def report(verdicts: dict[str, str], digest: str = "1") -> JsonReport:
    functions = tuple(
        {"kind": "function", "function": {"id": name, "sha256": digest * 64}, "verdict": verdict}
        for name, verdict in verdicts.items()
    )
    return JsonReport(manifest={}, functions=functions, summary={})


BEFORE = {
    "a": "functional",
    "b": "verbatim",
    "c": "clean",
    "d": "functional",
    "e": "inconclusive",
    "f": "clean",
}
AFTER = {"a": "functional", "b": "clean", "c": "verbatim", "d": "error", "e": "functional", "g": "verbatim"}


def test_what_changed() -> None:
    found = compare(report(BEFORE), report(AFTER))
    assert [item.function for item in found.new] == ["c", "e", "g"]
    assert [item.function for item in found.gone] == ["b"]
    assert [item.function for item in found.same] == ["a"]
    assert [item.function for item in found.undecided] == ["d"]
    assert (found.paired, found.only_before, found.only_after) == (3, 1, 1)
    leaks = found.rates[2]
    assert (leaks.before.numerator, leaks.after.numerator, leaks.before.denominator) == (2, 2, 3)
    assert (leaks.only_before, leaks.only_after, leaks.p_value) == (1, 1, 1.0)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 5), (1, 9), (7, 7), (12, 2)])
def test_the_paired_test_is_the_exact_binomial_one(first: int, second: int) -> None:
    before = {f"x{n}": "functional" if n < first else "clean" for n in range(first + second + 20)}
    after = {
        f"x{n}": "functional" if first <= n < first + second else "clean" for n in range(first + second + 20)
    }
    found = compare(report(before), report(after)).rates[0]
    assert (found.only_before, found.only_after) == (first, second)
    tail = binom.cdf(min(first, second), first + second, 0.5)
    assert found.p_value == pytest.approx(min(1.0, 2 * tail))


def test_other_code_is_another_function() -> None:
    with pytest.raises(UsageError, match="no function in common"):
        compare(report(BEFORE), report(BEFORE, digest="2"))


def test_a_report_of_several_models_is_refused() -> None:
    one = report(BEFORE)
    two = JsonReport(manifest={}, functions=one.functions * 2, summary={})
    with pytest.raises(UsageError, match="twice"):
        compare(one, two)


def write(path: Path, verdicts: dict[str, str]) -> str:
    settings = {"model": [f"replay:{path.name}"]}
    lines = [
        {"kind": "manifest", "format_version": 1, "settings": settings},
        *report(verdicts).functions,
        {"kind": "summary"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write(tmp_path / "a.jsonl", BEFORE), write(tmp_path / "b.jsonl", AFTER)]
    assert main(["compare", *paths]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"first   replay:a.jsonl  ({paths[0]}"[:60])
    assert "second  replay:b.jsonl  (" in shown
    assert "new leaks: 3" in shown
    assert "  b  verbatim -> clean" in shown
    assert TEST in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert main(["compare", "--json", *paths]) == 0
    assert json.loads(capsys.readouterr().out) == comparison_json(compare(report(BEFORE), report(AFTER)))
    assert main(["compare", paths[0], str(tmp_path / "none.jsonl")]) == 4
    assert "cannot be read" in capsys.readouterr().err
