"""One audit within a pytest session: its settings, its functions, its target models, its reports."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_funcmem.audit.manifest import run_manifest
from pytest_funcmem.audit.preflight import check_model
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Json, ModelIdentity, SourceFunction
from pytest_funcmem.core.registry import REGISTRY, load
from pytest_funcmem.corpora.places import file_of
from pytest_funcmem.corpora.reading import Corpus, read_sources
from pytest_funcmem.models.spec import short_names
from pytest_funcmem.plugin.acceptance import Acceptance, baseline_summary
from pytest_funcmem.plugin.entry import AuditEntry
from pytest_funcmem.plugin.item import SourceNode
from pytest_funcmem.plugin.progress import Progress
from pytest_funcmem.plugin.ratings import Ratings
from pytest_funcmem.plugin.run import AuditRun
from pytest_funcmem.plugin.unmatched import unmatched
from pytest_funcmem.reporting.agent_lines import agent_lines
from pytest_funcmem.store.directory_store import DirectoryStore

if TYPE_CHECKING:
    from pytest_funcmem.harness.agent.builder import AgentBuilder

__all__ = ["AuditGroup"]

HARNESSES = "harness"
"""The one report format that is a directory."""


class AuditGroup:
    """One audit: one list of functions, one reference, one or several target models.

    The models are audited one after the other. They share what the store keeps: the harnesses, and the
    reference's completions.

    Args:
        config: pytest's.
        settings: Of this audit.
        audit_file: The audit file it comes from; None where the command line is the audit.

    Raises:
        UsageError: Something that was given cannot be used.
    """

    def __init__(self, config: pytest.Config, settings: Settings, *, audit_file: Path | None = None) -> None:
        self.config = config
        self.settings = settings
        self.audit_file = audit_file
        self.started = _now()
        self.reports = tuple(_report(item) for item in settings.report)
        for form, _ in self.reports:
            load("reporter", form)(settings)  # what it cannot write is refused now, not after the audit
        self.acceptance = Acceptance(settings)
        self.ratings = Ratings(settings)
        self._check()
        self.agent = _agent(settings)
        self.corpus: Corpus = read_sources(
            [Path(source) for source in settings.source],
            min_lines=settings.min_lines,
            max_lines=settings.max_lines,
        )
        self.corpus = self.ratings.filtered(self.corpus, Progress(config))
        if not self.corpus.functions:
            raise self._nothing_found()
        labels: Sequence[str | None] = [None]
        if len(settings.model) > 1:
            labels = short_names(settings.model)
        self.runs = tuple(
            AuditRun(
                config,
                replace(settings, model=(spec,)),
                self.corpus,
                self.acceptance,
                self.ratings,
                audit_file=audit_file,
                label=label,
                agent=self.agent,
            )
            for spec, label in zip(settings.model, labels, strict=True)
        )
        self.baseline: dict[str, Json] = {}

    def _check(self) -> None:
        settings = self.settings
        place = str(self.audit_file) if self.audit_file is not None else "command line"
        if not settings.model:
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
        if len(set(settings.model)) < len(settings.model):
            raise UsageError(
                "A target model was given twice.",
                where=place,
                expected="several different models",
                remedy="Leave one out.",
            )
        for spec in (*settings.model, settings.reference):
            check_model(spec, settings)

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

    def refuse_unmatched(self, wanted: Mapping[str, str]) -> None:
        """Refuse names of functions that are not audited, with the reason; pytest would only find no match.

        Args:
            wanted: The arguments that name them, by ``PATH::QUALNAME`` or, with several models,
                ``PATH::QUALNAME[MODEL]``.

        Raises:
            UsageError: A function is not audited, or a replay file does not complete it.
        """
        keys = {function.key for function in self.corpus.functions}
        for name, argument in wanted.items():
            run = next((run for run in self.runs if name.endswith(run.suffix)), None)
            if run is None:
                raise UsageError(
                    f"The node id {argument!r} names none of the models.",
                    where="command line",
                    expected="one that ends in " + " or ".join(run.suffix for run in self.runs),
                    remedy="Add the model's name in brackets.",
                )
            key = name.removesuffix(run.suffix)
            if key not in keys:
                raise unmatched(key, argument, self.settings, self.corpus)
            if run.named is not None and key not in run.named:
                raise UsageError(
                    f"The function {argument!r} is in the sources, and a replay file does not complete it.",
                    where=f"{run.settings.target}, {run.settings.reference}",
                    remedy="Complete its prompt too ('funcmem prompts' writes it), or leave the name out.",
                )

    def nodes(self, parent: pytest.Collector) -> list[SourceNode]:
        """One collector a source file or row, in order, for each model."""
        by_path: dict[str, list[SourceFunction]] = {}
        for function in self.corpus.functions:
            by_path.setdefault(function.key.partition("::")[0], []).append(function)
        nodes = []
        for run, (name, functions) in itertools.product(self.runs, by_path.items()):
            # Under a session the node id is the path alone; pytest's own rule would begin it with "::".
            identifier = {"nodeid": name} if isinstance(parent, pytest.Session) else {}
            nodes.append(
                SourceNode.from_parent(
                    parent,
                    name=name,
                    run=run,
                    functions=tuple(functions),
                    path=self._file_of(name),
                    **identifier,
                )
            )
        return nodes

    def _file_of(self, name: str) -> Path:
        return file_of(self.settings.source, name) or Path(self.settings.source[0]).absolute()

    # --------------------------------------------------------------------------------------- reporting

    @property
    def was_started(self) -> bool:
        """Whether any of its models was audited at all."""
        return any(run.audit is not None for run in self.runs)

    def entries(self) -> list[AuditEntry]:
        """The selected functions of all models."""
        return [entry for run in self.runs for entry in run.entries.values()]

    def finish(self) -> list[str]:
        """Close the books: the baseline, then every report; gives ``format: file`` of each that was written.

        Raises:
            AuditError: Something cannot be written.
        """
        sweep = self.acceptance.finish(self.entries(), self.corpus.functions)
        self.baseline = baseline_summary(self.entries(), sweep)
        written = []
        if self.agent is not None and all(entry.record is not None for entry in self.entries()):
            self.agent.finish()
        if self.acceptance.updating:
            written.append(f"baseline: {self.acceptance.path}")
        done = [entry for run in self.runs for entry in run.finished()]
        records = [entry.record for entry in done if entry.record is not None]
        manifest = self._manifest(len(done))
        for form, path in self.reports:
            place = self._place(path)
            reporter = load("reporter", form)(self.settings)
            reporter.write(manifest, records, [entry.nodeid for entry in done], place)
            written.append(f"{form}: {place}")
        return written

    def close(self) -> None:
        """Stop the agents that its runs share. May be called twice."""
        if self.agent is not None:
            self.agent.close()

    def agent_lines(self) -> list[str]:
        """What agents used, for the terminal."""
        if self.agent is None:
            return []
        allowance = self.agent.allowance
        records = [entry.record for entry in self.entries()]
        return agent_lines(records, allowance.used, carried_over=allowance.carried_over)

    def _place(self, path: Path) -> Path:
        """Where a report goes: beside an older one that a narrowed run must not replace.

        A report that an audit file or an ini file asks for is the report of the whole audit. One that was
        asked for on the command line is this run's.
        """
        narrowed = any(len(run.entries) < len(self.corpus.functions) - run.unnamed for run in self.runs)
        named = bool(self.config.getoption("--funcmem-report"))
        # Each harness has a directory of its own: those of functions that were left out stay as they are.
        if not narrowed or named or not path.exists() or path.is_dir():
            return path
        return path.with_name(f"{path.stem}.narrowed{path.suffix}")

    def _manifest(self, reported: int) -> Json:
        started = [run.audit for run in self.runs if run.audit is not None]
        builders = {
            f"{builder.name}/{builder.version}" for run in self.runs for builder in run.builders.values()
        }
        unnamed = max(run.unnamed for run in self.runs)
        manifest = run_manifest(
            self.settings,
            models=self._identities(),
            sandbox=started[0].sandbox_identity() if started else {},
            builders=sorted(builders),
            sources=self.settings.source,
            functions=len(self.corpus.functions),
            selected=len(self.entries()),
            reported=reported,
            dropped={**self.corpus.dropped, **({"unnamed": unnamed} if unnamed else {})},
            started=self.started,
            finished=_now(),
        )
        manifest["gate"] = [run.gate_json() for run in self.runs]
        manifest["baseline"] = self.baseline
        return manifest

    def _identities(self) -> Mapping[str, ModelIdentity]:
        """Identities by side; with several models the targets by ``target[MODEL]``."""
        found: dict[str, ModelIdentity] = {}
        for run in self.runs:
            for side, identity in ({} if run.audit is None else run.audit.identities).items():
                several = side == "target" and run.label is not None
                found[f"target[{run.label}]" if several else side] = identity
        return found


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
    if form == HARNESSES:
        if path.exists() and not path.is_dir():
            raise UsageError(
                "Harnesses are written below a directory, and this is none.",
                where=str(path),
                remedy="Name a directory, or a path where one can be made.",
            )
    elif path.is_dir():
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


def _agent(settings: Settings) -> AgentBuilder | None:
    """The agents that build harnesses; None where none are asked for."""
    if "agent" not in settings.builder:
        return None
    kind: type[AgentBuilder] = load("builder", "agent")
    return kind(settings, store=DirectoryStore(Path(settings.store)))
