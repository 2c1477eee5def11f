"""The pytest plugin: sleeps unless a model or an audit file is given.

The only room that imports pytest. This file holds the hooks, in the order in which pytest calls them, and
imports no other room until an audit is switched on.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_funcmem.core.errors import FuncmemError, UsageError
from pytest_funcmem.plugin.options import (
    AUDIT_SUFFIX,
    add_options,
    refuse_lone_options,
)

if TYPE_CHECKING:
    from pytest_funcmem.plugin.session import AuditSession

SESSION: pytest.StashKey[AuditSession] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep pytest from importing a ``conftest.py`` of what is audited.

    An audit from the command line collects nothing but its functions, so it needs no ``conftest.py`` at all.
    Beside audit files there may be ordinary tests; there, those are kept out that stand in an audited tree.
    """
    known = early_config.known_args_namespace
    named = [Path(str(arg).partition("::")[0]) for arg in known.file_or_dir]
    audits = [path for path in named if path.name.endswith(AUDIT_SUFFIX)]
    if audits:
        from pytest_funcmem.plugin.options import sources_named_in

        trees = [tree.resolve() for path in audits for tree in sources_named_in(path)]
        # pytest looks into the directory of every argument, and into those below it named test*.
        anchors = [(path if path.is_dir() else path.parent).resolve() for path in named]
        anchors += [child.resolve() for anchor in anchors for child in anchor.glob("test*")]
        if any(tree == anchor or tree in anchor.parents for tree in trees for anchor in anchors):
            known.noconftest = True
    elif known.funcmem_model or early_config.getini("funcmem_model"):
        known.noconftest = True


def _names_audit_file(args: list[str]) -> bool:
    return any(str(arg).partition("::")[0].endswith(AUDIT_SUFFIX) for arg in args)


def pytest_configure(config: pytest.Config) -> None:
    """Switch the audit on where a model or an audit file is given."""
    config.addinivalue_line("markers", "funcmem: an audited training function (set by pytest-funcmem)")
    model = config.getoption("--funcmem-model") or config.getini("funcmem_model")
    named = _names_audit_file([str(arg) for arg in config.args])
    try:
        refuse_lone_options(config, has_audit=bool(model) or named or config.getoption("--funcmem"))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    if not model and not named and not config.getoption("--funcmem"):
        return
    from pytest_funcmem.plugin.session import AuditSession

    try:
        config.stash[SESSION] = AuditSession(config, whole_command_line=bool(model) and not named)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(_RefusedFiles(), "funcmem-refused-files")


class _RefusedFiles:
    """Lets an audit file's usage error out of the session's collection.

    Where a node id within the file was named, pytest reads the file while it collects the session, and would
    take the error for a broken test module.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Raise what was refused meanwhile."""
        report = yield
        if isinstance(collector, pytest.Session):
            refused = collector.config.stash[SESSION].refused
            if refused is not None:
                raise pytest.UsageError(str(refused)) from refused
        return report


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport | None:
    """Where the command line is the audit, the session collects its functions and nothing else.

    An audit file is read here and not in its ``collect``, whose errors pytest takes for a test module's.
    """
    session = collector.config.stash.get(SESSION, None)
    if session is None:
        return None
    try:
        session.prepare(collector)
        if not session.whole_command_line or not isinstance(collector, pytest.Session):
            return None
        nodes = session.collect_command_line(collector)
    except UsageError as error:
        session.refused = error
        raise pytest.UsageError(str(error)) from error
    return pytest.CollectReport(nodeid=collector.nodeid, outcome="passed", longrepr=None, result=nodes)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect audit files that are named, or all of them with ``--funcmem``."""
    session = parent.config.stash.get(SESSION, None)
    if session is None or not file_path.name.endswith(AUDIT_SUFFIX):
        return None
    if not (parent.config.getoption("--funcmem") or parent.session.isinitpath(file_path)):
        return None
    from pytest_funcmem.plugin.session import AuditFile

    return AuditFile.from_parent(parent, path=file_path, audits=session)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect functions that a replay file does not name."""
    session = config.stash.get(SESSION, None)
    if session is None:
        return
    try:
        session.deselect_unnamed(items)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say what is audited and what was left out."""
    session = config.stash.get(SESSION, None)
    return [] if session is None else session.header_lines()


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Start the pipelines before the first item and stop them after the last."""
    audits = session.config.stash.get(SESSION, None)
    if audits is None or session.config.option.collectonly or session.testsfailed:
        return (yield)
    try:
        if not audits.is_controller:
            audits.start(session.items)
        return (yield)
    except FuncmemError as error:
        raise pytest.UsageError(str(error)) from error
    finally:
        audits.close()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close a run whose last function is decided."""
    audits = item.config.stash.get(SESSION, None)
    if audits is not None:
        audits.close_done()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker process of pytest-xdist, before it starts, where its records will come from."""
    audits = node.config.stash.get(SESSION, None)
    if audits is not None:
        audits.tell_worker(node.workerinput)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Audit what the workers of pytest-xdist are to run, here in their controller."""
    audits = node.config.stash.get(SESSION, None)
    if audits is not None and not node.config.option.collectonly:
        audits.start_distributed(ids)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take note of the items that the workers of pytest-xdist have reached."""
    node = getattr(report, "node", None)
    audits = None if node is None else node.config.stash.get(SESSION, None)
    if audits is not None and report.when == "setup":
        audits.reached(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the reports; a run that decided too little does not exit 0."""
    audits = session.config.stash.get(SESSION, None)
    if audits is None:
        return
    try:
        audits.finish()
    except FuncmemError as error:
        audits.problems.append(str(error))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return
    if exitstatus == pytest.ExitCode.OK:
        session.exitstatus = audits.exit_code()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind, also where nothing was run."""
    audits = config.stash.get(SESSION, None)
    if audits is not None:
        audits.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show rates, reasons and where the reports are."""
    audits = terminalreporter.config.stash.get(SESSION, None)
    if audits is not None:
        audits.show(terminalreporter)
