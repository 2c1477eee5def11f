"""Which of the states found make the harness."""

from __future__ import annotations

import pytest

from pytest_funcmem.core.records import InputState, OutputState
from pytest_funcmem.harness.choice import choose, shortlist, states_to_refuse
from pytest_funcmem.harness.local.trials import Trial


def trial(order, lines, digest, *, raises=False, text="1"):
    return Trial(
        state=InputState(arguments=(text,)),
        output=OutputState(outcome="raised" if raises else "returned"),
        order=order,
        lines=frozenset(lines),
        problem="",
        digest=digest,
    )


def orders(trials):
    return [item.order for item in trials]


def test_every_reachable_line_is_covered_first():
    trials = [trial(0, {1, 2}, "a"), trial(1, {1, 3}, "b"), trial(2, {1, 2, 4}, "c"), trial(3, {1}, "d")]
    assert orders(choose(trials, 2)) == [2, 1]


def test_raising_states_are_taken_only_where_something_needs_them():
    calm = [trial(order, {1, 2}, f"calm {order}") for order in range(10)]
    loud = [trial(order, {1, 9}, f"loud {order}", raises=True) for order in range(10, 20)]
    chosen = choose(calm + loud, 10)
    assert sum(item.raises for item in chosen) == 1
    needed = choose(calm + loud, 10, mutants={"mutant": frozenset({15})})
    assert sum(item.raises for item in needed) == 2
    assert 15 in orders(needed)


def test_raising_states_fill_up_where_there_are_no_others():
    calm = [trial(order, {1}, f"calm {order}") for order in range(3)]
    loud = [trial(order, {1, 9}, f"loud {order}", raises=True) for order in range(3, 20)]
    chosen = choose(calm + loud, 10)
    assert len(chosen) == 10
    assert {0, 1, 2} <= set(orders(chosen))


def test_mutants_decide_before_distinct_outputs():
    trials = [trial(order, {1}, f"out {order}") for order in range(30)]
    mutants = {"a": frozenset({20, 21}), "b": frozenset({21}), "c": frozenset({29}), "d": frozenset()}
    assert set(orders(choose(trials, 4, mutants=mutants))) >= {21, 29}


def test_outputs_are_balanced_and_small_states_preferred():
    trials = [trial(order, {1}, "yes", text="1" * (order + 1)) for order in range(10)]
    trials += [trial(order, {1}, "no", text="1" * order) for order in range(10, 15)]
    chosen = choose(trials, 6)
    assert [item.digest for item in chosen].count("no") == 3
    assert {0, 1, 2} <= set(orders(chosen))


def test_the_shortlist_keeps_what_covers():
    trials = [trial(order, {1}, "same") for order in range(20)] + [trial(20, {1, 5}, "rare")]
    kept = shortlist(trials, 5)
    assert len(kept) == 5
    assert 20 in orders(kept)


@pytest.mark.parametrize(
    ("inputs", "tau", "states"),
    [(10, 0.8, 3), (10, 0.9, 2), (10, 1.0, 1), (8, 0.8, 2), (5, 0.8, 2), (10, 0.5, 6)],
)
def test_so_many_states_have_to_differ_for_a_score_below_the_threshold(inputs, tau, states):
    assert states_to_refuse(inputs, tau) == states
    assert (inputs - states) / inputs < tau <= (inputs - states + 1) / inputs


def test_mutants_are_told_apart_by_as_many_states_as_the_threshold_forgives_and_one():
    trials = [trial(order, {1}, f"out {order}") for order in range(30)]
    mutants = {"a": frozenset({11, 15, 19, 23}), "b": frozenset({12, 16, 19}), "c": frozenset({29})}
    chosen = set(orders(choose(trials, 7, mutants=mutants, enough=3)))
    assert [len(chosen & killers) for killers in mutants.values()] == [3, 3, 1]


def test_all_mutants_are_told_apart_once_before_one_is_twice():
    trials = [trial(order, {1}, f"out {order}") for order in range(30)]
    mutants = {"a": frozenset({5, 6, 7}), "b": frozenset({6, 7}), "c": frozenset({20}), "d": frozenset({21})}
    chosen = set(orders(choose(trials, 4, mutants=mutants, enough=3)))
    assert all(chosen & killers for killers in mutants.values())


def test_stubs_come_before_mutants():
    trials = [trial(order, {1}, f"out {order}") for order in range(30)]
    mutants = {f"mutant {order}": frozenset({order}) for order in range(10)}
    chosen = choose(trials, 4, stubs={"nothing": frozenset({20, 21, 22, 23})}, mutants=mutants, enough=3)
    assert len(set(orders(chosen)) & {20, 21, 22, 23}) == 3  # the first covers
