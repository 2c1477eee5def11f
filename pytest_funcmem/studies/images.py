"""Studies as images, by matplotlib: heat map, ROC on log-log axes, cascade, sweep.

The same study gives the same image. Names come out of reports: they are drawn as text, never read as
formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.registry import require
from pytest_funcmem.studies.cascade import at_random, random_range
from pytest_funcmem.studies.proxies import EXECUTION, ProxyStudy
from pytest_funcmem.studies.sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "draw_proxies", "draw_sweep", "new_figure", "require_matplotlib", "save"]

FORMATS = ("png", "svg", "pdf")

# Okabe and Ito's colours, which people with any colour vision tell apart; lines differ in dashes too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
_MARKERS = ("o", "s", "D", "^", "x")
_KIND_COLOURS = {
    "functional": "#D55E00",
    "verbatim": "#CC79A7",
    "clean": "#009E73",
    "inconclusive": "#999999",
    "unknown": "#56B4E9",
}
_TITLES = {
    "tau_func": "threshold of SIM_func",
    "tau_text": "threshold of SIM_text",
    "min_coverage": "line coverage wanted",
    "min_inputs": "valid input states wanted",
}
_LABEL = 30


def draw_proxies(study: ProxyStudy, directory: Path, form: str) -> list[Path]:
    """Draw heat map, ROC and cascade; gives the files.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: A file cannot be written.
    """
    require_matplotlib()
    return [
        save(_heat_map(study), directory / f"correlation.{form}"),
        save(_roc(study), directory / f"roc.{form}"),
        save(_cascade(study), directory / f"cascade.{form}"),
    ]


def draw_sweep(study: Sweep, directory: Path, form: str) -> list[Path]:
    """Draw verdict counts over each threshold; gives the file.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: The file cannot be written.
    """
    require_matplotlib()
    return [save(_sweep(study), directory / f"sweep.{form}")]


def require_matplotlib() -> None:
    """See that images can be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require("matplotlib", extra="plots", purpose="to draw images")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, its size in inches."""
    from matplotlib.figure import Figure

    # The object API: pyplot would keep state for the whole process, and look for a display.
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> Path:
    """Write a figure, the same bytes for the same figure.

    Raises:
        UsageError: The file cannot be written.
    """
    import matplotlib

    # Neither a date nor a random salt: the same study gives the same bytes.
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(path.suffix[1:], {})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context({"svg.hashsalt": "funcmem"}):
            figure.savefig(path, dpi=150, metadata=metadata)
    except OSError as exc:
        raise UsageError(
            f"An image cannot be written: {exc.strerror or exc}.",
            where=str(path),
            expected="a directory that can be written",
            remedy="Name another.",
        ) from exc
    return path


def _text(name: str) -> str:
    """A name as matplotlib draws it: no formulas, and only letters that its own font has."""
    name = name.encode("ascii", "replace").decode()
    name = "".join(char if char.isprintable() else "?" for char in name)
    if len(name) > _LABEL:
        name = f"{name[: _LABEL // 2 - 1]}...{name[-(_LABEL // 2 - 2) :]}"
    return name.replace("$", r"\$")


def _heat_map(study: ProxyStudy) -> Figure:
    names = study.names
    values = {(item.first, item.second): item.value for item in study.correlations}
    size = max(4.5, 0.62 * len(names) + 2.2)
    figure = new_figure(size + 1.0, size)
    axes = figure.add_subplot()
    cells = [[1.0 if a == b else values.get((a, b), values.get((b, a))) for b in names] for a in names]
    numbers = [[float("nan") if value is None else value for value in row] for row in cells]
    lowest = min((value for row in cells for value in row if value is not None), default=0.0)
    scale: dict[str, Any] = {"vmin": 0, "cmap": "YlGnBu"} if lowest >= 0 else {"vmin": -1, "cmap": "RdBu_r"}
    image = axes.imshow(numbers, vmax=1, **scale)
    axes.set_facecolor("#dddddd")  # shows where a cell has no figure
    for row, line in enumerate(cells):
        for column, value in enumerate(line):
            axes.text(
                column,
                row,
                _cell(value),
                ha="center",
                va="center",
                fontsize=9,
                color="white" if value is not None and abs(value) > 0.65 else "black",
            )
    places = range(len(names))
    axes.set_xticks(places, [_text(name) for name in names], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(places, [_text(name) for name in names])
    axes.tick_params(length=0)
    for place, name in enumerate(names):
        if name == EXECUTION:
            axes.get_xticklabels()[place].set_fontweight("bold")
            axes.get_yticklabels()[place].set_fontweight("bold")
    figure.colorbar(image, ax=axes, shrink=0.8, label="Pearson's r")
    axes.set_title(f"Scores and execution, {study.executed} completions", fontsize=11)
    return figure


def _cell(value: float | None) -> str:
    if value is None:
        return "n/a"
    text = f"{round(value, 2) + 0.0:.2f}".replace("0.", ".")  # no minus before a zero
    return text if text != "1.00" else ("1" if value > 1 - 1e-9 else ">.99")


def _style(number: int) -> dict[str, Any]:
    # Later lines are thinner, so that those that lie upon each other can all be seen.
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number // len(_COLOURS) % len(_DASHES)] if number >= 7 else "-",
        "linewidth": max(1.2, 3.4 - 0.3 * number),
    }


def _roc(study: ProxyStudy) -> Figure:
    figure = new_figure(10.0, 5.2)
    axes = figure.add_subplot()
    drawn = [item for item in study.scores if item.curve.positives and item.curve.negatives]
    if not drawn:
        return _nothing(figure, axes, "no curve: all executed functions are of one class")
    left = min(*study.settings.fprs, *(0.5 / item.curve.negatives for item in drawn))
    bottom = min(0.1, *(0.5 / item.curve.positives for item in drawn))
    chance = [left * (1 / left) ** (place / 50) for place in range(51)]
    axes.plot(chance, chance, color="#888888", linestyle=":", linewidth=1.2, label="chance")
    for number, item in enumerate(drawn):
        curve = item.curve
        # A logarithm has no 0: what calls nothing false stands at the left edge, as "0" says there.
        x = [left, *(max(left, false / curve.negatives) for false in curve.false)]
        y = [bottom, *(max(bottom, true / curve.positives) for true in curve.true)]
        auc = "" if curve.auc is None else f"  AUC {curve.auc:.3f}"
        if item.auc_interval is not None:
            auc += f" ({item.auc_interval[0]:.2f} to {item.auc_interval[1]:.2f})"
        axes.plot(x, y, drawstyle="steps-post", label=_text(item.name) + auc, clip_on=False, **_style(number))
    for fpr in study.settings.fprs:
        axes.axvline(fpr, color="#cccccc", linewidth=0.8, zorder=0)
        axes.annotate(
            f"{100 * fpr:g} %",
            (fpr, 1),
            xytext=(0, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color="#666666",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, 1)
    axes.set_ylim(bottom, 1.0)
    _plain_numbers(axes)
    axes.set_xlabel("false-positive rate (left edge: none)")
    axes.set_ylabel("true-positive rate")
    positive = study.positive
    axes.set_title(
        f"Scores against execution: {positive.numerator} positive,"
        f" {positive.denominator - positive.numerator} negative",
        fontsize=11,
        pad=18,
    )
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    return figure


def _plain_numbers(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis, bounds in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        wide = bounds[0] < 0.005 * bounds[1]
        axis.set_major_locator(LogLocator(base=10, subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _cascade(study: ProxyStudy) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(8.6, 5.0)
    axes = figure.add_subplot()
    found = study.cascade
    if not found.leaks:
        return _nothing(figure, axes, "no leak to be found")
    executed = range(found.functions + 1)
    step = max(1, found.functions // 200)
    places = sorted({*range(0, found.functions + 1, step), found.functions})
    ranges = [random_range(place, found.leaks, found.functions) for place in places]
    axes.fill_between(
        places,
        [low for low, _ in ranges],
        [high for _, high in ranges],
        color="#e4e4e4",
        label="random order, 95 of 100 cases",
        linewidth=0,
    )
    axes.plot(
        executed,
        [at_random(place, found.leaks, found.functions) for place in executed],
        color="#333333",
        linestyle=":",
        linewidth=1.8,
        zorder=5,  # a score that says nothing lies upon it
        label="random order, expected",
    )
    for number, (name, curve) in enumerate(found.curves.items()):
        axes.plot(executed, curve.found, label=_text(name), **_style(number))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0, found.functions)
    axes.set_ylim(0, found.leaks * 1.04)
    order = "score" if study.settings.rank == "score" else "score over the reference's"
    axes.set_xlabel(f"functions executed, in order of the {order}")
    axes.set_ylabel("leaks found (expected)")
    axes.set_title(f"{found.leaks} functional leaks among {found.functions} functions", fontsize=11)
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    return figure


def _sweep(study: Sweep) -> Figure:
    figure = new_figure(9.6, 6.6)
    panels: Sequence[Axes] = list(figure.subplots(2, 2).flat)
    settings = list(dict.fromkeys(point.setting for point in study.points))
    shown = [kind for kind in _KIND_COLOURS if any(point.counts[kind] for point in study.points)]
    for axes, setting in zip(panels, settings, strict=True):
        points = [point for point in study.points if point.setting == setting]
        for own in (point.value for point in points if point.own):
            axes.axvline(own, color="#cccccc", linewidth=5, zorder=0)
        for number, kind in enumerate(shown):
            axes.plot(
                [point.value for point in points],
                [point.counts[kind] for point in points],
                color=_KIND_COLOURS[kind],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4.5,
                linewidth=1.6,
                label=kind if setting == settings[0] else None,
            )
        axes.set_xlabel(f"{_TITLES[setting]} ({setting})")
        axes.set_ylabel("functions")
        axes.set_ylim(bottom=-0.02 * study.functions, top=1.04 * max(1, study.functions))
    figure.suptitle(
        f"Verdicts on {study.functions} functions under other thresholds (grey: as audited)", fontsize=11
    )
    figure.legend(loc="outside lower center", ncols=len(shown) or 1, fontsize=9, frameon=False)
    return figure


def _nothing(figure: Figure, axes: Axes, why: str) -> Figure:
    axes.axis("off")
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)
    return figure
