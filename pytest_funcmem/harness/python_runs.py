"""Runs Python programs in the sandbox, several in one task where they belong to one original.

Every program is loaded in a process of its own and every input state runs in a process forked from that, so
that a task of many programs does what as many tasks would; it only starts and prepares an interpreter once.
Programs of different trust (the original, a completion) must not share a task. What is expected of a program
never passes through here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.core.records import InputState, Json, OutputState
from pytest_funcmem.harness.execution_records import RECORD_BYTES, Execution, read_execution
from pytest_funcmem.harness.outputs import SLOW_OUTCOMES

if TYPE_CHECKING:
    from pytest_funcmem.harness.execution import Program

__all__ = ["Run", "run_together", "was_run"]

LOAD_TIMEOUT_S = 5.0
"""Seconds that all top-level statements of a file may take together."""

_USUAL_RECORD_BYTES = 256 * 1024
_STATES_A_TASK = 80
_TEXT_A_TASK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One program and the input states that it is to run on.

    Attributes:
        program: What to run.
        states: Input states, in order.
        coverage: Whether to record the executed lines of the function.
        state_timeout_s: Wall-clock seconds for one state.
        state_cpu_s: Processor seconds for one state, which the load of the machine hardly changes; None where
            only the wall clock counts. Either gives the outcome ``timeout``.
        patience: States that may run out of time or memory before the rest is left out; None for no end.
    """

    program: Program
    states: Sequence[InputState]
    coverage: bool = False
    state_timeout_s: float = 1.0
    state_cpu_s: float | None = None
    patience: int | None = None


def was_run(output: OutputState) -> bool:
    """Whether a state was run at all, or left out because others before it had run out of time."""
    return output.outcome != "missing" or output.detail != ""


def run_together(sandbox: Sandbox, runs: Sequence[Run], *, limits: Limits | None = None) -> list[Execution]:
    """Run programs, in as few tasks as is sensible.

    Args:
        sandbox: An open sandbox that was made with the Python runner.
        runs: What to run; an execution is given for each, in order.
        limits: Limits of a whole task; by default wide enough for every state to run out of its time.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the programs.
    """
    found: list[Execution] = []
    for batch in _batches(runs):
        found += _run_batch(sandbox, batch, limits)
    return found


def _batches(runs: Sequence[Run]) -> Iterator[list[Run]]:
    batch: list[Run] = []
    states = text = 0
    for run in runs:
        size = len(run.program.text) if not batch else _differing(batch[0].program.text, run.program.text)
        if batch and (states + len(run.states) > _STATES_A_TASK or text + size > _TEXT_A_TASK):
            yield batch
            batch, states, text = [], 0, 0
        batch.append(run)
        states += len(run.states)
        text += size
    if batch:
        yield batch


def _differing(text: str, other: str) -> int:
    head, tail = _shared(text, other)
    return len(other) - head - tail


def _shared(text: str, other: str) -> tuple[int, int]:
    """How many characters two texts share at their beginning and, of the rest, at their end."""
    head = _shared_head(text, other, min(len(text), len(other)))
    rest = min(len(text), len(other)) - head
    return head, _shared_head(text[len(text) - rest :][::-1], other[len(other) - rest :][::-1], rest)


def _shared_head(text: str, other: str, most: int) -> int:
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if text[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _run_batch(sandbox: Sandbox, runs: Sequence[Run], limits: Limits | None) -> list[Execution]:
    if limits is None:
        limits = Limits(
            wall_s=sum(_needed_s(run) for run in runs),
            output_bytes=RECORD_BYTES + sum(len(run.states) for run in runs) * _USUAL_RECORD_BYTES,
        )
    payload = json.dumps(_payload(runs, limits)).encode("ascii")
    result = sandbox.run(SandboxTask(program="python", payload=payload, limits=limits))
    found = [read_execution(result, len(run.states), program=place) for place, run in enumerate(runs)]
    if len(runs) == 1 or result.outcome == "ended":
        return found
    # One of them brought the task down. The first that is not whole is run by itself, the others go on.
    culprit = next(
        (place for place, run in enumerate(runs) if not _is_whole(run, found[place])), len(runs) - 1
    )
    alone = _run_batch(sandbox, runs[culprit : culprit + 1], None)
    rest = runs[culprit + 1 :]
    return found[:culprit] + alone + (_run_batch(sandbox, rest, None) if rest else [])


def _needed_s(run: Run) -> float:
    return LOAD_TIMEOUT_S + 1.0 + len(run.states) * (run.state_timeout_s + 0.1)


def _is_whole(run: Run, execution: Execution) -> bool:
    if not execution.loaded:
        return not execution.load_detail.startswith("loading did not end")
    slow = sum(output.outcome in SLOW_OUTCOMES for output in execution.outputs)
    return all(was_run(output) for output in execution.outputs) or (
        run.patience is not None and slow >= run.patience
    )


def _payload(runs: Sequence[Run], limits: Limits) -> dict[str, Json]:
    base = runs[0].program.text
    places: dict[InputState, int] = {}
    programs: list[Json] = []
    for run in runs:
        program = run.program
        head, tail = _shared(base, program.text)
        programs.append(
            {
                "text": [head, program.text[head : len(program.text) - tail], tail],
                "qualname": program.qualname,
                "line": program.line,
                "prelude": program.prelude,
                "mocks": list(program.mocks),
                "states": [places.setdefault(state, len(places)) for state in run.states],
                "coverage": run.coverage,
                "state_timeout_s": run.state_timeout_s,
                "state_cpu_s": run.state_cpu_s,
                "patience": run.patience,
                "wall_s": _needed_s(run),
            }
        )
    return {
        "text": base,
        "states": [dataclasses.asdict(state) for state in places],
        "programs": programs,
        "load_timeout_s": min(LOAD_TIMEOUT_S, limits.wall_s),
        "record_bytes": min(RECORD_BYTES, limits.output_bytes // 2),
    }
