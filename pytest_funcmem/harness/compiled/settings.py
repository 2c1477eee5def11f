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
        patience: Rounds that may bring nothing new before the search ends.
        pool: Most valid states that the harness is chosen from.
        state_timeout_s: Processor seconds of a state while searching.
    """

    budget_s: float = 60.0
    first_states: int = 120
    round_states: int = 150
    rounds: int = 8
    patience: int = 2
    pool: int = 40
    state_timeout_s: float = 1.0
