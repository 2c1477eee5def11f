"""What the local builder may be told; it knows no option table and reads no configuration."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_funcmem.harness.validate import HarnessConditions

__all__ = ["LocalBuilderSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBuilderSettings(HarnessConditions):
    """Conditions of a valid harness, and bounds of the search for one.

    All bounds but ``budget_s`` count things, so that they cut the search at the same place on every machine.

    Attributes:
        budget_s: Processor seconds for one function, as ``BudgetedSandbox`` counts them. Running out
            gives ``Inconclusive("budget")`` and never another harness.
        first_states: Candidate states of each first batch, one for each way to make receiver and arguments.
        round_states: Candidate states of each guided round.
        rounds: Most guided rounds.
        pool: Most valid states that the harness is chosen from.
    """

    budget_s: float = 60.0
    first_states: int = 12
    round_states: int = 28
    rounds: int = 16
    pool: int = 32
