"""One training function as a pytest item: passes, fails with a report, is skipped, or errs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ExceptionInfo, ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_funcmem.core.errors import AuditError
from pytest_funcmem.core.records import AuditRecord, SourceFunction
from pytest_funcmem.reporting.digests import shown_digest
from pytest_funcmem.reporting.failure_report import failure_report
from pytest_funcmem.reporting.plain_text import visible

if TYPE_CHECKING:
    from pytest_funcmem.plugin.run import AuditRun

__all__ = ["FunctionItem", "Leak", "SourceNode"]


class Leak(AssertionError):  # noqa: N818  (a leak is a finding, not an error)
    """The target leaked a function that the reference does not know; carries the record."""

    def __init__(self, record: AuditRecord, note: str = "") -> None:
        noted = f" ({note})" if note else ""
        super().__init__(f"{record.verdict.kind}{noted}: {record.verdict.reason}")
        self.record = record
        self.note = note


class LeakRepr(TerminalRepr):
    """The failure report, with the one line that pytest's short summary shows."""

    def __init__(self, plain: str, coloured: str, location: ReprFileLocation) -> None:
        self.plain = plain
        self.coloured = coloured
        self.reprcrash = location

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the report, coloured where the terminal is."""
        tw.line(self.coloured if tw.hasmarkup else self.plain)

    def __str__(self) -> str:
        return self.plain


class LineRepr(TerminalRepr):
    """Nothing but the line that pytest writes itself with ``--tb=line``."""

    def __init__(self, location: ReprFileLocation) -> None:
        self.reprcrash = location

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write nothing: pytest adds the line."""

    def __str__(self) -> str:
        return str(self.reprcrash)


class SourceNode(pytest.Collector):
    """The functions of one source file or data-set row."""

    def __init__(
        self,
        name: str,
        parent: pytest.Collector,
        *,
        run: AuditRun,
        functions: tuple[SourceFunction, ...],
        **kwargs: Any,
    ) -> None:
        super().__init__(name, parent, **kwargs)
        self.run = run
        self.functions = functions

    def collect(self) -> list[pytest.Item]:
        """One item a function, in the order of the file."""
        return [
            FunctionItem.from_parent(
                self,
                name=function.key.partition("::")[2] + self.run.suffix,
                original=function,
                run=self.run,
            )
            for function in self.functions
        ]


def junit_properties(record: AuditRecord) -> list[tuple[str, object]]:
    """What pytest's own ``--junitxml`` says of a function besides its outcome; without absent figures."""
    found: list[tuple[str, object]] = [
        ("funcmem_verdict", record.verdict.kind),
        ("funcmem_language", record.function.language),
        ("funcmem_sha256", shown_digest(record)),
    ]
    for name, side in (("target", record.target), ("reference", record.reference)):
        if side is None:
            continue
        if side.func is not None:
            found.append((f"funcmem_{name}_func", f"{side.func:.4f}"))
        found.append((f"funcmem_{name}_text", f"{side.similarity.bleu.value:.4f}"))
    evidence = None if record.harness is None else record.harness.evidence
    if evidence is not None and evidence.strength is not None:
        found.append(("funcmem_harness_strength", f"{evidence.strength:.4f}"))
    return found


class FunctionItem(pytest.Item):
    """The audit of one function.

    Waiting for the record happens in the setup, so that an audit that broke is an ERROR and no FAILURE.
    """

    def __init__(
        self, name: str, parent: SourceNode, *, original: SourceFunction, run: AuditRun, **kwargs: Any
    ) -> None:
        super().__init__(name, parent, **kwargs)
        self.original = original
        self.run = run
        self.record: AuditRecord | None = None
        self.add_marker("funcmem")

    def setup(self) -> None:
        """Wait for the record; an audit that broke is an error here, one that was ended early skips."""
        try:
            self.record = self.run.wait(self.original.key)
        except AuditError as error:
            pytest.fail(self.run.told(str(error), self.nodeid), pytrace=False)
        if self.record is None:
            raise pytest.skip.Exception(self.run.stopped or "not reached", _use_item_location=True)
        # An item that is run again, as pytest-rerunfailures does, says everything once.
        others = [entry for entry in self.user_properties if not str(entry[0]).startswith("funcmem_")]
        self.user_properties[:] = [*others, *junit_properties(self.record)]
        if self.record.verdict.kind == "error":
            pytest.fail(self.run.told(self.record.verdict.reason, self.nodeid), pytrace=False)

    def runtest(self) -> None:
        """Assert counterfactual non-memorization."""
        record = self.record
        if record is None:
            raise AssertionError("the item ran without its setup")
        if record.verdict.kind == "inconclusive":
            # With the item's own location, the summary names the audited function, not this line.
            raise pytest.skip.Exception(record.verdict.reason, _use_item_location=True)
        if record.verdict.is_leak:
            entry = self.run.entries[self.original.key]
            if not entry.fails:
                # A no-op under --runxfail, where the leak fails as any other.
                pytest.xfail(f"{record.verdict.kind} leak, {entry.note}")
            raise Leak(record, entry.note)

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """The failure report of a leak; pytest's own representation of anything else."""
        if not isinstance(excinfo.value, Leak):
            return super().repr_failure(excinfo, style)
        record = excinfo.value.record
        location = ReprFileLocation(
            self.original.path, self.original.line, str(excinfo.value).splitlines()[0]
        )
        if self.config.option.tbstyle == "line":
            return LineRepr(location)
        noted = f"{visible(excinfo.value.note)}\n\n" if excinfo.value.note else ""
        rerun = " ".join(shlex.quote(part) for part in self.run.rerun_command(self.nodeid))
        return LeakRepr(
            noted + failure_report(record, rerun=rerun, color=False),
            noted + failure_report(record, rerun=rerun, color=True),
            location,
        )

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the function stands: (file, line counted from 0, qualified name)."""
        return self.path, self.original.line - 1, self.original.qualname
