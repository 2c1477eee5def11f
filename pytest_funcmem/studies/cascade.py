"""A cascade: a cheap score ranks the functions, and execution confirms the first of them within a budget.

How many leaks are found by the time that so many functions were executed, beside a random order, whose
expectation is computed exactly. Functions with equal scores come in random order among themselves: that
expectation is exact too. This module knows nothing of reports and images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cascade", "at_random", "cascade", "executions_at_random", "random_range"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """What a ranking finds.

    Attributes:
        found: Expected leaks among the first n functions, for n from 0 to all of them.
        leaks: Leaks in all.
    """

    found: tuple[float, ...]
    leaks: int

    def executions(self, share: float) -> int | None:
        """Fewest executions that are expected to find a share of the leaks; None where there is none."""
        if not self.leaks:
            return None
        wanted = share * self.leaks - 1e-9
        return next(number for number, found in enumerate(self.found) if found >= wanted)


def cascade(scores: Sequence[float], leaks: Sequence[bool]) -> Cascade:
    """Rank by score, the highest first.

    Args:
        scores: One for each function; -1 for those without a figure puts them last.
        leaks: Whether execution confirms a leak of it.
    """
    groups: dict[float, list[int]] = {}
    for score, leak in zip(scores, leaks, strict=True):
        group = groups.setdefault(score, [0, 0])
        group[0] += 1
        group[1] += leak
    found = [0.0]
    before = 0
    for score in sorted(groups, reverse=True):
        size, own = groups[score]
        found += [before + own * place / size for place in range(1, size + 1)]
        before += own
    return Cascade(found=tuple(found), leaks=before)


def at_random(executed: int, leaks: int, functions: int) -> float:
    """Expected leaks among so many functions in random order (hypergeometric)."""
    return executed * leaks / functions if functions else 0.0


def executions_at_random(number: int, leaks: int, functions: int) -> float:
    """Expected executions until so many leaks are found in random order (negative hypergeometric)."""
    return number * (functions + 1) / (leaks + 1)


def random_range(executed: int, leaks: int, functions: int) -> tuple[int, int]:
    """Between how many leaks a random order finds in 95 of 100 cases (hypergeometric quantiles)."""
    from scipy.stats import hypergeom

    low, high = (hypergeom.ppf(share, functions, leaks, executed) for share in (0.025, 0.975))
    return int(low), int(high)
