"""Finished audits as rows of figures: one function and one side each.

Reports are read as data that others wrote: what is no figure is refused with its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import VerdictKind
from pytest_funcmem.reporting.json_report import read_report
from pytest_funcmem.verdict.thresholds import Figures, Thresholds

__all__ = ["TEXT_SCORES", "Audited", "Measured", "Results", "SideName", "read_results"]

SideName = Literal["target", "reference"]

TEXT_SCORES = ("bleu", "edit", "lcs", "exact")
"""Scores that every record has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One side of one function.

    Attributes:
        func: SIM_func; None without a harness.
        scores: By metric; None where there is no figure.
    """

    func: float | None
    scores: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One function of a finished audit.

    Attributes:
        nodeid: Its node id.
        kind: The verdict.
        target: What was measured of the target; None where the audit broke.
        reference: Likewise.
        figures: What the verdict was made of; None where the audit broke.
    """

    nodeid: str
    kind: VerdictKind
    target: Measured | None
    reference: Measured | None
    figures: Figures | None

    def side(self, name: SideName) -> Measured | None:
        """What was measured of one model."""
        return self.target if name == "target" else self.reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Finished audits, pooled.

    Attributes:
        paths: The reports.
        thresholds: Those that the verdicts were made with.
        functions: All functions, in the order of the reports.
        metrics: Names of the scores that some function has, in order.
    """

    paths: tuple[str, ...]
    thresholds: Thresholds
    functions: tuple[Audited, ...]
    metrics: tuple[str, ...]


def read_results(paths: Sequence[Path]) -> Results:
    """Read and pool reports.

    Raises:
        UsageError: A report cannot be read, holds what is no figure, was made with other thresholds than
            another, or has a function and model that another has too.
    """
    thresholds: Thresholds | None = None
    functions: list[Audited] = []
    metrics = dict.fromkeys(TEXT_SCORES)
    seen: dict[object, str] = {}
    for path in paths:
        report = read_report(path)
        own = _thresholds(report.manifest, where=str(path))
        if thresholds is not None and own != thresholds:
            raise UsageError(
                "These audits were made with different thresholds.",
                where=f"{paths[0]}, {path}",
                expected=f"{thresholds} in all",
                remedy="Study them apart, or audit again with the same: what is stored is not made again.",
            )
        thresholds = own
        for number, line in enumerate(report.functions, start=2):
            where = f"{path}:{number}"
            function = _object(line.get("function"), "function", where)
            identity = (str(function.get("id")), str(function.get("sha256")), str(line.get("model")))
            if identity in seen:
                raise UsageError(
                    "Two results are of the same function and model.",
                    where=f"{seen[identity]}, {where}",
                    expected="each function of each model once",
                    remedy="Leave one of the reports out.",
                )
            seen[identity] = where
            audited = _audited(line, where=where)
            functions.append(audited)
            if audited.target is not None:
                metrics.update(dict.fromkeys(audited.target.scores))
    if thresholds is None or not functions:
        raise UsageError(
            "There is no function in these results.",
            where=", ".join(map(str, paths)),
            expected="reports of finished audits",
            remedy="Write one with --funcmem-report=json:FILE.",
        )
    return Results(
        paths=tuple(map(str, paths)),
        thresholds=thresholds,
        functions=tuple(functions),
        metrics=tuple(metrics),
    )


def _thresholds(manifest: Mapping[str, Any], *, where: str) -> Thresholds:
    settings = _object(manifest.get("settings"), "settings", f"{where}:1")
    found = {
        name: _number(settings.get(name), name, f"{where}:1", high=1.0)
        for name in ("tau_func", "tau_text", "min_coverage")
    }
    inputs = _number(settings.get("min_inputs"), "min_inputs", f"{where}:1", high=1e6)
    return Thresholds(**found, min_inputs=int(inputs))


def _audited(line: Mapping[str, Any], *, where: str) -> Audited:
    kind: Any = line.get("verdict")
    if kind not in get_args(VerdictKind):
        raise _wrong("verdict", where, "one of " + ", ".join(get_args(VerdictKind)))
    sides = {name: _object(line.get(name), name, where) for name in ("target", "reference")}
    measured = {name: _measured(side, name, where) for name, side in sides.items()}
    target, reference = measured["target"], measured["reference"]
    figures = None
    if kind != "error" and target is not None and reference is not None:
        harness = _object(line.get("harness"), "harness", where)
        proved = harness.get("sha256") is not None
        reason = str(line.get("reason", "")).partition(":")[0]
        texts = [side.scores["bleu"] for side in (target, reference)]
        figures = Figures(
            target_text=texts[0] or 0.0,
            reference_text=texts[1] or 0.0,
            target_func=target.func,
            reference_func=reference.func,
            runnable=any(side.get("candidate") not in ("unparsed", "empty") for side in sides.values()),
            # Of a function that its text alone decided, a report does not say why it has no harness.
            lacks="" if proved else (reason if kind == "inconclusive" else "not said"),
            valid=_count(harness.get("valid"), "valid", where),
            coverage=_share(harness.get("coverage"), "coverage", where),
            stub=_share(harness.get("stub"), "stub", where),
        )
        if proved and (target.func is None or reference.func is None):
            raise _wrong("func", where, "a figure for both sides, since there is a harness")
    return Audited(
        nodeid=str(line.get("nodeid", "")), kind=kind, target=target, reference=reference, figures=figures
    )


def _measured(side: Mapping[str, Any], name: str, where: str) -> Measured | None:
    if side.get("bleu") is None:
        return None
    scores = dict(_scores(side, f"{name}.", where))
    return Measured(func=_share(side.get("func"), f"{name}.func", where), scores=scores)


def _scores(side: Mapping[str, Any], prefix: str, where: str) -> Iterator[tuple[str, float | None]]:
    for name in TEXT_SCORES:
        value = side.get(name)
        yield name, float(value) if isinstance(value, bool) else _share(value, prefix + name, where)
    for name, value in _object(side.get("scores") or {}, f"{prefix}scores", where).items():
        if name not in TEXT_SCORES:
            yield name, _share(value, prefix + name, where)


def _object(value: Any, name: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, where, "an object")
    return value


def _share(value: Any, name: str, where: str) -> float | None:
    return None if value is None else _number(value, name, where, high=1.0)


def _count(value: Any, name: str, where: str) -> int | None:
    return None if value is None else int(_number(value, name, where, high=1e9))


def _number(value: Any, name: str, where: str, *, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _wrong(name, where, "a number")
    if not 0 <= value <= high:
        raise _wrong(name, where, f"a number from 0 to {high:g}")
    return float(value)


def _wrong(name: str, where: str, expected: str) -> UsageError:
    return UsageError(
        f"The report's {name!r} is not what an audit writes.",
        where=where,
        expected=expected,
        remedy="Write the report again with --funcmem-report=json:FILE.",
    )
