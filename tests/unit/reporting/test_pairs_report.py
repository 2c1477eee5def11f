"""The report of pairs: what ``funcmem score`` reads is what an audit's metrics compare."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from pytest_funcmem.audit.scoring import compared_pair
from pytest_funcmem.cli import main
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.core.registry import load
from pytest_funcmem.reporting.pairs_report import PairsReporter


def test_each_side_of_each_record_is_a_pair(
    functional_record: AuditRecord, error_record: AuditRecord, tmp_path: Path
) -> None:
    assert load("reporter", "pairs") is PairsReporter
    path = tmp_path / "pairs.jsonl"
    bare = dataclasses.replace(error_record, target=None, reference=None)
    PairsReporter(Settings()).write({}, [functional_record, bare], ["a.py::f", "a.py::g"], path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["a.py::f#target", "a.py::f#reference"]
    for row, side in zip(rows, (functional_record.target, functional_record.reference), strict=True):
        assert side is not None
        pair = compared_pair("judge", functional_record.function, side)
        assert (row["language"], row["original"], row["candidate"]) == (
            pair.language,
            pair.original,
            pair.candidate,
        )
        assert row["original"] == functional_record.function.code
    scores = tmp_path / "scores.jsonl"
    assert main(["score", str(path), "--metrics", "exact", "-o", str(scores)]) == 0
    assert len(scores.read_text(encoding="utf-8").splitlines()) == 2


def test_pairs_are_code_and_not_written_under_a_mask() -> None:
    with pytest.raises(UsageError, match="masked"):
        PairsReporter(Settings(mask=True))
