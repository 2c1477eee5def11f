"""The Markdown report: what it says, and that an audit's text cannot become markup in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.core.registry import load
from pytest_funcmem.reporting.markdown_report import MarkdownReporter
from pytest_funcmem.reporting.run_facts import headline

MANIFEST: dict[str, Any] = {"settings": {"model": "hf:t", "reference": "hf:r"}, "selected": 4, "reported": 3}


def render(
    records: list[AuditRecord],
    tmp_path: Path,
    nodeids: list[str] | None = None,
    manifest: dict[str, Any] = MANIFEST,
) -> str:
    path = tmp_path / "out.md"
    names = nodeids or [f"a.py::f{number}" for number in range(len(records))]
    MarkdownReporter(Settings()).write(manifest, records, names, path)
    return path.read_text(encoding="utf-8")


def test_it_says_what_leaked_how_often_and_what_is_missing(
    functional_record: AuditRecord, verbatim_record: AuditRecord, error_record: AuditRecord, tmp_path: Path
) -> None:
    assert load("reporter", "md") is MarkdownReporter
    text = render([functional_record, verbatim_record, error_record], tmp_path)
    assert text.startswith("## funcmem: 2 leaks in 3 functions\n")
    assert "| 1 | 1 | 0 | 0 | 1 | 2 of 3 (66.7 %) |" in text
    assert "| all | all leaks | 100.0 % (2/2) | 15.8 to 100.0 % | 0.0 % (0/1) | 0.0 to 97.5 % |" in text
    assert "**Incomplete**: 1 selected function not reached." in text
    assert "**1 function** could not be audited" in text
    assert "| functional | `a.py::f0` | 0.90, 0.10 | 0.39, 0.00 |" in text
    assert "| verbatim | `a.py::f1` | n/a, n/a |" in text
    assert "a.py::f2" not in text


def test_it_says_how_the_gate_decided_and_what_is_accepted(
    functional_record: AuditRecord, verbatim_record: AuditRecord, tmp_path: Path
) -> None:
    gate = {"model": "hf:t", "exit_code": 0, "rule": "clean", "reason": "2 of 2 functions decided"}
    manifest = {
        "settings": {"model": ["hf:t", "hf:u"], "reference": "hf:r"},
        "gate": [gate, {**gate, "model": "hf:u", "settled": "enough is known"}],
        "baseline": {"accepted": ["a.py::f0"], "counted": ["a.py::f1"]},
    }
    text = render([functional_record, verbatim_record], tmp_path, manifest=manifest)
    assert "Targets `hf:t`, `hf:u`, reference `hf:r`." in text
    assert "Gate: `hf:t passes (rule 'clean', exit code 0): 2 of 2 functions decided`" in text
    assert "ended early: enough is known" in text
    assert "| functional, accepted | `a.py::f0` |" in text
    assert "| verbatim, counted | `a.py::f1` |" in text


def test_several_models_stand_apart(
    functional_record: AuditRecord, verbatim_record: AuditRecord, tmp_path: Path
) -> None:
    manifest = {"settings": {"model": ["hf:runs/early", "hf:runs/late"], "reference": "hf:r"}}
    names = ["a.py::f[early]", "a.py::g[early]", "a.py::g[late]"]
    path = tmp_path / "out.md"
    records = [functional_record, verbatim_record, verbatim_record]
    MarkdownReporter(Settings(model=("hf:runs/early", "hf:runs/late"))).write(manifest, records, names, path)
    text = path.read_text(encoding="utf-8")
    assert "| `early` | 1 | 1 | 0 | 0 | 0 | 2 of 2 (100.0 %) |" in text
    assert "| `late` | 0 | 1 | 0 | 0 | 0 | 1 of 1 (100.0 %) |" in text
    assert "| `early` | all leaks | 100.0 % (2/2) |" in text
    assert "| `late` | functional | 0.0 % (0/1) |" in text
    assert "(3/3)" not in text


def test_a_run_without_leaks_lists_none(functional_record: AuditRecord, tmp_path: Path) -> None:
    clean = dataclasses.replace(
        functional_record, verdict=dataclasses.replace(functional_record.verdict, kind="clean")
    )
    text = render([clean], tmp_path)
    assert text.startswith("## funcmem: 0 leaks in 1 function\n")
    assert "SIM_func" not in text


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("a|b", "`a\\|b`"),
        ("a`b", "``a`b``"),
        ("`a``", "``` `a`` ```"),
        ("<img src=x>", "`<img src=x>`"),
        ("a\nb", "`a\\nb`"),
        ("@everyone", "`@everyone`"),
    ],
)
def test_text_of_an_audit_stands_in_code_spans(
    functional_record: AuditRecord, tmp_path: Path, name: str, span: str
) -> None:
    text = render([functional_record], tmp_path, [name])
    assert f"| functional | {span} | " in text


def test_a_job_summary_stays_small(functional_record: AuditRecord, tmp_path: Path) -> None:
    text = render([functional_record] * 3000, tmp_path, ["x" * 400] * 3000)
    assert "and 2900 more leaks." in text
    assert len(text) < 100_000


def test_results_of_several_models_are_not_called_functions() -> None:
    settings = {"settings": {"model": ["replay:a", "replay:b"]}}
    assert headline(settings, leaks=1, results=6) == "funcmem: 1 leak in 6 results of 2 models"
    assert headline({}, leaks=2, results=1) == "funcmem: 2 leaks in 1 function"
