"""Proves a harness of a compiled function before it judges: the conditions of the paper, and the self-proofs.

The same conditions as for Python (``harness.validate``), with programs that share one compilation where the
toolkit can. It knows nothing of how the states were found, and nothing of completions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import (
    Harness,
    HarnessEvidence,
    Inconclusive,
    InputState,
    OutputState,
    Proof,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled.search import input_digest
from pytest_funcmem.harness.compiled.toolkit import StandIn, Toolkit
from pytest_funcmem.harness.execution import Program, original_program, spliced_program
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.harness.outputs import SLOW_OUTCOMES, output_digest, same_output, similarity, validity
from pytest_funcmem.harness.validate import (
    HarnessConditions,
    calibrated_timeout,
    coverage_detail,
    function_digest,
    proof_detail,
    state_problem,
)

__all__ = ["MUTANT_TIMEOUT_S", "Kills", "prove", "run_stand_ins"]

MUTANT_TIMEOUT_S = 0.5
"""Processor seconds that a mutant or a stub gets for one state; one that runs out of them is told apart."""

_ORIGINAL_TIMEOUT_S = 1.6
_PROBE_STATES = 3
_MORE_STATES = 9

Kills = dict[str, dict[InputState, bool]]
"""For the code of a stand-in and an input state, whether it does there what the original does."""


def prove(
    function: SourceFunction,
    scaffold: Scaffold,
    states: Sequence[InputState],
    toolkit: Toolkit,
    sandbox: Sandbox,
    conditions: HarnessConditions,
    *,
    builder: str,
    check_time: Callable[[], None],
    known: Kills,
) -> Harness | Inconclusive:
    """Prove that input states make a harness of a compiled function.

    States that are not valid or that repeat another are left out; of the rest the first ``inputs`` are kept.

    Args:
        function: The original.
        scaffold: What surrounds it.
        states: Input states, best first.
        toolkit: Of its language.
        sandbox: An open sandbox.
        conditions: When a harness is valid.
        builder: Name and version of whoever chose the states.
        check_time: Called between runs; may raise ``OutOfTimeError``.
        known: What is known of stand-ins from earlier runs in the same sandbox; what is learnt is added.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the function.
        OutOfTimeError: ``check_time`` raised it.
    """
    tolerance = conditions.float_tolerance
    original = original_program(function, scaffold)
    runs: list[Execution] = []
    for coverage in (True, False):
        check_time()
        runs += toolkit.execute(
            sandbox, [original], [states], coverage=coverage, state_timeout_s=_ORIGINAL_TIMEOUT_S
        )
    first, again = runs
    if not first.loaded or not again.loaded:
        said = first.load_detail or again.load_detail
        return Inconclusive(reason="load_failed", detail=said or "the original did not compile again")
    kept, reasons = _kept(first, again, tolerance)
    kept = kept[: conditions.inputs]
    if len(kept) < conditions.min_inputs:
        return state_problem((), first, len(kept), reasons, conditions.min_inputs)
    chosen = tuple(_as_shown(states[place], first, place) for place in kept)
    expected = tuple(first.outputs[place] for place in kept)
    covered = {line for output in expected for line in output.lines} & set(first.executable_lines)
    evidence = HarnessEvidence(
        inputs=len(chosen),
        valid=len(kept),
        outputs=len({output_digest(output) for output in expected}),
        executable_lines=first.executable_lines,
        covered_lines=tuple(sorted(covered)),
        mutants=0,
        mutants_killed=0,
        mocked_states=sum(1 for place in kept if first.made_up and first.made_up[place]),
    )
    if evidence.coverage < conditions.min_coverage:
        missed = sorted(set(first.executable_lines) - covered)
        return Inconclusive(reason="coverage", detail=coverage_detail(evidence, missed), evidence=evidence)
    if evidence.outputs < conditions.min_outputs:
        detail = f"{evidence.outputs} distinct outputs of {conditions.min_outputs} wanted"
        return Inconclusive(reason="outputs", detail=detail, evidence=evidence)
    score, _ = similarity(expected, [again.outputs[place] for place in kept], float_tolerance=tolerance)
    proofs = [Proof(name="self", score=score, passed=score == 1.0)]
    proofs += _stand_in_proofs(
        function, scaffold, chosen, expected, toolkit, sandbox, conditions, check_time, known
    )
    evidence = replace(evidence, proofs=tuple(proofs))
    if not all(proof.passed for proof in proofs):
        return Inconclusive(reason="weak_harness", detail=proof_detail(proofs), evidence=evidence)
    mutants = toolkit.mutants(function, limit=conditions.mutants)
    lines = [frozenset(output.lines) for output in expected]
    outcome = run_stand_ins(
        function, scaffold, mutants, chosen, expected, lines, toolkit, sandbox, tolerance, check_time, known
    )
    return Harness(
        builder=builder,
        language=function.language,
        function_sha256=function_digest(function),
        scaffold=scaffold,
        states=chosen,
        # Which lines ran is evidence, not expectation.
        expected=tuple(replace(output, lines=()) for output in expected),
        state_timeout_s=calibrated_timeout([first, again], kept),
        evidence=replace(
            evidence,
            mutants=sum(1 for killers in outcome if killers is not None),
            mutants_killed=sum(1 for killers in outcome if killers),
        ),
    )


def _kept(first: Execution, again: Execution, tolerance: float) -> tuple[list[int], list[str]]:
    """Places of the states that are valid and give the function what no earlier one gives it."""
    kept: list[int] = []
    reasons: list[str] = []
    seen: set[str] = set()
    for place, (output, other) in enumerate(zip(first.outputs, again.outputs, strict=True)):
        valid, reason = validity(output, other, float_tolerance=tolerance)
        given = input_digest(first.shown[place] if first.shown else (), output)
        if valid and given not in seen:
            kept.append(place)
        elif not valid:
            reasons.append(reason)
        seen.add(given)
    return kept, reasons


def _as_shown(state: InputState, run: Execution, place: int) -> InputState:
    """The state without choices that nothing asks for, and with what the others made."""
    used = run.choices_used[place] if run.choices_used else len(state.choices)
    shown = run.shown[place] if run.shown else ()
    return replace(state, choices=state.choices[: max(used, 0)], arguments=shown)


def _stand_in_proofs(
    function: SourceFunction,
    scaffold: Scaffold,
    states: tuple[InputState, ...],
    expected: tuple[OutputState, ...],
    toolkit: Toolkit,
    sandbox: Sandbox,
    conditions: HarnessConditions,
    check_time: Callable[[], None],
    known: Kills,
) -> list[Proof]:
    """The renamed twin has to match everywhere, no stub may reach the threshold."""
    twin = toolkit.renamed(function)
    stubs = toolkit.stand_ins(function, scaffold, expected)
    programs = [
        spliced_program(function, scaffold, code)
        for code in ([] if twin is None else [twin]) + [stub.code for stub in stubs]
    ]
    if not programs:
        return []
    check_time()
    runs = toolkit.execute(
        sandbox, programs, [states] * len(programs), coverage=False, state_timeout_s=MUTANT_TIMEOUT_S
    )
    proofs = []
    tolerance = conditions.float_tolerance
    if twin is not None:
        score, _ = similarity(expected, runs[0].outputs, float_tolerance=tolerance)
        proofs.append(Proof(name="renamed", score=score, passed=score == 1.0))
        runs = runs[1:]
    for stub, run in zip(stubs, runs, strict=True):
        if not run.loaded:
            continue  # what does not compile proves nothing
        score, matches = similarity(expected, run.outputs, float_tolerance=tolerance)
        known.setdefault(stub.code, {}).update(zip(states, matches, strict=True))
        proofs.append(Proof(name=f"stub:{stub.name}", score=score, passed=score < conditions.tau_func))
    return proofs


def run_stand_ins(
    function: SourceFunction,
    scaffold: Scaffold,
    stand_ins: Sequence[StandIn],
    states: Sequence[InputState],
    expected: Sequence[OutputState],
    lines: Sequence[frozenset[int]],
    toolkit: Toolkit,
    sandbox: Sandbox,
    tolerance: float,
    check_time: Callable[[], None],
    known: Kills,
    *,
    enough: int = 1,
) -> list[frozenset[int] | None]:
    """For each stand-in, places of some states that tell it apart; None for one that does not compile.

    A few states go first, since a mutant that never ends would cost the whole time limit on every state; more
    follow for those that too few of them tell apart.

    Args:
        function: The original.
        scaffold: What surrounds it.
        stand_ins: What to run.
        states: On what.
        expected: What the original does there.
        lines: Lines that the original executes there, relative to the signature's.
        toolkit: Of the language.
        sandbox: An open sandbox.
        tolerance: Relative difference up to which floats are equal.
        check_time: Called between runs.
        known: As for ``prove``; keyed by code and by the state itself.
        enough: How many states are wanted that tell a stand-in apart. One that ran out of time is not run on
            more states for that.
    """
    near = [
        [place for place in range(len(states)) if one.lines is None or one.lines & lines[place]]
        for one in stand_ins
    ]
    uncompiled: set[int] = set()
    slow: set[int] = set()

    def killers(number: int) -> frozenset[int]:
        answers = known.get(stand_ins[number].code, {})
        return frozenset(place for place in near[number] if answers.get(states[place]) is False)

    for limit in (_PROBE_STATES, _MORE_STATES * (enough > 1), len(states)):
        todo: list[tuple[int, list[int]]] = []
        for number, one in enumerate(stand_ins):
            if number in uncompiled or len(killers(number)) >= (1 if number in slow else enough):
                continue
            answers = known.get(one.code, {})
            places = [place for place in near[number] if states[place] not in answers][:limit]
            if places:
                todo.append((number, places))
        if not todo:
            continue
        programs: list[Program] = [
            spliced_program(function, scaffold, stand_ins[number].code) for number, _ in todo
        ]
        check_time()
        runs = toolkit.execute(
            sandbox,
            programs,
            [[states[place] for place in places] for _, places in todo],
            coverage=False,
            state_timeout_s=MUTANT_TIMEOUT_S,
        )
        for (number, places), run in zip(todo, runs, strict=True):
            if not run.loaded:
                uncompiled.add(number)
                continue
            answers = known.setdefault(stand_ins[number].code, {})
            for place, output in zip(places, run.outputs, strict=True):
                answers[states[place]] = same_output(expected[place], output, float_tolerance=tolerance)
            if any(output.outcome in SLOW_OUTCOMES for output in run.outputs):
                slow.add(number)
    return [None if number in uncompiled else killers(number) for number in range(len(stand_ins))]
