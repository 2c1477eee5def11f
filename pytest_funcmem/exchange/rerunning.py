"""Proves an exchanged harness on this machine, and reruns the verdict that rests on it.

Nothing is believed that the directory says of itself: the original is run again, all self-proofs are made
again, and completions are parsed, run and compared as in an audit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.generation import Generated
from pytest_funcmem.audit.judging import Built, judge
from pytest_funcmem.audit.world import World
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import AuditRecord, Harness, Inconclusive, OutputState
from pytest_funcmem.core.registry import load
from pytest_funcmem.exchange.directory import Exchanged
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.outputs import same_output, similarity
from pytest_funcmem.harness.proving import prove_states
from pytest_funcmem.store.codec import encode
from pytest_funcmem.store.memory_store import MemoryStore

__all__ = ["Proved", "prove_again", "rerun", "run_code"]

EDITED = "edited"
"""Stands behind the builder's name in a harness that a person changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """What proving a harness again gave.

    Attributes:
        harness: Proved here; or why it may not judge.
        differing: Places of the input states on which the original does something else than was written
            down; empty for an edited harness, whose outputs are found out anew.
        left_out: Input states of an edited harness that the proved one goes without, since they are not valid
            or repeat others.
        left_out_places: Their places; empty where only their number is known, since a compiled function shows
            anew what a state's choices make.
    """

    harness: Harness | Inconclusive
    differing: tuple[int, ...] = ()
    left_out: int = 0
    left_out_places: tuple[int, ...] = ()


def prove_again(exchanged: Exchanged, sandbox: Sandbox, settings: Settings) -> Proved:
    """Make all proofs of a harness again.

    Args:
        exchanged: The harness and its function.
        sandbox: Open, with what the function's language needs.
        settings: Thresholds, and the budget in seconds.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the harness.
    """
    harness = exchanged.harness
    label = harness.builder
    if exchanged.edited and not label.endswith(f", {EDITED}"):
        label = f"{label}, {EDITED}"
    proved = prove_states(
        exchanged.function, harness.scaffold, harness.states, sandbox, settings, builder=label
    )
    if isinstance(proved, Inconclusive):
        return Proved(harness=proved)
    if exchanged.edited:
        left_out = len(harness.states) - len(proved.states)
        places = _without(harness, proved)
        return Proved(
            harness=proved, left_out=left_out, left_out_places=places if len(places) == left_out else ()
        )
    return Proved(harness=proved, differing=_differing(harness, proved, settings.float_tolerance))


def _differing(written: Harness, proved: Harness, tolerance: float) -> tuple[int, ...]:
    """Places of the states that are not proved, or on which the original does something else."""
    outputs = {_inputs_of(proved, place): output for place, output in enumerate(proved.expected)}
    found = []
    for place, expected in enumerate(written.expected):
        output: OutputState | None = outputs.get(_inputs_of(written, place))
        if output is None or not same_output(expected, output, float_tolerance=tolerance):
            found.append(place)
    return tuple(found)


def _without(written: Harness, proved: Harness) -> tuple[int, ...]:
    """Places of the written states that do not stand among the proved ones word for word."""
    left = Counter(_inputs_of(proved, place) for place in range(len(proved.states)))
    found = []
    for place in range(len(written.states)):
        inputs = _inputs_of(written, place)
        if left[inputs]:
            left[inputs] -= 1
        else:
            found.append(place)
    return tuple(found)


def _inputs_of(harness: Harness, place: int) -> str:
    return digest(encode(harness.states[place]))


def rerun(exchanged: Exchanged, harness: Harness, world: World, settings: Settings) -> AuditRecord | None:
    """Decide again about the completions of a directory; None where it has none.

    Args:
        exchanged: The function and the completions.
        harness: Proved on this machine.
        world: Where code runs.
        settings: Thresholds.

    Raises:
        SandboxError: The sandbox failed.
    """
    if exchanged.target is None or exchanged.reference is None:
        return None
    sides = [
        (side.model, Generated(completion=side.completion, seconds=0.0, reused=True))
        for side in (exchanged.target, exchanged.reference)
    ]
    function = exchanged.function
    built = Built(harness=harness, sha256=digest(encode(harness)), seconds=0.0, reused=True)
    return judge(
        function,
        None,
        built,
        sides[0],
        sides[1],
        world.sandbox,
        load("language", function.language)(),
        world=world.keys.get(function.language),
        store=MemoryStore(),
        settings=settings,
        counters=Counters(),
    )


def run_code(
    exchanged: Exchanged, harness: Harness, code: str, sandbox: Sandbox, settings: Settings
) -> tuple[float, tuple[bool, ...], str]:
    """Run code in the original's place.

    Args:
        exchanged: The function.
        harness: Proved on this machine.
        code: The function, from its signature to its end; or what a model gave after the signature.
        sandbox: Open.
        settings: Thresholds.

    Returns:
        SIM_func, for each state whether it matches, and why it could not be run ("" if it could).

    Raises:
        SandboxError: The sandbox failed.
    """
    function = exchanged.function
    if not code.lstrip().startswith(function.signature.split("(")[0].strip()):
        candidate = load("language", function.language)().candidate(function, code)
        if candidate.code is None:
            return 0.0, (False,) * len(harness.states), candidate.detail or candidate.status
        code = candidate.code
    run = execute(
        sandbox,
        spliced_program(function, harness.scaffold, code),
        harness.states,
        coverage=False,
        state_timeout_s=harness.state_timeout_s,
    )
    score, matches = similarity(harness.expected, run.outputs, float_tolerance=settings.float_tolerance)
    return score, matches, "" if run.loaded else run.load_detail
