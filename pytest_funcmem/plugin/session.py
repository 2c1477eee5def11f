"""All audits of one pytest session: the one of the command line, or those of audit files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import FuncmemError, UsageError
from pytest_funcmem.core.options import settings_from
from pytest_funcmem.plugin.item import FunctionItem
from pytest_funcmem.plugin.options import audit_file_settings, command_line_settings, quiet
from pytest_funcmem.plugin.run import AuditRun
from pytest_funcmem.reporting.summary import header_lines, summary_lines

__all__ = ["AuditFile", "AuditSession"]


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


class AuditFile(pytest.File):
    """A ``NAME.funcmem.toml`` file: the settings of one audit."""

    def __init__(self, *, audits: AuditSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.audits = audits

        self.run: AuditRun | None = None

    def prepare(self) -> None:
        """Read the settings and the sources.

        Raises:
            UsageError: The file or what it names cannot be used.
        """
        settings = audit_file_settings(self.path, self.config)
        if not settings.source:
            raise UsageError(
                "The audit file names no source.",
                where=str(self.path),
                remedy='Add a line such as: source = ["src"]',
            )
        self.run = self.audits.add(AuditRun(self.config, settings, audit_file=self.path))

    def collect(self) -> Iterable[pytest.Collector]:
        """The source files of the audit."""
        return [] if self.run is None else self.run.nodes(self)


class AuditSession:
    """All audits of one session.

    Args:
        config: pytest's.
        whole_command_line: Whether the command line is the audit, so that nothing else is collected.
    """

    def __init__(self, config: pytest.Config, *, whole_command_line: bool) -> None:
        self.config = config
        self.whole_command_line = whole_command_line
        self.runs: list[AuditRun] = []
        self.problems: list[str] = []
        self.written: list[str] = []
        self._wanted: list[str] = []
        self._before: Any = None
        if not whole_command_line:
            return
        ini, line = command_line_settings(config)
        settings = settings_from([("ini file", ini), ("command line", line)])
        paths = self._take_arguments(bool(settings.source))
        if not settings.source:
            line["source"] = tuple(paths) or (".",)
            settings = settings_from([("ini file", ini), ("command line", line)])
        self.runs.append(AuditRun(config, settings))

    def _take_arguments(self, has_source: bool) -> list[str]:
        """Take pytest's positional arguments away from it: in an audit they are sources or node ids."""
        given = self.config.args_source == pytest.Config.ArgsSource.ARGS
        arguments = [str(argument) for argument in self.config.args] if given else []
        self.config.args = []
        paths = []
        for argument in arguments:
            path, colons, _ = argument.partition("::")
            if has_source and not colons:
                raise UsageError(
                    "Give the source either as an argument or as --funcmem-source, not both.",
                    where=f"argument {argument!r}",
                    remedy="To audit one function of the source, name its node id: PATH::QUALNAME.",
                )
            if not has_source and path not in paths:
                paths.append(path)
            if colons:
                self._wanted.append(argument if has_source else f"{Path(path).name}{argument[len(path) :]}")
        return paths

    def add(self, run: AuditRun) -> AuditRun:
        """Take in the run of an audit file.

        Raises:
            UsageError: Two runs would write the same report.
        """
        for form, path in run.reports:
            if any(
                (form, path.absolute()) == (f, p.absolute()) for other in self.runs for f, p in other.reports
            ):
                raise UsageError(
                    "Two audits of this session would write the same report.",
                    where=f"{form}:{path}",
                    remedy="Name the report in each audit file instead of on the command line.",
                )
        self.runs.append(run)
        return run

    # -------------------------------------------------------------------------------------- collecting

    def prepare(self, collector: pytest.Collector) -> None:
        """Read an audit file that is about to be collected."""
        if isinstance(collector, AuditFile):
            collector.prepare()

    def collect_command_line(self, parent: pytest.Session) -> list[pytest.Item | pytest.Collector]:
        """The collectors of the command line's audit."""
        nodes = [node for run in self.runs for node in run.nodes(parent)]
        if self._wanted:
            names = [item.nodeid for node in nodes for item in node.collect()]
            for wanted in self._wanted:
                if wanted not in names:
                    raise UsageError(
                        f"No audited function has the node id {wanted!r}.",
                        where="command line",
                        remedy="List the node ids with --collect-only -q.",
                    )
        return list(nodes)

    def deselect_unnamed(self, items: list[pytest.Item]) -> None:
        """Deselect what the command line or a replay file does not name."""
        dropped: list[FunctionItem] = []
        for run in self.runs:
            own = [item for item in items if isinstance(item, FunctionItem) and item.run is run]
            if self._wanted:
                dropped.extend(item for item in own if item.nodeid not in self._wanted)
                own = [item for item in own if item.nodeid in self._wanted]
            dropped.extend(run.split_unnamed(own)[1])
        if dropped:
            gone = set(map(id, dropped))
            items[:] = [item for item in items if id(item) not in gone]
            self.config.hook.pytest_deselected(items=dropped)

    def header_lines(self) -> list[str]:
        """What is audited and what was left out, one or two lines a run."""
        if quiet(self.config):
            return []
        return [
            text
            for run in self.runs
            for text in header_lines(run.settings, run.corpus.dropped, len(run.corpus.functions), run.unnamed)
        ]

    # ----------------------------------------------------------------------------------------- running

    def start(self, items: Sequence[pytest.Item]) -> None:
        """Start the first run that has items; each other starts when its first item is reached.

        One after the other, so that the models of two audits are never in memory together.
        """
        if threading.current_thread() is threading.main_thread():
            # A build server asks before it kills: what was finished is to be reported as after Ctrl-C.
            self._before = signal.signal(signal.SIGTERM, _interrupt)
        for run in self.runs:
            run.select([item for item in items if isinstance(item, FunctionItem) and item.run is run])
        for run in self.runs:
            if run.items:
                run.start()
                break

    def close(self) -> None:
        """Stop every run."""
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
            self._before = None
        for run in self.runs:
            run.close()

    def finish(self) -> None:
        """Write the reports of every run that was started.

        Raises:
            FuncmemError: A report could not be written; the others are.
        """
        failed: FuncmemError | None = None
        for run in self.runs:
            if run.audit is None:
                continue
            try:
                self.written.extend(run.write_reports())
            except FuncmemError as error:
                failed = error
        if failed is not None:
            raise failed

    def decided_enough(self) -> bool:
        """Whether every run that was started decided as many functions as it was to."""
        return all(run.decision().exit_code != 6 for run in self.runs if run.audit is not None)

    def show(self, reporter: pytest.TerminalReporter) -> None:
        """Write the summary section."""
        started = [run for run in self.runs if run.audit is not None and run.finished()]
        if not started and not self.problems:
            return
        reporter.section("funcmem audit")
        for run in started:
            if len(started) > 1:
                reporter.write_line(str(run.audit_file))
            summary = run.summary()
            counters = run.audit.counters if run.audit is not None else None
            for text in summary_lines(summary, counters=counters):
                reporter.write_line(text)
            missing = len(run.items) - len(run.finished())
            if missing:
                text = f"incomplete    {missing} of {len(run.items)} functions were not reached"
                reporter.write_line(text, red=True)
            decision = run.decision()
            if decision.exit_code == 6:
                reporter.write_line(decision.reason, red=True)
        for text in self.written:
            reporter.write_line(f"report  {text}")
        for problem in self.problems:
            reporter.write_line(problem, red=True)
