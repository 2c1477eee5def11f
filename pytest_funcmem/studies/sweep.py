"""Verdict counts over each threshold, the others as in the audits (the paper's Figure 24).

Derived from reports alone: nothing runs. Where a looser threshold might give a function a harness that it
lacks, only a new run can tell, and the function is counted apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from pytest_funcmem.core.digests import plain
from pytest_funcmem.core.records import Json, Rate
from pytest_funcmem.studies.results import Results
from pytest_funcmem.verdict.rates import rate
from pytest_funcmem.verdict.thresholds import Thresholds, sensitivity_changes, verdict_under

__all__ = ["GRID", "KINDS", "Sweep", "SweepPoint", "sweep"]

KINDS = ("functional", "verbatim", "clean", "inconclusive", "error", "unknown")

GRID: dict[str, tuple[float, ...]] = {
    "tau_func": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "tau_text": (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0),
    "min_coverage": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "min_inputs": (4, 5, 6, 7, 8, 9, 10),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One threshold at one value.

    Attributes:
        setting: Its name.
        value: Its value.
        own: Whether the audits used it.
        counts: Functions by verdict; ``unknown`` are those that only a new run could decide.
        leaks: Share of functional and verbatim leaks among those decided.
    """

    setting: str
    value: float
    own: bool
    counts: dict[str, int]
    leaks: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All points, and what each function near a threshold turns on.

    Attributes:
        near: By node id, its verdict and the settings nearby under which it changes.
    """

    paths: tuple[str, ...]
    thresholds: Thresholds
    functions: int
    points: tuple[SweepPoint, ...]
    near: dict[str, dict[str, Json]]

    def as_json(self) -> Json:
        """One object."""
        return {"kind": "sweep", "format_version": 1, **plain(self), "intervals": "95 %, Clopper-Pearson"}


def sweep(results: Results) -> Sweep:
    """Count verdicts under each threshold in turn."""
    own = results.thresholds
    points = []
    for setting, grid in GRID.items():
        used = getattr(own, setting)
        for value in sorted({*grid, used}):
            moved = replace(own, **{setting: type(used)(value)})
            points.append(_point(results, setting, value, own=value == used, thresholds=moved))
    near = {}
    for function in results.functions:
        if function.figures is None:
            continue
        changes = sensitivity_changes(function.figures, function.kind, own)
        if changes:
            said = [{"under": change.under, "verdict": change.verdict} for change in changes]
            near[function.nodeid] = {"verdict": function.kind, "changes": said}
    return Sweep(
        paths=results.paths,
        thresholds=own,
        functions=len(results.functions),
        points=tuple(points),
        near=near,
    )


def _point(results: Results, setting: str, value: float, *, own: bool, thresholds: Thresholds) -> SweepPoint:
    kinds: Counter[str] = Counter(
        "error" if function.figures is None else (verdict_under(function.figures, thresholds) or "unknown")
        for function in results.functions
    )
    leaks = kinds["functional"] + kinds["verbatim"]
    return SweepPoint(
        setting=setting,
        value=value,
        own=own,
        counts={kind: kinds[kind] for kind in KINDS},
        leaks=rate(leaks, leaks + kinds["clean"]),
    )
