"""Looks for input states that tell apart the mutants which no state found so far does.

A mutant that behaves like the original everywhere shows a place that the states do not test, so neighbours of
the states that get there are tried. It is driven by one seed and bounded by counts, as the search is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.search import Search, Trial, input_digest
from pytest_funcmem.harness.compiled.settings import CompiledBuilderSettings
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn, Toolkit
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.outputs import same_output

__all__ = ["Sharpening"]

_MOST_AT_ONCE = 5


class Sharpening:
    """One attempt to find states for what survives.

    Args:
        function: The original.
        prepared: What surrounds it.
        search: What was tried so far; what is tried here is added to it.
        toolkit: Of its language.
        sandbox: An open sandbox.
        settings: Bounds, and when outputs are equal.
        timeout_s: Processor seconds for a state.
        check_time: Called before each run; raises where the budget is used up.
    """

    def __init__(
        self,
        function: SourceFunction,
        prepared: Prepared,
        search: Search,
        toolkit: Toolkit,
        sandbox: Sandbox,
        settings: CompiledBuilderSettings,
        *,
        timeout_s: float,
        check_time: Callable[[], None],
    ) -> None:
        self._function = function
        self._prepared = prepared
        self._search = search
        self._toolkit = toolkit
        self._sandbox = sandbox
        self._settings = settings
        self._timeout_s = timeout_s
        self._check_time = check_time

    def run(self, survivors: Sequence[StandIn], pool: Sequence[Trial]) -> list[Trial]:
        """New valid states, each of which told some survivor apart that none before it did.

        What they tell apart was seen in runs that only search; whoever counts it runs it again.

        Args:
            survivors: Stand-ins that no state of the pool tells apart.
            pool: The states that are known, best first.
        """
        found: list[Trial] = []
        left = list(survivors)
        given = {input_digest(trial.shown, trial.output) for trial in pool}
        idle = 0
        for number in range(self._settings.sharpening_rounds):
            if not left or idle == self._settings.patience:
                break
            before = len(left)
            for trial, killed in self._round(left[:_MOST_AT_ONCE], number):
                if not any(one in killed for one in left) or input_digest(trial.shown, trial.output) in given:
                    continue
                given.add(input_digest(trial.shown, trial.output))
                found.append(trial)
                left = [one for one in left if one not in killed]
            left = [*left[_MOST_AT_ONCE:], *left[:_MOST_AT_ONCE]]
            idle = idle + 1 if len(left) == before else 0
        return found

    def _round(self, left: Sequence[StandIn], number: int) -> list[tuple[Trial, list[StandIn]]]:
        """Valid states of one round, and which of the stand-ins each tells apart; the most telling first."""
        states = self._search.near(
            [one.lines for one in left], self._settings.sharpening_states, f"sharpening {number}"
        )
        if not states:
            return []
        self._check_time()
        programs = [
            original_program(self._function, self._prepared.scaffold),
            *(spliced_program(self._function, self._prepared.scaffold, one.code) for one in left),
        ]
        original, *others = self._toolkit.execute(
            self._sandbox,
            programs,
            [states] * len(programs),
            coverage=True,
            state_timeout_s=self._timeout_s,
        )
        told: list[tuple[Trial, list[StandIn]]] = []
        for place, trial in enumerate(self._search.note(states, original)):
            if trial.problem:
                continue
            killed = [
                one
                for one, other in zip(left, others, strict=True)
                if other.loaded
                and not same_output(
                    trial.output, other.outputs[place], float_tolerance=self._settings.float_tolerance
                )
            ]
            told.append((trial, killed))
        return sorted(told, key=lambda item: (-len(item[1]), *item[0].cost))
