"""What the local builder for compiled languages may be told; it knows no option table."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_funcmem.harness.validate import HarnessConditions

__all__ = ["CompiledBuilderSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledBuilderSettings(HarnessConditions):
    """Conditions of a valid harness, and bounds of the search for one.

    All bounds but ``budget_s`` count things, so that they cut the search at the same place on every machine.

    Attributes:
        budget_s: Processor seconds for one function, as ``BudgetedSandbox`` counts them. Running out
            gives ``Inconclusive("budget")`` and never another harness.
        first_states: Input states of the first batch.
        round_states: Input states of each round that follows.
        rounds: Most rounds.
        further_rounds: Rounds that follow where lines are left that no valid state reaches.
        patience: Rounds that may bring nothing new before the search ends; twice as many while lines are
            left.
        pool: Most valid states that the harness is chosen from.
        telling_states: Most valid states beside the pool that a mutant is run on which few of the pool tell
            apart.
        sharpening_states: Input states of each round that looks for what tells surviving mutants apart.
        sharpening_rounds: Most of these rounds.
        state_timeout_s: Processor seconds of a state while searching.
    """

    budget_s: float = 60.0
    first_states: int = 120
    round_states: int = 150
    rounds: int = 8
    further_rounds: int = 6
    patience: int = 2
    pool: int = 40
    telling_states: int = 40
    sharpening_states: int = 60
    sharpening_rounds: int = 3
    state_timeout_s: float = 1.0
