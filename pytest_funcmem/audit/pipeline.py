"""An audit as a pipeline: model batches, harness building and sandbox runs overlap, bounded.

One thread generates: the target first, then the reference, so that only one model is in memory; for a sample,
block by block. A pool of threads, one per sandbox worker, builds harnesses and judges. Every finished piece
is in the store before what needs it starts, so a killed audit goes on from there. A record is asked for by
its function and waited for.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_funcmem.audit.events import Counters, Event, Listener, Stage
from pytest_funcmem.audit.generation import Completing, Generated, SideName, cut_prompts, sample_blocks
from pytest_funcmem.audit.judging import Built, build_harness, error_record, hire, judge
from pytest_funcmem.audit.scoring import Scorer
from pytest_funcmem.audit.workers import WorkerPool
from pytest_funcmem.core.errors import FuncmemError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Builder, LanguageFrontend, Model, Sandbox, Store
from pytest_funcmem.core.records import (
    AgentUse,
    AuditRecord,
    Inconclusive,
    Json,
    Language,
    ModelIdentity,
    Prompt,
    Severity,
    SourceFunction,
)
from pytest_funcmem.core.registry import load

if TYPE_CHECKING:
    from pytest_funcmem.harness.agent.builder import AgentBuilder

__all__ = ["Audit"]

logger = logging.getLogger(__name__)

JUDGE, BUILD = 0, 1  # urgency: what can be decided now goes before what is decided later


class _Work:
    """All that is known so far about one selected function."""

    __slots__ = ("agent", "built", "failed", "order", "record", "reference", "target")

    def __init__(self, order: int) -> None:
        self.order = order
        self.target: Generated | None = None
        self.reference: Generated | None = None
        self.built: Built | None = None
        self.agent: AgentUse | None = None
        self.record: Future[AuditRecord] = Future()
        self.failed = False

    @property
    def ready(self) -> bool:
        return self.target is not None and self.reference is not None and self.built is not None


class Audit:
    """One audit: two models, one sandbox, one plan.

    Args:
        settings: Of the audit.
        functions: All collected functions, in order; the plan is made over all of them.
        target: The target model; used and closed by the generating thread.
        reference: The reference model, likewise.
        sandbox: Open.
        builders: The builder by language; languages that are absent are inconclusive.
        store: Where finished pieces are kept.
        worlds: For each language what of its sandbox can change an output, for keys.
        lacking: For languages without a sandbox, why there is none.
        listener: Told of progress.
        counters: Counts work done and work reused.
        scorer: Adds the scores of metrics; None for none. The audit closes it.
        severities: What a filter rated, by key of the function.
        sample: Keys of all collected functions in random order, where the audit may end before all are
            reached; None where it is to reach them all.
        crowded: Whether memory is too small for both models; asked once one of them was used.
        agent: Builds harnesses where the settings want it; None where no agent is asked for. Whoever gave it
            closes it.
    """

    def __init__(
        self,
        settings: Settings,
        functions: Sequence[SourceFunction],
        *,
        target: Model,
        reference: Model,
        sandbox: Sandbox,
        builders: Mapping[str, Builder],
        store: Store,
        worlds: Mapping[Language, Json],
        lacking: Mapping[Language, str],
        listener: Listener,
        counters: Counters | None = None,
        scorer: Scorer | None = None,
        severities: Mapping[str, Severity] | None = None,
        sample: Sequence[str] | None = None,
        crowded: Callable[[], bool] = lambda: True,
        agent: AgentBuilder | None = None,
    ) -> None:
        self.settings = settings
        self.functions = tuple(functions)
        self.counters = counters if counters is not None else Counters()
        self._scorer = scorer
        self._severities = severities if severities is not None else {}
        self.identities: dict[str, ModelIdentity] = {}
        self._target = target
        self._reference = reference
        self._sandbox = sandbox
        self._builders = builders
        self._store = store
        self._worlds = worlds
        self._lacking = lacking
        self._listener = listener
        self._frontends: dict[str, LanguageFrontend] = {}
        self._works: dict[int, _Work] = {}
        self._positions = {function.key: number for number, function in enumerate(self.functions)}
        self._sample = sample
        self._crowded = crowded
        self._prompts: tuple[Prompt, ...] = ()
        self._lock = threading.RLock()
        self._cancelled = threading.Event()
        self._began: dict[str, float] = {}
        self._done: dict[str, int] = {"build": 0, "run": 0}
        self._pool: WorkerPool | None = None
        self._agent = agent
        # Agents mostly wait for their model: that must not keep what can be built or judged from a worker.
        self._agents: WorkerPool | None = None
        self._generator: threading.Thread | None = None

    # ------------------------------------------------------------------------------------------ for users

    def start(self, selected: Sequence[str]) -> None:
        """Begin to work on the selected functions, given by key."""
        self._works = {
            self._positions[key]: _Work(order) for order, key in enumerate(dict.fromkeys(selected))
        }
        for name in {self.functions[position].language for position in self._works}:
            self._frontends[name] = load("language", name)()
        self._pool = WorkerPool(self._sandbox.workers, name="funcmem-worker")
        if self._agent is not None:
            self._agents = WorkerPool(self.settings.agents, name="funcmem-agent")
        self._began["build"] = self._began["run"] = time.monotonic()
        for position, work in self._works.items():
            self._pool.submit(self._guarded(position, self._build), urgency=BUILD, order=work.order)
        self._generator = threading.Thread(target=self._generate, name="funcmem-generator", daemon=True)
        self._generator.start()

    def future(self, key: str) -> Future[AuditRecord]:
        """The record of a selected function, to be waited for."""
        return self._works[self._positions[key]].record

    def sandbox_identity(self) -> Mapping[str, Json]:
        """What the sandbox says of itself."""
        return self._sandbox.identity()

    def close(self) -> None:
        """Stop: what is running is cut off, what is finished is in the store. May be called twice."""
        self._cancelled.set()
        for pool in (self._pool, self._agents):
            if pool is not None:
                pool.close()
        self._sandbox.close()
        for pool in (self._pool, self._agents):
            if pool is not None:
                pool.join(timeout_s=5.0)
        if self._generator is not None:
            self._generator.join(timeout=5.0)
        if self._scorer is not None:
            self._scorer.close()

    # ----------------------------------------------------------------------------------------- generating

    def _generate(self) -> None:
        try:
            self._complete_both()
        except FuncmemError as error:
            self._fail_all(str(error))
        except Exception as error:
            logger.exception("generation failed")
            self._fail_all(f"internal error while generating: {type(error).__name__}: {error}")

    def _complete_both(self) -> None:
        models: tuple[tuple[SideName, Model], ...] = (
            ("target", self._target),
            ("reference", self._reference),
        )
        blocks = [tuple(range(len(self.functions)))]
        if self._sample is not None:
            order = [self._positions[key] for key in self._sample]
            blocks = list(sample_blocks(order, self.settings.batch_size))
        sides: dict[SideName, Completing] = {}
        done, turn = 0, 1
        try:
            while done < len(blocks):
                for side, model in models:
                    if self._cancelled.is_set():
                        return
                    if side not in sides:
                        sides[side] = self._open_side(side, model)
                    for block in blocks[done : done + turn]:
                        sides[side].complete(block)
                    if done + turn >= len(blocks) or self._crowded():
                        model.close()
                done += turn
                if self._crowded():
                    turn *= 2  # each turn loads both models again
        finally:
            for _, model in models:
                model.close()

    def _open_side(self, side: SideName, model: Model) -> Completing:
        self.identities[side] = model.identity
        if side == "target":
            self._prompts = cut_prompts(self.functions, model, self._store, self.settings, self._tell)
        return Completing(
            side,
            model,
            self.functions,
            self._prompts,
            frozenset(self._works),
            store=self._store,
            settings=self.settings,
            counters=self.counters,
            listener=self._tell,
            cancelled=self._cancelled,
            deliver=partial(self._deliver, side),
        )

    def _deliver(self, side: SideName, position: int, generated: Generated) -> None:
        with self._lock:
            setattr(self._works[position], side, generated)
            self._judge_if_ready(position)

    # ------------------------------------------------------------------------------- building and judging

    def _build(self, position: int) -> None:
        function = self.functions[position]
        lacking = function.language in self._lacking
        if self._agents is not None and self.settings.builder == "agent" and not lacking:
            self._submit_to_agent(position, None)
            return
        built = build_harness(
            function,
            None if lacking else self._builders.get(function.language),
            self._sandbox,
            world=self._worlds.get(function.language),
            lacking=self._lacking.get(function.language, ""),
            store=self._store,
            settings=self.settings,
            counters=self.counters,
        )
        if self._agents is not None and isinstance(built.harness, Inconclusive) and not lacking:
            self._submit_to_agent(position, built)
            return
        self._take_built(position, built)

    def _submit_to_agent(self, position: int, local: Built | None) -> None:
        if self._agents is None:
            raise AssertionError("nobody asked for agents")
        piece = self._guarded(position, partial(self._build_by_agent, local=local))
        self._agents.submit(piece, urgency=BUILD, order=self._works[position].order)

    def _build_by_agent(self, position: int, *, local: Built | None) -> None:
        function = self.functions[position]
        if self._agent is None:
            raise AssertionError("nobody asked for agents")
        built = hire(
            function,
            self._agent,
            local,
            self._sandbox,
            world=self._worlds.get(function.language),
            store=self._store,
            settings=self.settings,
            counters=self.counters,
            cancelled=self._cancelled.is_set,
            used=partial(setattr, self._works[position], "agent"),
        )
        self._take_built(position, built)

    def _take_built(self, position: int, built: Built) -> None:
        with self._lock:
            self._works[position].built = built
            self._count("build", self.functions[position].key)
            self._judge_if_ready(position)

    def _judge_if_ready(self, position: int) -> None:
        work = self._works[position]
        if work.ready and not work.failed and self._pool is not None and not self._cancelled.is_set():
            self._pool.submit(self._guarded(position, self._judge), urgency=JUDGE, order=work.order)

    def _judge(self, position: int) -> None:
        work = self._works[position]
        function = self.functions[position]
        if work.built is None or work.target is None or work.reference is None:
            raise AssertionError("judged before it was ready")
        record = judge(
            function,
            self._prompts[position],
            work.built,
            (self.identities["target"], work.target),
            (self.identities["reference"], work.reference),
            self._sandbox,
            self._frontends[function.language],
            world=self._worlds.get(function.language),
            store=self._store,
            settings=self.settings,
            counters=self.counters,
        )
        if self._scorer is not None:
            began = time.monotonic()
            record = self._scorer.scored(record)
            record = replace(record, seconds={**record.seconds, "score": time.monotonic() - began})
        with self._lock:
            self._count("run", function.key)
            self._finish(position, record)

    # --------------------------------------------------------------------------------------------- ending

    def _guarded(self, position: int, step: Callable[[int], None]) -> Callable[[], None]:
        def piece() -> None:
            if self._cancelled.is_set() or self._works[position].failed:
                return
            try:
                step(position)
            except FuncmemError as error:
                self._fail(position, str(error))
            except Exception as error:
                logger.exception("auditing %s failed", self.functions[position].key)
                self._fail(position, f"internal error: {type(error).__name__}: {error}")

        return piece

    def _fail(self, position: int, reason: str) -> None:
        with self._lock:
            work = self._works[position]
            work.failed = True
            self._finish(position, error_record(self.functions[position], reason, work.agent))

    def _fail_all(self, reason: str) -> None:
        for position in self._works:
            self._fail(position, reason)

    def _finish(self, position: int, record: AuditRecord) -> None:
        future = self._works[position].record
        severity = self._severities.get(self.functions[position].key)
        if severity is not None:
            record = replace(record, severity=severity)
        if not future.done():
            future.set_result(record)

    def _count(self, stage: Stage, detail: str) -> None:
        self._done[stage] += 1
        self._tell(
            Event(
                stage=stage,
                done=self._done[stage],
                total=len(self._works),
                seconds=time.monotonic() - self._began[stage],
                detail=detail,
            )
        )

    def _tell(self, event: Event) -> None:
        with self._lock:
            self._listener(event)
