"""Near duplicates among functions: found by their tokens, at a cost that grows with their number."""

from __future__ import annotations

import random
import time
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.reporting.near_duplicates import ALIKE, Twin, near_duplicates
from tests.unit.reporting.conftest import ORIGINAL, REFERENCE, TARGET, make_function


def function(number: int, body: str) -> SourceFunction:
    return replace(make_function(body=body), qualname=f"f{number}")


def test_the_same_tokens_in_another_layout() -> None:
    other = "\n  # late\n" + REFERENCE
    spaced = ORIGINAL.replace("    ", "\t").replace(" // ", "//")
    found = near_duplicates([function(0, ORIGINAL), function(1, other), function(2, spaced)])
    assert found == [(Twin(place=2, similarity=1.0),), (), (Twin(place=0, similarity=1.0),)]


def test_a_changed_line_and_a_rewritten_function() -> None:
    changed = ORIGINAL.replace("250.0", "300.0").replace("days late", "days overdue")
    found = near_duplicates([function(0, ORIGINAL), function(1, changed), function(2, TARGET)])
    (twin,) = found[0]
    assert twin.place == 1
    assert ALIKE <= twin.similarity < 1.0
    assert found[2] == ()


WORDS = st.lists(st.sampled_from(["a", "b", "+", "if", "return", "1"]), max_size=30)


@given(bodies=st.lists(WORDS, max_size=8))
def test_it_goes_both_ways_and_the_same_tokens_are_always_found(bodies: list[list[str]]) -> None:
    found = near_duplicates([function(number, " ".join(words)) for number, words in enumerate(bodies)])
    for place, twins in enumerate(found):
        shares = {twin.place: twin.similarity for twin in twins}
        assert place not in shares
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        for other, share in shares.items():
            assert {twin.place: twin.similarity for twin in found[other]}[place] == share
        for other, words in enumerate(bodies):
            assert (shares.get(other) == 1.0) == (other != place and words == bodies[place])


def test_cost_is_not_that_of_all_pairs() -> None:
    """Bodies that share much with all others, as generated code does, are the costly ones."""
    draw = random.Random("bodies")

    def bodies(count: int) -> list[SourceFunction]:
        return [
            function(
                number, ORIGINAL + "".join(f"\n    x{draw.randrange(9)} = {draw.random()}" for _ in range(9))
            )
            for number in range(count)
        ]

    seconds = []
    for count in (200, 1600):
        made = bodies(count)
        began = time.process_time()
        assert len(near_duplicates(made)) == count
        seconds.append(time.process_time() - began)
    assert seconds[1] < 24 * max(seconds[0], 0.02)
