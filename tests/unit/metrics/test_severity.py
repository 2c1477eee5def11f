"""Ratings of functions: what the syntax tree says, how answers and labels are read, who agrees with whom."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from pytest_funcmem.cli import main
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import Language
from pytest_funcmem.core.registry import load
from pytest_funcmem.metrics.judging.answers import read_rating
from pytest_funcmem.metrics.severity.features import features_of, severity_of
from pytest_funcmem.metrics.severity.raters import open_rater
from pytest_funcmem.studies.agreement import agreement, weighted_kappa

RULE: dict[Language, str] = {
    "python": '''def surcharge(weight, zone):
    """Of 99 kinds."""
    if zone == "island":
        return weight * 3.75 + 12
    return weight * 1.25
''',
    "java": """double surcharge(double weight, String zone) {
    if (zone.equals("island")) { return weight * 3.75 + 12; } // 99
    return weight * 1.25;
}""",
    "c": """double surcharge(double weight, const char *zone) {
    if (strcmp(zone, "island") == 0) { return weight * 3.75 + 12; } /* 99 */
    return weight * 1.25;
}""",
    "rust": """fn surcharge(weight: f64, zone: &str) -> f64 {
    if zone == "island" { return weight * 3.75 + 12.0; } // 99
    weight * 1.25
}""",
    "go": """func surcharge(weight float64, zone string) float64 {
    if zone == "island" { return weight*3.75 + 12 } // 99
    return weight * 1.25
}""",
}


@pytest.mark.parametrize("language", list(RULE))
def test_features_are_counted_alike_in_every_language(language: Language) -> None:
    found = features_of(language, RULE[language])
    assert (found.literals, found.branches, found.arithmetic) == (4, 1, 3)
    # weight, zone, island and the function's own name; comments and docstrings say nothing.
    assert found.words >= 4
    assert severity_of(found) >= 4


def test_glue_is_rated_below_a_rule() -> None:
    glue = (
        "def load_all(self, paths):\n    for path in paths:\n        self.load(path)\n    return self.items\n"
    )
    assert severity_of(features_of("python", glue)) <= 2
    rule = RULE["python"]
    more = rule.replace(
        "    return weight * 1.25", "    if weight > 31.5:\n        return 88 % weight\n    return 7"
    )
    assert severity_of(features_of("python", more)) > severity_of(features_of("python", glue)) + 2
    assert severity_of(features_of("python", "")) == 1


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ('{"severity": 7, "reasoning": "rules"}', 7),
        ('Sure!\n```json\n{"severity": "8", "reasoning": "x"}\n```', 8),
        ('{"severity": 7.0}', 7),
        ("6", 6),
        ("**4**", 4),
        ("9/10", 9),
        ("Severity: 3. It has some logic.", 3),
        ("On the scale of 1 to 10, severity is 5/10.", 5),
    ],
)
def test_ratings_in_many_forms(text: str, rating: int) -> None:
    assert read_rating(text, key="severity", low=1, high=10) == (rating, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I cannot rate this.", "no rating"),
        ('{"severity": 11}', "outside 1 to 10"),
        ('{"severity": 0}', "outside 1 to 10"),
        ('{"severity": 6.5}', "no whole number"),
        ('{"severity": NaN}', "no whole number"),
        ('{"severity": 4} {"severity": 6}', "differ"),
        ('{"severity": true}', "no rating"),
        ("\u0000\u202e" * 1000, "no rating"),
    ],
)
def test_what_is_no_rating_is_a_failure_with_a_reason(text: str, why: str) -> None:
    rating, failure = read_rating(text, key="severity", low=1, high=10)
    assert rating is None
    assert why in failure


def test_kappa_is_that_of_scikit_learn() -> None:
    chance = np.random.default_rng(2)
    one = chance.integers(1, 11, 200)
    other = np.clip(one + chance.integers(-2, 3, 200), 1, 10)
    expected = cohen_kappa_score(one, other, weights="quadratic")
    assert weighted_kappa(one, other) == pytest.approx(expected, abs=1e-9)
    found = agreement([*map(int, one), None], [*map(int, other), 3], threshold=5, rounds=200)
    assert found.functions == 200
    assert found.kappa == pytest.approx(expected, abs=1e-9)
    assert found.kappa_interval is not None
    assert found.kappa_interval[0] < expected < found.kappa_interval[1]
    assert found.exact.numerator == int((one == other).sum())
    assert found.within_one.numerator == int((abs(one - other) <= 1).sum())
    assert found.passed.numerator == int(((one >= 5) == (other >= 5)).sum())
    alone = agreement([4, 4], [4, 4], threshold=3, rounds=10)
    assert (alone.kappa, alone.spearman, alone.exact.numerator) == (None, None, 2)
    assert agreement([None], [3], threshold=3, rounds=10).functions == 0


def test_labels_are_looked_up_and_others_stay_unrated(tmp_path: Path) -> None:
    functions = tuple(load("language", "python")().scan(RULE["python"], path="a.py").functions)
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"function": "a.py::surcharge", "severity": 9}\n\n', encoding="utf-8")
    (found,) = open_rater(f"labels:{labels}").rate(functions)
    assert found.value == 9
    labels.write_text('{"function": "b.py::other", "severity": 9}\n', encoding="utf-8")
    (found,) = open_rater(f"labels:{labels}").rate(functions)
    assert found.value is None
    assert "does not name it" in found.note


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "no label"),
        ('{"function": "a", "severity": 11}', "no label"),
        ('{"function": "a", "severity": 3.5}', "no label"),
        ('{"function": "a", "severity": true}', "no label"),
        ('{"function": "a", "severity": 3}\n{"function": "a", "severity": 4}', "two labels"),
    ],
)
def test_bad_labels_are_told_with_their_place(tmp_path: Path, text: str, why: str) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=why) as caught:
        open_rater(f"labels:{labels}")
    assert str(labels) in str(caught.value)


@pytest.mark.parametrize(
    "spec", ["", "judge", "labels:", "local:x", "replay:a.jsonl", "labels:/no/such/file"]
)
def test_what_rates_nothing_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        open_rater(spec)


def test_the_command_rates_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.py"
    source.write_text(
        RULE["python"] + "\n\n" + RULE["python"].replace("surcharge", "rebate"), encoding="utf-8"
    )
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"function": "a.py::rebate", "severity": 2}\n', encoding="utf-8")
    arguments = ["severity", str(source), "--min-lines", "1", "--store", str(tmp_path / "store")]
    assert main([*arguments, "--by", "local", "--by", f"labels:{labels}"]) == 0
    shown = capsys.readouterr()
    rows = [json.loads(line) for line in shown.out.splitlines()]
    assert [row["function"] for row in rows] == ["a.py::surcharge", "a.py::rebate"]
    assert rows[0]["severity"][f"labels:{labels}"]["value"] is None
    assert rows[1]["severity"][f"labels:{labels}"]["value"] == 2
    assert rows[0]["severity"]["local"]["signature"].startswith(
        "local|severity|version:1|tree-sitter-python:"
    )
    assert "1 functions rated by both" in shown.err
    assert "alike on 3" in shown.err
    assert not (tmp_path / "store").exists()
    other = tmp_path / "other.jsonl"
    other.write_text('{"function": "b.py::f", "severity": 2}\n', encoding="utf-8")
    assert main([*arguments, "--by", f"labels:{other}"]) == 6
    assert main([*arguments, "--by", "local", "--by", "local"]) == 4
    assert main(["severity", str(tmp_path / "none.py")]) == 4
