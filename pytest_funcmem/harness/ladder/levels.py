"""The levels below the builders: the function alone on generated inputs, under ever more of a preamble.

All levels share one set of inputs, so that what differs between them is what surrounds the function. Each
ends in the validator that ends every harness, and whether the three conditions of the paper hold is told
apart from whether the self-proofs hold too.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, Inconclusive, InputState, Scaffold, SourceFunction
from pytest_funcmem.harness.execution import Execution
from pytest_funcmem.harness.ladder.alone import function_alone, input_states, prelude_of, run_alone
from pytest_funcmem.harness.ladder.asking import Asker, Cost, RejectedQuestionError
from pytest_funcmem.harness.ladder.prompts import (
    Question,
    inputs_question,
    preamble_question,
    retry_question,
)
from pytest_funcmem.harness.ladder.replies import MalformedReplyError, read_inputs, read_preamble
from pytest_funcmem.harness.local.analysis import UnreadableFunctionError, analyse
from pytest_funcmem.harness.validate import HarnessConditions, load_problem, validate

__all__ = [
    "BUILT_LEVELS",
    "GENERATED_LEVELS",
    "LEVELS",
    "Climb",
    "Level",
    "LevelResult",
    "Step",
    "climb",
    "result_of",
]

Level = Literal["bare", "imports", "preamble", "retry", "local", "agent"]
GENERATED_LEVELS: tuple[Level, ...] = ("bare", "imports", "preamble", "retry")
BUILT_LEVELS: tuple[Level, ...] = ("local", "agent")
LEVELS = GENERATED_LEVELS + BUILT_LEVELS

Step = Literal["inputs", "preamble", "retry"]
"""What a model is asked for."""

_RESTS_ON: Mapping[Level, tuple[Step, ...]] = {
    "bare": ("inputs",),
    "imports": ("inputs",),
    "preamble": ("inputs", "preamble"),
    "retry": ("inputs", "preamble", "retry"),
}
_MAX_SHOWN_ERRORS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelResult:
    """How far one function got at one level.

    Attributes:
        conclusive: Whether the paper's three conditions hold: input states, coverage, outputs.
        proved: Whether the self-proofs hold too, so that there is a harness that may judge.
        reason: Why it is not conclusive, or not proved: a reason of ``Inconclusive``, ``reply`` where the
            model gave nothing that could be read, ``preamble`` where its code failed; "" if it is proved.
        detail: The same for people.
        cost: What the level rests on, including what it shares with other levels; None where no model was
            asked.
    """

    conclusive: bool
    proved: bool
    reason: str = ""
    detail: str = ""
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """One function on the levels that share generated inputs.

    Attributes:
        results: By level.
        costs: By what was asked for; each was paid once, whatever rests on it.
        inputs: Input states that were generated.
    """

    results: Mapping[Level, LevelResult]
    costs: Mapping[Step, Cost]
    inputs: int


def result_of(built: Harness | Inconclusive) -> LevelResult:
    """What a proof, or a builder, came to."""
    if isinstance(built, Harness):
        return LevelResult(conclusive=True, proved=True)
    # The self-proofs are all that comes after the three conditions.
    return LevelResult(
        conclusive=built.reason == "weak_harness", proved=False, reason=built.reason, detail=built.detail
    )


def climb(
    function: SourceFunction,
    levels: Sequence[Level],
    asker: Asker,
    sandbox: Sandbox,
    conditions: HarnessConditions,
    imports: Sequence[str],
) -> Climb:
    """Take a Python function up the levels that share generated inputs.

    Args:
        function: The original.
        levels: Which are wanted; a retry asks for the preamble before it, wanted or not.
        asker: The model.
        sandbox: Open, with the Python runner.
        conditions: When a harness is valid.
        imports: Common imports that live in the sandbox.

    Raises:
        CapReachedError: The cost cap leaves no room to go on.
        EngineError: The model failed.
        SandboxError: The sandbox failed.
    """
    return _Climb(function, asker, sandbox, conditions, imports).run(levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One level, and the error to show to the model; "" where nothing failed that it could mend."""

    result: LevelResult
    error: str = ""


class _Climb:
    def __init__(
        self,
        function: SourceFunction,
        asker: Asker,
        sandbox: Sandbox,
        conditions: HarnessConditions,
        imports: Sequence[str],
    ) -> None:
        self.function = function
        self.context = function.text[: function.definition_start]
        self.asker = asker
        self.sandbox = sandbox
        self.conditions = conditions
        self.imports = tuple(imports)
        self.costs: dict[Step, Cost] = {}
        self.states: tuple[InputState, ...] = ()
        self.alone = function

    def run(self, levels: Sequence[Level]) -> Climb:
        try:
            self.alone = function_alone(self.function)
        except UnreadableFunctionError as exc:
            failed = _failed("load_failed", f"the function alone does not parse: {exc}")
            return self._ended(dict.fromkeys(levels, failed))
        try:
            self.states = self._inputs()
        except MalformedReplyError as exc:
            failed = _failed("reply", f"no inputs: {exc}")
            return self._ended(dict.fromkeys(levels, failed))
        results: dict[Level, LevelResult] = {}
        if "bare" in levels:
            results["bare"] = self._attempt("").result
        if "imports" in levels:
            results["imports"] = self._attempt(prelude_of(self.imports)).result
        if "preamble" in levels or "retry" in levels:
            preamble, first = self._with_preamble()
            if "preamble" in levels:
                results["preamble"] = first.result
            if "retry" in levels:
                results["retry"] = self._retried(preamble, first)
        return self._ended(results)

    def _ended(self, results: Mapping[Level, LevelResult]) -> Climb:
        return Climb(
            results={
                level: replace(
                    result,
                    cost=sum((self.costs[step] for step in _RESTS_ON[level] if step in self.costs), Cost()),
                )
                for level, result in results.items()
            },
            costs=self.costs,
            inputs=len(self.states),
        )

    def _inputs(self) -> tuple[InputState, ...]:
        question = inputs_question(self.alone.code, count=self.conditions.inputs)
        text = self._read("inputs", question)
        states = input_states(self.alone, read_inputs(text, count=self.conditions.inputs))
        try:
            for state in states:
                for expression in (*state.arguments, *(value for _, value in state.keywords)):
                    ast.literal_eval(expression)
        except (ValueError, SyntaxError, RecursionError, MemoryError) as exc:
            raise MalformedReplyError(f"an input cannot be written down ({type(exc).__name__})") from exc
        return states

    def _with_preamble(self) -> tuple[str, _Attempt]:
        question = preamble_question(self.alone.code, self.context, self.imports)
        return self._generated("preamble", question)

    def _retried(self, preamble: str, first: _Attempt) -> LevelResult:
        if first.result.conclusive or not first.error:
            return first.result
        question = retry_question(self.alone.code, self.context, preamble, first.error)
        return self._generated("retry", question)[1].result

    def _generated(self, step: Step, question: Question) -> tuple[str, _Attempt]:
        """The preamble of an answer, and what came of it."""
        try:
            preamble = read_preamble(self._read(step, question))
        except MalformedReplyError as exc:
            failed = _failed("reply", f"no preamble: {exc}")
            return "", _Attempt(result=failed, error=f"The reply could not be read: {exc}.")
        return preamble, self._attempt(prelude_of(self.imports) + preamble + "\n", given=len(self.imports))

    def _read(self, step: Step, question: Question) -> str:
        try:
            answer = self.asker.ask(question)
        except RejectedQuestionError as exc:
            raise MalformedReplyError(f"the question was not taken: {exc}") from exc
        self.costs[step] = Cost(usage=answer.usage, dollars=self.asker.cost(answer.usage))
        if answer.problem:
            raise MalformedReplyError(answer.problem)
        return answer.text

    def _attempt(self, prelude: str, *, given: int | None = None) -> _Attempt:
        """Run under a prelude and prove.

        Args:
            prelude: What is executed before the function.
            given: Lines of it that may fail, since no model wrote them; None for all of them.
        """
        scaffold = Scaffold(prelude=prelude)
        execution = run_alone(self.alone, scaffold, self.states, self.sandbox)
        for skipped in execution.skipped if given is not None else ():
            if skipped.index < 0 and skipped.line > (given or 0):
                place = f"line {skipped.line - (given or 0)} of the preamble"
                error = f"{place}: {_short(skipped.error)}: {skipped.message}"
                return _Attempt(result=_failed("preamble", error), error=error)
        if not execution.loaded:
            problem = load_problem(analyse(self.alone), execution)
            assert problem is not None
            return _Attempt(result=result_of(problem), error=self._error(execution))
        built = validate(self.alone, scaffold, self.states, self.sandbox, self.conditions, builder="ladder/1")
        result = result_of(built)
        return _Attempt(result=result, error="" if result.conclusive else self._error(execution))

    def _error(self, execution: Execution) -> str:
        """What a run says that a preamble could mend."""
        if not execution.loaded:
            return execution.load_detail or "the function could not be loaded"
        said: Counter[str] = Counter()
        for output in execution.outputs:
            if output.exception is not None:
                said[f"{_short(str(output.exception['type']))}: {output.exception['message']}"] += 1
            elif output.outcome != "returned":
                said[f"{output.outcome}: {output.detail}"] += 1
        count = len(execution.outputs)
        lines = [
            f"on {times} of {count} inputs: {text}" for text, times in said.most_common(_MAX_SHOWN_ERRORS)
        ]
        return "\n".join(lines)


def _failed(reason: str, detail: str) -> LevelResult:
    return LevelResult(conclusive=False, proved=False, reason=reason, detail=detail[:400])


def _short(name: str) -> str:
    return name.rpartition(".")[2]
