"""Chooses, among the valid states found, the few that make the harness.

Coverage first, then the mutants and stubs they tell apart, then distinct outputs; calm and small ones before
raising and long ones. The result depends on the order of the states alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

__all__ = ["Choosable", "choose", "shortlist"]

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


def choose(
    trials: Sequence[T], limit: int, *, kills: Mapping[str, frozenset[int]] | None = None
) -> tuple[T, ...]:
    """Choose the states of the harness.

    Args:
        trials: Valid states that behaved the same twice.
        limit: States wanted.
        kills: For each mutant or stub, the orders of the states that are known to tell it apart.

    Returns:
        The chosen states, most telling first.
    """
    chosen = _covering(trials)[:limit]
    raising = sum(1 for trial in chosen if trial.raises)
    most_raising = max(MAX_RAISING, raising)
    open_kills = {
        name: orders
        for name, orders in (kills or {}).items()
        if orders and not any(trial.order in orders for trial in chosen)
    }
    rest = [trial for trial in trials if trial not in chosen]
    while open_kills and len(chosen) < limit:
        allowed = [trial for trial in rest if not trial.raises or raising < most_raising]
        gains = {
            trial.order: sum(1 for orders in open_kills.values() if trial.order in orders)
            for trial in allowed
        }
        best = min(allowed, key=lambda trial: (-gains[trial.order], *trial.cost), default=None)
        if best is None or gains[best.order] == 0:
            break
        chosen.append(best)
        rest.remove(best)
        raising += best.raises
        open_kills = {name: orders for name, orders in open_kills.items() if best.order not in orders}
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
        raising += best.raises
        outputs[best.digest] += 1
        paths[best.lines] += 1
    return tuple(chosen)


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
