"""Runs mutants and stubs of an original: which input states tell them apart from it.

It knows nothing of how they were made, nor of what follows from what they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, OutputState, Scaffold, SourceFunction
from pytest_funcmem.harness.execution import spliced_program
from pytest_funcmem.harness.outputs import same_output
from pytest_funcmem.harness.python_runs import Run, run_together, was_run

__all__ = ["Comparisons", "compare_mutants", "limited_run"]

_TIMEOUT_S = 3.0
"""Wall-clock seconds that a mutant or a stub gets for one state; one that runs out of them is told apart."""

_CPU_S = 0.6
"""Processor seconds of the same, more than a state may cost the original when it is found."""

_PROBE_STATES = 2

Comparisons: TypeAlias = dict[str, dict[InputState, bool]]
"""For the code of a mutant and an input state, whether it does there what the original does."""


def limited_run(
    function: SourceFunction,
    scaffold: Scaffold,
    code: str,
    states: Sequence[InputState],
    *,
    patience: int | None = 1,
) -> Run:
    """A run of code in the original's place, cut short where it takes much longer than the original."""
    return Run(
        program=spliced_program(function, scaffold, code),
        states=states,
        state_timeout_s=_TIMEOUT_S,
        state_cpu_s=_CPU_S,
        patience=patience,
    )


def compare_mutants(
    sandbox: Sandbox,
    function: SourceFunction,
    scaffold: Scaffold,
    codes: Sequence[str],
    states: Sequence[Sequence[InputState]],
    expected: Mapping[InputState, OutputState],
    compared: Comparisons,
    *,
    float_tolerance: float,
) -> None:
    """Run mutants on input states until one tells them apart; a few states go first.

    Args:
        sandbox: An open sandbox.
        function: The original.
        scaffold: What surrounds it.
        codes: The mutants.
        states: For each mutant, the states that may tell it apart.
        expected: What the original does.
        compared: What is known of them; what is learnt is added.
        float_tolerance: Relative difference up to which two floats are equal.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the function.
    """
    for first, last in ((0, _PROBE_STATES), (_PROBE_STATES, None)):
        places, runs = [], []
        for place, (code, near) in enumerate(zip(codes, states, strict=True)):
            known = compared.setdefault(code, {})
            if any(known.get(state) is False for state in near):
                continue
            new = [state for state in near[first:last] if state not in known]
            if new:
                places.append(place)
                runs.append(limited_run(function, scaffold, code, new))
        for place, run, execution in zip(places, runs, run_together(sandbox, runs), strict=True):
            known = compared[codes[place]]
            for state, output in zip(run.states, execution.outputs, strict=True):
                if was_run(output):
                    known[state] = same_output(expected[state], output, float_tolerance=float_tolerance)
