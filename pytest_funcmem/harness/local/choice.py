"""Chooses, among the valid states found, the few that make the harness.

Coverage first, then the mutants and stubs they tell apart, then distinct outputs; calm and small ones before
raising and long ones. The result depends on the order of the states alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_funcmem.harness.local.search import Trial, made_up_parts, size_of
from pytest_funcmem.harness.validate import rests_on_mocks

__all__ = ["choose", "shortlist"]

MAX_RAISING = 2
"""Raising states in a harness, unless coverage needs more or there are no others."""


def shortlist(trials: Sequence[Trial], limit: int) -> tuple[Trial, ...]:
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
        best = min(rest, key=lambda trial: (counts[_sort(trial)], *_cost(trial)))
        counts[_sort(best)] += 1
        rest.remove(best)
        chosen.append(best)
    return tuple(chosen)


def choose(
    trials: Sequence[Trial], limit: int, *, kills: Mapping[str, frozenset[int]] | None = None
) -> tuple[Trial, ...]:
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
        best = min(allowed, key=lambda trial: (-gains[trial.order], *_cost(trial)), default=None)
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
                *_cost(trial),
            ),
        )
        chosen.append(best)
        rest.remove(best)
        raising += best.raises
        outputs[best.digest] += 1
        paths[best.lines] += 1
    return tuple(chosen)


def _covering(trials: Sequence[Trial]) -> list[Trial]:
    """Few states that together reach every line that any of them reaches."""
    missing = {line for trial in trials for line in trial.lines}
    chosen: list[Trial] = []
    while missing:
        best = min(trials, key=lambda trial: (-len(trial.lines & missing), *_cost(trial)))
        chosen.append(best)
        missing -= best.lines
    return chosen


def _sort(trial: Trial) -> object:
    return trial.digest, trial.lines


def _cost(trial: Trial) -> tuple[bool, bool, int, int, int]:
    """Dearer is worse: raising, made up, long, late."""
    mocked = rests_on_mocks(trial.state, trial.questions)
    return trial.raises, mocked, made_up_parts(trial.state), size_of(trial.state), trial.order
