"""Holds a draft to what every harness is held to, and says what it still lacks.

Runs in a child process, since reading hostile source can end an interpreter; code runs in the sandbox alone,
and not in the one where the agent works. The agent decides nothing here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import (
    Harness,
    HarnessEvidence,
    Inconclusive,
    InputState,
    Json,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.agent.drafts import Draft, DraftError, surrounded, unused_names
from pytest_funcmem.harness.agent.substance import indifference, told_apart, without_repeats
from pytest_funcmem.harness.budget import BudgetedSandbox, OutOfTimeError
from pytest_funcmem.harness.compiled.builder import found_harness
from pytest_funcmem.harness.compiled.proof import Kills, prove
from pytest_funcmem.harness.compiled.settings import CompiledBuilderSettings
from pytest_funcmem.harness.compiled.toolkit import toolkit_for
from pytest_funcmem.harness.execution import Execution, execute, original_program
from pytest_funcmem.harness.local.analysis import UnreadableFunctionError, analyse
from pytest_funcmem.harness.local.mutants import make_mutants
from pytest_funcmem.harness.local.scaffolds import narrowed, scaffold_for
from pytest_funcmem.harness.outputs import output_digest, validity
from pytest_funcmem.harness.validate import ORIGINAL_TIMEOUT_S, HarnessConditions, validate

__all__ = ["AGENT_LABEL", "DraftEvaluator", "Evaluation"]

AGENT_LABEL = "agent/1"
"""Name and version of the builder, as harnesses carry them."""

_MOST_SURVIVORS = 8
_WIDTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What became of a draft.

    Attributes:
        result: The harness, proved, or what it lacks.
        report: All of it for the agent.
    """

    result: Harness | Inconclusive
    report: str


class DraftEvaluator:
    """Evaluates drafts; offers itself as a builder, so that a child process can be made of it.

    Args:
        settings: Conditions of a valid harness, and the budget in seconds of one evaluation.
    """

    name, version = AGENT_LABEL.split("/")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._conditions = HarnessConditions.from_settings(settings)

    @classmethod
    def from_settings(cls, settings: Settings) -> DraftEvaluator:
        """Make it from the settings of an audit."""
        return cls(settings)

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int, draft: Draft) -> Evaluation:
        """Evaluate a draft.

        Args:
            function: The original.
            sandbox: Open.
            seed: Seed of a search for states.
            draft: What the agent wrote.

        Raises:
            SandboxError: The sandbox failed; nothing is known about the draft.
        """
        lent = BudgetedSandbox(sandbox, self._settings.budget)
        try:
            if function.language == "python":
                return self._python(function, draft, lent)
            return self._compiled(function, draft, lent, seed)
        except DraftError as error:
            return _refused("load_failed", str(error))
        except UnreadableFunctionError as error:
            return _refused("load_failed", f"the function does not parse: {error}")
        except RecursionError:
            return _refused("load_failed", "the draft nests too deeply to be read")
        except OutOfTimeError:
            return _refused("budget", f"not evaluated within {self._settings.budget:g} s")

    def _python(self, function: SourceFunction, draft: Draft, sandbox: BudgetedSandbox) -> Evaluation:
        names = unused_names(draft.surroundings, function.text)
        if names:
            raise DraftError(
                f"prelude.py binds {', '.join(names[:8])}, which the function's file does not mention: a "
                "candidate must not find what the original does not have. Drop them, or let names that are "
                "the harness's own begin with harness_."
            )
        analysis = analyse(function)
        wide = scaffold_for(analysis)
        prelude = draft.surroundings
        wide = replace(wide, prelude=wide.prelude + (prelude if prelude.strip() else ""))
        loading = execute(
            sandbox,
            original_program(function, wide),
            [],
            coverage=False,
            state_timeout_s=ORIGINAL_TIMEOUT_S,
        )
        lost = [name for skipped in loading.skipped for name in skipped.names]
        scaffold = narrowed(analysis, wide, loading.fabricated, lost)
        runs = _twice(function, scaffold, draft.states, sandbox)
        compared: Kills = {}
        result = validate(
            function,
            scaffold,
            without_repeats(draft.states, runs[0].outputs),
            sandbox,
            self._conditions,
            builder=AGENT_LABEL,
            compared=compared,
        )
        if isinstance(result, Harness):
            others = told_apart(analysis, result, sandbox, float_tolerance=self._conditions.float_tolerance)
            result = indifference(result, others, given=draft.states) or result
        mutants = make_mutants(function, analysis.node, limit=self._conditions.mutants)
        survivors = [mutant.code for mutant in mutants if _survived(mutant.code, compared)]
        return self._evaluation(function, draft.states, runs, result, survivors)

    def _compiled(
        self, function: SourceFunction, draft: Draft, sandbox: BudgetedSandbox, seed: int
    ) -> Evaluation:
        inside = surrounded(function, draft.surroundings)
        toolkit = toolkit_for(function.language)
        prepared = toolkit.prepare(inside, sandbox, check_time=sandbox.check)
        if isinstance(prepared, Inconclusive):
            return _refused(prepared.reason, prepared.detail)
        settings = CompiledBuilderSettings.from_settings(self._settings, budget_s=self._settings.budget)
        known: Kills = {}
        states = draft.states
        result: Harness | Inconclusive
        if draft.search:
            result = found_harness(
                function,
                prepared,
                toolkit,
                sandbox,
                settings,
                label=AGENT_LABEL,
                seed=seed,
                given=states,
                known=known,
            )
            states = result.states or states
        else:
            result = prove(
                function,
                prepared.scaffold,
                states,
                toolkit,
                sandbox,
                settings,
                builder=AGENT_LABEL,
                check_time=sandbox.check,
                known=known,
            )
        if isinstance(result, Harness):
            result = indifference(result, known, given=states) or result
        runs = _twice(function, prepared.scaffold, states, sandbox)
        mutants = toolkit.mutants(function, limit=settings.mutants)
        survivors = [mutant.code for mutant in mutants if _survived(mutant.code, known)]
        return self._evaluation(function, states, runs, result, survivors, mocks=prepared.scaffold.mocks)

    def _evaluation(
        self,
        function: SourceFunction,
        states: Sequence[InputState],
        runs: tuple[Execution, Execution],
        result: Harness | Inconclusive,
        survivors: Sequence[str],
        *,
        mocks: Sequence[str] = (),
    ) -> Evaluation:
        lines = [_headline(result), ""]
        lines += _state_lines(states, *runs, self._conditions)
        evidence = result.evidence
        lines += ["", *_coverage_lines(function, runs[0], states, self._conditions)]
        if evidence is not None:
            lines += _proof_lines(evidence)
        if isinstance(result, Harness) and survivors:
            lines += ["", f"Changes of the function that no state notices ({len(survivors)}):"]
            lines += [_change(function, code) for code in survivors[:_MOST_SURVIVORS]]
        if mocks:
            lines += ["", f"Made up for what the file lacks, with recorded calls: {', '.join(mocks[:20])}"]
        for skipped in runs[0].skipped[:8]:
            lines.append(f"Line {skipped.line} of the file failed: {skipped.error}: {skipped.message[:200]}")
        return Evaluation(result=result, report="\n".join(lines))


def _refused(reason: str, detail: str) -> Evaluation:
    inconclusive = Inconclusive(reason=reason, detail=detail)  # type: ignore[arg-type]
    return Evaluation(result=inconclusive, report=_headline(inconclusive))


def _twice(
    function: SourceFunction, scaffold: Scaffold, states: Sequence[InputState], sandbox: BudgetedSandbox
) -> tuple[Execution, Execution]:
    program = original_program(function, scaffold)
    first, again = (
        execute(sandbox, program, states, coverage=coverage, state_timeout_s=ORIGINAL_TIMEOUT_S)
        for coverage in (True, False)
    )
    return first, again


def _survived(code: str, known: Mapping[str, Mapping[InputState, bool]]) -> bool:
    """Whether a mutant was run, or reached by no state, and nothing told it apart."""
    return not any(alike is False for alike in known.get(code, {}).values())


# --------------------------------------------------------------------------------------------- report


def _headline(result: Harness | Inconclusive) -> str:
    if isinstance(result, Inconclusive):
        return f"NOT VALID YET ({result.reason}): {result.detail[:1500]}"
    evidence = result.evidence
    strength = "no mutants" if evidence.strength is None else f"{evidence.strength:.0%}"
    return (
        f"VALID: {evidence.valid} states, {evidence.outputs} distinct outputs, coverage "
        f"{evidence.coverage:.0%}, strength {strength} ({evidence.mutants_killed} of {evidence.mutants})"
    )


def _state_lines(
    states: Sequence[InputState], first: Execution, again: Execution, conditions: HarnessConditions
) -> list[str]:
    if not first.loaded:
        return [f"The function could not be loaded: {first.load_detail[:1500]}"]
    lines = ["States:"]
    for number, (_, output, other) in enumerate(
        zip(states, first.outputs, again.outputs, strict=True), start=1
    ):
        valid, problem = validity(output, other, float_tolerance=conditions.float_tolerance)
        shown = first.shown[number - 1] if number <= len(first.shown) else ()
        given = f"  on ({', '.join(shown)})"[:_WIDTH] if shown else ""
        lines.append(f"{number:3} {'valid  ' if valid else 'INVALID'} {_did(output, problem)}{given}")
    return lines


def _did(output: OutputState, problem: str) -> str:
    if problem:
        return problem[:_WIDTH]
    if output.outcome == "raised" and output.exception is not None:
        said = f"raised {output.exception['type']}: {output.exception['message']}"
    else:
        said = f"returned {_short(output.value)}"
    calls = f", {len(output.calls)} recorded calls" if output.calls else ""
    return f"{said[:_WIDTH]}{calls} [output {output_digest(output)[:6]}]"


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


def _coverage_lines(
    function: SourceFunction,
    first: Execution,
    states: Sequence[InputState],
    conditions: HarnessConditions,
) -> list[str]:
    if not first.loaded or not first.executable_lines:
        return []
    reached: set[int] = set()
    for output, _ in zip(first.outputs, states, strict=True):
        if validity(output, output, float_tolerance=conditions.float_tolerance)[0]:
            reached |= set(output.lines)
    missed = [line for line in first.executable_lines if line not in reached]
    total = len(first.executable_lines)
    lines = [f"Lines that valid states reach: {total - len(missed)} of {total}"]
    text = function.text.splitlines()
    for line in missed[:15]:
        place = function.line - 1 + line
        source = text[place].strip() if 0 <= place < len(text) else ""
        lines.append(f"  never reached: line {place + 1} of the file: {source[:160]}")
    return lines


def _proof_lines(evidence: HarnessEvidence) -> list[str]:
    failed = [proof for proof in evidence.proofs if not proof.passed]
    lines = [f"Self-proofs: {len(evidence.proofs) - len(failed)} of {len(evidence.proofs)} passed"]
    for proof in failed:
        what = (
            "a stub that ignores its work matches too often: add states on which it differs"
            if proof.name.startswith("stub:")
            else "the original does not match itself"
        )
        lines.append(f"  FAILED {proof.name}, score {proof.score:.2f}: {what}")
    return lines


def _change(function: SourceFunction, code: str) -> str:
    original = function.text[function.signature_start : function.end]
    before, after = [], []
    for line in difflib.ndiff(original.splitlines(), code.splitlines()):
        if line.startswith("- "):
            before.append(line[2:].strip())
        elif line.startswith("+ "):
            after.append(line[2:].strip())
    return f"  {' / '.join(before)[:150]}  ->  {' / '.join(after)[:150]}"
