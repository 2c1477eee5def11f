"""Input states that were run, and what makes them good for a harness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_funcmem.core.records import InputState, OutputState, Scaffold
from pytest_funcmem.harness.execution import Execution, Question
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.validate import rests_on_mocks

__all__ = ["Found", "Trial", "made_up_parts", "size_of", "suffices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One input state that was run.

    Attributes:
        order: Position among all states tried.
        lines: Executable lines of the function that it reached.
        problem: Why it is not valid; "" if it is.
        digest: Digest of its result and effects.
        questions: What it asked of the mocked world.
    """

    state: InputState
    output: OutputState
    order: int
    lines: frozenset[int]
    problem: str
    digest: str
    questions: tuple[Question, ...] = ()

    @property
    def reached(self) -> frozenset[int]:
        """Every line that was executed, the docstring's and the signature's included."""
        return frozenset(self.output.lines)

    @property
    def raises(self) -> bool:
        """Whether the original raises on it."""
        return self.output.outcome == "raised"

    @property
    def cost(self) -> tuple[int, ...]:
        """Dearer is worse: raising, made up, long, late."""
        mocked = rests_on_mocks(self.state, self.questions)
        return self.raises, mocked, made_up_parts(self.state), size_of(self.state), self.order


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the search found.

    Attributes:
        trials: Every state that was run, in order.
        first: The first run, which tells how loading went.
        scaffold: What has to surround the function, and no more.
    """

    trials: tuple[Trial, ...]
    first: Execution
    scaffold: Scaffold

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
        *(text for pair in (*state.answers, *state.files, *state.environment) for text in pair),
        state.stdin,
    ]
    return sum(len(part) for part in parts)


def made_up_parts(state: InputState) -> int:
    """How many arguments of a state, its receiver included, are made up or have made-up parts."""
    texts = (state.receiver or "", *state.arguments, *(text for _, text in state.keywords))
    return sum("fabricated(" in text for text in texts)


def suffices(kept: Sequence[Trial], trials: Sequence[Trial], settings: LocalBuilderSettings) -> bool:
    """Whether some of the valid states reach what all do, and differ enough to make a harness."""
    calm = [trial for trial in kept if not trial.raises]
    missing = {line for trial in trials for line in trial.lines} - {
        line for item in kept for line in item.lines
    }
    enough = len(calm) >= settings.inputs and len({trial.digest for trial in calm}) > settings.min_outputs
    return enough and not missing
