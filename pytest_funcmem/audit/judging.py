"""From a function, its harness and two completions to a record: run, compare, decide."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.generation import Generated
from pytest_funcmem.audit.keys import execution_key, harness_key
from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.audit.widening import widened_harness
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Builder, LanguageFrontend, Sandbox, Store
from pytest_funcmem.core.records import (
    AgentUse,
    AuditRecord,
    Candidate,
    Harness,
    Inconclusive,
    ModelIdentity,
    OutputState,
    Prompt,
    Side,
    SourceFunction,
    StateComparison,
    Verdict,
)
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.outputs import same_output
from pytest_funcmem.harness.proving import prove_states
from pytest_funcmem.harness.validate import function_digest
from pytest_funcmem.metrics.text import text_similarity
from pytest_funcmem.store.codec import encode
from pytest_funcmem.verdict.rules import decide
from pytest_funcmem.verdict.thresholds import Thresholds, sensitivity_of

if TYPE_CHECKING:
    # Agents bring an HTTP client: not where none is asked for.
    from pytest_funcmem.harness.agent.builder import AgentBuilder

__all__ = ["IMPORTED", "Built", "build_harness", "error_record", "hire", "imported_key", "judge"]

IMPORTED = "imported"
"""Kind of the stored harnesses that somebody gave, which are taken before any is built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A harness (or why there is none), its digest, how long it took, whether it was reused, what it cost."""

    harness: Harness | Inconclusive
    sha256: str | None
    seconds: float
    reused: bool
    agent: AgentUse | None = None


def build_harness(
    function: SourceFunction,
    builder: Builder | None,
    sandbox: Sandbox,
    *,
    world: Any,
    store: Store,
    settings: Settings,
    counters: Counters,
    lacking: str = "",
) -> Built:
    """Take the harness of a function out of the store, or build it and store it.

    A harness that was imported stands in for what the builder would make; it is proved in this world first.

    Args:
        function: The original.
        builder: None where no builder serves this language.
        sandbox: Where it is built.
        world: What of the sandbox can change an output.
        store: Where harnesses are taken from and kept.
        settings: Of the audit.
        counters: Counts what is built and what is reused.
        lacking: Why nothing can be run in the function's language; "" where it can.

    Raises:
        SandboxError: The sandbox failed.
        StoreError: The harness could not be stored.
    """
    if builder is None:
        return Built(
            harness=Inconclusive(
                reason="language",
                detail=lacking or f"no builder makes harnesses for {function.language} yet",
            ),
            sha256=None,
            seconds=0.0,
            reused=False,
        )
    given: Harness | None = reuse(store, IMPORTED, imported_key(function), Harness)
    maker = f"{builder.name}/{builder.version}" if given is None else f"imported {digest(encode(given))}"
    key = harness_key(function, maker, settings, world=world)
    stored: Harness | Inconclusive | None = reuse(store, "harness", key, Harness | Inconclusive)
    if stored is not None:
        counters.harnesses_reused += 1
        return Built(harness=stored, sha256=_sha256(stored), seconds=0.0, reused=True)
    began = time.monotonic()
    harness = (
        builder.build(function, sandbox, seed=settings.seed)
        if given is None
        else prove_states(function, given.scaffold, given.states, sandbox, settings, builder=given.builder)
    )
    seconds = time.monotonic() - began
    counters.harnesses_built += 1
    if not (isinstance(harness, Inconclusive) and harness.reason == "budget"):
        # What ran out of time may succeed on a quieter machine; all else would come out the same.
        store.put("harness", key, encode(harness))
    return Built(harness=harness, sha256=_sha256(harness), seconds=seconds, reused=False)


def hire(
    function: SourceFunction,
    agent: AgentBuilder,
    local: Built | None,
    sandbox: Sandbox,
    *,
    world: Any,
    store: Store,
    settings: Settings,
    counters: Counters,
    cancelled: Callable[[], bool],
    used: Callable[[AgentUse], None],
) -> Built:
    """Have an agent build the harness of a function, unless one is in the store.

    Args:
        function: The original.
        agent: Builds it.
        local: What came of the local builder; None where it was not asked.
        sandbox: Where it is built.
        world: What of the sandbox can change an output.
        store: Where harnesses are taken from and kept.
        settings: Of the audit.
        counters: Counts what is built and what is reused.
        cancelled: Asked whether the run has been stopped.
        used: Told what the agent used, also where it came to nothing.

    Raises:
        EngineError: The agent's model failed, or the run was stopped.
        ModelSpecError: The model's address, name or key is wrong.
        SandboxError: The sandbox failed.
        StoreError: The harness could not be stored.
    """
    problem = local.harness if local is not None and isinstance(local.harness, Inconclusive) else None
    hired = agent.hired(problem, cancelled=cancelled)
    try:
        built = build_harness(
            function, hired, sandbox, world=world, store=store, settings=settings, counters=counters
        )
    finally:
        if hired.use is not None:
            used(hired.use)
    harness = built.harness
    if problem is not None and isinstance(harness, Inconclusive):
        detail = f"{harness.detail}; without an agent: {problem.reason}: {problem.detail}"
        harness = replace(harness, detail=detail, evidence=harness.evidence or problem.evidence)
    seconds = built.seconds + (0.0 if local is None else local.seconds)
    return replace(built, harness=harness, seconds=seconds, agent=hired.use)


def imported_key(function: SourceFunction) -> str:
    """Key of the harness that somebody gave for a function, whatever the settings."""
    return digest({"imported": function_digest(function)})


def _sha256(harness: Harness | Inconclusive) -> str | None:
    return digest(encode(harness)) if isinstance(harness, Harness) else None


def judge(
    function: SourceFunction,
    prompt: Prompt | None,
    built: Built,
    target: tuple[ModelIdentity, Generated],
    reference: tuple[ModelIdentity, Generated],
    sandbox: Sandbox,
    frontend: LanguageFrontend,
    *,
    world: Any,
    store: Store,
    settings: Settings,
    counters: Counters,
) -> AuditRecord:
    """Run both candidates on the harness, compare, and decide.

    Where a candidate fails only for want of scaffolding, both are run on a harness that was widened by it.

    Raises:
        SandboxError: The sandbox failed.
        StoreError: Output states could not be stored.
    """
    began = time.monotonic()
    candidates = [
        frontend.candidate(function, generated.completion.text) for _, generated in (target, reference)
    ]

    def run(harness: Harness, harness_sha256: str | None) -> list[tuple[OutputState, ...] | None]:
        sha256 = harness_sha256 or ""
        return [
            None
            if candidate.code is None
            else _run(function, candidate.code, harness, sha256, sandbox, world, store, counters)
            for candidate in candidates
        ]

    harness = built.harness if isinstance(built.harness, Harness) else None
    runs = [None, None] if harness is None else run(harness, built.sha256)
    if harness is not None and not settings.no_widening:
        wider = widened_harness(
            function,
            harness,
            built.sha256 or "",
            [
                (candidate.code, outputs)
                for candidate, outputs in zip(candidates, runs, strict=True)
                if candidate.code is not None and outputs is not None
            ],
            sandbox,
            world=world,
            store=store,
            settings=settings,
        )
        if wider is not None:
            # One scaffold for all: the candidate that lacked nothing is run again with it, too.
            found, seconds = wider
            built = replace(built, harness=found, sha256=_sha256(found), seconds=built.seconds + seconds)
            began += seconds
            harness = found if isinstance(found, Harness) else None
            runs = [None, None] if harness is None else run(harness, built.sha256)
    sides: list[Side] = []
    for (identity, generated), candidate, outputs in zip((target, reference), candidates, runs, strict=True):
        if outputs and all(output.outcome == "unloadable" for output in outputs):
            candidate = _uncompiled(candidate, outputs[0].detail)
        matches = _matches(harness, outputs, settings)
        sides.append(
            Side(
                model=identity,
                completion=generated.completion,
                candidate=candidate,
                similarity=text_similarity(
                    function.body,
                    generated.completion.text if candidate.status == "unparsed" else candidate.body,
                ),
                func=None if harness is None else sum(matches) / len(harness.states),
                matches=None if harness is None else sum(matches),
                outcomes=dict(sorted(Counter(output.outcome for output in outputs or ()).items())),
            )
        )
    verdict = decide(
        target=sides[0],
        reference=sides[1],
        harness=built.harness,
        tau_func=settings.tau_func,
        tau_text=settings.tau_text,
    )
    generated_seconds = target[1].seconds + reference[1].seconds
    reused = []
    if target[1].reused and reference[1].reused:
        reused.append("generate")
    if built.reused:
        reused.append("build")
    record = AuditRecord(
        function=function,
        verdict=verdict,
        prompt=prompt,
        target=sides[0],
        reference=sides[1],
        harness=built.harness,
        harness_sha256=built.sha256,
        comparisons=() if harness is None else _compare(harness, runs[0], runs[1], settings),
        agent=built.agent,
        cost_usd=None if built.agent is None else built.agent.cost_usd,
        seconds={
            "generate": generated_seconds,
            "build": built.seconds,
            "run": time.monotonic() - began,
        },
        reused=tuple(reused),
    )
    return replace(record, sensitivity=sensitivity_of(record, Thresholds.of(settings)))


def error_record(function: SourceFunction, reason: str, agent: AgentUse | None = None) -> AuditRecord:
    """The record of a function whose audit broke; what an agent used for it was paid all the same."""
    return AuditRecord(
        function=function,
        verdict=Verdict(kind="error", reason=reason),
        agent=agent,
        cost_usd=None if agent is None else agent.cost_usd,
    )


def _run(
    function: SourceFunction,
    code: str,
    harness: Harness,
    harness_sha256: str,
    sandbox: Sandbox,
    world: Any,
    store: Store,
    counters: Counters,
) -> tuple[OutputState, ...]:
    key = execution_key(harness_sha256, code, world=world)
    stored: tuple[OutputState, ...] | None = reuse(store, "execution", key, tuple[OutputState, ...])
    if stored is not None and len(stored) == len(harness.states):
        counters.candidates_reused += 1
        return stored
    execution = execute(
        sandbox,
        spliced_program(function, harness.scaffold, code),
        harness.states,
        coverage=False,
        state_timeout_s=harness.state_timeout_s,
    )
    counters.candidates_run += 1
    store.put("execution", key, encode(execution.outputs))
    return execution.outputs


def _uncompiled(candidate: Candidate, detail: str) -> Candidate:
    return Candidate(status="uncompiled", body=candidate.body, code=candidate.code, detail=detail)


def _matches(
    harness: Harness | None, outputs: Sequence[OutputState] | None, settings: Settings
) -> tuple[bool, ...]:
    if harness is None:
        return ()
    if outputs is None:
        return (False,) * len(harness.states)
    return tuple(
        same_output(expected, output, float_tolerance=settings.float_tolerance)
        for expected, output in zip(harness.expected, outputs, strict=True)
    )


def _compare(
    harness: Harness,
    target: Sequence[OutputState] | None,
    reference: Sequence[OutputState] | None,
    settings: Settings,
) -> tuple[StateComparison, ...]:
    target_matches = _matches(harness, target, settings)
    reference_matches = _matches(harness, reference, settings)
    return tuple(
        StateComparison(
            state=state,
            original=harness.expected[number],
            target=None if target is None else target[number],
            reference=None if reference is None else reference[number],
            target_matches=target_matches[number],
            reference_matches=reference_matches[number],
        )
        for number, state in enumerate(harness.states)
    )
