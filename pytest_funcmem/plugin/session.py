"""All audits of one pytest session: the one of the command line, or those of audit files."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.pathlib import absolutepath

from pytest_funcmem.core.errors import FuncmemError, UsageError
from pytest_funcmem.core.options import settings_from
from pytest_funcmem.plugin.group import AuditGroup
from pytest_funcmem.plugin.item import FunctionItem
from pytest_funcmem.plugin.options import (
    AUDIT_SUFFIX,
    audit_file_settings,
    command_line_settings,
    is_controller,
    quiet,
    refuse_distribution,
)
from pytest_funcmem.plugin.relay import RecordInbox, RecordOutbox
from pytest_funcmem.plugin.run import AuditRun
from pytest_funcmem.reporting.gate_lines import baseline_lines
from pytest_funcmem.reporting.summary import header_lines, summary_lines

__all__ = ["AuditFile", "AuditSession"]

RELAY, ARGUMENTS = "funcmem_relay", "funcmem_arguments"  # names in what the controller tells its workers

_LOOK_S = 0.1


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


class AuditFile(pytest.File):
    """A ``NAME.funcmem.toml`` file: the settings of one audit."""

    def __init__(self, *, audits: AuditSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.audits = audits

        self.group: AuditGroup | None = None

    def prepare(self) -> None:
        """Read the settings and the sources.

        Raises:
            UsageError: The file or what it names cannot be used.
        """
        group = self.audits.group_of(self.path)
        group.refuse_unmatched(self.audits.wanted_of(self.path))
        self.group = self.audits.add(group)

    def collect(self) -> Iterable[pytest.Collector]:
        """The source files of the audit."""
        return [] if self.group is None else self.group.nodes(self)


class AuditSession:
    """All audits of one session.

    Args:
        config: pytest's.
        whole_command_line: Whether the command line is the audit, so that nothing else is collected.
    """

    def __init__(self, config: pytest.Config, *, whole_command_line: bool) -> None:
        self.config = config
        self.whole_command_line = whole_command_line
        self.groups: list[AuditGroup] = []
        self.refused: UsageError | None = None  # why an audit file is not read
        self.problems: list[str] = []
        self.written: list[str] = []
        self.is_worker = hasattr(config, "workerinput")
        self.is_controller = not self.is_worker and is_controller(config)
        self._outbox: RecordOutbox | None = None
        self._places: dict[str, tuple[AuditRun, str]] = {}  # by node id, in a controller
        self._ended = False
        self._wanted: list[str] = []
        self._before: Any = None
        self._arguments = self._given_arguments()
        if not whole_command_line:
            if self.is_controller:
                # The workers' own errors would not get through to whoever looks at the controller.
                self._read_named()
            return
        ini, line = command_line_settings(config)
        settings = settings_from([("ini file", ini), ("command line", line)])
        refuse_distribution(config)
        paths = self._take_arguments(bool(settings.source))
        if not settings.source:
            line["source"] = tuple(paths) or (".",)
            settings = settings_from([("ini file", ini), ("command line", line)])
        self.add(AuditGroup(config, settings))

    def _read_named(self) -> None:
        for argument in self._arguments:
            path = absolutepath(self.config.invocation_params.dir / argument.partition("::")[0])
            if path.name.endswith(AUDIT_SUFFIX) and path not in [group.audit_file for group in self.groups]:
                group = self.group_of(path)
                group.refuse_unmatched(self.wanted_of(path))
                self.add(group)

    @property
    def runs(self) -> list[AuditRun]:
        """The runs of all audits."""
        return [run for group in self.groups for run in group.runs]

    def group_of(self, path: Path) -> AuditGroup:
        """The audit of an audit file.

        Raises:
            UsageError: The file or what it names cannot be used.
        """
        settings = audit_file_settings(path, self.config)
        refuse_distribution(self.config)
        if not settings.source:
            raise UsageError(
                "The audit file names no source.",
                where=str(path),
                remedy='Add a line such as: source = ["src"]',
            )
        return AuditGroup(self.config, settings, audit_file=path)

    def _given_arguments(self) -> list[str]:
        if self.is_worker:
            return list(self.config.workerinput[ARGUMENTS])  # type: ignore[attr-defined]  # set by xdist
        given = self.config.args_source == pytest.Config.ArgsSource.ARGS
        return [str(argument) for argument in self.config.args] if given else []

    def _take_arguments(self, has_source: bool) -> list[str]:
        """Take pytest's positional arguments away from it: in an audit they are sources or node ids."""
        arguments = self._arguments
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

    def wanted_of(self, audit_file: Path) -> dict[str, str]:
        """Functions of an audit file that the command line names: what stands after the file, with all of it.

        A source file that is named there is pytest's own to find.
        """
        found = {}
        for argument in self._arguments:
            path, _, name = argument.partition("::")
            if "::" in name and (self.config.invocation_params.dir / path).resolve() == audit_file.resolve():
                found[name] = argument
        return found

    def add(self, group: AuditGroup) -> AuditGroup:
        """Take in an audit.

        Raises:
            UsageError: Two audits would write the same report.
        """
        for form, path in group.reports:
            if any(
                (form, path.absolute()) == (f, p.absolute())
                for other in self.groups
                for f, p in other.reports
            ):
                raise UsageError(
                    "Two audits of this session would write the same report.",
                    where=f"{form}:{path}",
                    remedy="Name the report in each audit file instead of on the command line.",
                )
        if self.is_worker:
            for run in group.runs:
                run.inbox = RecordInbox(Path(self.config.workerinput[RELAY]))  # type: ignore[attr-defined]
        self.groups.append(group)
        return group

    # -------------------------------------------------------------------------------------- collecting

    def prepare(self, collector: pytest.Collector) -> None:
        """Read an audit file that is about to be collected."""
        if isinstance(collector, AuditFile):
            collector.prepare()

    def collect_command_line(self, parent: pytest.Session) -> list[pytest.Item | pytest.Collector]:
        """The collectors of the command line's audit."""
        nodes = [node for group in self.groups for node in group.nodes(parent)]
        for group in self.groups if self._wanted else ():
            group.refuse_unmatched({wanted: wanted for wanted in self._wanted})
        return list(nodes)

    def deselect_unnamed(self, items: list[pytest.Item]) -> None:
        """Deselect what the command line or a replay file does not name."""
        dropped: list[FunctionItem] = []
        for run in self.runs:
            own = [item for item in items if isinstance(item, FunctionItem) and item.run is run]
            if self._wanted:
                dropped.extend(item for item in own if item.nodeid not in self._wanted)
                own = [item for item in own if item.nodeid in self._wanted]
            if run.named is not None:
                dropped.extend(item for item in own if item.original.key not in run.named)
        if dropped:
            gone = set(map(id, dropped))
            items[:] = [item for item in items if id(item) not in gone]
            self.config.hook.pytest_deselected(items=dropped)
        for run in self.runs:
            if run.samples:
                _reorder(items, run)

    def header_lines(self) -> list[str]:
        """What is audited and what was left out, one or two lines a run."""
        if quiet(self.config):
            return []
        lines = []
        for group in self.groups:
            if len(self.groups) > 1:
                lines.append(f"funcmem: audit file {group.audit_file}")
            unnamed = max(run.unnamed for run in group.runs)
            lines += header_lines(group.settings, group.corpus.dropped, len(group.corpus.functions), unnamed)
        return lines

    # ----------------------------------------------------------------------------------------- running

    def start(self, items: Sequence[pytest.Item]) -> None:
        """Start the first run that has items; each other starts when its first item is reached.

        One after the other, so that the models of two audits are never in memory together.
        """
        self._listen_for_end()
        for run in self.runs:
            own = [item for item in items if isinstance(item, FunctionItem) and item.run is run]
            run.select([(item.original.key, item.nodeid) for item in own])
        if not self.is_worker:
            self._start_next()

    def start_distributed(self, nodeids: Sequence[str]) -> None:
        """Audit, in the controller, what the worker processes have collected.

        Args:
            nodeids: Of all selected items, those of ordinary tests among them.

        Raises:
            UsageError: An audit cannot be started.
        """
        if self._outbox is None or any(run.entries for run in self.runs):
            return  # every worker collects the same
        if not self.whole_command_line:
            files = dict.fromkeys(name.partition("::")[0] for name in nodeids)
            known = [group.audit_file.resolve() for group in self.groups if group.audit_file is not None]
            for name in files:
                path = self.config.rootpath / name
                if name.endswith(AUDIT_SUFFIX) and path.resolve() not in known:
                    self.add(self.group_of(path))
        for group in self.groups:
            start = ""
            if group.audit_file is not None:
                start = group.audit_file.relative_to(self.config.rootpath).as_posix() + "::"
            for run in group.runs:
                own = {
                    f"{start}{function.key}{run.suffix}": function.key for function in group.corpus.functions
                }
                run.select([(own[nodeid], nodeid) for nodeid in nodeids if nodeid in own])
                self._places.update({nodeid: (run, own[nodeid]) for nodeid in nodeids if nodeid in own})
        self._start_next()
        if len(self.runs) > 1:
            threading.Thread(target=self._start_others, name="funcmem-runs", daemon=True).start()

    def tell_worker(self, workerinput: dict[str, Any]) -> None:
        """Tell a worker process of pytest-xdist where records come from, and what pytest was called with."""
        if self._outbox is None:
            self._outbox = RecordOutbox()
        workerinput[RELAY] = str(self._outbox.path)
        workerinput[ARGUMENTS] = self._arguments

    def reached(self, nodeid: str) -> None:
        """Take note, in the controller, that a worker process has reached an item."""
        place = self._places.get(nodeid)
        if place is not None:
            run, key = place
            run.reached(key)

    def _start_next(self) -> None:
        for run in self.runs:
            if run.entries and run.audit is None:
                run.start(self._outbox)
                return

    def _start_others(self) -> None:
        """In a controller: start each further run when the one before it has nothing left to do."""
        for run in self.runs:
            if run.entries and run.audit is None and not self._ended:
                try:
                    run.start(self._outbox)
                except FuncmemError as error:
                    self.problems.append(str(error))
                    if self._outbox is not None:
                        self._outbox.close()
                    return
            while run.entries and not run.done:
                if self._ended:
                    return
                time.sleep(_LOOK_S)
            run.close()

    def close_done(self) -> None:
        """Close the runs that have nothing left to do, so that no two sandboxes stand open for long."""
        if len(self.runs) > 1 and not self.is_worker:
            for run in self.runs:
                if not run.closed and run.done:
                    run.close()

    def _listen_for_end(self) -> None:
        if self._before is None and threading.current_thread() is threading.main_thread():
            # A build server asks before it kills: what was finished is to be reported as after Ctrl-C.
            self._before = signal.signal(signal.SIGTERM, _interrupt)

    def close(self) -> None:
        """Stop every run."""
        self._ended = True
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
            self._before = None
        for group in self.groups:
            group.close()  # before its runs, which wait for their agents to end
        for run in self.runs:
            run.close()
        if self._outbox is not None:
            self._outbox.close()

    def finish(self) -> None:
        """Write baseline and reports of every audit that was started.

        Raises:
            FuncmemError: Something could not be written; the rest is.
        """
        failed: FuncmemError | None = None
        for group in self.groups:
            if not group.was_started:
                continue
            try:
                self.written.extend(group.finish())
            except FuncmemError as error:
                failed = error
        if failed is not None:
            raise failed

    def exit_code(self) -> int:
        """What the gates of all runs that were to audit something say: 0, 1 or 6."""
        codes = {run.decision().exit_code for run in self.runs if run.entries and not self.is_worker}
        return next((code for code in (1, 6) if code in codes), 0)

    def show(self, reporter: pytest.TerminalReporter) -> None:
        """Write the summary section."""
        started = [run for run in self.runs if run.audit is not None]
        if not started and not self.problems:
            return
        reporter.section("funcmem audit")
        for group in self.groups:
            if len(self.groups) > 1:
                reporter.write_line(str(group.audit_file))
            for run in group.runs:
                if run.audit is not None:
                    self._show_run(reporter, run)
            for text in group.agent_lines():
                reporter.write_line(text)
            for text in baseline_lines(group.baseline):
                reporter.write_line(text)
        for text in self.written:
            reporter.write_line(f"report  {text}")
        for problem in self.problems:
            reporter.write_line(problem, red=True)

    def _show_run(self, reporter: pytest.TerminalReporter, run: AuditRun) -> None:
        if run.label is not None:
            reporter.write_line(f"model {run.settings.target}")
        counters = run.audit.counters if run.audit is not None else None
        for text in summary_lines(run.summary(), counters=counters):
            reporter.write_line(text)
        for text in run.damage_lines():
            reporter.write_line(text, yellow=True)
        missing = len(run.entries) - len(run.finished())
        if missing:
            text = f"incomplete    {missing} of {len(run.entries)} functions were not reached"
            if run.samples:
                text += "; what was reached is a random sample"
            reporter.write_line(text, red=True)
        for text in run.gate_lines():
            reporter.write_line(text, red=not run.decision().may_pass)


def _reorder(items: list[pytest.Item], run: AuditRun) -> None:
    """Put a run's items into its random order, in the places that they have."""
    places = [place for place, item in enumerate(items) if isinstance(item, FunctionItem) and item.run is run]
    own = {item.original.key: item for item in items if isinstance(item, FunctionItem) and item.run is run}
    for place, key in zip(places, run.shuffled(list(own)), strict=True):
        items[place] = own[key]
