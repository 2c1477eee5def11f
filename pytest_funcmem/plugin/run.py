"""One target model within an audit: its pipeline, the records of its functions, its decision."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.pipeline import Audit
from pytest_funcmem.audit.preflight import named_functions
from pytest_funcmem.audit.remembered_model import Crowding, RememberedModel
from pytest_funcmem.audit.world import open_world
from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Json
from pytest_funcmem.core.registry import REGISTRY
from pytest_funcmem.corpora.reading import Corpus
from pytest_funcmem.harness.builder_process import ProcessBuilder
from pytest_funcmem.plugin.acceptance import Acceptance
from pytest_funcmem.plugin.entry import AuditEntry
from pytest_funcmem.plugin.options import rerun_command_start, rerun_flags
from pytest_funcmem.plugin.progress import Progress
from pytest_funcmem.plugin.quiet_log import QuietLog
from pytest_funcmem.plugin.ratings import Ratings
from pytest_funcmem.plugin.relay import RecordInbox, RecordOutbox
from pytest_funcmem.plugin.sample import Ending, Release
from pytest_funcmem.reporting.gate_lines import gate_json, gate_lines
from pytest_funcmem.reporting.masking import mask
from pytest_funcmem.store.directory_store import DirectoryStore
from pytest_funcmem.verdict.gate import LimitResult, RunDecision, exit_decision, limit_results
from pytest_funcmem.verdict.rates import Summary, summarise

if TYPE_CHECKING:
    from pytest_funcmem.harness.agent.builder import AgentBuilder

__all__ = ["AuditRun"]


class AuditRun:
    """The audit of one target model.

    Args:
        config: pytest's.
        settings: Of this audit; the model is this one alone.
        corpus: The functions.
        acceptance: What leaks count as.
        ratings: What rated the functions, and what scores their completions.
        audit_file: The audit file it comes from; None where the command line is the audit.
        label: What node ids end in; None where there is one model.
    """

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        corpus: Corpus,
        acceptance: Acceptance,
        ratings: Ratings,
        *,
        audit_file: Path | None = None,
        label: str | None = None,
        agent: AgentBuilder | None = None,
    ) -> None:
        self.config = config
        self.settings = settings
        self.corpus = corpus
        self.acceptance = acceptance
        self.ratings = ratings
        self.audit_file = audit_file
        self.label = label
        self.agent = agent
        self.entries: dict[str, AuditEntry] = {}  # by key, in the order of the functions
        self.progress = Progress(config)
        self.audit: Audit | None = None
        self.builders: dict[str, ProcessBuilder] = {}
        self.inbox: RecordInbox | None = None
        self.store: DirectoryStore | None = None
        self.named = self._named()
        # Functions that a replay file does not name.
        self.unnamed = 0 if self.named is None else sum(f.key not in self.named for f in corpus.functions)
        self._close_lock = threading.Lock()
        self._release: Release | None = None  # of a sample, where other processes show the items
        self._ending = Ending(settings, acceptance.limits)
        self._quiet = QuietLog()
        self._told: dict[str, str] = {}
        self.closed = False
        self._summary: Summary | None = None  # of as many functions as it counts
        self._done = 0  # functions, from the first, whose records are there

    def _named(self) -> frozenset[str] | None:
        """Keys that every replay file names; None where there is none.

        Raises:
            UsageError: A replay file names none of the functions.
        """
        named: frozenset[str] | None = None
        for spec in (self.settings.target, self.settings.reference):
            keys = named_functions(spec, self.settings) if spec is not None else None
            if keys is None:
                continue
            if not any(function.key in keys for function in self.corpus.functions):
                raise UsageError(
                    "The replay file names none of the collected functions.",
                    where=spec,
                    expected=f"names such as {self.corpus.functions[0].key}",
                    remedy="Write the prompts with 'funcmem prompts' and complete those.",
                )
            named = keys if named is None else named & keys
        return named

    # ----------------------------------------------------------------------------------------- running

    def select(self, nodeids: Sequence[tuple[str, str]]) -> None:
        """Take what will run.

        Args:
            nodeids: (key, node id) of each selected function.
        """
        given = dict(nodeids)
        self.entries = {
            function.key: AuditEntry(nodeid=given[function.key], function=function)
            for function in self.corpus.functions
            if function.key in given
        }

    def shuffled(self, keys: Sequence[str]) -> list[str]:
        """Keys in the seeded random order in which a sample is audited; a function's place is its own."""
        return sorted(keys, key=lambda key: text_digest(f"{self.settings.seed}:{key}"))

    @property
    def suffix(self) -> str:
        """What node ids end in."""
        return f"[{self.label}]" if self.label is not None else ""

    @property
    def name(self) -> str:
        """What every process of the session calls this run."""
        return f"{self.audit_file}:{self.label}"

    @property
    def samples(self) -> bool:
        """Whether the functions are audited in random order, so that what is reached is a sample."""
        return self.settings.stop_early or self.settings.time_budget is not None

    def start(self, outbox: RecordOutbox | None = None) -> None:
        """Begin to work on the selected functions.

        Args:
            outbox: Where records are laid down for other processes; None where there are none.

        Raises:
            UsageError: The sandbox that was asked for cannot be opened on this machine.
            StoreError: The store cannot be written.
        """
        settings = self.settings
        if settings.mask:
            self._quiet.start()
        self._ending.begin()
        self.store = DirectoryStore(Path(settings.store))
        self.store.prepare()
        target = RememberedModel(_given(settings.target), settings, self.store)
        reference = RememberedModel(_given(settings.reference), settings, self.store)
        shuffled = self.shuffled([function.key for function in self.corpus.functions])
        counters = Counters()
        scorer = self.ratings.open_scorer(self.store, counters)
        world = open_world(
            settings.sandbox,
            [entry.function.language for entry in self.entries.values()],
            workers=settings.workers,
            image=settings.image,
            runtime=settings.runtime,
            progress=self.progress.say,
            packages=settings.packages,
            more_programs=None if self.agent is None else self.agent.programs,
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
            store=self.store,
            worlds=world.keys,
            lacking=world.lacking,
            listener=self.progress,
            counters=counters,
            scorer=scorer,
            severities=self.ratings.severities,
            sample=shuffled if self.samples else None,
            crowded=Crowding((target, reference), settings),
            agent=self.agent,
        )
        keys = [key for key in shuffled if key in self.entries] if self.samples else list(self.entries)
        self.audit.start(keys)
        if outbox is None:
            return
        if self.samples:
            places = [(key, self.entries[key].nodeid) for key in keys]
            self._release = Release(self.name, places, self.audit, outbox, self._ending, self._end)
            return
        for key, entry in self.entries.items():
            outbox.pass_on(entry.nodeid, self.audit.future(key))

    def _make_builders(self) -> dict[str, ProcessBuilder]:
        """The local builder by language, where there is one."""
        found = {}
        for name in REGISTRY["builder"]:
            kind, _, language = name.partition("/")
            if kind == "local":
                found[language] = ProcessBuilder(name, self.settings)
        return found

    def wait(self, key: str) -> AuditRecord | None:
        """The record of a function, waited for with progress on show; masked where that was asked for.

        Returns:
            None where the run ends before this function; ``stopped`` says why.

        Raises:
            AuditError: The process that audits is gone.
        """
        if self.inbox is not None:
            found = self.inbox.wait(self.entries[key].nodeid, self.name)
            if isinstance(found, str):
                self._ending.reason = found
                return None
            return self.take(key, found)
        if self.stopped is not None:
            return None
        if self.audit is None:
            self.start()
        if self.audit is None:
            raise AssertionError("started above")
        record = self.progress.wait(self.audit.future(key), timeout_s=self._ending.left_s())
        if record is None:
            self._ending.run_out()
            self.close()
            return None
        if self.entries[key].record is None:
            self._ending.weigh(record, len(self.entries))
            if self._ending.reason is not None:
                self.close()
        return self.take(key, record)

    @property
    def stopped(self) -> str | None:
        """Why what was not reached is skipped; None while the run goes on."""
        return self._ending.reason

    @property
    def settled(self) -> str | None:
        """What settled the question early, for reports."""
        return self._ending.settled

    def reached(self, key: str) -> None:
        """Take note, where other processes show the items, that one of them has shown this."""
        if self.audit is None or self.entries[key].record is not None:
            return
        future = self.audit.future(key)
        if future.done() and (self._release is None or key in self._release):
            self.take(key, future.result())

    def take(self, key: str, record: AuditRecord) -> AuditRecord:
        """Take in the record of a function whose item was reached."""
        entry = self.entries[key]
        if entry.record is not None:  # the item is run again, as pytest-rerunfailures does
            return entry.record
        if self.settings.mask:
            record = mask(record)
        entry.record = record
        entry.standing, entry.note = self.acceptance.standing(record)
        return record

    def told(self, reason: str, nodeid: str) -> str:
        """An error as an item shows it: whole the first time, then one line that names the first."""
        first = self._told.setdefault(reason, nodeid)
        return reason if first == nodeid else f"{reason.splitlines()[0]} (the same as in {first})"

    @property
    def done(self) -> bool:
        """Whether the pipeline has nothing left to do, so that it can be closed."""
        if self.audit is None:
            return False
        if self.stopped is not None:
            return True
        keys = list(self.entries)
        while self._done < len(keys) and self.audit.future(keys[self._done]).done():
            self._done += 1
        return self._done == len(keys)

    def close(self) -> None:
        """Stop the pipeline; finished pieces stay in the store. May be called twice."""
        if self._release is not None:
            self._release.stop()
        self._end()

    def _end(self) -> None:
        self.closed = True
        with self._close_lock:  # the thread that hands a sample over may end the run as well
            if self.audit is not None:
                self.audit.close()
            for builder in self.builders.values():
                builder.close()
            self._quiet.stop()

    # --------------------------------------------------------------------------------------- reporting

    def finished(self) -> list[AuditEntry]:
        """The functions that were reached, in the order of the corpus, whatever order they ran in."""
        return [entry for entry in self.entries.values() if entry.record is not None]

    def summary(self) -> Summary:
        """Counts and rates over the functions that were reached."""
        records = [entry.record for entry in self.finished() if entry.record is not None]
        if self._summary is None or self._summary.functions != len(records):
            self._summary = summarise(
                records, tau_func=self.settings.tau_func, tau_text=self.settings.tau_text
            )
        return self._summary

    def limit_results(self) -> tuple[LimitResult, ...]:
        """The maximal rates, held against what was found."""
        return limit_results(self.summary(), self.acceptance.limits)

    def decision(self) -> RunDecision:
        """Whether this run may exit 0."""
        return exit_decision(
            self.summary(),
            min_conclusive=self.settings.min_conclusive,
            limits=self.acceptance.limits,
            failing=sum(entry.fails for entry in self.finished()),
        )

    def damage_lines(self) -> list[str]:
        """The entries of the store that were damaged and made again, for the terminal."""
        damaged = [] if self.store is None or self.settings.mask else list(self.store.damaged)
        lines = [f"{'store':<14}{path} {what}; it was made again" for path, what in damaged[:5]]
        if len(damaged) > 5:
            lines.append(f"{'store':<14}and {len(damaged) - 5} more damaged entries were made again")
        return lines

    def gate_lines(self) -> list[str]:
        """How the gate decided, for the terminal."""
        return gate_lines(self.decision(), self.limit_results(), settled=self.settled)

    def gate_json(self) -> dict[str, Json]:
        """How the gate decided, for a report."""
        return gate_json(
            self.decision(), self.limit_results(), model=self.settings.target, settled=self.settled
        )

    def rerun_command(self, nodeid: str) -> list[str]:
        """The command that audits just this function again."""
        start = rerun_command_start(self.config)
        if self.audit_file is not None:
            return [*start, *rerun_flags(self.config), nodeid]
        sources = []
        if self.config.getoption("--funcmem-source") is None:
            sources = [f"--funcmem-source={source}" for source in self.settings.source]
        return [*start, *sources, *rerun_flags(self.config), nodeid]


def _given(spec: str | None) -> str:
    if spec is None:
        raise AssertionError("checked when the run was made")
    return spec
