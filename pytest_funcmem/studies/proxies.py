"""What cheap scores are worth as proxies for execution (the paper's section 5.2), on finished audits.

Every score of a completion is held against its SIM_func: as a figure (Pearson) and as a call of whether it
reaches τ_func (ROC). A cascade says what is gained where execution is dear. This module draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.digests import plain
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import Json, Rate
from pytest_funcmem.studies.cascade import (
    Cascade,
    at_random,
    cascade,
    executions_at_random,
    random_range,
)
from pytest_funcmem.studies.correlation import INTERVAL, Correlation, correlations
from pytest_funcmem.studies.curves import (
    BOOTSTRAP,
    Curve,
    Operation,
    auc_interval,
    operation_at,
    roc_curve,
    safe_threshold,
)
from pytest_funcmem.studies.results import Audited, Results, SideName
from pytest_funcmem.verdict.rates import rate

__all__ = [
    "EXECUTION",
    "CascadeStudy",
    "ProxySettings",
    "ProxyStudy",
    "Rank",
    "ScoreStudy",
    "Step",
    "study_proxies",
]

EXECUTION = "execution"
"""Name of SIM_func in the matrix."""

Rank = Literal["score", "difference"]

_SHARES = (0.05, 0.1, 0.2, 0.5)
_FOUND = (0.5, 0.9, 1.0)
_NO_FIGURE = -2.0  # below every score and every difference of two


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """How results are studied.

    Attributes:
        side: Whose completions; with ``both``, intervals take the two of a function as independent.
        tau_func: SIM_func from which a function is positive; None for the audits' own.
        fprs: False-positive rates to keep.
        rank: Whether the cascade ranks by the target's score or by what it has over the reference's.
        budget: Executions that may be made; None for shares of the functions alone.
        rounds: Resamples of bootstrap intervals.
        seed: Of their draws.
    """

    side: SideName | Literal["both"] = "target"
    tau_func: float | None = None
    fprs: tuple[float, ...] = (0.001, 0.01, 0.05)
    rank: Rank = "difference"
    budget: int | None = None
    rounds: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStudy:
    """One score as a proxy.

    Attributes:
        name: The metric.
        missing: Executed functions without a figure, which are left out.
        curve: Its ROC curve.
        auc_interval: Bounds of 95 %; None without both classes.
        operations: One for each wanted false-positive rate.
        safe: Likewise, thresholds that keep the rate with confidence; None where there are too few negatives.
    """

    name: str
    missing: int
    curve: Curve
    auc_interval: tuple[float, float] | None
    operations: tuple[Operation, ...]
    safe: tuple[Operation | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A budget.

    Attributes:
        executed: Executions made.
        found: Expected leaks found, by metric.
        random: Expected leaks found in random order.
        random_range: Between how many a random order finds in 95 of 100 cases.
    """

    executed: int
    found: dict[str, float]
    random: float
    random_range: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeStudy:
    """What ranking saves.

    Attributes:
        functions: Functions that would be executed: all that text alone does not decide.
        leaks: Of those, functional leaks that execution confirmed.
        curves: By metric.
        steps: One for each budget.
        needed: Executions expected to find shares of the leaks: by share, by metric, ``random`` among them.
    """

    functions: int
    leaks: int
    curves: dict[str, Cascade]
    steps: tuple[Step, ...]
    needed: dict[str, dict[str, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyStudy:
    """All of it.

    Attributes:
        functions: Functions in the results.
        executed: Completions of them that were executed, of the side or sides.
        positive: Share of these that reach τ_func.
    """

    paths: tuple[str, ...]
    settings: ProxySettings
    tau_func: float
    functions: int
    executed: int
    positive: Rate
    names: tuple[str, ...]
    correlations: tuple[Correlation, ...]
    scores: tuple[ScoreStudy, ...]
    cascade: CascadeStudy

    def as_json(self) -> Json:
        """One object; curves hold a point for each threshold."""
        found = plain(self)
        found = {"kind": "proxies", "format_version": 1, **found}
        found["intervals"] = {
            "correlations": f"95 %, {INTERVAL}",
            "auc": f"95 %, {BOOTSTRAP}",
            "tpr, fpr": "95 %, Clopper-Pearson, the threshold taken as given",
            "random_range": "95 %, hypergeometric",
        }
        for item in found["scores"]:
            item["curve"]["thresholds"] = item["curve"]["thresholds"][1:]  # infinity is no JSON
        return found


def study_proxies(results: Results, settings: ProxySettings) -> ProxyStudy:
    """Study every score of the results.

    Raises:
        UsageError: No function was executed.
    """
    tau_func = results.thresholds.tau_func if settings.tau_func is None else settings.tau_func
    sides: tuple[SideName, ...] = ("target", "reference") if settings.side == "both" else (settings.side,)
    executed = [
        (side.func, side.scores)
        for side in (function.side(name) for function in results.functions for name in sides)
        if side is not None and side.func is not None
    ]
    if not executed:
        raise UsageError(
            "No function of these results was executed, so nothing can be held against execution.",
            where=", ".join(results.paths),
            expected="functions with a harness",
            remedy="Audit with a builder that serves their language.",
        )
    funcs = [func for func, _ in executed]
    columns: dict[str, list[float | None]] = {EXECUTION: list(funcs)}
    for name in results.metrics:
        columns[name] = [scores.get(name) for _, scores in executed]
    return ProxyStudy(
        paths=results.paths,
        settings=settings,
        tau_func=tau_func,
        functions=len(results.functions),
        executed=len(executed),
        positive=rate(sum(func >= tau_func for func in funcs), len(funcs)),
        names=tuple(columns),
        correlations=correlations(columns, rounds=settings.rounds, seed=settings.seed),
        scores=tuple(_score(name, columns[name], funcs, tau_func, settings) for name in results.metrics),
        cascade=_cascade(results, settings),
    )


def _score(
    name: str,
    values: Sequence[float | None],
    funcs: Sequence[float],
    tau_func: float,
    settings: ProxySettings,
) -> ScoreStudy:
    known = [
        (value, func >= tau_func) for value, func in zip(values, funcs, strict=True) if value is not None
    ]
    scores, positive = [value for value, _ in known], [flag for _, flag in known]
    curve = roc_curve(scores, positive)
    return ScoreStudy(
        name=name,
        missing=len(values) - len(known),
        curve=curve,
        auc_interval=auc_interval(scores, positive, rounds=settings.rounds, seed=settings.seed),
        operations=tuple(operation_at(curve, fpr) for fpr in settings.fprs),
        safe=tuple(safe_threshold(curve, fpr) for fpr in settings.fprs),
    )


def _cascade(results: Results, settings: ProxySettings) -> CascadeStudy:
    # What text alone decides needs no execution; where the audit broke nothing is known.
    ranked = [function for function in results.functions if function.kind not in ("verbatim", "error")]
    leaks = [function.kind == "functional" for function in ranked]
    curves = {
        name: cascade([_ranking(function, name, settings.rank) for function in ranked], leaks)
        for name in results.metrics
    }
    total, count = len(ranked), sum(leaks)
    budgets = {max(1, round(share * total)) for share in _SHARES} if total else set()
    if settings.budget is not None and total:
        budgets.add(min(settings.budget, total))
    steps = tuple(
        Step(
            executed=budget,
            found={name: curve.found[budget] for name, curve in curves.items()},
            random=at_random(budget, count, total),
            random_range=random_range(budget, count, total),
        )
        for budget in sorted(budgets)
    )
    needed: dict[str, dict[str, float | None]] = {}
    for share in _FOUND:
        row: dict[str, float | None] = {name: curve.executions(share) for name, curve in curves.items()}
        wanted = -(-share * count // 1)  # a leak is found whole
        row["random"] = executions_at_random(int(wanted), count, total) if count else None
        needed[f"{share:g}"] = row
    return CascadeStudy(functions=total, leaks=count, curves=curves, steps=steps, needed=needed)


def _ranking(function: Audited, name: str, rank: Rank) -> float:
    target = None if function.target is None else function.target.scores.get(name)
    if target is None:
        return _NO_FIGURE
    if rank == "score":
        return target
    reference = None if function.reference is None else function.reference.scores.get(name)
    return _NO_FIGURE if reference is None else target - reference
