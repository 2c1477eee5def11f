"""Two JSON reports of the same functions: which leaks are new, gone, or the same, and whether rates differ.

Functions are matched by name and by the digest of their code, and compared where both reports decided them.
Of those, only the ones that the reports disagree on speak about a difference of rates; under "no difference"
each is as likely to leak in the one as in the other. This is the exact form of McNemar's test: two-sided
binomial, with probability 1/2, over the functions that disagree (McNemar, Psychometrika 12, 1947).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import Json, Rate
from pytest_funcmem.reporting.json_report import JsonReport
from pytest_funcmem.reporting.plain_text import shorten, visible
from pytest_funcmem.verdict.rates import rate

__all__ = ["TEST", "Comparison", "compare", "comparison_json", "comparison_lines"]

TEST = "McNemar's exact test, two-sided"
_LEAKS = ("functional", "verbatim")
_DECIDED = (*_LEAKS, "clean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One function in both reports; a verdict is None where a report lacks the function."""

    function: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateChange:
    """A rate of both reports over the functions that both decided.

    Attributes:
        kind: ``functional``, ``verbatim`` or ``leaks``.
        before: In the first report.
        after: In the second.
        only_before: Functions that leaked in the first alone.
        only_after: Functions that leaked in the second alone.
        p_value: Of the paired test.
    """

    kind: str
    before: Rate
    after: Rate
    only_before: int
    only_after: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What changed from one report to another.

    Attributes:
        new: Leaks of the second report that are none in the first.
        gone: Leaks of the first report that are decided and none in the second.
        same: Leaks of both, of the same or the other kind.
        undecided: Leaks of the first of which the second decided nothing.
        rates: By kind.
        paired: Functions that both reports decided.
        only_before: Functions that only the first report has, or has in other words.
        only_after: Functions that only the second has.
    """

    new: tuple[Change, ...]
    gone: tuple[Change, ...]
    same: tuple[Change, ...]
    undecided: tuple[Change, ...]
    rates: tuple[RateChange, ...]
    paired: int
    only_before: int
    only_after: int


def compare(before: JsonReport, after: JsonReport) -> Comparison:
    """Compare two reports, each of one model.

    Raises:
        UsageError: A report is of several models, or the two have no function in common.
    """
    first, second = _verdicts(before, "first"), _verdicts(after, "second")
    common = [key for key in second if key in first]
    if not common:
        raise UsageError(
            "The two reports have no function in common.",
            expected="reports of the same functions, known by name and digest",
            remedy="Compare reports of the same source.",
        )
    changes = [
        Change(function=key[0], before=first.get(key), after=second.get(key))
        for key in sorted(first.keys() | second.keys())
    ]
    paired = [(first[key], second[key]) for key in common if {first[key], second[key]} <= set(_DECIDED)]
    return Comparison(
        new=tuple(item for item in changes if item.after in _LEAKS and item.before not in _LEAKS),
        gone=tuple(item for item in changes if item.before in _LEAKS and item.after == "clean"),
        same=tuple(item for item in changes if item.before in _LEAKS and item.after in _LEAKS),
        undecided=tuple(item for item in changes if item.before in _LEAKS and item.after not in _DECIDED),
        rates=tuple(
            _rate_change(name, kinds, paired)
            for name, kinds in (("functional", _LEAKS[:1]), ("verbatim", _LEAKS[1:]), ("leaks", _LEAKS))
        ),
        paired=len(paired),
        only_before=len(first) - len(common),
        only_after=len(second) - len(common),
    )


def _verdicts(report: JsonReport, which: str) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for line in report.functions:
        try:
            key = (str(line["function"]["id"]), str(line["function"]["sha256"]))
            verdict = str(line["verdict"])
        except (KeyError, TypeError) as exc:
            raise UsageError(
                f"A function of the {which} report lacks its name, its digest or its verdict.",
                expected="a JSON report as --funcmem-report=json:FILE writes it",
                remedy="Write the report again.",
            ) from exc
        if key in found:
            raise UsageError(
                f"The {which} report has {key[0]} twice.",
                expected="a report of one model",
                remedy="Audit the two checkpoints into a report each, or split the report by its models.",
            )
        found[key] = verdict
    return found


def _rate_change(name: str, kinds: Sequence[str], paired: Sequence[tuple[str, str]]) -> RateChange:
    from scipy.stats import binomtest

    first = sum(one in kinds for one, _ in paired)
    second = sum(two in kinds for _, two in paired)
    only_before = sum(one in kinds and two not in kinds for one, two in paired)
    only_after = sum(one not in kinds and two in kinds for one, two in paired)
    differ = only_before + only_after
    return RateChange(
        kind=name,
        before=rate(first, len(paired)),
        after=rate(second, len(paired)),
        only_before=only_before,
        only_after=only_after,
        p_value=float(binomtest(only_after, differ, 0.5).pvalue) if differ else 1.0,
    )


def comparison_json(found: Comparison) -> dict[str, Json]:
    """The comparison as one JSON object."""

    def changes(items: Sequence[Change]) -> list[dict[str, Any]]:
        return [{"function": item.function, "before": item.before, "after": item.after} for item in items]

    return {
        "new": changes(found.new),
        "gone": changes(found.gone),
        "same": changes(found.same),
        "undecided": changes(found.undecided),
        "paired": found.paired,
        "only_before": found.only_before,
        "only_after": found.only_after,
        "test": TEST,
        "rates": {
            item.kind: {
                "before": _rate(item.before),
                "after": _rate(item.after),
                "only_before": item.only_before,
                "only_after": item.only_after,
                "p_value": item.p_value,
            }
            for item in found.rates
        },
    }


def _rate(found: Rate) -> Mapping[str, Json]:
    return {
        "numerator": found.numerator,
        "denominator": found.denominator,
        "value": found.value,
        "interval": [round(found.low, 12), round(found.high, 12)],
    }


def comparison_lines(found: Comparison, *, width: int = 100) -> list[str]:
    """The comparison for people."""
    lines = []
    for title, items in (
        ("new leaks", found.new),
        ("gone leaks", found.gone),
        ("leaks in both", found.same),
        ("leaks that the second report did not decide", found.undecided),
    ):
        lines.append(f"{title}: {len(items)}")
        for item in items:
            text = f"  {visible(item.function)}  {item.before or 'not there'} -> {item.after or 'not there'}"
            lines.append(shorten(text, width))
    lines += ["", f"rates over the {found.paired} functions that both decided"]
    lines.append(f"{'':<12}{'first':>24}{'second':>26}{'first only':>12}{'second only':>13}{'p':>8}")
    for row in found.rates:
        lines.append(
            f"{row.kind:<12}{_cell(row.before):>24}{_cell(row.after):>26}{row.only_before:>12}"
            f"{row.only_after:>13}{row.p_value:>8.3g}"
        )
    lines.append(f"p by {TEST}; intervals are Clopper-Pearson, 95 %")
    if found.only_before or found.only_after:
        lines.append(
            f"not compared: {found.only_before} functions of the first report alone,"
            f" {found.only_after} of the second alone"
        )
    return lines


def _cell(found: Rate) -> str:
    return f"{found.numerator}/{found.denominator} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"
