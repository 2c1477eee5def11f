"""Chooses, among the valid states found, the few that make the harness.

Coverage first, then the mutants and stubs they tell apart, then the same ones on more states, then distinct
outputs; calm and small ones before raising and long ones. It depends on the order of the states alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias, TypeVar

__all__ = ["Choosable", "choose", "shortlist", "states_to_refuse"]

MAX_RAISING = 2
"""Raising states in a harness, unless coverage needs more or there are no others."""


class Choosable(Protocol):
    """An input state that was run."""

    @property
    def order(self) -> int:
        """Position among all states tried."""
        ...

    @property
    def lines(self) -> frozenset[int]:
        """Executable lines of the function that it reached."""
        ...

    @property
    def digest(self) -> str:
        """Digest of its result and effects."""
        ...

    @property
    def raises(self) -> bool:
        """Whether the original raises on it."""
        ...

    @property
    def cost(self) -> tuple[int, ...]:
        """What to avoid; compared item by item, the greater is the dearer. No two states cost the same."""
        ...


T = TypeVar("T", bound=Choosable)

Kills: TypeAlias = Mapping[str, frozenset[int]]
"""For the name of a mutant or a stub, the orders of states that tell it apart."""


def shortlist(trials: Sequence[T], limit: int) -> tuple[T, ...]:
    """The states worth a second look: those that cover, then many different outputs, then the rest.

    Args:
        trials: Valid states.
        limit: Most that are wanted.
    """
    if len(trials) <= limit:
        return tuple(trials)
    chosen = _covering(trials)
    counts: Counter[object] = Counter(_sort(trial) for trial in chosen)
    rest = [trial for trial in trials if trial not in chosen]
    while rest and len(chosen) < limit:
        best = min(rest, key=lambda trial: (counts[_sort(trial)], *trial.cost))
        counts[_sort(best)] += 1
        rest.remove(best)
        chosen.append(best)
    return tuple(chosen)


def states_to_refuse(inputs: int, tau: float) -> int:
    """How many of a harness's states have to differ for a candidate to stay below the threshold.

    Args:
        inputs: Input states of the harness.
        tau: Smallest share of equal output states that counts as functionally equal.
    """
    return next(differing for differing in range(1, inputs + 2) if (inputs - differing) / inputs < tau)


def choose(
    trials: Sequence[T],
    limit: int,
    *,
    stubs: Kills = MappingProxyType({}),
    mutants: Kills = MappingProxyType({}),
    enough: int = 1,
) -> tuple[T, ...]:
    """Choose the states of the harness.

    Args:
        trials: Valid states that behaved the same twice.
        limit: States wanted.
        stubs: For each stub that has to be told apart, the orders of the states that are known to do so.
        mutants: The same for mutants, which come after.
        enough: States that should tell each of them apart, where the limit and the states allow.

    Returns:
        The chosen states, most telling first.
    """
    chosen = _covering(trials)[:limit]
    most_raising = max(MAX_RAISING, sum(1 for trial in chosen if trial.raises))
    for kills in (stubs, mutants):
        # All are told apart once before any is told apart twice.
        for times in range(1, enough + 1):
            _tell_apart(chosen, trials, limit, kills, times, most_raising)
    rest = [trial for trial in trials if trial not in chosen]
    outputs = Counter(trial.digest for trial in chosen)
    paths = Counter(trial.lines for trial in chosen)
    while rest and len(chosen) < limit:
        best = min(
            rest,
            key=lambda trial: (
                trial.raises,
                outputs[trial.digest],
                paths[trial.lines],
                *trial.cost,
            ),
        )
        chosen.append(best)
        rest.remove(best)
        outputs[best.digest] += 1
        paths[best.lines] += 1
    return tuple(chosen)


def _tell_apart(
    chosen: list[T],
    trials: Sequence[T],
    limit: int,
    kills: Kills,
    times: int,
    most_raising: int,
) -> None:
    """Add states until each mutant or stub is told apart so many times, or as often as any states can."""
    while len(chosen) < limit:
        orders = {trial.order for trial in chosen}
        wanting = [killers for killers in kills.values() if len(killers & orders) < times]
        raising = sum(1 for trial in chosen if trial.raises)
        allowed = [
            trial
            for trial in trials
            if trial.order not in orders and (not trial.raises or raising < most_raising)
        ]
        gains = {trial.order: sum(1 for killers in wanting if trial.order in killers) for trial in allowed}
        best = min(allowed, key=lambda trial: (-gains[trial.order], *trial.cost), default=None)
        if best is None or gains[best.order] == 0:
            return
        chosen.append(best)


def _covering(trials: Sequence[T]) -> list[T]:
    """Few states that together reach every line that any of them reaches."""
    missing = {line for trial in trials for line in trial.lines}
    chosen: list[T] = []
    while missing:
        best = min(trials, key=lambda trial: (-len(trial.lines & missing), *trial.cost))
        chosen.append(best)
        missing -= best.lines
    return chosen


def _sort(trial: Choosable) -> object:
    return trial.digest, trial.lines
