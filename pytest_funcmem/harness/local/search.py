"""Searches for input states that run validly and reach the lines of the original.

A first batch comes from the strategies; rounds follow that turn the conditions before missed lines. The
search is bounded by counts and driven by one seed: the clock can end it, never bend it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, OutputState, Scaffold
from pytest_funcmem.harness.execution import Execution, execute, original_program
from pytest_funcmem.harness.local.drawing import draw
from pytest_funcmem.harness.local.edits import change, share, slots_of
from pytest_funcmem.harness.local.guards import Wish, wishes
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.states import ReceiverMode, StatePlan
from pytest_funcmem.harness.outputs import output_digest, validity

__all__ = ["Found", "Search", "Trial", "size_of"]

_CHUNK = 30
_MAX_TIMEOUTS = 4
_FEW = 5
_SEARCH_TIMEOUT_S = 1.0
_MAX_STATE_TEXT = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One input state that was run.

    Attributes:
        order: Position among all states tried.
        lines: Executable lines of the function that it reached.
        problem: Why it is not valid; "" if it is.
        digest: Digest of its result and effects.
    """

    state: InputState
    output: OutputState
    order: int
    lines: frozenset[int]
    problem: str
    digest: str

    @property
    def reached(self) -> frozenset[int]:
        """Every line that was executed, the docstring's and the signature's included."""
        return frozenset(self.output.lines)

    @property
    def raises(self) -> bool:
        """Whether the original raises on it."""
        return self.output.outcome == "raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the search found.

    Attributes:
        trials: Every state that was run, in order.
        first: The first run, which tells how loading went.
    """

    trials: tuple[Trial, ...]
    first: Execution

    @property
    def valid(self) -> tuple[Trial, ...]:
        """The valid ones, in order."""
        return tuple(trial for trial in self.trials if not trial.problem)


def size_of(state: InputState) -> int:
    """Characters that a person has to read to understand a state."""
    parts = [
        *state.setup,
        state.receiver or "",
        *state.arguments,
        *(text for _, text in state.keywords),
        state.stdin,
    ]
    return sum(len(part) for part in parts)


class Search:
    """One search.

    Args:
        plan: Parts of the states.
        scaffold: What surrounds the function.
        sandbox: An open sandbox.
        settings: Bounds.
        seed: Seed of all choices.
        check_time: Called between runs; raises where the budget is used up.
    """

    def __init__(
        self,
        plan: StatePlan,
        scaffold: Scaffold,
        sandbox: Sandbox,
        settings: LocalBuilderSettings,
        *,
        seed: int,
        check_time: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._program = original_program(plan.analysis.source, scaffold)
        self._sandbox = sandbox
        self._settings = settings
        self._seed = seed
        self._check_time = check_time
        self._known: set[InputState] = set()
        self._trials: list[Trial] = []
        self._first: Execution | None = None
        self._reached: set[int] = set()
        self._executable: frozenset[int] = frozenset()
        self._constants = (*plan.pool.strings, *plan.pool.numbers)

    def run(self) -> Found:
        """Search until every line is reached or the bounds are."""
        settings = self._settings
        for mode in self._plan.receivers:
            self._try(self._fresh(mode, settings.first_states, "first"))
            if self._first is None or not self._first.loaded or self._hopeless():
                break
            valid = sum(1 for trial in self._trials if not trial.problem)
            if valid >= settings.min_inputs and self._coverage() >= settings.min_coverage:
                break
        idle = 0
        for number in range(settings.rounds):
            # Where nothing ran validly, changes of what did not are a poor guide.
            patience = 2 if any(not trial.problem for trial in self._trials) else 1
            if self._first is None or not self._first.loaded or idle == patience or self._hopeless():
                break
            if not self._missed() and self._enough():
                break
            before = len(self._reached), sum(1 for trial in self._trials if not trial.problem)
            self._try(self._guided(number))
            after = len(self._reached), sum(1 for trial in self._trials if not trial.problem)
            idle = idle + 1 if before == after else 0
        if self._first is None:
            self._try([InputState()])
        if self._first is None:
            raise RuntimeError("a batch of one state was not run")
        return Found(trials=tuple(self._trials), first=self._first)

    # ----------------------------------------------------------------------------------------- batches

    def _fresh(self, mode: ReceiverMode, count: int, label: str) -> list[InputState]:
        if self._plan.is_empty and not self._plan.draws:
            return [InputState(receiver=None, seed=0)]
        seed = self._derived(f"{label}/{mode}")
        states = draw(self._plan.strategy(mode), seed=seed, count=count)
        if not self._plan.related:
            return states
        generator = random.Random(seed)
        return [state if place % 3 else self._shared(state, generator) for place, state in enumerate(states)]

    def _shared(self, state: InputState, generator: random.Random) -> InputState:
        for _ in range(3):
            state = share(self._plan.analysis, state, generator)
        return state

    def _guided(self, number: int) -> list[InputState]:
        """States near known ones, changed where the conditions before missed lines look."""
        generator = random.Random(self._derived(f"round/{number}"))
        found = wishes(self._plan.analysis, self._missed())
        valid = [trial for trial in self._trials if not trial.problem]
        bases = valid or self._trials
        states: list[InputState] = []
        fresh = self._settings.round_states // 5 if valid else self._settings.round_states // 2
        for place in range(self._settings.round_states - fresh):
            if not bases:
                break
            wish = found[place % len(found)] if found else None
            states.append(self._changed(self._base(bases, wish, generator), wish, generator))
        mode = self._plan.receivers[number % len(self._plan.receivers)]
        return states + self._fresh(mode, fresh, f"fresh/{number}")

    def _base(self, bases: Sequence[Trial], wish: Wish | None, generator: random.Random) -> InputState:
        if wish is not None:
            near = [trial for trial in bases if wish.line in trial.lines]
            if near:
                return generator.choice(near).state
        return generator.choice(list(bases)).state

    def _changed(self, state: InputState, wish: Wish | None, generator: random.Random) -> InputState:
        slots = slots_of(self._plan.analysis, state)
        names = [name for name in (wish.names if wish is not None else slots) if name in slots] or list(slots)
        for _ in range(generator.choice((1, 1, 2, 3))):
            if not names:
                break
            slot = generator.choice(slots[generator.choice(names)])
            constants = wish.constants if wish is not None and wish.constants else self._constants
            changed = change(state, slot, constants or self._constants, generator)
            if size_of(changed) <= _MAX_STATE_TEXT:
                state = changed
        if self._plan.related and generator.random() < 0.4:
            state = share(self._plan.analysis, state, generator)
        return replace(state, seed=generator.randrange(8)) if self._plan.draws else state

    # ------------------------------------------------------------------------------------------- runs

    def _try(self, states: Sequence[InputState]) -> None:
        new = [state for state in dict.fromkeys(states) if state not in self._known]
        self._known.update(new)
        timeouts = 0
        for start in range(0, len(new), _CHUNK):
            # Inputs that never end are found by the dozen or not at all: the rest of the batch is left out.
            if timeouts >= _MAX_TIMEOUTS:
                return
            self._check_time()
            chunk = new[start : start + _CHUNK]
            run = execute(
                self._sandbox, self._program, chunk, coverage=True, state_timeout_s=_SEARCH_TIMEOUT_S
            )
            if self._first is None:
                self._first = run
                self._executable = frozenset(run.executable_lines)
            if not run.loaded:
                return
            for state, output in zip(chunk, run.outputs, strict=True):
                timeouts += output.outcome in ("timeout", "memory", "missing")
                self._note(state, output)

    def _note(self, state: InputState, output: OutputState) -> None:
        valid, problem = validity(output, output)
        lines = frozenset(output.lines) & self._executable
        if valid:
            self._reached |= lines
        self._trials.append(
            Trial(
                state=state,
                output=output,
                order=len(self._trials),
                lines=lines,
                problem="" if valid else problem,
                digest=output_digest(output) if valid else "",
            )
        )

    def _missed(self) -> set[int]:
        return set(self._executable) - self._reached

    def _coverage(self) -> float:
        return len(self._reached) / len(self._executable) if self._executable else 0.0

    def _hopeless(self) -> bool:
        """Whether nearly all states fail for a name that is not there: other arguments will not bring it."""
        lacking = [trial for trial in self._trials if trial.problem.startswith("scaffold: NameError")]
        return len(lacking) * 10 >= len(self._trials) * 9

    def _enough(self) -> bool:
        valid = [trial for trial in self._trials if not trial.problem]
        calm = [trial for trial in valid if not trial.raises]
        return len(calm) >= self._settings.inputs and len({trial.digest for trial in valid}) >= 3

    def _derived(self, label: str) -> int:
        return int(digest([self._seed, label, self._plan.analysis.source.code])[:15], 16)
