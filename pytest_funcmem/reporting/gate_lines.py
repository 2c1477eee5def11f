"""The lines that say how the gate decided, by which rule, and with which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_funcmem.core.records import Json
from pytest_funcmem.reporting.plain_text import visible
from pytest_funcmem.verdict.gate import LimitResult, RunDecision

__all__ = ["baseline_lines", "gate_json", "gate_lines"]

_LABEL = 14
_SHOWN = 20  # names in one group; a report file has all

_BASELINE = (
    ("accepted", "accepted by the baseline"),
    ("accepting", "added to the baseline"),
    ("expired", "expired: accepted up to an earlier day, failing now"),
    ("counted", "counted by a maximal rate"),
    ("vanished", "vanished: in the baseline, without a leak now"),
    ("absent", "absent: in the baseline, changed in the source or gone from it"),
)


def gate_lines(
    decision: RunDecision, results: Sequence[LimitResult], *, settled: str | None = None
) -> list[str]:
    """One line for each maximal rate, then the decision with its rule.

    Args:
        decision: Of the run.
        results: The maximal rates, held against what was found.
        settled: Why the run ended early; None where it did not.
    """
    lines = []
    for result in results:
        found, mark = result.rate, "within" if result.passed else "over"
        lines.append(
            f"{'max rate':<{_LABEL}}{result.limit.name}: {found.numerator}/{found.denominator},"
            f" upper bound {100 * found.high:.4g} %, {mark} {100 * result.limit.maximum:.4g} %"
        )
    if settled is not None:
        lines.append(f"{'settled':<{_LABEL}}{settled}")
    word = "passes" if decision.may_pass else "fails"
    rule = f"rule '{decision.rule}', exit code {decision.exit_code}"
    lines.append(f"{'gate':<{_LABEL}}{word} ({rule}): {decision.reason}")
    return [visible(line) for line in lines]


def baseline_lines(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """What became of accepted leaks: a count by group, with names where someone has to act."""
    lines = []
    for name, text in _BASELINE:
        members = groups.get(name, ())
        if not members:
            continue
        lines.append(f"{'baseline':<{_LABEL}}{len(members)} {text}")
        if name in ("accepted", "counted", "accepting"):
            continue
        lines += [f"{'':<{_LABEL}}  {visible(member)}" for member in members[:_SHOWN]]
        if len(members) > _SHOWN:
            lines.append(f"{'':<{_LABEL}}  and {len(members) - _SHOWN} more")
    return lines


def gate_json(
    decision: RunDecision, results: Sequence[LimitResult], *, model: str | None, settled: str | None
) -> dict[str, Json]:
    """The decision for the manifest of a report."""
    return {
        "model": model,
        "exit_code": decision.exit_code,
        "rule": decision.rule,
        "reason": decision.reason,
        "settled": settled,
        "limits": [
            {
                "kind": result.limit.kind,
                "language": result.limit.language,
                "maximum": result.limit.maximum,
                "numerator": result.rate.numerator,
                "denominator": result.rate.denominator,
                "upper": round(result.rate.high, 12),
                "passed": result.passed,
            }
            for result in results
        ],
    }
