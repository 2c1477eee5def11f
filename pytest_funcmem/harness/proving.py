"""Proves input states that are there already, in any language: a harness that somebody gave, or edited."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, Inconclusive, InputState, Scaffold, SourceFunction
from pytest_funcmem.harness.budget import BudgetedSandbox, OutOfTimeError
from pytest_funcmem.harness.compiled.proof import prove
from pytest_funcmem.harness.compiled.toolkit import toolkit_for
from pytest_funcmem.harness.validate import HarnessConditions, validate

__all__ = ["prove_states"]


def prove_states(
    function: SourceFunction,
    scaffold: Scaffold,
    states: Sequence[InputState],
    sandbox: Sandbox,
    settings: Settings,
    *,
    builder: str,
) -> Harness | Inconclusive:
    """Prove that input states make a harness, whatever its function is written in.

    Args:
        function: The original.
        scaffold: What surrounds it.
        states: Input states; all that are valid are kept, however many an audit would choose.
        sandbox: Open, with what the function's language needs.
        settings: Conditions of a valid harness, and the budget in seconds.
        builder: Name and version of whoever made the states.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the harness.
    """
    conditions = HarnessConditions.from_settings(settings, inputs=max(settings.inputs, len(states)))
    lent = BudgetedSandbox(sandbox, settings.budget)
    try:
        if function.language == "python":
            return validate(function, scaffold, states, lent, conditions, builder=builder)
        toolkit = toolkit_for(function.language)
        return prove(
            function,
            scaffold,
            states,
            toolkit,
            lent,
            conditions,
            builder=builder,
            check_time=lent.check,
            known={},
        )
    except OutOfTimeError:
        return Inconclusive(reason="budget", detail=f"not proved within {settings.budget:g} s")
