"""The local builder of compiled languages: how it searches, chooses and proves, whatever the language.

It is held against a toolkit for a toy language, so that no compiler is needed. A function of the toy language
is Go to the eye of tree-sitter; what it does is a Python expression in the comment behind its signature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import pytest

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import (
    Harness,
    Inconclusive,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled import builder as builder_module
from pytest_funcmem.harness.compiled.builder import LocalGoBuilder
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn
from pytest_funcmem.harness.execution import Program
from pytest_funcmem.harness.execution_records import Execution

POOL = (0, 1, 2, 3, 5, 8, 13, 40, 41, 42, 99, 100)


def toy_function(expression: str, lines: str = "") -> SourceFunction:
    """A function of two arguments, ``a`` and ``b``; ``lines`` is an expression for the lines it reaches."""
    body = "\n".join(f"    step{number}()" for number in range(3))
    text = f"func toy(a int, b int) int {{ // {expression} @ {lines or '[1, 2, 3]'}\n{body}\n}}\n"
    return SourceFunction(
        path="toy.go", qualname="toy", language="go", line=1, text=text, definition_start=0,
        signature_start=0, signature_end=text.index("{") + 1, end=len(text) - 1,
    )  # fmt: skip


@dataclass
class ToyToolkit:
    """Runs toy functions; counts what it was asked to run."""

    language: Language = "go"
    version: str = "1"
    programs: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))
    stubs: tuple[StandIn, ...] = ()
    changed: tuple[StandIn, ...] = ()
    otherwise: Callable[[], Prepared | Inconclusive] | None = None
    ran: list[tuple[str, int]] = field(default_factory=list)
    calls: int = 0
    enough: int | None = None

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        check_time()
        return Prepared(
            scaffold=Scaffold(files=(("driver", "toy"),)),
            choices=2,
            enough=self.enough,
            otherwise=self.otherwise,
        )

    def execute(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        states: Sequence[Sequence[InputState]],
        *,
        coverage: bool,
        state_timeout_s: float,
    ) -> tuple[Execution, ...]:
        return tuple(self._run(program, own, coverage) for program, own in zip(programs, states, strict=True))

    def _run(self, program: Program, states: Sequence[InputState], coverage: bool) -> Execution:
        self.ran.append((program.code, len(states)))
        match = re.search(r"// (.*) @ (.*)", program.code)
        if match is None:
            return Execution(
                outputs=tuple(OutputState(outcome="unloadable", detail="no meaning") for _ in states),
                loaded=False, load_detail="no meaning", skipped=(), executable_lines=(),
                state_seconds=(0.0,) * len(states), sandbox_seconds=0.0,
            )  # fmt: skip
        outputs, shown, features = [], [], []
        for state in states:
            self.calls += 1
            seeds = [state.seed * 7 + place for place in range(2)]
            chosen = [*state.choices[:2], *seeds[len(state.choices[:2]) :]]
            a, b = (POOL[choice % len(POOL)] for choice in chosen)
            names = {"a": a, "b": b, "call": self.calls}
            lines = tuple(eval(match[2], {}, names)) if coverage else ()
            value = eval(match[1], {}, names)
            outputs.append(
                OutputState(outcome="signal", detail="SIGSEGV")
                if value == "crash"
                else OutputState(outcome="returned", value=value, lines=lines)
            )
            shown.append((str(a), str(b)))
            features.append(tuple(100 + line for line in lines))
        return Execution(
            outputs=tuple(outputs), loaded=True, load_detail="", skipped=(), executable_lines=(1, 2, 3),
            state_seconds=(0.001,) * len(states), sandbox_seconds=0.01, shown=tuple(shown),
            features=tuple(features), choices_used=(2,) * len(states), made_up=(False,) * len(states),
        )  # fmt: skip

    def renamed(self, function: SourceFunction) -> str | None:
        return function.text[function.signature_start : function.end].replace("step", "stage")

    def stand_ins(
        self, function: SourceFunction, scaffold: Scaffold, expected: Sequence[OutputState]
    ) -> tuple[StandIn, ...]:
        return self.stubs

    def mutants(self, function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
        return self.changed[:limit]


NO_SANDBOX = cast("Any", SimpleNamespace(name="none", workers=1))  # the toy toolkit runs nothing in it


def stand_in(name: str, expression: str, lines: frozenset[int] | None = None) -> StandIn:
    function = toy_function(expression)
    return StandIn(name=name, code=function.text[: function.end], lines=lines)


def build(
    function: SourceFunction,
    toolkit: ToyToolkit,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int = 0,
    **given: Any,
) -> Harness | Inconclusive:
    monkeypatch.setattr(builder_module, "toolkit_for", lambda language: toolkit)
    return LocalGoBuilder.from_settings(Settings(**given)).build(function, NO_SANDBOX, seed=seed)


def test_a_harness_holds_distinct_states_that_show_their_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    found = build(toy_function("a * 100 + b"), ToyToolkit(), monkeypatch)
    assert isinstance(found, Harness)
    assert len(found.states) == len({state.arguments for state in found.states}) == 10
    for state, output in zip(found.states, found.expected, strict=True):
        a, b = map(int, state.arguments)
        assert output.value == a * 100 + b
        assert len(state.choices) <= 2
        assert output.lines == ()
    assert found.evidence.coverage == 1.0
    assert found.evidence.outputs == 10
    assert [proof.name for proof in found.evidence.proofs] == ["self", "renamed"]
    assert found.builder == "local/3.1"


def test_the_same_seed_gives_the_same_harness_and_another_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    function = toy_function("a * 100 + b")
    one, again, other = (build(function, ToyToolkit(), monkeypatch, seed=seed) for seed in (0, 0, 1))
    assert one == again
    assert isinstance(one, Harness)
    assert isinstance(other, Harness)
    assert one.states != other.states


def test_the_search_reaches_a_line_that_few_pairs_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rare = toy_function("a + b", "[1, 2] + [3] * (a == 42 and b == 99)")
    found = build(rare, ToyToolkit(), monkeypatch)
    assert isinstance(found, Harness)
    assert ("42", "99") in {state.arguments for state in found.states}


def test_a_change_that_matters_on_few_states_does_not_reach_the_threshold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = stand_in("constant", "a + b + (a == 41)")  # one value of twelve
    found = build(toy_function("a + b"), ToyToolkit(changed=(changed,)), monkeypatch)
    assert isinstance(found, Harness)
    assert sum(state.arguments[0] == "41" for state in found.states) >= 3


def test_a_search_that_reaches_all_ends_where_the_language_has_enough_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brief, long, few = ToyToolkit(enough=24), ToyToolkit(), ToyToolkit(enough=24)
    assert isinstance(build(toy_function("a * 100 + b"), brief, monkeypatch), Harness)
    assert isinstance(build(toy_function("a * 100 + b"), long, monkeypatch), Harness)
    assert len(long.ran) > len(brief.ran)
    assert brief.ran[1][1] <= 40  # the states of the first batch are followed by those that it chose from
    build(toy_function("a == 42 and b == 99"), few, monkeypatch)
    assert few.ran[1][1] > 40
    missed = ToyToolkit(enough=24)
    build(toy_function("a * 100 + b", "[1, 2]"), missed, monkeypatch)
    assert missed.ran[1][1] > 40


def test_where_states_lack_another_scaffold_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def otherwise() -> Prepared | Inconclusive:
        asked.append("again")
        return Prepared(scaffold=Scaffold(files=(("driver", "wider"),)), choices=2)

    class Wider(ToyToolkit):
        """Reaches all lines in the second scaffold only."""

        def _run(self, program: Program, states: Sequence[InputState], coverage: bool) -> Execution:
            run = super()._run(program, states, coverage)
            if program.files == (("driver", "wider"),):
                return run
            return replace(run, outputs=tuple(replace(output, lines=(1,)) for output in run.outputs))

    found = build(toy_function("a * 100 + b"), Wider(otherwise=otherwise), monkeypatch)
    assert isinstance(found, Harness)
    assert found.scaffold.files == (("driver", "wider"),)
    assert asked == ["again"]

    without = build(toy_function("a * 100 + b"), Wider(), monkeypatch)
    assert isinstance(without, Inconclusive)
    assert without.reason == "coverage"
    never = build(
        toy_function("a * 100 + b"),
        Wider(otherwise=lambda: Inconclusive(reason="load_failed", detail="no helpers")),
        monkeypatch,
    )
    assert never == without


def test_mutants_are_counted_where_they_compile_and_run_where_they_can_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    differs = stand_in("constant 0", "a * 100 + b + 1")
    equal = stand_in("constant 1", "b + a * 100")
    elsewhere = stand_in("constant 2", "0", lines=frozenset({9}))
    broken = StandIn(name="operator 3", code="func toy() {}")
    toolkit = ToyToolkit(changed=(differs, equal, elsewhere, broken))
    found = build(toy_function("a * 100 + b"), toolkit, monkeypatch)
    assert isinstance(found, Harness)
    assert (found.evidence.mutants_killed, found.evidence.mutants) == (1, 3)
    assert elsewhere.code not in {code for code, _ in toolkit.ran}


def test_states_are_chosen_to_tell_a_mutant_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rare = stand_in("comparison 0", "a * 100 + b + (a == 42 and b == 41)")
    found = build(toy_function("a * 100 + b"), ToyToolkit(changed=(rare,)), monkeypatch)
    told = build(
        toy_function("min(a, 5)"), ToyToolkit(changed=(stand_in("c", "min(a, 5) + (b == 13)"),)), monkeypatch
    )
    assert isinstance(found, Harness)
    assert isinstance(told, Harness)
    assert told.evidence.mutants_killed == 1


def test_a_stub_that_passes_makes_the_harness_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = stand_in("echo 1", "a")
    found = build(toy_function("a"), ToyToolkit(stubs=(stub,)), monkeypatch)
    assert isinstance(found, Inconclusive)
    assert found.reason == "weak_harness"
    assert "stub:echo 1 scores 1.00" in found.detail


def test_other_states_are_chosen_where_a_stub_passes_on_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = stand_in("constant 0", "min(a, 3)")
    found = build(
        toy_function("min(a, 3) + (100 if a == 41 or b == 8 else 0)"), ToyToolkit(stubs=(stub,)), monkeypatch
    )
    assert isinstance(found, Harness)
    (proof,) = [proof for proof in found.evidence.proofs if proof.name == "stub:constant 0"]
    assert proof.score < 0.8


def test_what_lacks_evidence_is_inconclusive_for_the_right_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {
        "coverage": toy_function("a + b", "[1, 2]"),
        "outputs": toy_function("7"),
        "no_valid_state": toy_function("'crash'"),
        "too_few_states": toy_function("a if b == 0 and a < 9 else 'crash'"),
        "nondeterministic": toy_function("a + call"),
        "load_failed": replace(toy_function("a"), text="func toy() {\n}\n", signature_end=12, end=14),
    }
    for reason, function in reasons.items():
        found = build(function, ToyToolkit(), monkeypatch)
        assert isinstance(found, Inconclusive), reason
        assert found.reason == reason, found.detail
        assert found.detail


def test_a_budget_of_nothing_gives_no_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    found = build(toy_function("a * 100 + b"), ToyToolkit(), monkeypatch, budget=0.0)
    assert isinstance(found, Inconclusive)
    assert found.reason == "budget"


def test_states_are_looked_for_that_tell_surviving_mutants_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # The two differ for few pairs of arguments only, and no line or feature leads there.
    mutant = stand_in("mutant", "a + b + (a == 41 and b > 40)", frozenset({1}))
    function = toy_function("a + b")
    strength = {}
    for rounds in (0, 3):
        settings = builder_module.CompiledBuilderSettings(
            sharpening_rounds=rounds, first_states=12, rounds=0, further_rounds=0
        )
        monkeypatch.setattr(builder_module, "toolkit_for", lambda language: ToyToolkit(changed=(mutant,)))
        found = LocalGoBuilder(settings).build(function, NO_SANDBOX, seed=1)
        assert isinstance(found, Harness)
        strength[rounds] = found.evidence.mutants_killed
    assert strength == {0: 0, 3: 1}
