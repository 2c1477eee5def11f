"""What agents used in a run: for the terminal, and for the summary of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_funcmem.core.records import AgentUse, AuditRecord, Harness, Json

__all__ = ["Used", "agent_lines", "agents_json"]


class Used(Protocol):
    """What all agents of a run used, those of a killed run that it goes on from included."""

    @property
    def turns(self) -> int:
        """Answers of the model."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        ...

    @property
    def cost(self) -> float:
        """Dollars."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Totals:
    functions: int
    harnesses: int
    turns: int
    tokens: int
    cost: float | None


def agent_lines(records: Sequence[AuditRecord | None], used: Used, *, carried_over: bool) -> list[str]:
    """The line of the terminal's summary.

    Args:
        records: Of the run; None for functions that were not reached.
        used: By all agents of the run.
        carried_over: Whether some of it was used in a run that was killed.
    """
    totals = _totals([record for record in records if record is not None])
    cost = "at a price that is not known" if totals.cost is None and used.turns else f"${used.cost:.2f}"
    earlier = " (what a killed run had used is counted)" if carried_over else ""
    made = f"{_count(totals.harnesses, 'harness', 'harnesses')} for {_count(totals.functions, 'function')}"
    return [
        f"agents        {made}; {_count(used.turns, 'turn')}, {_count(used.tokens, 'token')}, {cost}{earlier}"
    ]


def agents_json(records: Sequence[AuditRecord]) -> dict[str, Json] | None:
    """What agents used for these functions in this run; None where none worked."""
    totals = _totals(records)
    if totals.functions == 0:
        return None
    return {
        "functions": totals.functions,
        "harnesses": totals.harnesses,
        "turns": totals.turns,
        "tokens": totals.tokens,
        "cost": totals.cost,
    }


def _totals(records: Sequence[AuditRecord]) -> _Totals:
    uses: list[AgentUse] = [record.agent for record in records if record.agent is not None]
    costs = [use.cost_usd for use in uses]
    return _Totals(
        functions=len(uses),
        harnesses=sum(record.agent is not None and isinstance(record.harness, Harness) for record in records),
        turns=sum(use.turns for use in uses),
        tokens=sum(
            use.input_tokens + use.output_tokens + use.cache_read_tokens + use.cache_write_tokens
            for use in uses
        ),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
