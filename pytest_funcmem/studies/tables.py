"""Studies as plain text for a terminal. Names come out of reports: they are shown, never obeyed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_funcmem.core.records import Rate
from pytest_funcmem.reporting.plain_text import shorten, visible
from pytest_funcmem.studies.correlation import INTERVAL
from pytest_funcmem.studies.curves import BOOTSTRAP, Operation
from pytest_funcmem.studies.proxies import EXECUTION, CascadeStudy, ProxyStudy
from pytest_funcmem.studies.sweep import KINDS, Sweep

__all__ = ["proxy_lines", "sweep_lines", "table"]

_NAME = 28
_NEAR = 20


def proxy_lines(study: ProxyStudy) -> Iterator[str]:
    """All tables of a study."""
    positive = study.positive
    yield f"{study.functions} functions, {study.executed} completions executed ({study.settings.side})"
    yield (
        f"positive: SIM_func of at least {study.tau_func:g}, {positive.numerator} of {positive.denominator}"
        f" = {_share(positive)}"
    )
    yield ""
    yield from _correlation_lines(study)
    yield from _roc_lines(study)
    yield from _threshold_lines(study)
    yield from _cascade_lines(study.cascade)


def _correlation_lines(study: ProxyStudy) -> Iterator[str]:
    yield "Pearson's r with execution"
    rows = [["", "r", "95 % interval", "functions"]]
    for item in study.correlations:
        if item.first == EXECUTION:
            interval = "" if item.low is None or item.high is None else f"{item.low:.2f} to {item.high:.2f}"
            rows.append([_name(item.second), _figure(item.value), interval, str(item.functions)])
    yield from table(rows)
    yield f"  intervals: {INTERVAL}, {study.settings.rounds} resamples, seed {study.settings.seed}"
    yield ""
    yield "Pearson's r among all"
    values = {(item.first, item.second): item.value for item in study.correlations}
    rows = [["", *(str(number) for number in range(1, len(study.names) + 1))]]
    for number, first in enumerate(study.names, start=1):
        cells = [
            "1.00" if first == second else _figure(values.get((first, second), values.get((second, first))))
            for second in study.names
        ]
        rows.append([f"{number} {_name(first)}", *cells])
    yield from table(rows)
    yield ""


def _roc_lines(study: ProxyStudy) -> Iterator[str]:
    yield "ROC: calling a function alike by its score alone"
    heads = [f"TPR at FPR {100 * fpr:g} %" for fpr in study.settings.fprs]
    rows = [["", "AUC", "95 % interval", *heads]]
    for item in study.scores:
        interval = item.auc_interval
        rows.append(
            [
                _name(item.name),
                _figure(item.curve.auc, 3),
                "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}",
                *(_share(operation.tpr) for operation in item.operations),
            ]
        )
    yield from table(rows)
    yield f"  intervals: AUC {BOOTSTRAP}; TPR Clopper-Pearson, the threshold taken as given"
    yield ""


def _threshold_lines(study: ProxyStudy) -> Iterator[str]:
    yield "Thresholds: the lowest that keeps the false-positive rate on these functions, and the lowest that"
    yield "keeps it with 97.5 % confidence (Clopper-Pearson)"
    rows = [["", "FPR wanted", "threshold", "FPR kept", "with confidence", "TPR there"]]
    for item in study.scores:
        for operation, safe in zip(item.operations, item.safe, strict=True):
            rows.append(
                [
                    _name(item.name),
                    f"{100 * operation.wanted:g} %",
                    _threshold(operation),
                    _share(operation.fpr),
                    "too few negatives" if safe is None else _threshold(safe),
                    "" if safe is None else _share(safe.tpr),
                ]
            )
    yield from table(rows)
    yield ""


def _cascade_lines(study: CascadeStudy) -> Iterator[str]:
    yield (
        f"Cascade: a score ranks {study.functions} functions, execution confirms; {study.leaks} leaks by"
        " behaviour among them"
    )
    if not study.leaks:
        yield "  no leak to be found"
        return
    names = list(study.curves)
    rows = [["executed", *(str(step.executed) for step in study.steps)]]
    rows += [
        [_name(name), *(_found(step.found[name], step.executed) for step in study.steps)] for name in names
    ]
    rows.append(["random order", *(_found(step.random, step.executed) for step in study.steps)])
    rows.append(
        ["  in 95 of 100 cases", *(f"{low} to {high}" for low, high in (s.random_range for s in study.steps))]
    )
    yield from table(rows)
    yield "  expected leaks found (and for each function executed); equal scores in random order"
    yield ""
    rows = [["executions until found", *(f"{100 * float(share):g} % of leaks" for share in study.needed)]]
    rows += [
        [name if name == "random" else _name(name), *(_figure(row[name], 1) for row in study.needed.values())]
        for name in (*names, "random")
    ]
    yield from table(rows)


def sweep_lines(study: Sweep) -> Iterator[str]:
    """All tables of a sweep."""
    yield f"{study.functions} functions; * marks what the audits used"
    for setting in dict.fromkeys(point.setting for point in study.points):
        yield ""
        rows = [[setting, *KINDS, "leaks among decided"]]
        for point in study.points:
            if point.setting == setting:
                value = f"{point.value:g}{' *' if point.own else '  '}"
                rows.append(
                    [value, *(str(point.counts[kind]) for kind in KINDS), _share(point.leaks, counts=True)]
                )
        yield from table(rows)
    yield "  intervals: Clopper-Pearson; unknown: only a new run could tell"
    yield ""
    yield f"{len(study.near)} of {study.functions} verdicts change under a threshold nearby"
    if not study.near:
        return
    rows = [["function", "verdict", "verdict changes under"]]
    for nodeid, item in list(study.near.items())[:_NEAR]:
        said = ", ".join(
            f"{change['verdict'] or 'not known without a new run'} at {change['under']}"
            for change in item["changes"]
        )
        rows.append([shorten(visible(nodeid), 48), item["verdict"], said])
    yield from table(rows, left=3)
    if len(study.near) > _NEAR:
        yield f"  and {len(study.near) - _NEAR} more, in the JSON output"


def table(rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterable[str]:
    """Columns side by side: the first few flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _name(name: str) -> str:
    return shorten(visible(name), _NAME)


def _figure(value: float | None, digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


def _found(found: float, executed: int) -> str:
    return f"{found:.1f} ({found / executed:.2f})"


def _threshold(operation: Operation) -> str:
    return "none" if operation.threshold is None else f"{operation.threshold:.4f}"


def _share(found: Rate, *, counts: bool = True) -> str:
    if found.value is None:
        return "n/a"
    share = f"{found.numerator}/{found.denominator} " if counts else ""
    return f"{share}{100 * found.value:.0f} % ({100 * found.low:.0f} to {100 * found.high:.0f})"
