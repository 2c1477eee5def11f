from __future__ import annotations

import random
from itertools import pairwise

import pytest

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.corpora import sample


def function(number: int) -> SourceFunction:
    text = f"def f{number}(x):\n    return {number}\n"
    return SourceFunction(
        path=f"m{number % 7}.py",
        qualname=f"f{number}",
        language="python",
        line=1,
        text=text,
        definition_start=0,
        signature_start=0,
        signature_end=text.index(":") + 1,
        end=len(text) - 1,
    )


FUNCTIONS = [function(number) for number in range(200)]


def test_a_sample_keeps_the_order_and_repeats() -> None:
    drawn = sample(FUNCTIONS, 20, seed=3)
    assert len(drawn) == 20
    assert [FUNCTIONS.index(f) for f in drawn] == sorted(FUNCTIONS.index(f) for f in drawn)
    assert sample(FUNCTIONS, 20, seed=3) == drawn


def test_the_order_of_the_corpus_does_not_matter() -> None:
    shuffled = FUNCTIONS[:]
    random.Random(5).shuffle(shuffled)
    drawn = {f.key for f in sample(FUNCTIONS, 30, seed=1)}
    assert {f.key for f in sample(shuffled, 30, seed=1)} == drawn


def test_smaller_samples_are_part_of_larger_ones() -> None:
    drawn = [{f.key for f in sample(FUNCTIONS, size, seed=1)} for size in (0, 5, 50, 200, 1000)]
    assert [len(keys) for keys in drawn] == [0, 5, 50, 200, 200]
    assert all(small <= large for small, large in pairwise(drawn))


def test_functions_that_leave_the_corpus_change_no_other_rank() -> None:
    drawn = {f.key for f in sample(FUNCTIONS, 50, seed=1)}
    half = FUNCTIONS[::2]
    assert drawn & {f.key for f in half} <= {f.key for f in sample(half, 50, seed=1)}


def test_seeds_draw_different_samples_evenly() -> None:
    samples = [frozenset(f.key for f in sample(FUNCTIONS, 20, seed=seed)) for seed in range(100)]
    assert len(set(samples)) == 100
    hits = [sum(f.key in drawn for drawn in samples) for f in FUNCTIONS]
    assert sum(hits) == 2000
    assert max(hits) < 30  # 10 expected, standard deviation 3


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 functions"):
        sample(FUNCTIONS, -1, seed=0)
