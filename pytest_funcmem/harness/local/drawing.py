"""Draws examples from hypothesis strategies so that the same seed gives the same examples everywhere.

Hypothesis' own source of choices mixes in constants of whatever modules happen to be loaded and keeps them in
a directory; here every choice comes from one seeded generator instead, through hypothesis' interface for
alternative backends. Nothing is printed, stored or shrunk.
"""

from __future__ import annotations

import random
import threading
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider
from hypothesis.internal.intervalsets import IntervalSet
from hypothesis.strategies import SearchStrategy

__all__ = ["draw"]

_BACKEND = "pytest-funcmem"
_SMALL = 2**16
_MAX_SIZE = 12

T = TypeVar("T")


class _Current(threading.local):
    """The generator of the drawing that runs in this thread."""

    generator: random.Random | None = None


_CURRENT = _Current()


class _SeededProvider(PrimitiveProvider):
    """Answers hypothesis' questions from the current generator, uniformly."""

    lifetime = "test_function"

    def __init__(self, conjecturedata: Any) -> None:
        super().__init__(conjecturedata)
        if _CURRENT.generator is None:
            raise RuntimeError(f"the hypothesis backend {_BACKEND!r} serves drawing.draw alone")
        self._generator = _CURRENT.generator

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._generator.random() < p

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        low = (-_SMALL if max_value is None else max_value - _SMALL) if min_value is None else min_value
        high = low + 2 * _SMALL if max_value is None else max_value
        return self._generator.randint(low, high)

    def draw_float(
        self,
        *,
        min_value: float = float("-inf"),
        max_value: float = float("inf"),
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        return self._generator.uniform(max(min_value, -1e6), min(max_value, 1e6))

    def draw_string(self, intervals: IntervalSet, *, min_size: int = 0, max_size: int = _MAX_SIZE) -> str:
        size = self._generator.randint(min_size, min(max_size, min_size + _MAX_SIZE))
        return "".join(chr(intervals[self._generator.randrange(len(intervals))]) for _ in range(size))

    def draw_bytes(self, min_size: int = 0, max_size: int = _MAX_SIZE) -> bytes:
        return self._generator.randbytes(
            self._generator.randint(min_size, min(max_size, min_size + _MAX_SIZE))
        )


AVAILABLE_PROVIDERS[_BACKEND] = _SeededProvider


def draw(strategy: SearchStrategy[T], *, seed: int, count: int) -> list[T]:
    """Draw examples.

    Args:
        strategy: Where they come from; it must not depend on anything but its choices.
        seed: Seed of the choices.
        count: Most examples; fewer come back where the strategy has no more distinct ones.
    """
    examples: list[T] = []
    before, _CURRENT.generator = _CURRENT.generator, random.Random(seed)
    try:

        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
            backend=_BACKEND,
        )
        @given(strategy)
        def collect(example: T) -> None:
            examples.append(example)

        collect()
    finally:
        _CURRENT.generator = before
    return examples[:count]
