"""Finds, among the valid states of a search, more that tell apart the mutants which few of the pool do.

The threshold forgives a candidate some of its states. A change that matters on few of many inputs would pass
for the original wherever the harness holds none or one of these. Nothing new is tried: ``sharpening`` does
that, for mutants that no state tells apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Scaffold, SourceFunction
from pytest_funcmem.harness.choice import shortlist
from pytest_funcmem.harness.compiled.search import Trial
from pytest_funcmem.harness.compiled.settings import CompiledBuilderSettings
from pytest_funcmem.harness.compiled.toolkit import StandIn, Toolkit
from pytest_funcmem.harness.execution import spliced_program
from pytest_funcmem.harness.outputs import same_output

__all__ = ["telling_states"]


def telling_states(
    function: SourceFunction,
    scaffold: Scaffold,
    wanting: Mapping[StandIn, int],
    trials: Sequence[Trial],
    toolkit: Toolkit,
    sandbox: Sandbox,
    settings: CompiledBuilderSettings,
    *,
    timeout_s: float,
    check_time: Callable[[], None],
) -> list[Trial]:
    """States that tell mutants apart, few for many.

    Args:
        function: The original.
        scaffold: What surrounds it.
        wanting: For each mutant, how many states are wanted for it.
        trials: Valid states to look among.
        toolkit: Of the language.
        sandbox: An open sandbox.
        settings: Bounds, and when outputs are equal.
        timeout_s: Processor seconds of a mutant for one state.
        check_time: Called before the run; raises where the budget is used up.
    """
    near = {
        mutant: shortlist(
            [trial for trial in trials if mutant.lines is None or mutant.lines & trial.reached],
            settings.telling_states,
        )
        for mutant in wanting
    }
    near = {mutant: few for mutant, few in near.items() if few}
    if not near:
        return []
    check_time()
    runs = toolkit.execute(
        sandbox,
        [spliced_program(function, scaffold, mutant.code) for mutant in near],
        [[trial.state for trial in few] for few in near.values()],
        coverage=False,
        state_timeout_s=timeout_s,
    )
    found: dict[int, Trial] = {}
    for (mutant, few), run in zip(near.items(), runs, strict=True):
        killers = [
            trial
            for trial, output in zip(few, run.outputs, strict=True)
            if not same_output(trial.output, output, float_tolerance=settings.float_tolerance)
        ]
        killers.sort(key=lambda trial: (trial.order not in found, trial.raises, *trial.cost))
        for trial in killers[: wanting[mutant]]:
            found[trial.order] = trial
    return list(found.values())
