"""``funcmem score``: rows in, scores out, and what it says of bad rows."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.cli import main
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.registry import REGISTRY, load
from pytest_funcmem.metrics import text_similarity
from pytest_funcmem.metrics.choice import DEFAULT_METRICS, open_metric, split_names

ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "language": "python",
        "original": "def f(a):\n    return a",
        "candidate": "def f(b):\n  return b",
    },
    {"id": 2, "language": "Go", "original": "func f() { x := 1; g(x) }", "candidate": "not code \u0000 שלום"},
    {"id": "c", "language": "c", "original": "", "candidate": "int f() { return 1; }", "other": [1]},
    {"id": "d", "language": "rust", "original": "fn f() {}", "candidate": "x" * 1_000_000},
]


def write(path: Path, *rows: Any) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return str(path)


def test_every_row_gets_every_score_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "pairs.jsonl", *ROWS)
    assert main(["score", file]) == 0
    shown = capsys.readouterr()
    found = [json.loads(line) for line in shown.out.splitlines()]
    assert [(row["id"], row["language"]) for row in found] == [
        ("a", "python"),
        ("2", "go"),
        ("c", "c"),
        ("d", "rust"),
    ]
    for row in found:
        assert tuple(row["scores"]) == DEFAULT_METRICS
        for name, score in row["scores"].items():
            assert score["value"] is None or 0 <= score["value"] <= 1
            assert score["value"] is not None or score["note"]
            assert score["signature"].lower().startswith(name.split("-")[0])
    assert found[2]["scores"]["tsed"] == {
        **found[2]["scores"]["tsed"],
        "value": 0.0,
        "note": "the original is empty",
    }
    assert "does not parse as go" in found[1]["scores"]["codebleu"]["note"]
    assert "only the first 100000 characters of the candidate" in found[3]["scores"]["codebleu"]["note"]
    assert shown.err.startswith("4 pairs\n")
    assert "codebleu-dataflow" in shown.err


def test_text_metrics_are_those_of_verdicts() -> None:
    for row in ROWS[:3]:
        pair = CodePair(language="python", original=row["original"], candidate=row["candidate"])
        whole = text_similarity(pair.original, pair.candidate)
        for name, part in (("bleu", whole.bleu), ("edit", whole.edit), ("lcs", whole.lcs)):
            score = load("metric", name)().scores([pair])[0]
            assert (score.value, score.signature) == (part.value, part.signature)
        assert load("metric", "exact")().scores([pair])[0].value == float(whole.exact)


def test_an_output_file_is_whole_or_not_there(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.jsonl", *ROWS[:2])
    out = tmp_path / "scores.jsonl"
    assert main(["score", file, "--metrics", "bleu,exact", "-o", str(out)]) == 0
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == ["a", "2"]
    out.unlink()
    bad = write(tmp_path / "bad.jsonl", ROWS[0], {"id": "x"})
    assert main(["score", bad, "--metrics", "bleu", "-o", str(out)]) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "pairs.jsonl"]
    assert main(["score", file, "--metrics", "bleu", "-o", str(tmp_path / "no" / "x")]) == 4


def test_pairs_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(b"\xef\xbb\xbf" + json.dumps(ROWS[0]).encode() + b"\n\n")

    monkeypatch.setattr(sys, "stdin", Input())
    assert main(["score", "-", "--metrics", "exact"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["exact"]["value"] == 0.0


def test_a_metric_without_any_figure_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "id": "a",
        "language": "python",
        "original": "def f():\n    pass",
        "candidate": "def f():\n    pass",
    }
    assert main(["score", write(tmp_path / "p", row), "--metrics", "codebleu-dataflow"]) == 6
    assert "no figure, 1 without a figure" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "holds no pairs"),
        (b"\n \n", "holds no pairs"),
        (b"{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'"text"', "is no JSON object"),
        (b'{"id": "a\xff"}', "is not UTF-8"),
        (b'{"id": "a", "language": "python", "original": "x"}', "has no 'candidate'"),
        (b'{"id": "a", "language": "python", "original": 1, "candidate": "x"}', "'original' is no text"),
        (b'{"id": true, "language": "python", "original": "", "candidate": "x"}', "'id' is no text"),
        (b'{"id": "a", "language": "cobol", "original": "", "candidate": "x"}', "'cobol' is not one"),
    ],
)
def test_a_bad_row_is_told_with_its_place(
    line: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pairs.jsonl"
    good = json.dumps(ROWS[0]).encode() + b"\n" if line.strip() else b""
    file.write_bytes(good + line)
    assert main(["score", str(file), "--metrics", "bleu"]) == 4
    shown = capsys.readouterr()
    assert why in shown.err
    assert shown.out == ""
    assert (f"{file}:2" if good else str(file)) in shown.err
    assert "remedy:" in shown.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--metrics", "blue"], "no metric named 'blue'"),
        (["--metrics", ","], "No metric is named"),
        (["--metrics", "bleu,bleu"], "named twice"),
        (["--metrics", "judge"], "names no model"),
        (["--metrics", "embedding:"], "names no model"),
        (["--metrics", "tsed:x"], "takes nothing after it"),
        (["--max-cost", "-1"], "cost cap"),
        (["--max-cost", "nan"], "cost cap"),
        (["--price", "cheap"], "is no price"),
    ],
)
def test_wrong_arguments_are_told(
    arguments: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", write(tmp_path / "p", ROWS[0]), *arguments]) == 4
    assert why in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(tmp_path / "none")]) == 4
    assert "cannot be read" in capsys.readouterr().err


def test_names_with_commas_inside_stay_whole() -> None:
    assert split_names(" bleu, tsed ,codebleu-syntax") == ("bleu", "tsed", "codebleu-syntax")
    instruction = "embedding:qwen3-4b?instruction=Find code, then compare"
    assert split_names(f"bleu,{instruction},judge:ours@hf:x,exact") == (
        "bleu",
        instruction,
        "judge:ours@hf:x",
        "exact",
    )
    with pytest.raises(UsageError):
        split_names("bleu,nothing")


def test_every_metric_is_in_the_registry_and_named_as_there() -> None:
    assert set(DEFAULT_METRICS) | {"embedding", "judge"} == set(REGISTRY["metric"])
    for name in DEFAULT_METRICS:
        metric = open_metric(name)
        assert metric.name == name
        assert metric.scores([]) == ()
        metric.close()
