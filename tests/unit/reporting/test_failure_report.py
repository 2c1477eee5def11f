"""The failure report: snapshots, width, colour, and text that tries to take over the terminal."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from pytest_funcmem.core.records import (
    AuditRecord,
    Candidate,
    Inconclusive,
    InputState,
    OutputState,
    StateComparison,
)
from pytest_funcmem.reporting.failure_report import failure_report

RERUN = (
    "pytest --funcmem-model=hf:models/target --funcmem-reference=hf:models/reference --funcmem-source=src"
    " 'billing/invoices.py::settle_invoice'"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
NASTY = (
    "\x1b[31mred\x1b[0m \x07\x08\r \u202eevil\u202c \u200b\ttab"
    " [bold]markup[/bold] :smile: \ud800 \x9b2J 漢字"
)
HOSTILE = st.text(
    st.characters(exclude_categories=[]) | st.sampled_from(list("\x1b\t\n\r\u202e[]漢é\u0301")), max_size=80
)


def widths(report: str) -> list[int]:
    return [cell_len(line) for line in report.split("\n")]


def with_text(record: AuditRecord, text: str) -> AuditRecord:
    """The same record with a text wherever a model or a function could have put one."""
    assert record.target is not None
    function = record.function
    source = function.text[: function.signature_end] + "\n" + text
    output = OutputState(
        outcome="returned", value=["list", [text.encode("utf-8", "replace").decode()]], stdout=text
    )
    comparison = StateComparison(
        state=InputState(arguments=(text,), receiver=text, setup=(text,), stdin=text, files=((text, text),)),
        original=output,
        target=OutputState(outcome="raised", exception={"type": text, "message": text}),
        reference=OutputState(outcome="signal", detail=text),
        target_matches=False,
        reference_matches=False,
    )
    return dataclasses.replace(
        record,
        function=dataclasses.replace(function, path=text, qualname=text, text=source, end=len(source)),
        target=dataclasses.replace(
            record.target, candidate=Candidate(status="unparsed", body=text, code=None, detail=text)
        ),
        harness=Inconclusive(reason="coverage", detail=text),
        comparisons=(comparison,),
    )


def test_functional_leak_snapshot(functional_record: AuditRecord, golden: Callable[[str, str], None]) -> None:
    golden("failure_functional", failure_report(functional_record, rerun=RERUN, color=False))


def test_verbatim_leak_snapshot(verbatim_record: AuditRecord, golden: Callable[[str, str], None]) -> None:
    golden("failure_verbatim", failure_report(verbatim_record, rerun=RERUN, color=False))


def test_hostile_snapshot(functional_record: AuditRecord, golden: Callable[[str, str], None]) -> None:
    golden("failure_hostile", failure_report(with_text(functional_record, NASTY), rerun=RERUN, color=False))


def test_error_has_a_report_too(error_record: AuditRecord) -> None:
    report = failure_report(error_record, rerun=RERUN, color=False)
    assert report.splitlines()[0].startswith("AUDIT ERROR  billing/invoices.py::settle_invoice")
    assert "OSError: the engine is gone" in report


def test_colour_adds_nothing_but_colour(functional_record: AuditRecord) -> None:
    plain = failure_report(functional_record, rerun=RERUN, color=False)
    coloured = failure_report(functional_record, rerun=RERUN, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert ESCAPES.sub("", coloured) == plain


@pytest.mark.parametrize("name", ["functional_record", "verbatim_record", "error_record"])
@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_page(name: str, width: int, request: pytest.FixtureRequest) -> None:
    report = failure_report(request.getfixturevalue(name), rerun=RERUN, width=width, color=False)
    assert max(widths(report)) <= width
    assert all(line == line.rstrip() for line in report.split("\n"))


def test_sections_fill_the_page_exactly(functional_record: AuditRecord) -> None:
    report = failure_report(functional_record, rerun=RERUN, color=False)
    rules = [line for line in report.split("\n") if line.startswith("── ")]
    assert len(rules) == 5
    assert {cell_len(line) for line in rules} == {100}


@given(text=HOSTILE)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_text_is_harmless_and_fits(functional_record: AuditRecord, text: str) -> None:
    report = failure_report(
        with_text(functional_record, text), rerun=f"pytest {shlex.quote(text)}", color=False
    )
    assert max(widths(report)) <= 100
    steering = re.compile(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
    )
    assert steering.search(report) is None


def test_markup_and_escapes_are_shown(functional_record: AuditRecord) -> None:
    report = failure_report(with_text(functional_record, NASTY), rerun=RERUN, color=True)
    text = ESCAPES.sub("", report)
    assert "\x1b" not in text
    assert "[bold]markup" in text
    assert ":smile:" in text
    assert "\\x1b[31mred" in text
    assert "\\u202eevil" in text


def test_long_values_are_shortened_in_the_middle(functional_record: AuditRecord) -> None:
    state = StateComparison(
        state=InputState(arguments=("A" + "x" * 5000 + "Z",)),
        original=OutputState(outcome="returned", value="B" + "y" * 5000 + "Y"),
        target=OutputState(outcome="returned", value="C"),
        reference=OutputState(outcome="returned", value="D"),
        target_matches=False,
        reference_matches=False,
    )
    record = dataclasses.replace(functional_record, comparisons=(state,))
    report = failure_report(record, rerun=RERUN, color=False)
    assert "(Axxx" in report
    assert "xZ)" in report
    assert "'Byyy" in report
    assert "yY'" in report
    assert len(report) < 8000


def test_difference_in_the_middle_of_long_values_can_be_seen(functional_record: AuditRecord) -> None:
    def value(middle: str) -> OutputState:
        return OutputState(outcome="returned", value="a" * 900 + middle + "b" * 900)

    state = StateComparison(
        state=InputState(),
        original=value("<one>"),
        target=value("<two>"),
        reference=value("<six>"),
        target_matches=False,
        reference_matches=False,
    )
    report = failure_report(
        dataclasses.replace(functional_record, comparisons=(state,)), rerun=RERUN, color=False
    )
    assert "<one>" in report
    assert "<two>" in report
    assert "<six>" in report


def test_only_parts_that_differ_are_shown(functional_record: AuditRecord) -> None:
    def state(reminder: str) -> OutputState:
        return OutputState(
            outcome="returned", value=41, arguments={"log": ["list", [reminder]]}, stdout="same\n"
        )

    comparison = StateComparison(
        state=InputState(),
        original=state("one"),
        target=state("one"),
        reference=state("two"),
        target_matches=True,
        reference_matches=False,
    )
    report = failure_report(
        dataclasses.replace(functional_record, comparisons=(comparison,)), rerun=RERUN, color=False
    )
    assert "argument log: ['two']" in report
    assert report.count("41") == 1
    assert "stdout" not in report
    assert "0 of 1 states equal in all three" in report


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["echo", "a b", "it's", "$HOME", "\\"], id="quoting"),
        pytest.param(["echo", "x" * 300, "two words " * 40], id="long"),
        pytest.param(["echo", "tab\there", "line\nbreak", "esc\x1b[31m", "it's \\ \u202e"], id="hostile"),
    ],
)
def test_rerun_command_means_the_same_when_copied(functional_record: AuditRecord, words: list[str]) -> None:
    report = failure_report(functional_record, rerun=shlex.join(words), color=False)
    command = report.partition("run this item again")[2].partition("\n")[2]
    assert max(widths(command)) <= 100
    program = command.replace("echo", "printf '%s\\0'", 1)
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, check=True, env={"HOME": "/x", "LC_ALL": "C.UTF-8"}
    )
    assert done.stdout.decode().split("\0")[:-1] == words[1:]
