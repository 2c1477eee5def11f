"""Shares with intervals as inline SVG: bars by language, as in the paper's Figure 2.

Colours and type are the style sheet's; a bar is told by its place and its label as well as by its colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pytest_funcmem.core.records import Rate

__all__ = ["Bar", "bar_chart", "percent"]

_LABEL = 150  # width of the column of labels, in the units of the drawing
_PLOT = 330
_VALUE = 150
_WIDTH = _LABEL + _PLOT + _VALUE
_BAR = 15
_STEP = 21
_GAP = 30  # height of a group's heading
_TOP = 6
_AXIS = 26
_TICKS = ((0.02, 0.005), (0.05, 0.01), (0.1, 0.02), (0.25, 0.05), (0.5, 0.1), (1.0, 0.2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of a group.

    Attributes:
        label: Beside the bar.
        kind: Class of its colour: ``reference``, ``target``, ``only`` or ``unseen``.
        rate: What it shows.
    """

    label: str
    kind: str
    rate: Rate


def bar_chart(groups: Mapping[str, Sequence[Bar]], *, identifier: str, title: str) -> str:
    """Draw horizontal bars with their intervals, one group a language.

    Args:
        groups: Bars by the heading of their group.
        identifier: Unique in the page.
        title: What a screen reader says of the drawing; the figures stand in a table beside it.
    """
    end, tick = _scale([bar.rate for bars in groups.values() for bar in bars])
    rows = sum(len(bars) for bars in groups.values())
    bottom = _TOP + _GAP * len(groups) + _STEP * rows
    height = bottom + _AXIS
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{identifier}">',
        f'<title id="{identifier}">{escape(title)}</title>',
    ]
    marks = int(end / tick + 1e-9)
    for mark in range(marks + 1):
        x = _LABEL + _PLOT * mark * tick / end
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 19}">{percent(mark * tick, tick)}</text>')
    y = _TOP
    for heading, bars in groups.items():
        parts.append(f'<text class="group" x="0" y="{y + 20}">{escape(heading)}</text>')
        y += _GAP
        for bar in bars:
            parts += _bar(bar, y, end)
            y += _STEP
    parts.append("</svg>")
    return "".join(parts)


def _bar(bar: Bar, y: int, end: float) -> list[str]:
    rate = bar.rate
    middle = y + _BAR / 2

    def x(share: float) -> float:
        return _LABEL + _PLOT * min(share, end) / end

    width = x(rate.value or 0.0) - _LABEL
    parts = [
        f'<text class="label" x="{_LABEL - 8}" y="{y + 12}">{escape(bar.label)}</text>',
        f'<rect class="bar {escape(bar.kind)}" x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR}"/>',
    ]
    if rate.denominator:
        low, high = x(rate.low), x(rate.high)
        parts.append(
            f'<path class="whisker" d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8'
            f'M{high:.1f} {middle - 4}v8"/>'
        )
    value = f"{rate.numerator}/{rate.denominator}" + (
        "" if rate.value is None else f" · {percent(rate.value)}"
    )
    parts.append(f'<text class="value" x="{_WIDTH}" y="{y + 12}">{value}</text>')
    return parts


def percent(share: float, step: float = 0.001) -> str:
    """A share in per cent, with as many digits as a step of it needs."""
    digits = 0 if step >= 0.01 else 1
    return f"{100 * share:.{digits}f} %"


def _scale(rates: Sequence[Rate]) -> tuple[float, float]:
    """Right end of the axis and distance of its marks: the shortest that holds what matters of all bars."""
    # An interval over very few functions reaches far; it may be cut off so that the others can be read.
    needed = max([rate.value or 0.0 for rate in rates], default=0.0)
    wished = max([rate.high for rate in rates if rate.denominator], default=1.0)
    needed = max(1.15 * needed, min(wished, 4 * needed + 0.02))
    for end, tick in _TICKS:
        if needed <= end:
            return end, tick
    return _TICKS[-1]
