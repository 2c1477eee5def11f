"""The lines before and after a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rich.cells import cell_len

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Inconclusive
from pytest_funcmem.reporting.summary import header_lines, summary_lines
from pytest_funcmem.verdict import decide, summarise


def undecided(record: AuditRecord, reason: str, language: str = "python") -> AuditRecord:
    assert record.target is not None
    assert record.reference is not None
    harness = Inconclusive(reason=reason, detail="why")  # type: ignore[arg-type]
    return dataclasses.replace(
        record,
        function=dataclasses.replace(record.function, language=language),
        harness=harness,
        verdict=decide(target=record.target, reference=record.reference, harness=harness),
    )


def several(functional: AuditRecord, verbatim: AuditRecord, error: AuditRecord) -> list[AuditRecord]:
    return [
        functional,
        verbatim,
        error,
        undecided(functional, "coverage"),
        undecided(functional, "coverage"),
        undecided(functional, "language", "java"),
    ]


def test_summary_snapshot(
    functional_record: AuditRecord,
    verbatim_record: AuditRecord,
    error_record: AuditRecord,
    golden: Callable[[str, str], None],
) -> None:
    summary = summarise(several(functional_record, verbatim_record, error_record))
    counters = Counters(completions_reused=12, harnesses_reused=6, harnesses_built=1, candidates_reused=8)
    golden("summary", "\n".join(summary_lines(summary, counters=counters)))


def test_summary_of_one_language_has_one_table(functional_record: AuditRecord) -> None:
    text = "\n".join(summary_lines(summarise([functional_record])))
    assert "python" not in text
    assert "inconclusive  " not in text
    assert "1 of 1 function decided: 100.0 % (2.5 to 100.0 %)" in text
    assert "reused" not in text


def test_summary_of_nothing() -> None:
    lines = summary_lines(summarise([]))
    assert lines[0].startswith("verdicts      0 functional")
    assert "n/a" in "\n".join(lines)


def test_second_audit_says_that_nothing_was_made(functional_record: AuditRecord) -> None:
    counters = Counters(completions_reused=2, harnesses_reused=1, candidates_reused=2)
    text = "\n".join(summary_lines(summarise([functional_record]), counters=counters))
    assert "generated 0 completions, built 0 harnesses, made 0 runs" in text
    assert "2 completions, 1 harness, 2 runs" in text


def test_lines_fit(
    functional_record: AuditRecord, verbatim_record: AuditRecord, error_record: AuditRecord
) -> None:
    summary = summarise(several(functional_record, verbatim_record, error_record) * 700)
    assert max(cell_len(line) for line in summary_lines(summary, counters=Counters())) <= 100


def test_header_snapshot(golden: Callable[[str, str], None]) -> None:
    settings = Settings(
        model=("hf:models/target",), reference="hf:models/reference", source=("src", "data.jsonl")
    )
    dropped = {
        "too_short": 41,
        "too_long": 3,
        "syntax_error": 3,
        "binary_file": 1,
        "new_reason": 1,
        "generated": 0,
    }
    golden("header", "\n".join(header_lines(settings, dropped, 24, 5)))


def test_header_says_only_what_there_is() -> None:
    assert header_lines(Settings(model=("m",), reference="r"), {}, 1) == [
        "funcmem: 1 function from .",
        "  target      m",
        "  reference   r",
    ]


def test_header_is_harmless_and_fits() -> None:
    settings = Settings(model=("\x1b[31m" + "m" * 200,), reference="r\n\u202e", source=("s" * 200,))
    lines = header_lines(settings, {"\x1b" * 300: 2}, 1)
    assert max(map(cell_len, lines)) <= 100
    assert "\x1b" not in "".join(lines)
