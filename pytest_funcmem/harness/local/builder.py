"""The ``local`` builder for Python: reads the original, searches for input states, chooses, and proves.

It asks no language model and sees no completion. The same function, settings and seed give the same harness,
whatever the hash seed, the load of the machine or the number of workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, Inconclusive, InputState, Scaffold, SourceFunction
from pytest_funcmem.harness.choice import choose, shortlist
from pytest_funcmem.harness.execution import execute, original_program, spliced_program
from pytest_funcmem.harness.local.analysis import Analysis, UnreadableFunctionError, analyse
from pytest_funcmem.harness.local.literals import mine
from pytest_funcmem.harness.local.mutants import Mutant, make_mutants
from pytest_funcmem.harness.local.scaffolds import scaffold_for
from pytest_funcmem.harness.local.search import Search
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.states import StatePlan
from pytest_funcmem.harness.local.stubs import make_stubs
from pytest_funcmem.harness.local.trials import Trial, made_up_parts, suffices
from pytest_funcmem.harness.outputs import same_output, validity
from pytest_funcmem.harness.validate import (
    MUTANT_TIMEOUT_S,
    Comparisons,
    OutOfTimeError,
    load_problem,
    rests_on_mocks,
    state_problem,
    validate,
)

__all__ = ["LocalBuilderSettings", "LocalPythonBuilder"]

_LOGGER = logging.getLogger(__name__)
_PROBES = 2
_LATER = 10


class LocalPythonBuilder:
    """Makes harnesses for Python functions; what their file lacks is made up.

    Args:
        settings: Conditions and bounds.
    """

    name = "local"
    version = "2"

    def __init__(self, settings: LocalBuilderSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Settings) -> LocalPythonBuilder:
        """Make the builder from the settings of an audit."""
        return cls(
            LocalBuilderSettings(
                inputs=settings.inputs,
                min_inputs=settings.min_inputs,
                min_coverage=settings.min_coverage,
                min_outputs=settings.min_outputs,
                tau_func=settings.tau_func,
                budget_s=settings.budget,
                float_tolerance=settings.float_tolerance,
            )
        )

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int) -> Harness | Inconclusive:
        """Build and prove a harness; see ``Builder.build``."""
        deadline = time.monotonic() + self.settings.budget_s

        def check_time() -> None:
            if time.monotonic() > deadline:
                raise OutOfTimeError

        try:
            analysis = analyse(function)
            return _Building(analysis, sandbox, self.settings, self.label, seed, check_time).run()
        except UnreadableFunctionError as exc:
            return Inconclusive(reason="load_failed", detail=f"the function does not parse: {exc}")
        except OutOfTimeError:
            _LOGGER.info("no harness for %s within %g s", function.key, self.settings.budget_s)
            return Inconclusive(reason="budget", detail=f"not finished within {self.settings.budget_s:g} s")
        except RecursionError:
            return Inconclusive(reason="load_failed", detail="the function nests too deeply to be read")

    @property
    def label(self) -> str:
        """Name and version, as harnesses carry them."""
        return f"{self.name}/{self.version}"


class _Building:
    """The making of one harness."""

    def __init__(
        self,
        analysis: Analysis,
        sandbox: Sandbox,
        settings: LocalBuilderSettings,
        label: str,
        seed: int,
        check_time: Callable[[], None],
    ) -> None:
        self.analysis = analysis
        self.function = analysis.source
        self.sandbox = sandbox
        self.settings = settings
        self.label = label
        self.seed = seed
        self.check_time = check_time
        self.scaffold: Scaffold = scaffold_for(analysis)
        self.compared: Comparisons = {}

    def run(self) -> Harness | Inconclusive:
        if self.analysis.kind == "nested":
            return Inconclusive(
                reason="unsupported_signature", detail="it is defined inside another function, out of reach"
            )
        plan = StatePlan.of(self.analysis, mine(self.analysis))
        found = Search(
            plan,
            self.scaffold,
            self.sandbox,
            self.settings,
            seed=int(digest([self.seed])[:15], 16),
            check_time=self.check_time,
        ).run()
        self.scaffold = found.scaffold
        problem = load_problem(self.analysis, found.first)
        if problem is not None:
            return problem
        pool, unsteady = self.steady(shortlist(_real_enough(found.valid, self.settings), self.settings.pool))
        if len(pool) < self.settings.min_inputs:
            reasons = unsteady or [trial.problem for trial in found.trials if trial.problem]
            return state_problem(
                self.analysis.missing, found.first, len(pool), reasons, self.settings.min_inputs
            )
        kills = self.kills(pool)
        result = self.prove(choose(pool, self.settings.inputs, kills=kills))
        if isinstance(result, Inconclusive) and result.reason == "weak_harness":
            # Other states may tell apart what passed for the original.
            kills.update(self.stub_kills(pool))
            chosen = choose(pool, self.settings.inputs, kills=_repeated(kills, self.settings))
            second = self.prove(chosen)
            return second if isinstance(second, Harness) else result
        return result

    def prove(self, chosen: Sequence[Trial]) -> Harness | Inconclusive:
        return validate(
            self.function,
            self.scaffold,
            [trial.state for trial in chosen],
            self.sandbox,
            self.settings,
            builder=self.label,
            check_time=self.check_time,
            compared=self.compared,
        )

    def steady(self, trials: Sequence[Trial]) -> tuple[list[Trial], list[str]]:
        """The states on which a second run does the same, and what was wrong with the others."""
        if not trials:
            return [], []
        self.check_time()
        states = [trial.state for trial in trials]
        program = original_program(self.function, self.scaffold)
        again = execute(self.sandbox, program, states, coverage=False, state_timeout_s=2 * MUTANT_TIMEOUT_S)
        kept, reasons = [], []
        for trial, output in zip(trials, again.outputs, strict=True):
            valid, reason = validity(trial.output, output, float_tolerance=self.settings.float_tolerance)
            if valid:
                kept.append(trial)
            else:
                reasons.append(reason)
        return kept, reasons

    def kills(self, pool: Sequence[Trial]) -> dict[str, frozenset[int]]:
        """For each mutant, some states that tell it apart: of those chosen by coverage, else of others."""
        first = choose(pool, self.settings.inputs)
        later = [trial for trial in pool if trial not in first]
        found: dict[str, frozenset[int]] = {}
        for number, mutant in enumerate(
            make_mutants(self.function, self.analysis.node, limit=self.settings.mutants)
        ):
            near = [trial for trial in first if mutant.lines & trial.reached]
            others = [trial for trial in later if mutant.lines & trial.reached][:_LATER]
            for part in (near[:_PROBES], near[_PROBES:], others):
                killers = self.killers(mutant, part)
                if killers:
                    found[f"mutant {number}"] = killers
                    break
        return found

    def killers(self, mutant: Mutant, trials: Sequence[Trial]) -> frozenset[int]:
        return self.told_apart(mutant.code, trials) if trials else frozenset()

    def stub_kills(self, pool: Sequence[Trial]) -> dict[str, frozenset[int]]:
        expected = [trial.output for trial in pool]
        return {
            f"stub {stub.name}": self.told_apart(stub.code, pool)
            for stub in make_stubs(self.analysis, expected)
        }

    def told_apart(self, code: str, trials: Sequence[Trial]) -> frozenset[int]:
        """Orders of the states on which a program differs from the original."""
        self.check_time()
        states: list[InputState] = [trial.state for trial in trials]
        program = spliced_program(self.function, self.scaffold, code)
        run = execute(self.sandbox, program, states, coverage=False, state_timeout_s=MUTANT_TIMEOUT_S)
        known = self.compared.setdefault(code, {})
        for trial, output in zip(trials, run.outputs, strict=True):
            known[trial.state] = same_output(
                trial.output, output, float_tolerance=self.settings.float_tolerance
            )
        return frozenset(trial.order for trial in trials if not known[trial.state])


def _real_enough(trials: Sequence[Trial], settings: LocalBuilderSettings) -> Sequence[Trial]:
    """The states in which least is made up, where they reach and tell as much as all do.

    Best is nothing at all, then what the file lacks but no argument: how an argument is asked is a matter of
    how a function is written, of which a rewriting may change the order.
    """
    real = [trial for trial in trials if not rests_on_mocks(trial.state, trial.questions)]
    given = [trial for trial in trials if not made_up_parts(trial.state)]
    return next((kept for kept in (real, given) if suffices(kept, trials, settings)), trials)


def _repeated(kills: dict[str, frozenset[int]], settings: LocalBuilderSettings) -> dict[str, frozenset[int]]:
    """The same kills with stubs in front, each asking for as many states as hold it below the threshold."""
    wanted = int(settings.inputs * (1 - settings.tau_func)) + 1
    repeated: dict[str, frozenset[int]] = {}
    for name, orders in kills.items():
        if not name.startswith("stub"):
            repeated[name] = orders
            continue
        ordered = sorted(orders)
        share = max(1, len(ordered) // wanted)
        for number in range(wanted):
            repeated[f"{name} {number}"] = frozenset(ordered[number * share : (number + 1) * share])
    return repeated
