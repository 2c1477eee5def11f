"""The SARIF report: valid by its schema, with leaks at their places in the audited source."""

from __future__ import annotations

import dataclasses
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.core.registry import load
from pytest_funcmem.reporting.masking import mask
from pytest_funcmem.reporting.sarif_report import SarifReporter
from tests.conftest import ROOT, require

MANIFEST: dict[str, Any] = {
    "tool": {"name": "pytest-funcmem", "version": "0.1"},
    "settings": {"model": "hf:t", "reference": "hf:r"},
}


@pytest.fixture
def schema() -> Any:
    """OASIS's schema; tests/schemas says where it is from."""
    require(find_spec("jsonschema") is not None, "jsonschema")
    import jsonschema

    text = (ROOT / "tests" / "schemas" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8")
    return jsonschema.Draft4Validator(json.loads(text))


def render(
    records: list[AuditRecord], path: Path, settings: Settings | None = None, nodeid: str = "a.py::f"
) -> Any:
    SarifReporter(settings or Settings()).write(MANIFEST, records, [nodeid] * len(records), path)
    return json.loads(path.read_text(encoding="utf-8"))


def test_it_holds_to_the_schema(
    functional_record: AuditRecord,
    verbatim_record: AuditRecord,
    error_record: AuditRecord,
    tmp_path: Path,
    schema: Any,
) -> None:
    assert load("reporter", "sarif") is SarifReporter
    log = render([functional_record, verbatim_record, error_record], tmp_path / "out.sarif")
    assert [error.message for error in schema.iter_errors(log)] == []
    broken = {**log, "runs": [{"results": []}]}
    assert any("tool" in error.message for error in schema.iter_errors(broken))


def test_leaks_are_results_and_errors_notifications(
    functional_record: AuditRecord, verbatim_record: AuditRecord, error_record: AuditRecord, tmp_path: Path
) -> None:
    clean = dataclasses.replace(
        functional_record, verdict=dataclasses.replace(functional_record.verdict, kind="clean")
    )
    log = render([functional_record, clean, verbatim_record, error_record], tmp_path / "out.sarif")
    run = log["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["functional", "verbatim"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1
    assert run["properties"]["counts"]["clean"] == 1
    digest = text_digest(functional_record.function.code)
    assert run["results"][0]["partialFingerprints"] == {"functionAndVerdict/v1": f"{digest}:functional"}


def test_accepted_leaks_are_suppressed(
    functional_record: AuditRecord, tmp_path: Path, schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert render([functional_record], tmp_path / "a")["runs"][0]["results"][0]["suppressions"] == []
    monkeypatch.setitem(MANIFEST, "baseline", {"accepted": ["a.py::f"]})
    log = render([functional_record], tmp_path / "b")
    assert [item["kind"] for item in log["runs"][0]["results"][0]["suppressions"]] == ["external"]
    assert schema.is_valid(log)


def test_each_of_several_models_has_a_run(
    functional_record: AuditRecord, verbatim_record: AuditRecord, tmp_path: Path, schema: Any
) -> None:
    """Results of two models at one place must not be taken for one."""
    path = tmp_path / "out.sarif"
    specs = ("hf:runs/early", "hf:runs/late")
    names = ["a.py::f[early]", "a.py::g[early]", "a.py::g[late]"]
    records = [functional_record, verbatim_record, verbatim_record]
    SarifReporter(Settings(model=specs)).write(MANIFEST, records, names, path)
    log = json.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in schema.iter_errors(log)] == []
    runs = log["runs"]
    assert [run["automationDetails"]["id"] for run in runs] == ["funcmem/early/", "funcmem/late/"]
    assert [[result["ruleId"] for result in run["results"]] for run in runs] == [
        ["functional", "verbatim"],
        ["verbatim"],
    ]
    assert [run["properties"]["target"] for run in runs] == list(specs)
    assert [run["properties"]["counts"]["verbatim"] for run in runs] == [1, 1]
    results = [result for run in runs for result in run["results"]]
    assert len({result["partialFingerprints"]["functionAndVerdict/v1"] for result in results}) == 3
    assert "[late]: " in results[2]["message"]["text"]
    one = render([functional_record], tmp_path / "one.sarif")["runs"][0]
    assert "automationDetails" not in one


def test_places_are_those_of_the_audited_source(
    functional_record: AuditRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src" / "billing").mkdir(parents=True)
    (tmp_path / "src" / "billing" / "invoices.py").touch()
    settings = Settings(source=("src",))

    def place(record: AuditRecord, settings: Settings) -> Any:
        log = render([record], tmp_path / "out.sarif", settings)
        return log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]

    found = place(functional_record, settings)
    assert found["artifactLocation"] == {"uri": "src/billing/invoices.py", "uriBaseId": "%SRCROOT%"}
    assert found["region"] == {"startLine": 4, "endLine": 18}
    row = place(functional_record, Settings(source=("data.jsonl",)))
    assert row["artifactLocation"] == {"uri": "billing/invoices.py", "uriBaseId": "%SRCROOT%"}
    odd = dataclasses.replace(
        functional_record, function=dataclasses.replace(functional_record.function, path="a b#\ud800.py")
    )
    assert place(odd, settings)["artifactLocation"]["uri"] == "a%20b%23%ED%A0%80.py"
    monkeypatch.chdir(tmp_path / "src" / "billing")
    outside = place(functional_record, Settings(source=(str(tmp_path / "src"),)))
    assert outside["artifactLocation"]["uri"] == "invoices.py"
    monkeypatch.chdir("/")
    masked = place(mask(functional_record), Settings(source=(str(tmp_path / "src"),)))
    assert masked["region"] == {"startLine": 4}
