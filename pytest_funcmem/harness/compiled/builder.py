"""The ``local`` builder for compiled languages: prepares a scaffold, searches, chooses, and proves.

It asks no language model and sees no completion. The same function, settings and seed give the same harness,
whatever the hash seed, the load of the machine or the number of workers.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, Inconclusive, InputState, Language, SourceFunction
from pytest_funcmem.harness.budget import BudgetedSandbox, OutOfTimeError
from pytest_funcmem.harness.choice import choose, shortlist, states_to_refuse
from pytest_funcmem.harness.compiled.proof import MUTANT_TIMEOUT_S, Kills, prove, run_stand_ins
from pytest_funcmem.harness.compiled.search import Search, Trial
from pytest_funcmem.harness.compiled.settings import CompiledBuilderSettings
from pytest_funcmem.harness.compiled.sharpening import Sharpening
from pytest_funcmem.harness.compiled.telling import telling_states
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn, Toolkit, toolkit_for
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.outputs import same_output, validity
from pytest_funcmem.harness.validate import state_problem

__all__ = ["LocalCBuilder", "LocalGoBuilder", "LocalJavaBuilder", "LocalRustBuilder", "found_harness"]

_SHARED_VERSION = "3"
_LACK_OF_STATES = ("coverage", "no_valid_state", "too_few_states", "outputs")
_LOGGER = logging.getLogger(__name__)


class _Version:
    """The version of a builder: that of what all compiled languages share, and that of the toolkit."""

    def __get__(self, builder: object, kind: type[_LocalCompiledBuilder]) -> str:
        return f"{_SHARED_VERSION}.{toolkit_for(kind.language).version}"


class _LocalCompiledBuilder:
    """Makes harnesses for functions of one compiled language; what their file lacks is made up.

    Args:
        settings: Conditions and bounds.
    """

    name = "local"
    version = _Version()
    language: ClassVar[Language]

    def __init__(self, settings: CompiledBuilderSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Make the builder from the settings of an audit."""
        return cls(CompiledBuilderSettings.from_settings(settings, budget_s=settings.budget))

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int) -> Harness | Inconclusive:
        """Build and prove a harness; see ``Builder.build``."""
        lent = BudgetedSandbox(sandbox, self.settings.budget_s)
        try:
            toolkit = toolkit_for(self.language)
            prepared = toolkit.prepare(function, lent, check_time=lent.check)
            if isinstance(prepared, Inconclusive):
                return prepared
            result = self._built(function, prepared, toolkit, lent, seed)
            if (
                isinstance(result, Harness)
                or result.reason not in _LACK_OF_STATES
                or prepared.otherwise is None
            ):
                return result
            with contextlib.suppress(OutOfTimeError):
                other = prepared.otherwise()
                if isinstance(other, Prepared):
                    second = self._built(function, other, toolkit, lent, seed)
                    return second if isinstance(second, Harness) else result
            return result
        except OutOfTimeError:
            _LOGGER.info("no harness for %s within %g s", function.key, self.settings.budget_s)
            return Inconclusive(reason="budget", detail=f"not finished within {self.settings.budget_s:g} s")
        except RecursionError:
            return Inconclusive(reason="load_failed", detail="the function nests too deeply to be read")

    def _built(
        self, function: SourceFunction, prepared: Prepared, toolkit: Toolkit, lent: BudgetedSandbox, seed: int
    ) -> Harness | Inconclusive:
        label = f"{self.name}/{self.version}"
        return _Building(function, prepared, toolkit, lent, self.settings, label, seed, lent.check).run()


class LocalCBuilder(_LocalCompiledBuilder):
    """For C."""

    language = "c"


class LocalGoBuilder(_LocalCompiledBuilder):
    """For Go."""

    language = "go"


class LocalJavaBuilder(_LocalCompiledBuilder):
    """For Java."""

    language = "java"


class LocalRustBuilder(_LocalCompiledBuilder):
    """For Rust."""

    language = "rust"


def found_harness(
    function: SourceFunction,
    prepared: Prepared,
    toolkit: Toolkit,
    sandbox: BudgetedSandbox,
    settings: CompiledBuilderSettings,
    *,
    label: str,
    seed: int,
    given: Sequence[InputState] = (),
    known: Kills | None = None,
) -> Harness | Inconclusive:
    """Search for input states in a scaffold that is there already, choose among them, and prove them.

    Args:
        function: The original.
        prepared: What surrounds it.
        toolkit: Of its language.
        sandbox: Where it runs, with its budget.
        settings: Conditions and bounds.
        label: Name and version of the builder.
        seed: Of the search.
        given: Input states to begin with.
        known: What is learnt of mutants and stubs is added to it.

    Raises:
        OutOfTimeError: The budget is used up.
        SandboxError: The sandbox failed; nothing is known about the function.
    """
    building = _Building(
        function, prepared, toolkit, sandbox, settings, label, seed, sandbox.check, tuple(given)
    )
    if known is not None:
        building.known = known
    return building.run()


class _Building:
    """The making of one harness."""

    def __init__(
        self,
        function: SourceFunction,
        prepared: Prepared,
        toolkit: Toolkit,
        sandbox: Sandbox,
        settings: CompiledBuilderSettings,
        label: str,
        seed: int,
        check_time: Callable[[], None],
        given: tuple[InputState, ...] = (),
    ) -> None:
        self.given = given
        self.function = function
        self.prepared = prepared
        self.toolkit = toolkit
        self.sandbox = sandbox
        self.settings = settings
        self.label = label
        self.seed = seed
        self.check_time = check_time
        self.known: Kills = {}
        self.pool: Sequence[Trial] = ()
        self.enough = states_to_refuse(settings.inputs, settings.tau_func)

    def run(self) -> Harness | Inconclusive:
        """The harness; or why there is none, with the best states for whoever goes on."""
        result = self.made()
        if isinstance(result, Harness) or not self.pool:
            return result
        best = choose(self.pool, self.settings.inputs)
        return replace(result, states=tuple(trial.state for trial in best))

    def made(self) -> Harness | Inconclusive:
        search = Search(
            self.function,
            self.prepared,
            self.toolkit,
            self.sandbox,
            self.settings,
            seed=int(digest([self.seed])[:15], 16),
            check_time=self.check_time,
            given=self.given,
        )
        found = search.run()
        if not found.first.loaded:
            said = found.first.load_detail or "the original does not compile"
            return Inconclusive(reason="load_failed", detail=said)
        pool, unsteady = self.steady(shortlist(found.valid, self.settings.pool))
        self.pool = pool
        if len(pool) < self.settings.min_inputs:
            reasons = unsteady or [trial.problem for trial in found.trials if trial.problem]
            if not reasons:
                reasons = ["all states give the function the same"]
            return state_problem((), found.first, len(pool), reasons, self.settings.min_inputs)
        reached = {line for trial in pool for line in trial.lines}
        if len(reached) < self.settings.min_coverage * len(found.first.executable_lines):
            return self.prove(choose(pool, self.settings.inputs))  # which says what is not covered
        mutants = self.toolkit.mutants(self.function, limit=self.settings.mutants)
        kills = self.kills(pool, mutants, "mutant")
        more = self.steady(self.telling(found.valid, pool, mutants))[0]
        more += self.sharpened(search, pool, mutants)
        if more:
            self.pool = pool = [*pool, *more]
            kills = self.kills(pool, mutants, "mutant")
        result = self.prove(choose(pool, self.settings.inputs, mutants=kills, enough=self.enough))
        if isinstance(result, Inconclusive) and result.reason == "weak_harness":
            # Other states may tell apart what passed for the original.
            expected = [trial.output for trial in pool]
            stubs = self.toolkit.stand_ins(self.function, self.prepared.scaffold, expected)
            others = self.all_kills(pool, stubs) if stubs else {}
            chosen = choose(pool, self.settings.inputs, stubs=others, mutants=kills, enough=self.enough)
            second = self.prove(chosen)
            return second if isinstance(second, Harness) else result
        return result

    def telling(
        self, valid: Sequence[Trial], pool: Sequence[Trial], mutants: Sequence[StandIn]
    ) -> list[Trial]:
        """States beside those of a pool for mutants that too few of the pool tell apart."""
        known = {trial.order for trial in pool}
        wanting = {}
        for mutant in mutants:
            answers = self.known.get(mutant.code, {})
            differing = sum(same is False for same in answers.values())
            if answers and differing < self.enough:
                wanting[mutant] = self.enough - differing
        return telling_states(
            self.function,
            self.prepared.scaffold,
            wanting,
            [trial for trial in valid if trial.order not in known],
            self.toolkit,
            self.sandbox,
            self.settings,
            timeout_s=MUTANT_TIMEOUT_S,
            check_time=self.check_time,
        )

    def sharpened(self, search: Search, pool: Sequence[Trial], mutants: Sequence[StandIn]) -> list[Trial]:
        """Steady states beside those of a pool that tell apart mutants which the pool does not."""
        survivors = [
            mutant
            for mutant in mutants
            if mutant.code in self.known and all(self.known[mutant.code].values())
        ]
        if not survivors:
            return []
        found = Sharpening(
            self.function,
            self.prepared,
            search,
            self.toolkit,
            self.sandbox,
            self.settings,
            timeout_s=MUTANT_TIMEOUT_S,
            check_time=self.check_time,
        ).run(survivors, pool)
        return self.steady(found)[0]

    def prove(self, chosen: Sequence[Trial]) -> Harness | Inconclusive:
        return prove(
            self.function,
            self.prepared.scaffold,
            [trial.state for trial in chosen],
            self.toolkit,
            self.sandbox,
            self.settings,
            builder=self.label,
            check_time=self.check_time,
            known=self.known,
        )

    def steady(self, trials: Sequence[Trial]) -> tuple[list[Trial], list[str]]:
        """The states on which a second run does the same, and what was wrong with the others."""
        if not trials:
            return [], []
        self.check_time()
        states = [
            replace(trial.state, choices=trial.state.choices[: trial.used], arguments=trial.shown)
            for trial in trials
        ]
        (again,) = self.toolkit.execute(
            self.sandbox,
            [original_program(self.function, self.prepared.scaffold)],
            [states],
            coverage=False,
            state_timeout_s=2 * self.settings.state_timeout_s,
        )
        kept, reasons = [], []
        for trial, state, output in zip(trials, states, again.outputs, strict=True):
            valid, reason = validity(trial.output, output, float_tolerance=self.settings.float_tolerance)
            if valid:
                kept.append(replace(trial, state=state))
            else:
                reasons.append(reason)
        return kept, reasons

    def kills(
        self, pool: Sequence[Trial], stand_ins: Sequence[StandIn], label: str
    ) -> dict[str, frozenset[int]]:
        """For each stand-in, orders of some states that tell it apart: of the first choice, else others."""
        first = choose(pool, self.settings.inputs)
        chosen = {trial.order for trial in first}
        ordered = [*first, *(trial for trial in pool if trial.order not in chosen)]
        outcome = run_stand_ins(
            self.function,
            self.prepared.scaffold,
            stand_ins,
            [trial.state for trial in ordered],
            [trial.output for trial in ordered],
            [trial.reached for trial in ordered],
            self.toolkit,
            self.sandbox,
            self.settings.float_tolerance,
            self.check_time,
            self.known,
            enough=self.enough,
        )
        return {
            f"{label} {number}": frozenset(ordered[place].order for place in places)
            for number, places in enumerate(outcome)
            if places
        }

    def all_kills(self, pool: Sequence[Trial], stubs: Sequence[StandIn]) -> dict[str, frozenset[int]]:
        """The states that tell stubs apart."""
        self.check_time()
        states = [trial.state for trial in pool]
        runs = self.toolkit.execute(
            self.sandbox,
            [spliced_program(self.function, self.prepared.scaffold, stub.code) for stub in stubs],
            [states] * len(stubs),
            coverage=False,
            state_timeout_s=MUTANT_TIMEOUT_S,
        )
        return {
            f"stub {stub.name}": frozenset(
                trial.order
                for trial, output in zip(pool, run.outputs, strict=True)
                if not same_output(trial.output, output, float_tolerance=self.settings.float_tolerance)
            )
            for stub, run in zip(stubs, runs, strict=True)
        }
