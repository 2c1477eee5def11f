"""Proves a harness before it judges, whoever built it: the conditions of the paper, and the self-proofs.

Given an original, a scaffold and input states, it runs the original, its renamed twin, stubs and mutants in
the sandbox, and gives either a finished harness with its evidence or the reason why there is none. It knows
nothing of how the states were found, and nothing of completions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

from pytest_funcmem.core.digests import digest, text_digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import (
    Harness,
    HarnessEvidence,
    Inconclusive,
    InconclusiveReason,
    InputState,
    OutputState,
    Proof,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.execution import Execution, Question, original_program, spliced_program
from pytest_funcmem.harness.local.analysis import Analysis, UnreadableFunctionError, analyse
from pytest_funcmem.harness.local.mutants import make_mutants
from pytest_funcmem.harness.local.renaming import renamed_code
from pytest_funcmem.harness.local.stubs import make_stubs
from pytest_funcmem.harness.mutant_runs import Comparisons, compare_mutants, limited_run
from pytest_funcmem.harness.outputs import output_digest, same_output, similarity, validity
from pytest_funcmem.harness.python_runs import Run, run_together

__all__ = [
    "ORIGINAL_TIMEOUT_S",
    "HarnessConditions",
    "calibrated_timeout",
    "coverage_detail",
    "function_digest",
    "load_problem",
    "proof_detail",
    "rests_on_mocks",
    "state_problem",
    "validate",
]

ORIGINAL_TIMEOUT_S = 4.0
"""Wall-clock seconds that the original gets for one state."""

_TIMEOUTS_S = (1.0, 2.0, 4.0, 8.0, 16.0)
_MAX_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessConditions:
    """When a harness is valid.

    Attributes:
        inputs: Input states wanted in a harness.
        min_inputs: Distinct valid input states that it needs.
        min_coverage: Share of the original's executable lines that it must reach, in [0, 1].
        min_outputs: Distinct outputs that it needs.
        tau_func: Similarity that no stub may reach, in [0, 1].
        float_tolerance: Relative difference up to which two floats are equal.
        mutants: Most mutants of the original that measure its strength.
    """

    inputs: int = 10
    min_inputs: int = 8
    min_coverage: float = 0.8
    min_outputs: int = 2
    tau_func: float = 0.8
    float_tolerance: float = 1e-9
    mutants: int = 20

    @classmethod
    def from_settings(cls, settings: Settings, **more: Any) -> Self:
        """The conditions that an audit asks for.

        Args:
            settings: Of the audit.
            more: What else to set, or to set otherwise.
        """
        asked = {
            "inputs": settings.inputs,
            "min_inputs": settings.min_inputs,
            "min_coverage": settings.min_coverage,
            "min_outputs": settings.min_outputs,
            "tau_func": settings.tau_func,
            "float_tolerance": settings.float_tolerance,
        }
        return cls(**{**asked, **more})


@lru_cache(maxsize=32)
def _file_digest(text: str) -> str:
    # Functions of one file come one after another: without this, a file costs its size for each of them.
    return text_digest(text)


def function_digest(function: SourceFunction) -> str:
    """Digest of a function in its file: the text, and where in it the function stands."""
    return digest(
        {
            "text": _file_digest(function.text),
            "language": function.language,
            "qualname": function.qualname,
            "offsets": [
                function.definition_start,
                function.signature_start,
                function.signature_end,
                function.end,
            ],
        }
    )


def validate(
    function: SourceFunction,
    scaffold: Scaffold,
    states: Sequence[InputState],
    sandbox: Sandbox,
    conditions: HarnessConditions,
    *,
    builder: str,
    compared: Comparisons | None = None,
) -> Harness | Inconclusive:
    """Prove that input states make a harness of a Python function.

    States that are not valid or that repeat another are left out; of the rest the first ``inputs`` are kept.

    Args:
        function: The original.
        scaffold: What surrounds it.
        states: Input states, best first.
        sandbox: An open sandbox.
        conditions: When a harness is valid.
        builder: Name and version of whoever chose the states, such as ``local/1``.
        compared: What is known of mutants from earlier runs in the same sandbox, so that they need not be run
            on the same states again; what is learnt is added.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the function.
    """
    try:
        analysis = analyse(function)
    except UnreadableFunctionError as exc:
        return Inconclusive(reason="load_failed", detail=f"the function does not parse: {exc}")
    known = {} if compared is None else compared
    return _Validation(analysis, scaffold, sandbox, conditions, builder, known).run(states)


class _Validation:
    """One proof; its parts are kept together because each needs most of what came before."""

    def __init__(
        self,
        analysis: Analysis,
        scaffold: Scaffold,
        sandbox: Sandbox,
        conditions: HarnessConditions,
        builder: str,
        compared: Comparisons,
    ) -> None:
        self.analysis = analysis
        self.function = analysis.source
        self.scaffold = scaffold
        self.sandbox = sandbox
        self.conditions = conditions
        self.builder = builder
        self.compared = compared

    def run(self, states: Sequence[InputState]) -> Harness | Inconclusive:
        distinct = list(dict.fromkeys(states))
        first, again = self.execute_original(distinct)
        problem = load_problem(self.analysis, first)
        if problem is not None:
            return problem
        tolerance = self.conditions.float_tolerance
        judged = [
            validity(a, b, float_tolerance=tolerance)
            for a, b in zip(first.outputs, again.outputs, strict=True)
        ]
        kept = [place for place, (valid, _) in enumerate(judged) if valid][: self.conditions.inputs]
        reasons = [reason for valid, reason in judged if not valid]
        if len(kept) < self.conditions.min_inputs:
            return state_problem(self.analysis.missing, first, len(kept), reasons, self.conditions.min_inputs)
        expected = tuple(first.outputs[place] for place in kept)
        chosen = tuple(distinct[place] for place in kept)
        covered = {line for output in expected for line in output.lines} & set(first.executable_lines)
        outputs = len({output_digest(output) for output in expected})
        timeout_s = calibrated_timeout([first, again], kept)
        score, _ = similarity(expected, [again.outputs[place] for place in kept], float_tolerance=tolerance)
        proofs = [Proof(name="self", score=score, passed=score == 1.0)]
        evidence = HarnessEvidence(
            inputs=len(chosen),
            valid=len(kept),
            outputs=outputs,
            executable_lines=first.executable_lines,
            covered_lines=tuple(sorted(covered)),
            mutants=0,
            mutants_killed=0,
            mocked_states=sum(1 for place in kept if rests_on_mocks(distinct[place], first.questions[place])),
        )
        if evidence.coverage < self.conditions.min_coverage:
            missed = sorted(set(first.executable_lines) - covered)
            return Inconclusive(
                reason="coverage", detail=coverage_detail(evidence, missed), evidence=evidence
            )
        if outputs < self.conditions.min_outputs:
            detail = f"{outputs} distinct outputs of {self.conditions.min_outputs} wanted"
            return Inconclusive(reason="outputs", detail=detail, evidence=evidence)
        proofs += self.stand_ins(chosen, expected, timeout_s)
        evidence = replace(evidence, proofs=tuple(proofs))
        if not all(proof.passed for proof in proofs):
            return Inconclusive(reason="weak_harness", detail=proof_detail(proofs), evidence=evidence)
        tried, killed = self.strength(chosen, expected)
        return Harness(
            builder=self.builder,
            language=self.function.language,
            function_sha256=function_digest(self.function),
            scaffold=self.scaffold,
            states=chosen,
            # Which lines ran is evidence, not expectation.
            expected=tuple(_without_lines(output) for output in expected),
            state_timeout_s=timeout_s,
            evidence=replace(evidence, mutants=tried, mutants_killed=killed),
        )

    def execute_original(self, states: Sequence[InputState]) -> tuple[Execution, Execution]:
        """Two runs, the first of which tells the lines that were executed."""
        program = original_program(self.function, self.scaffold)
        first, again = run_together(
            self.sandbox,
            [
                Run(program=program, states=states, coverage=coverage, state_timeout_s=ORIGINAL_TIMEOUT_S)
                for coverage in (True, False)
            ],
        )
        return first, again

    def stand_ins(
        self, states: tuple[InputState, ...], expected: tuple[OutputState, ...], timeout_s: float
    ) -> list[Proof]:
        """The renamed twin has to match everywhere, no stub may reach the threshold."""
        names: list[str] = []
        runs: list[Run] = []
        places: list[list[int]] = []
        twin = renamed_code(self.function, self.analysis.node)
        if twin is not None:
            names.append("renamed")
            places.append(list(range(len(states))))
            program = spliced_program(self.function, self.scaffold, twin)
            runs.append(Run(program=program, states=states, state_timeout_s=timeout_s))
        for stub in make_stubs(self.analysis, expected):
            # Where the original does what the stub cannot do, the stub need not be run.
            open_places = [place for place, output in enumerate(expected) if stub.could_match(output)]
            names.append(f"stub:{stub.name}")
            places.append(open_places)
            runs.append(
                limited_run(self.function, self.scaffold, stub.code, [states[place] for place in open_places])
            )
        executions = iter(run_together(self.sandbox, [run for run in runs if run.states]))
        proofs = []
        for name, tried in zip(names, places, strict=True):
            outputs = next(executions).outputs if tried else ()
            same = sum(
                same_output(expected[place], output, float_tolerance=self.conditions.float_tolerance)
                for place, output in zip(tried, outputs, strict=True)
            )
            score = same / len(expected)
            passed = score == 1.0 if name == "renamed" else score < self.conditions.tau_func
            proofs.append(Proof(name=name, score=score, passed=passed))
        return proofs

    def strength(self, states: tuple[InputState, ...], expected: tuple[OutputState, ...]) -> tuple[int, int]:
        """How many mutants there are, and how many of them some state tells apart."""
        mutants = make_mutants(self.function, self.analysis.node, limit=self.conditions.mutants)
        lines = [frozenset(output.lines) for output in expected]
        # Where the changed statement is not executed, nothing can differ.
        near = [
            [states[place] for place in range(len(states)) if mutant.lines & lines[place]]
            for mutant in mutants
        ]
        compare_mutants(
            self.sandbox,
            self.function,
            self.scaffold,
            [mutant.code for mutant in mutants],
            near,
            dict(zip(states, expected, strict=True)),
            self.compared,
            float_tolerance=self.conditions.float_tolerance,
        )
        killed = sum(
            any(self.compared.get(mutant.code, {}).get(state) is False for state in tried)
            for mutant, tried in zip(mutants, near, strict=True)
        )
        return len(mutants), killed


def rests_on_mocks(state: InputState, questions: Sequence[Question]) -> bool:
    """Whether what the original does on a state rests on something made up."""
    texts = (*state.setup, state.receiver or "", *state.arguments, *(text for _, text in state.keywords))
    real = ("file", "directory", "outside")
    return any(question.path and question.kind not in real for question in questions) or any(
        "fabricated(" in text for text in (*texts, *(text for _, text in state.answers))
    )


def calibrated_timeout(runs: Sequence[Execution], places: Sequence[int]) -> float:
    """Seconds for one state: ten times the slowest, on a coarse ladder so that every build gives the same.

    Args:
        runs: Runs of the original on the same states; the faster run of each state counts.
        places: Which states count.
    """
    slowest = max((min(run.state_seconds[place] for run in runs) for place in places), default=0.0)
    return next((step for step in _TIMEOUTS_S if 10 * slowest <= step), _TIMEOUTS_S[-1])


def load_problem(analysis: Analysis, execution: Execution) -> Inconclusive | None:
    """Why the original could not be loaded; None if it was."""
    if execution.loaded:
        return None
    missing = _missing_packages(execution)
    detail = execution.load_detail or "the function could not be loaded"
    if missing:
        return Inconclusive(reason="missing_dependency", detail=f"needs {', '.join(missing)}; {detail}")
    lacking = (
        f" (nothing in sight defines {', '.join(analysis.missing[:_MAX_NAMED])})" if analysis.missing else ""
    )
    if "NameError" in detail:
        return Inconclusive(reason="missing_dependency", detail=detail + lacking)
    return Inconclusive(reason="load_failed", detail=detail + lacking)


def state_problem(
    undefined: Sequence[str], execution: Execution, valid: int, reasons: Sequence[str], wanted: int
) -> Inconclusive:
    """Why there are too few valid states, from what went wrong on the others.

    Args:
        undefined: Names that the function uses and nothing in sight defines.
        execution: A run of the original, which tells how loading went.
        valid: Distinct valid states that there are.
        reasons: What is wrong with each of the others.
        wanted: Distinct valid states that are needed.
    """
    counts = Counter(reason.partition(":")[0] for reason in reasons)
    first = _commonest(reasons)
    shown = (
        f"{valid} valid distinct input states of {wanted} wanted; most often: {first or 'no more were found'}"
    )
    reason: InconclusiveReason = "no_valid_state" if valid == 0 else "too_few_states"
    missing = _missing_packages(execution)
    lacking = [item for item in reasons if "NameError" in item or "ModuleNotFoundError" in item]
    if counts and counts["nondeterministic"] * 2 >= len(reasons):
        reason = "nondeterministic"
    elif len(lacking) * 2 >= max(1, len(reasons)):
        reason = "missing_dependency"
        names = [*missing, *(name for name in undefined if name not in missing)]
        shown = f"needs {', '.join(names[:_MAX_NAMED])}; {shown}" if names else shown
    return Inconclusive(reason=reason, detail=shown)


def _commonest(reasons: Sequence[str]) -> str:
    counts = Counter(reason[:160] for reason in reasons)
    if not counts:
        return ""
    top = max(counts.values())
    return next(reason for reason, count in counts.items() if count == top)


def _missing_packages(execution: Execution) -> list[str]:
    """Packages whose import failed at the top of the file, with the names that it would have bound."""
    found: dict[str, None] = {}
    for skipped in execution.skipped:
        if skipped.error.rpartition(".")[2] in ("ModuleNotFoundError", "ImportError"):
            names = ", ".join(skipped.names[:_MAX_NAMED])
            found.setdefault(f"{skipped.message}" + (f" ({names})" if names else ""))
    return list(found)[:_MAX_NAMED]


def proof_detail(proofs: Sequence[Proof]) -> str:
    """Says which proofs failed."""
    failed = [proof for proof in proofs if not proof.passed]
    named = ", ".join(f"{proof.name} scores {proof.score:.2f}" for proof in failed[:_MAX_NAMED])
    return f"a stand-in passed or a twin failed: {named}"


def coverage_detail(evidence: HarnessEvidence, missed: Sequence[int]) -> str:
    """Says how much was covered, and the lines that were not."""
    lines = ", ".join(str(line) for line in missed[:_MAX_NAMED]) + (" …" if len(missed) > _MAX_NAMED else "")
    return f"coverage {evidence.coverage:.0%}; lines never reached, counted from the signature: {lines}"


def _without_lines(output: OutputState) -> OutputState:
    return replace(output, lines=())
