"""From evidence to verdicts, and from verdicts to rates with intervals.

The room sees finished records and thresholds. It runs nothing, reads nothing, and prints nothing.
"""

from __future__ import annotations

from pytest_funcmem.verdict.gate import RunDecision, exit_decision
from pytest_funcmem.verdict.rates import LanguageSummary, Rates, Summary, rate, summarise
from pytest_funcmem.verdict.rules import decide, exchanged

__all__ = [
    "LanguageSummary",
    "Rates",
    "RunDecision",
    "Summary",
    "decide",
    "exchanged",
    "exit_decision",
    "rate",
    "summarise",
]
