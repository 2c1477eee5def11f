"""The ladder for people: a table like the paper's Table 3, and the figure beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_funcmem.core.records import Rate
from pytest_funcmem.models.dialogue.records import Usage
from pytest_funcmem.reporting.plain_text import shorten, visible
from pytest_funcmem.studies.images import new_figure, require_matplotlib, save
from pytest_funcmem.studies.ladder import LadderStudy, LevelCount
from pytest_funcmem.studies.tables import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pytest_funcmem.harness.ladder.levels import Level

__all__ = ["TITLES", "draw_ladder", "ladder_lines"]

TITLES: dict[Level, str] = {
    "bare": "bare",
    "imports": "common imports",
    "preamble": "generated preamble",
    "retry": "preamble, one retry",
    "local": "local builder",
    "agent": "agent",
}
"""What a level is called in tables and images."""

_MAX_REASONS = 4


def ladder_lines(study: LadderStudy) -> Iterator[str]:
    """The table, the reasons, and what both rest on."""
    conditions = study.conditions
    yield (
        f"{len(study.functions)} Python functions on every level; conclusive: {conditions.min_inputs} valid"
        f" distinct input states, {conditions.min_coverage:.0%} coverage, {conditions.min_outputs} outputs"
    )
    if study.left_out:
        yield f"{study.left_out} more were left out for cost and count nowhere"
    if study.model is not None:
        yield f"model: {shorten(visible(study.model), 80)}"
    if study.lacking:
        names = ", ".join(text.split()[1] for text in study.lacking)
        yield f"common imports that the sandbox lacks: {names}"
    yield ""
    rows = [["", "conclusive", "share", "95 % interval", "self-proofs too", "tokens", "dollars"]]
    rows += [_row(count) for count in study.levels]
    yield from table(rows)
    yield "  intervals: Clopper-Pearson; tokens and dollars: all that a level rests on, some of it shared"
    if study.model is not None:
        tokens, dollars = _tokens(study.cost.usage), _dollars(study.cost.dollars)
        yield f"  each answer counted once: tokens {tokens}, {dollars}"
    yield ""
    yield "Why functions have no proved harness"
    rows = [["", "functions", "most often"]]
    for count in study.levels:
        left = count.proved.denominator - count.proved.numerator
        said = [f"{reason} {number}" for reason, number in list(count.reasons.items())[:_MAX_REASONS]]
        if len(count.reasons) > len(said):
            said.append(f"{len(count.reasons) - len(said)} other reasons")
        rows.append([TITLES[count.level], str(left), ", ".join(said)])
    yield from table(rows, left=3)


def _row(count: LevelCount) -> list[str]:
    found, proved = count.conclusive, count.proved
    return [
        TITLES[count.level],
        f"{found.numerator}/{found.denominator}",
        _percent(found.value),
        f"{100 * found.low:.1f} to {100 * found.high:.1f} %",
        f"{proved.numerator}/{proved.denominator} {_percent(proved.value)}",
        "none" if count.cost is None else _tokens(count.cost.usage),
        "none" if count.cost is None else _dollars(count.cost.dollars),
    ]


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f} %"


def _tokens(usage: Usage) -> str:
    return f"{usage.total - usage.output:,} read, {usage.output:,} written"


def _dollars(dollars: float | None) -> str:
    return "not known" if dollars is None else f"${dollars:.4f}"


def draw_ladder(study: LadderStudy, path: Path) -> Path:
    """Draw the share of conclusive functions by level; gives the file.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: The file cannot be written.
    """
    require_matplotlib()
    return save(_bars(study), path)


def _bars(study: LadderStudy) -> Figure:
    figure = new_figure(1.35 * max(3, len(study.levels)) + 1.6, 4.8)
    axes = figure.add_subplot()
    series: tuple[tuple[str, float, str, list[Rate]], ...] = (
        ("three conditions of the paper", -0.2, "#56B4E9", [count.conclusive for count in study.levels]),
        ("self-proofs too", 0.2, "#0072B2", [count.proved for count in study.levels]),
    )
    for label, shift, colour, rates in series:
        values = [100 * (found.value or 0.0) for found in rates]
        places = [number + shift for number in range(len(rates))]
        axes.bar(places, values, width=0.36, color=colour, label=label)
        below = [value - 100 * found.low for value, found in zip(values, rates, strict=True)]
        above = [100 * found.high - value for value, found in zip(values, rates, strict=True)]
        axes.errorbar(places, values, yerr=[below, above], fmt="none", ecolor="#222222", capsize=3)
        for place, found in zip(places, rates, strict=True):
            axes.annotate(
                f"{found.numerator}/{found.denominator}",
                (place, 100 * found.high),
                textcoords="offset points",
                xytext=(0, 3),
                ha="center",
                fontsize=7,
            )
    axes.set_xticks(range(len(study.levels)), [TITLES[count.level] for count in study.levels], fontsize=8)
    axes.set_xlim(-0.6, max(3, len(study.levels)) - 0.4)
    axes.set_ylim(0, 108)
    axes.set_ylabel("functions, in %")
    axes.set_title(
        f"Functions with a conclusive measurement by level ({len(study.functions)} functions)", fontsize=11
    )
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure
