"""The JSON Schema that is shipped: it takes what this version writes and refuses what it must not write."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.reporting.json_report import JsonReporter, report_schema
from tests.conftest import require


@pytest.fixture
def validator() -> Any:
    require(find_spec("jsonschema") is not None, "jsonschema")
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(report_schema())
    return jsonschema.Draft202012Validator(report_schema())


@pytest.fixture
def lines(
    functional_record: AuditRecord, verbatim_record: AuditRecord, error_record: AuditRecord, tmp_path: Path
) -> list[dict[str, Any]]:
    records = [functional_record, verbatim_record, error_record]
    manifest = {"tool": {"name": "pytest-funcmem", "version": "0.1"}}
    path = tmp_path / "out.jsonl"
    JsonReporter(Settings()).write(manifest, records, ["a::f", "a::g", "a::h"], path)
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_every_line_that_is_written_is_valid(validator: Any, lines: list[dict[str, Any]]) -> None:
    assert [line["kind"] for line in lines] == ["manifest", "function", "function", "function", "summary"]
    for line in lines:
        assert [error.message for error in validator.iter_errors(line)] == []


@pytest.mark.parametrize(
    ("number", "damage"),
    [
        pytest.param(0, lambda line: line.update(format_version=2), id="version"),
        pytest.param(1, lambda line: line.update(verdict="leak"), id="verdict"),
        pytest.param(1, lambda line: line["target"].update(func=1.5), id="share"),
        pytest.param(1, lambda line: line["target"].pop("matches"), id="field-gone"),
        pytest.param(1, lambda line: line["function"].update(language="perl"), id="language"),
        pytest.param(1, lambda line: line["harness"].update(sha256="abc"), id="digest"),
        pytest.param(4, lambda line: line["rates"]["leaks"].pop("interval"), id="interval"),
        pytest.param(4, lambda line: line["counts"].pop("error"), id="count"),
    ],
)
def test_damage_is_refused(
    validator: Any, lines: list[dict[str, Any]], number: int, damage: Callable[[dict[str, Any]], object]
) -> None:
    line = copy.deepcopy(lines[number])
    damage(line)
    assert not validator.is_valid(line)
