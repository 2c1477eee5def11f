"""Finds what candidates lacked, and widens a harness by it without a change of what the original does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import (
    Harness,
    Inconclusive,
    InputState,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.execution import Program, execute, original_program, spliced_program
from pytest_funcmem.harness.outputs import same_output
from pytest_funcmem.harness.proving import prove_states
from pytest_funcmem.harness.widening.compiled_lacks import compiled_lack, widened_compiled
from pytest_funcmem.harness.widening.labels import widened_label
from pytest_funcmem.harness.widening.python_lacks import python_lack, widened_python

__all__ = ["MOST_LACKS", "Widened", "lacks_of", "lacks_of_candidate", "widen"]

MOST_LACKS = 12
"""What lacks more than that is not repaired at all."""


_CHANGED = Inconclusive(
    reason="weak_harness", detail="with what candidates lack, the original would do something else"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Widened:
    """A harness that was widened.

    Attributes:
        harness: Proved anew, with a scaffold of a higher version; its builder's label names what was added.
        lacks: What was added, in the order of the alphabet.
    """

    harness: Harness
    lacks: tuple[str, ...]


def lacks_of(function: SourceFunction, outputs: Sequence[OutputState]) -> frozenset[str]:
    """What runs of a candidate failed for want of, each as what would bring it in.

    Only the outputs are looked at, and all of them are hostile: what may come out is on a short list.
    """
    if function.language == "python":
        found = map(python_lack, outputs)
    else:
        found = map(partial(compiled_lack, function.language), outputs)
    return frozenset(lack for lack in found if lack is not None)


def lacks_of_candidate(
    function: SourceFunction,
    harness: Harness,
    code: str,
    outputs: Sequence[OutputState],
    sandbox: Sandbox,
) -> tuple[str, ...]:
    """All that a candidate lacks of a harness: what it runs into next once it has what it ran into first.

    It depends on the harness and the candidate alone, not on what other candidates lacked.

    Args:
        function: The original.
        harness: Its harness.
        code: The candidate: signature and body. It is run and never read.
        outputs: What it does on the harness.
        sandbox: Open.

    Returns:
        In the order of the alphabet; nothing where it lacks too much to be repaired.

    Raises:
        SandboxError: The sandbox failed.
    """
    found: set[str] = set()
    while new := lacks_of(function, outputs) - found:
        found |= new
        if len(found) > MOST_LACKS:
            return ()
        scaffold, states = _with(function, harness, sorted(found))
        execution = execute(
            sandbox,
            spliced_program(function, scaffold, code),
            states,
            coverage=False,
            state_timeout_s=harness.state_timeout_s,
        )
        outputs = execution.outputs
    return tuple(sorted(found))


def widen(
    function: SourceFunction, harness: Harness, lacks: Sequence[str], sandbox: Sandbox, settings: Settings
) -> Widened | Inconclusive:
    """Widen a harness, as far as every output of the original stays as it was.

    The result depends on the harness and on what is lacking, and on nothing else of any candidate.

    Args:
        function: The original.
        harness: Its harness.
        lacks: What would be added, as ``lacks_of`` gives it.
        sandbox: Open.
        settings: Conditions of a valid harness, and the budget in seconds.

    Returns:
        The harness; or why there is none: nothing can be added without a change, the widened harness does not
        prove itself, or the budget ran out, which alone may come out otherwise the next time.

    Raises:
        SandboxError: The sandbox failed.
    """

    def unchanged(some: Sequence[str]) -> bool:
        scaffold, states = _with(function, harness, some)
        program = original_program(function, scaffold)
        return _outputs_stay(harness, _run(program, states, harness, sandbox), settings)

    kept = sorted(set(lacks))
    if not unchanged(kept):
        kept = [lack for lack in kept if unchanged([lack])] if len(kept) > 1 else []
        if not kept or not unchanged(kept):
            return _CHANGED
    scaffold, states = _with(function, harness, kept)
    label = widened_label(harness, kept)
    proved = prove_states(function, scaffold, states, sandbox, settings, builder=label)
    if isinstance(proved, Inconclusive):
        return proved
    if len(proved.states) != len(harness.states) or not _outputs_stay(harness, proved.expected, settings):
        return _CHANGED
    # What came back of a proof on a loaded machine must not make candidates hurry.
    timeout_s = max(proved.state_timeout_s, harness.state_timeout_s)
    return Widened(harness=replace(proved, state_timeout_s=timeout_s), lacks=tuple(kept))


def _with(
    function: SourceFunction, harness: Harness, lacks: Sequence[str]
) -> tuple[Scaffold, tuple[InputState, ...]]:
    scaffold, states = harness.scaffold, harness.states
    if function.language == "python":
        scaffold, states = widened_python(function, scaffold, states, lacks)
    else:
        scaffold = widened_compiled(function.language, scaffold, lacks)
    # A function of what was added, whatever the order in which it was found lacking.
    return replace(scaffold, version=harness.scaffold.version + len(lacks)), states


def _run(
    program: Program, states: Sequence[InputState], harness: Harness, sandbox: Sandbox
) -> Sequence[OutputState]:
    return execute(sandbox, program, states, coverage=False, state_timeout_s=harness.state_timeout_s).outputs


def _outputs_stay(harness: Harness, outputs: Sequence[OutputState], settings: Settings) -> bool:
    return len(outputs) == len(harness.expected) and all(
        same_output(expected, output, float_tolerance=settings.float_tolerance)
        for expected, output in zip(harness.expected, outputs, strict=True)
    )
