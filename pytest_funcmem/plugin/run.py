"""One audit within a pytest session: its settings, its functions, its pipeline, its reports."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.manifest import run_manifest
from pytest_funcmem.audit.pipeline import Audit
from pytest_funcmem.audit.preflight import check_model, named_functions
from pytest_funcmem.audit.remembered_model import RememberedModel
from pytest_funcmem.audit.scoring import Scorer
from pytest_funcmem.audit.world import open_world
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Severity, SourceFunction
from pytest_funcmem.core.registry import REGISTRY, load
from pytest_funcmem.corpora.places import file_of
from pytest_funcmem.corpora.reading import Corpus, read_sources
from pytest_funcmem.harness.builder_process import ProcessBuilder
from pytest_funcmem.metrics.choice import MetricSettings, split_names
from pytest_funcmem.metrics.judging.asking import AskerSettings
from pytest_funcmem.metrics.judging.prices import read_prices
from pytest_funcmem.metrics.severity.raters import JudgeRater, open_rater
from pytest_funcmem.plugin.item import FunctionItem, SourceNode
from pytest_funcmem.plugin.options import rerun_command_start, rerun_flags
from pytest_funcmem.plugin.progress import Progress
from pytest_funcmem.plugin.quiet_log import QuietLog
from pytest_funcmem.reporting.masking import mask
from pytest_funcmem.store.directory_store import DirectoryStore
from pytest_funcmem.verdict.rates import RunDecision, Summary, exit_decision, summarise

__all__ = ["AuditRun"]


class AuditRun:
    """One audit within a session.

    Args:
        config: pytest's.
        settings: Of this audit.
        audit_file: The audit file it comes from; None where the command line is the audit.
    """

    def __init__(self, config: pytest.Config, settings: Settings, *, audit_file: Path | None = None) -> None:
        self.config = config
        self.settings = settings
        self.audit_file = audit_file
        self.items: list[FunctionItem] = []
        self.unnamed = 0  # functions that a replay file does not name
        self.started = _now()
        self.progress = Progress(config)
        self._quiet = QuietLog()
        self.reports = tuple(_report(item) for item in settings.report)
        self.metrics = _metrics(settings)
        self.severities: dict[str, Severity] = {}
        self._check()
        self.corpus: Corpus = read_sources(
            [Path(source) for source in settings.source],
            min_lines=settings.min_lines,
            max_lines=settings.max_lines,
        )
        if self.corpus.functions and settings.filter is not None:
            self.corpus = self._filtered(self.corpus, settings.filter)
        if not self.corpus.functions:
            raise self._nothing_found()
        self.audit: Audit | None = None
        self.builders: dict[str, ProcessBuilder] = {}

    def _check(self) -> None:
        settings = self.settings
        place = str(self.audit_file) if self.audit_file is not None else "command line"
        if settings.model is None:
            raise UsageError(
                "No target model was given.",
                where=place,
                remedy="Add --funcmem-model=SPEC (hf:PATH, openai:URL#MODEL or replay:FILE).",
            )
        if settings.reference is None:
            raise UsageError(
                "No reference model was given.",
                where=place,
                expected="a model like the target that never saw the audited functions: without it, "
                "memorization cannot be told from generalization",
                remedy="Add --funcmem-reference=SPEC, such as the checkpoint from before this data.",
            )
        if settings.builder != "local":
            raise UsageError(
                f"The builder {settings.builder!r} is not part of this version.",
                where="--funcmem-builder",
                expected="local",
                remedy="Leave the option out.",
            )
        if settings.baseline is not None:
            raise UsageError(
                "Baselines are not part of this version.",
                where="--funcmem-baseline",
                remedy="Leave the option out; accepted leaks can be left out with --deselect NODEID.",
            )
        check_model(settings.model, settings)
        check_model(settings.reference, settings)

    def _nothing_found(self) -> UsageError:
        left_out = ", ".join(f"{number} {reason}" for reason, number in self.corpus.dropped.items() if number)
        return UsageError(
            "There is no function to audit.",
            where=", ".join(self.settings.source),
            expected=f"functions with bodies of {self.settings.min_lines} to {self.settings.max_lines} lines",
            remedy=f"Left out were: {left_out}; --funcmem-min-lines and --funcmem-max-lines set the lengths."
            if left_out
            else "Name files in Python, Java, C, Rust or Go, a directory of such, or a data set.",
        )

    # -------------------------------------------------------------------------------------- collecting

    def nodes(self, parent: pytest.Collector) -> list[SourceNode]:
        """One collector a source file or row, in order."""
        by_path: dict[str, list[SourceFunction]] = {}
        for function in self.corpus.functions:
            by_path.setdefault(function.key.partition("::")[0], []).append(function)
        nodes = []
        for name, functions in by_path.items():
            # Under a session the node id is the path alone; pytest's own rule would begin it with "::".
            identifier = {"nodeid": name} if isinstance(parent, pytest.Session) else {}
            nodes.append(
                SourceNode.from_parent(
                    parent,
                    name=name,
                    run=self,
                    functions=tuple(functions),
                    path=self._file_of(name),
                    **identifier,
                )
            )
        return nodes

    def _file_of(self, name: str) -> Path:
        return file_of(self.settings.source, name) or Path(self.settings.source[0]).absolute()

    def split_unnamed(self, items: Sequence[FunctionItem]) -> tuple[list[FunctionItem], list[FunctionItem]]:
        """Part the items that every replay file names from those that one does not.

        Raises:
            UsageError: A replay file names none of the functions.
        """
        named: set[str] | None = None
        for spec in (self.settings.model, self.settings.reference):
            keys = named_functions(spec, self.settings) if spec is not None else None
            if keys is None:
                continue
            if items and not any(item.original.key in keys for item in items):
                raise UsageError(
                    "The replay file names none of the collected functions.",
                    where=spec,
                    expected=f"names such as {items[0].original.key}",
                    remedy="Write the prompts with 'funcmem prompts' and complete those.",
                )
            named = set(keys) if named is None else named & set(keys)
        if named is None:
            return list(items), []
        kept = [item for item in items if item.original.key in named]
        dropped = [item for item in items if item.original.key not in named]
        self.unnamed += len(dropped)
        return kept, dropped

    # ----------------------------------------------------------------------------------------- running

    def select(self, items: Sequence[FunctionItem]) -> None:
        """Take the items that will run."""
        self.items = list(items)

    def start(self) -> None:
        """Begin to work on the selected items.

        Raises:
            UsageError: The sandbox that was asked for cannot be opened on this machine.
            StoreError: The store cannot be written.
        """
        settings = self.settings
        self.started = _now()
        if settings.mask:
            self._quiet.start()
        store = DirectoryStore(Path(settings.store))
        store.prepare()
        target = RememberedModel(_given(settings.model), settings, store)
        reference = RememberedModel(_given(settings.reference), settings, store)
        counters = Counters()
        scorer = self._open_scorer(store, counters)
        world = open_world(
            settings.sandbox,
            [item.original.language for item in self.items],
            workers=settings.workers,
            image=settings.image,
            runtime=settings.runtime,
            progress=self.progress.say,
        )
        for notice in world.notices:
            self.progress.say(notice)
        self.builders = self._make_builders()
        self.audit = Audit(
            settings,
            self.corpus.functions,
            target=target,
            reference=reference,
            sandbox=world.sandbox,
            builders=self.builders,
            store=store,
            worlds=world.keys,
            lacking=world.lacking,
            listener=self.progress,
            counters=counters,
            scorer=scorer,
            severities=self.severities,
        )
        self.audit.start([item.original.key for item in self.items])

    def _filtered(self, corpus: Corpus, spec: str) -> Corpus:
        """The functions that hold logic worth protecting; what got no rating stays.

        Raises:
            UsageError: There is no such rater.
            AuditError: The engine behind it failed.
        """
        store = DirectoryStore(Path(self.settings.store))
        rater = open_rater(spec, store=store, settings=self._judges(), where="--funcmem-filter")
        self.progress.say(f"rating {len(corpus.functions)} functions by {spec}")
        try:
            found = rater.rate(tuple(corpus.functions))
        finally:
            rater.close()
        if isinstance(rater, JudgeRater):
            self.progress.say(f"{spec}: {rater.tally.text}")
        kept = []
        for function, severity in zip(corpus.functions, found, strict=True):
            if severity.value is None or severity.value >= self.settings.min_severity:
                self.severities[function.key] = severity
                kept.append(function)
        dropped = {**corpus.dropped, "low_severity": len(found) - len(kept)}
        return replace(corpus, functions=tuple(kept), dropped=dropped)

    def _judges(self) -> AskerSettings:
        prices = self.settings.prices
        return AskerSettings(
            max_cost=self.settings.judge_max_cost,
            prices=None if prices is None else read_prices(Path(prices)),
            device=self.settings.device,
        )

    def _open_scorer(self, store: DirectoryStore, counters: Counters) -> Scorer | None:
        """What adds the scores of metrics, where some were asked for."""
        if not self.metrics:
            return None
        judges = self._judges()
        settings = MetricSettings(device=judges.device, max_cost=judges.max_cost, prices=judges.prices)
        return Scorer(self.metrics, store=store, settings=settings, counters=counters)

    def _make_builders(self) -> dict[str, ProcessBuilder]:
        """The local builder by language, where there is one."""
        found = {}
        for name in REGISTRY["builder"]:
            kind, _, language = name.partition("/")
            if kind == "local":
                found[language] = ProcessBuilder(name, self.settings)
        return found

    def wait(self, key: str) -> AuditRecord:
        """The record of a function, waited for with progress on show; masked where that was asked for."""
        if self.audit is None:
            self.start()
        if self.audit is None:
            raise AssertionError("started above")
        record = self.progress.wait(self.audit.future(key))
        return mask(record) if self.settings.mask else record

    def close(self) -> None:
        """Stop the pipeline; finished pieces stay in the store."""
        if self.audit is not None:
            self.audit.close()
        for builder in self.builders.values():
            builder.close()
        self._quiet.stop()

    # --------------------------------------------------------------------------------------- reporting

    def finished(self) -> list[FunctionItem]:
        """The items that ran, in the order of their functions, whatever order they ran in."""
        order = {function.key: number for number, function in enumerate(self.corpus.functions)}
        done = [item for item in self.items if item.record is not None]
        return sorted(done, key=lambda item: order[item.original.key])

    def summary(self) -> Summary:
        """Counts and rates over the items that ran."""
        return summarise(
            [item.record for item in self.items if item.record is not None],
            tau_func=self.settings.tau_func,
            tau_text=self.settings.tau_text,
        )

    def decision(self) -> RunDecision:
        """Whether this run may exit 0."""
        return exit_decision(self.summary(), min_conclusive=self.settings.min_conclusive)

    def write_reports(self) -> list[str]:
        """Write every report that was asked for; gives ``format: file`` of each."""
        done = self.finished()
        records = [item.record for item in done if item.record is not None]
        audit = self.audit
        manifest = run_manifest(
            self.settings,
            models={} if audit is None else audit.identities,
            sandbox={} if audit is None else audit.sandbox_identity(),
            builders=sorted(f"{builder.name}/{builder.version}" for builder in self.builders.values()),
            sources=self.settings.source,
            functions=len(self.corpus.functions),
            selected=len(self.items),
            reported=len(done),
            dropped={**self.corpus.dropped, **({"unnamed": self.unnamed} if self.unnamed else {})},
            started=self.started,
            finished=_now(),
        )
        written = []
        for form, path in self.reports:
            reporter = load("reporter", form)(self.settings)
            reporter.write(manifest, records, [item.nodeid for item in done], path)
            written.append(f"{form}: {path}")
        return written

    def rerun_command(self, item: FunctionItem) -> list[str]:
        """The command that audits just this item again."""
        start = rerun_command_start(self.config)
        if self.audit_file is not None:
            return [*start, *rerun_flags(self.config), item.nodeid]
        sources = []
        if self.config.getoption("--funcmem-source") is None:
            sources = [f"--funcmem-source={source}" for source in self.settings.source]
        return [*start, *sources, *rerun_flags(self.config), item.nodeid]


def _metrics(settings: Settings) -> tuple[str, ...]:
    if not settings.metrics:
        return ()
    return split_names(",".join(settings.metrics), where="--funcmem-metrics")


def _given(spec: str | None) -> str:
    if spec is None:
        raise AssertionError("checked when the run was made")
    return spec


def _report(text: str) -> tuple[str, Path]:
    form, colon, file = text.partition(":")
    if not colon or not file:
        raise UsageError(
            f"{text!r} does not name a report.",
            where="--funcmem-report",
            expected="FORMAT:FILE",
            remedy="Write for instance --funcmem-report=json:audit.jsonl.",
        )
    if form not in REGISTRY["reporter"]:
        raise UsageError(
            f"There is no report format {form!r}.",
            where="--funcmem-report",
            expected="one of " + ", ".join(sorted(REGISTRY["reporter"])),
            remedy=f"Write for instance --funcmem-report=json:{file}.",
        )
    path = Path(file)
    if not path.parent.is_dir():
        raise UsageError(
            "The directory of the report does not exist.",
            where=str(path),
            remedy=f"mkdir -p {path.parent}",
        )
    if path.is_dir():
        raise UsageError("The report is a directory.", where=str(path), remedy="Name a file.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(
            "The report cannot be written there.",
            where=str(path),
            expected="a directory that this user may write to",
            remedy="Name another place, or change the directory's permissions.",
        )
    return form, path


def _now() -> str:
    return datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")
