"""``funcmem proxies`` and ``funcmem sweep`` on reports with planted figures."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from pytest_funcmem.cli import main

Lines = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


def planted(line: Lines, count: int = 120) -> list[dict[str, Any]]:
    """Functions whose score ``good`` follows execution and whose score ``poor`` does not."""
    chance = random.Random(5)
    lines = []
    for number in range(count):
        alike = number % 6 == 0
        func = 1.0 if alike else chance.choice((0.0, 0.0, 0.2, 0.5))
        scores = {
            "good": min(1.0, max(0.0, chance.gauss(0.7 if alike else 0.3, 0.15))),
            "poor $x$": chance.random() if number % 10 else None,
        }
        target = {"func": func, "bleu": chance.random() * 0.7, "scores": scores}
        verdict = "functional" if alike else "clean"
        lines.append(line(number, verdict=verdict, target=target, reference={"scores": {"good": 0.2}}))
    return lines


def test_planted_figures_come_out(
    line: Lines, write_results: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = planted(line)
    report = write_results(*lines)
    out = tmp_path / "study.json"
    assert main(["proxies", str(report), "-o", str(out), "--budget", "20", "--resamples", "200"]) == 0
    study = json.loads(out.read_text())
    flags = [row["verdict"] == "functional" for row in lines]
    scores = [row["target"]["scores"]["good"] for row in lines]
    good = next(item for item in study["scores"] if item["name"] == "good")
    assert good["curve"]["auc"] == pytest.approx(roc_auc_score(flags, scores), abs=1e-9)
    assert good["auc_interval"][0] < good["curve"]["auc"] < good["auc_interval"][1]
    poor = next(item for item in study["scores"] if item["name"] == "poor $x$")
    assert poor["missing"] == 12
    assert (study["positive"]["numerator"], study["positive"]["denominator"]) == (20, 120)
    assert study["intervals"]["auc"] == "95 %, percentile bootstrap, positives and negatives drawn apart"
    step = next(item for item in study["cascade"]["steps"] if item["executed"] == 20)
    best = sorted(zip(scores, flags, strict=True), reverse=True)[:20]
    assert step["found"]["good"] == sum(flag for _, flag in best)
    assert step["random"] == pytest.approx(20 * 20 / 120)
    shown = capsys.readouterr().out
    assert "120 functions, 120 completions executed (target)" in shown
    assert "random order" in shown
    first = out.read_bytes()
    assert main(["proxies", str(report), "-o", str(out), "--budget", "20", "--resamples", "200"]) == 0
    assert out.read_bytes() == first


def test_sides_and_ranks_can_be_chosen(line: Lines, write_results: Write, tmp_path: Path) -> None:
    report = write_results(*planted(line))
    out = tmp_path / "study.json"
    arguments = ["proxies", str(report), "-o", str(out), "--resamples", "20"]
    for side, executed in (("target", 120), ("reference", 120), ("both", 240)):
        assert main([*arguments, "--side", side, "--rank", "score", "--fpr", "0.1"]) == 0
        study = json.loads(out.read_text())
        assert study["executed"] == executed
        assert [item["wanted"] for item in study["scores"][0]["operations"]] == [0.1]


def size_of(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def test_images_are_drawn_the_same_each_time(line: Lines, write_results: Write, tmp_path: Path) -> None:
    report = write_results(*planted(line))
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first, second):
        assert main(["proxies", str(report), "--images", str(place), "--resamples", "20"]) == 0
        assert main(["sweep", str(report), "--images", str(place)]) == 0
    names = sorted(path.name for path in first.iterdir())
    assert names == ["cascade.png", "correlation.png", "roc.png", "sweep.png"]
    for name in names:
        assert min(size_of(first / name)) >= 600
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert main(["sweep", str(report), "--images", str(tmp_path), "--format", "svg"]) == 0
    assert "<svg" in (tmp_path / "sweep.svg").read_text()


def test_one_class_or_no_leak_is_told_not_drawn(
    line: Lines, write_results: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = write_results(*(line(number) for number in range(5)))
    assert main(["proxies", str(report), "--images", str(tmp_path), "--resamples", "20"]) == 0
    shown = capsys.readouterr().out
    assert "no leak to be found" in shown
    assert "n/a" in shown
    assert size_of(tmp_path / "roc.png")


def test_a_sweep_counts_verdicts_under_each_threshold(
    line: Lines, write_results: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = write_results(
        line(0, verdict="functional", target={"func": 0.8}),
        line(1, verdict="functional", target={"func": 1.0}),
        line(2, verdict="verbatim", target={"func": 1.0, "bleu": 0.77}),
        line(3, verdict="clean", harness={"stub": 0.6}),
        line(
            4,
            verdict="inconclusive",
            reason="coverage: 2 lines are missing",
            target={"func": None},
            reference={"func": None},
            harness={"sha256": None, "coverage": 0.72, "valid": 10, "stub": None},
        ),
        line(5, verdict="error", target={"bleu": None, "func": None}, harness={"sha256": None}),
    )
    out = tmp_path / "sweep.json"
    assert main(["sweep", str(report), "-o", str(out)]) == 0
    found = json.loads(out.read_text())
    counts = {(point["setting"], point["value"]): point["counts"] for point in found["points"]}
    audited = {"functional": 2, "verbatim": 1, "clean": 1, "inconclusive": 1, "error": 1, "unknown": 0}
    for setting, value in (("tau_func", 0.8), ("tau_text", 0.75), ("min_coverage", 0.8), ("min_inputs", 8)):
        assert counts[setting, value] == audited
    assert counts["tau_func", 0.9] == {**audited, "functional": 1, "clean": 2}
    assert counts["tau_func", 0.6] == {**audited, "clean": 0, "inconclusive": 2}
    assert counts["tau_text", 0.8] == {**audited, "verbatim": 0, "functional": 3}
    assert counts["min_coverage", 0.7] == {**audited, "inconclusive": 0, "unknown": 1}
    assert found["near"]["a.py::f0"] == {
        "verdict": "functional",
        "changes": [{"under": "tau_func=0.9", "verdict": "clean"}],
    }
    assert found["near"]["a.py::f4"]["changes"] == [{"under": "min_coverage=0.7", "verdict": None}]
    shown = capsys.readouterr().out
    assert "verdict changes under" in shown
    assert "clean at tau_func=0.9" in shown
    assert "not known without a new run at min_coverage=0.7" in shown


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": {"func": 1.5}}, "'target.func' is not what an audit writes"),
        ({"target": {"func": "high"}}, "'target.func' is not what an audit writes"),
        ({"target": {"scores": {"m": -1}}}, "'target.m' is not what an audit writes"),
        ({"target": {"scores": [1]}}, "'target.scores' is not what an audit writes"),
        ({"target": {"func": None}}, "'func' is not what an audit writes"),
        ({"verdict": "leaky"}, "'verdict' is not what an audit writes"),
    ],
)
def test_reports_with_other_figures_are_refused(
    line: Lines, write_results: Write, capsys: pytest.CaptureFixture[str], change: dict[str, Any], said: str
) -> None:
    report = write_results(line(0, **change))
    assert main(["proxies", str(report)]) == 4
    error = capsys.readouterr().err
    assert said in error
    assert f"{report}:2" in error


def test_reports_that_cannot_be_pooled_are_refused(
    line: Lines, write_results: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_results(line(0), name="first.jsonl")
    other = write_results(line(1), name="other.jsonl", tau_func=0.9)
    assert main(["sweep", str(first), str(other)]) == 4
    assert "different thresholds" in capsys.readouterr().err
    assert main(["sweep", str(first), str(first)]) == 4
    assert "of the same function and model" in capsys.readouterr().err
    assert main(["sweep", str(first), str(write_results(line(2), name="third.jsonl"))]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fpr", "0.1,x"], "no list of false-positive rates"),
        (["--fpr", "0"], "no list of false-positive rates"),
        (["--tau-func", "nan"], "not a value of --tau-func"),
        (["--budget", "0"], "not a value of --budget"),
        (["--resamples", "0"], "not a value of --resamples"),
    ],
)
def test_wrong_arguments_are_told(
    line: Lines,
    write_results: Write,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    assert main(["proxies", str(write_results(line(0))), *arguments]) == 4
    assert said in capsys.readouterr().err


def test_results_without_execution_or_functions_are_told(
    line: Lines, write_results: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = {"target": {"func": None}, "reference": {"func": None}, "harness": {"sha256": None}}
    report = write_results(line(0, verdict="inconclusive", reason="language: none", **lacking))
    assert main(["proxies", str(report)]) == 4
    assert "was executed" in capsys.readouterr().err
    assert main(["sweep", str(write_results(name="empty.jsonl"))]) == 4
    assert "no function in these results" in capsys.readouterr().err


def test_images_without_matplotlib_say_what_to_install(
    line: Lines,
    write_results: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["sweep", str(write_results(line(0))), "--images", str(tmp_path)]) == 4
    assert "pip install 'pytest-funcmem[plots]'" in capsys.readouterr().err


def test_a_reader_that_stops_reading_ends_the_command_quietly(line: Lines, write_results: Write) -> None:
    import subprocess
    import sys

    report = write_results(*(line(number) for number in range(3)))
    command = [sys.executable, "-m", "pytest_funcmem.cli", "sweep", str(report)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, b"")
