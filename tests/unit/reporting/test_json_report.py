"""The JSON report: exact lines, stable bytes, and reading it back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import AuditError, UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.core.registry import load
from pytest_funcmem.reporting.json_report import JsonReporter, function_line, read_report

MANIFEST: dict[str, Any] = {
    "tool": {"name": "pytest-funcmem", "version": "0.1"},
    "started": "2026-01-01T00:00:00",
}
NODEIDS = ["a.py::f", "a.py::g\ud800", "a.py::h"]


@pytest.fixture
def records(
    functional_record: AuditRecord, verbatim_record: AuditRecord, error_record: AuditRecord
) -> list[AuditRecord]:
    return [functional_record, verbatim_record, error_record]


@pytest.fixture
def written(records: list[AuditRecord], tmp_path: Path) -> Path:
    path = tmp_path / "out.jsonl"
    JsonReporter(Settings()).write(MANIFEST, records, NODEIDS, path)
    return path


def test_snapshot(written: Path, golden: Callable[[str, str], None]) -> None:
    lines = written.read_text(encoding="ascii").splitlines()
    golden("json_report", "\n".join(json.dumps(json.loads(line), indent=1) for line in lines))


def test_one_object_a_line_manifest_first_summary_last(written: Path) -> None:
    lines = [json.loads(line) for line in written.read_text(encoding="ascii").splitlines()]
    assert [line["kind"] for line in lines] == ["manifest", "function", "function", "function", "summary"]
    assert lines[0] == {"kind": "manifest", "format_version": 1, **MANIFEST}
    assert [line["nodeid"] for line in lines[1:-1]] == NODEIDS


def test_function_line_has_the_contract_s_fields(functional_record: AuditRecord) -> None:
    line = function_line(functional_record, "x::f")
    assert list(line) == [
        "kind",
        "nodeid",
        "function",
        "verdict",
        "reason",
        "model",
        "target",
        "reference",
        "harness",
        "sensitivity",
        "agent",
        "seconds",
        "cost",
    ]
    assert list(line["function"]) == ["id", "path", "qualname", "language", "line", "sha256", "severity"]
    assert line["function"]["id"] == functional_record.function.key
    figures = [
        "func",
        "bleu",
        "edit",
        "lcs",
        "exact",
        "matches",
        "candidate",
        "stop",
        "outcomes",
        "scores",
        "notes",
        "signatures",
    ]
    assert list(line["target"]) == list(line["reference"]) == figures
    assert (line["target"]["func"], line["target"]["matches"]) == (0.9, 9)
    assert list(line["harness"]) == [
        "builder",
        "inputs",
        "valid",
        "outputs",
        "coverage",
        "strength",
        "stub",
        "mock_share",
        "sha256",
    ]
    assert list(line["seconds"]) == ["generate", "build", "run"]


def test_absent_figures_are_null_never_zero(verbatim_record: AuditRecord, error_record: AuditRecord) -> None:
    line = function_line(verbatim_record, "x::f")
    assert (line["target"]["func"], line["target"]["matches"]) == (None, None)
    assert set(line["harness"].values()) == {None}
    assert line["cost"] is None
    broken = function_line(error_record, "x::f")
    assert broken["verdict"] == "error"
    assert set(broken["target"].values()) == set(broken["reference"].values()) == {None}
    assert broken["model"] is None


def test_rates_carry_counts_intervals_and_noise_floors(written: Path) -> None:
    summary = read_report(written).summary
    assert summary["counts"] == {"functional": 1, "verbatim": 1, "clean": 0, "inconclusive": 0, "error": 1}
    assert list(summary["rates"]) == [
        "functional",
        "functional_noise_floor",
        "verbatim",
        "verbatim_noise_floor",
        "leaks",
        "leaks_noise_floor",
        "conclusive",
    ]
    for rate in summary["rates"].values():
        assert list(rate) == ["numerator", "denominator", "value", "interval", "confidence"]
        assert len(rate["interval"]) == 2
    assert (summary["rates"]["leaks"]["numerator"], summary["rates"]["leaks"]["denominator"]) == (2, 2)
    assert summary["note"] == "no judge filtered these functions"


def test_only_seconds_depend_on_time(records: list[AuditRecord], tmp_path: Path) -> None:
    slower = [
        dataclasses.replace(record, seconds={"run": 9.0, "generate": 9.0, "build": 9.0}, reused=("build",))
        for record in records
    ]
    texts = []
    for name, chosen in (("a", records), ("b", records), ("c", slower)):
        JsonReporter(Settings()).write(MANIFEST, chosen, NODEIDS, tmp_path / name)
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]
    kept = [
        [
            {key: value for key, value in json.loads(line).items() if key != "seconds"}
            for line in text.splitlines()
        ]
        for text in texts
    ]
    assert kept[0] == kept[2]


def test_thresholds_of_the_run_make_the_noise_floor(functional_record: AuditRecord, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    JsonReporter(Settings(tau_func=0.95)).write(MANIFEST, [functional_record], ["x"], path)
    assert read_report(path).summary["rates"]["leaks_noise_floor"]["numerator"] == 0


def test_registry_names_the_reporter() -> None:
    assert load("reporter", "json") is JsonReporter


def test_report_is_replaced_as_a_whole(records: list[AuditRecord], written: Path) -> None:
    JsonReporter(Settings()).write(MANIFEST, records[:1], NODEIDS[:1], written)
    assert len(read_report(written).functions) == 1
    assert [path.name for path in written.parent.iterdir()] == ["out.jsonl"]


def test_failure_to_write_keeps_the_old_report(written: Path, records: list[AuditRecord]) -> None:
    before = written.read_bytes()
    with pytest.raises(ValueError, match="zip"):
        JsonReporter(Settings()).write(MANIFEST, records, NODEIDS[:1], written)
    assert written.read_bytes() == before
    assert [path.name for path in written.parent.iterdir()] == ["out.jsonl"]


def test_directory_that_is_not_there(records: list[AuditRecord], tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="could not be written") as caught:
        JsonReporter(Settings()).write(MANIFEST, records, NODEIDS, tmp_path / "none" / "out.jsonl")
    assert "none/out.jsonl" in str(caught.value)


def test_report_reads_back(written: Path) -> None:
    report = read_report(written)
    assert report.manifest["tool"]["name"] == "pytest-funcmem"
    assert [line["verdict"] for line in report.functions] == ["functional", "verbatim", "error"]


@pytest.mark.parametrize(
    ("damage", "place", "expected"),
    [
        pytest.param(lambda lines: lines[:-1], "out.jsonl", "a summary on the last line", id="cut-short"),
        pytest.param(lambda lines: lines[1:], "out.jsonl:1", "a manifest, then", id="no-manifest"),
        pytest.param(lambda lines: [*lines, lines[1]], "out.jsonl:6", "a manifest, then", id="after-the-end"),
        pytest.param(
            lambda lines: [lines[0], "{", *lines[2:]], "out.jsonl:2", "one JSON object", id="broken"
        ),
        pytest.param(lambda lines: [lines[0], "[1]", *lines[2:]], "out.jsonl:2", "kind is", id="no-object"),
        pytest.param(lambda lines: [], "out.jsonl", "a summary on the last line", id="empty"),
        pytest.param(
            lambda lines: [lines[0].replace('"format_version": 1', '"format_version": 2'), *lines[1:]],
            "out.jsonl:1",
            "format_version 1",
            id="another-format",
        ),
    ],
)
def test_what_is_no_whole_report_is_refused(written: Path, damage: Any, place: str, expected: str) -> None:
    lines = written.read_text(encoding="ascii").splitlines()
    written.write_text("\n".join(damage(lines)), encoding="ascii")
    with pytest.raises(UsageError) as caught:
        read_report(written)
    assert str(caught.value.where).endswith(place)
    assert str(caught.value.expected).startswith(expected) or expected in str(caught.value.expected)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_report(tmp_path / "none.jsonl")
