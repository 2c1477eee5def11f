"""The ``local`` builder for Python: reads the original, searches for input states, chooses, and proves.

It asks no language model and sees no completion. The same function, settings and seed give the same harness,
whatever the hash seed, the load of the machine or the number of workers.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, Inconclusive, Scaffold, SourceFunction
from pytest_funcmem.harness.budget import BudgetedSandbox, OutOfTimeError
from pytest_funcmem.harness.choice import choose, shortlist, states_to_refuse
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.harness.local.analysis import Analysis, UnreadableFunctionError, analyse
from pytest_funcmem.harness.local.literals import mine
from pytest_funcmem.harness.local.mutants import make_mutants
from pytest_funcmem.harness.local.scaffolds import scaffold_for
from pytest_funcmem.harness.local.search import Search
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.states import StatePlan
from pytest_funcmem.harness.local.stubs import make_stubs
from pytest_funcmem.harness.local.trials import Trial, made_up_parts, suffices
from pytest_funcmem.harness.mutant_runs import Comparisons, compare_mutants, limited_run
from pytest_funcmem.harness.outputs import same_output, validity
from pytest_funcmem.harness.python_runs import Run, run_together
from pytest_funcmem.harness.validate import (
    ORIGINAL_TIMEOUT_S,
    load_problem,
    rests_on_mocks,
    state_problem,
    validate,
)

__all__ = ["LocalBuilderSettings", "LocalPythonBuilder"]

_LOGGER = logging.getLogger(__name__)
_LATER = 10


class LocalPythonBuilder:
    """Makes harnesses for Python functions; what their file lacks is made up.

    Args:
        settings: Conditions and bounds.
    """

    name = "local"
    version = "5"

    def __init__(self, settings: LocalBuilderSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Settings) -> LocalPythonBuilder:
        """Make the builder from the settings of an audit."""
        return cls(LocalBuilderSettings.from_settings(settings, budget_s=settings.budget))

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int) -> Harness | Inconclusive:
        """Build and prove a harness; see ``Builder.build``."""
        lent = BudgetedSandbox(sandbox, self.settings.budget_s)
        try:
            return _Building(analyse(function), lent, self.settings, self.label, seed).run()
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
    ) -> None:
        self.analysis = analysis
        self.function = analysis.source
        self.sandbox = sandbox
        self.settings = settings
        self.label = label
        self.seed = seed
        self.scaffold: Scaffold = scaffold_for(analysis)
        self.compared: Comparisons = {}
        self.pool: Sequence[Trial] = ()

    def run(self) -> Harness | Inconclusive:
        """The harness; or why there is none, with the best states for whoever goes on."""
        result = self.made()
        if isinstance(result, Harness) or not self.pool:
            return result
        best = choose(self.pool, self.settings.inputs)
        return replace(result, states=tuple(trial.state for trial in best))

    def made(self) -> Harness | Inconclusive:
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
        ).run()
        self.scaffold = found.scaffold
        problem = load_problem(self.analysis, found.first)
        if problem is not None:
            return problem
        pool: Sequence[Trial] = shortlist(_real_enough(found.valid, self.settings), self.settings.pool)
        self.pool = pool
        if len(pool) < self.settings.min_inputs:
            reasons = [trial.problem for trial in found.trials if trial.problem]
            return state_problem(
                self.analysis.missing, found.first, len(pool), reasons, self.settings.min_inputs
            )
        kills = self.kills(pool)
        chosen = choose(pool, self.settings.inputs, mutants=kills)
        result = self.prove(chosen)
        if not _all_held(result, chosen):
            # Some state does not do the same twice: only those that do may be chosen from.
            pool, unsteady = self.steady(pool)
            if len(pool) < self.settings.min_inputs:
                return state_problem(
                    self.analysis.missing, found.first, len(pool), unsteady, self.settings.min_inputs
                )
            self.compared.clear()
            kills = self.kills(pool)
            result = self.prove(choose(pool, self.settings.inputs, mutants=kills))
        if isinstance(result, Inconclusive) and result.reason == "weak_harness":
            # Other states may tell apart what passed for the original.
            chosen = choose(
                pool,
                self.settings.inputs,
                stubs=self.stub_kills(pool),
                mutants=kills,
                enough=states_to_refuse(self.settings.inputs, self.settings.tau_func),
            )
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
            compared=self.compared,
        )

    def steady(self, trials: Sequence[Trial]) -> tuple[list[Trial], list[str]]:
        """The states on which a second run does the same, and what was wrong with the others."""
        if not trials:
            return [], []
        run = Run(
            program=original_program(self.function, self.scaffold),
            states=[trial.state for trial in trials],
            state_timeout_s=ORIGINAL_TIMEOUT_S,
        )
        (again,) = run_together(self.sandbox, [run])
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
        mutants = make_mutants(self.function, self.analysis.node, limit=self.settings.mutants)
        found: dict[str, frozenset[int]] = {}
        for trials, most in ((first, None), (later, _LATER)):
            open_mutants = [
                (f"mutant {number}", mutant)
                for number, mutant in enumerate(mutants)
                if f"mutant {number}" not in found
            ]
            near = [
                [trial for trial in trials if mutant.lines & trial.reached][:most]
                for _, mutant in open_mutants
            ]
            compare_mutants(
                self.sandbox,
                self.function,
                self.scaffold,
                [mutant.code for _, mutant in open_mutants],
                [[trial.state for trial in part] for part in near],
                {trial.state: trial.output for trial in trials},
                self.compared,
                float_tolerance=self.settings.float_tolerance,
            )
            for (name, mutant), part in zip(open_mutants, near, strict=True):
                known = self.compared.get(mutant.code, {})
                killers = frozenset(trial.order for trial in part if known.get(trial.state) is False)
                if killers:
                    found[name] = killers
        return found

    def stub_kills(self, pool: Sequence[Trial]) -> dict[str, frozenset[int]]:
        """For each stub, the states that tell it apart."""
        stubs = make_stubs(self.analysis, [trial.output for trial in pool])
        near = [[trial for trial in pool if stub.could_match(trial.output)] for stub in stubs]
        runs = [
            limited_run(
                self.function, self.scaffold, stub.code, [trial.state for trial in part], patience=None
            )
            for stub, part in zip(stubs, near, strict=True)
        ]
        found = {}
        for stub, part, execution in zip(stubs, near, run_together(self.sandbox, runs), strict=True):
            alike = {
                trial.order
                for trial, output in zip(part, execution.outputs, strict=True)
                if same_output(trial.output, output, float_tolerance=self.settings.float_tolerance)
            }
            found[f"stub {stub.name}"] = frozenset(trial.order for trial in pool) - alike
        return found


def _all_held(result: Harness | Inconclusive, chosen: Sequence[Trial]) -> bool:
    """Whether every chosen state was valid in the proof."""
    if isinstance(result, Harness):
        return len(result.states) == len(chosen)
    return result.evidence is not None and result.evidence.valid == len(chosen)


def _real_enough(trials: Sequence[Trial], settings: LocalBuilderSettings) -> Sequence[Trial]:
    """The states in which least is made up, where they reach and tell as much as all do.

    Best is nothing at all, then what the file lacks but no argument: how an argument is asked is a matter of
    how a function is written, of which a rewriting may change the order.
    """
    real = [trial for trial in trials if not rests_on_mocks(trial.state, trial.questions)]
    given = [trial for trial in trials if not made_up_parts(trial.state)]
    return next((kept for kept in (real, given) if suffices(kept, trials, settings)), trials)
