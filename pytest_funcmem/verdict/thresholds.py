"""What a verdict would be under other thresholds and fewer states, from the figures of a finished record.

Nothing is run: what only a new run could tell is told apart. A harness that was proved under one τ_func may
fail its proofs under a lower one, which a stub would then pass; a function without a harness may get one
where less is wanted of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import (
    AuditRecord,
    Harness,
    HarnessEvidence,
    Sensitivity,
    VerdictChange,
    VerdictKind,
)

__all__ = [
    "STEPS",
    "Figures",
    "Thresholds",
    "figures_of",
    "sensitivity_changes",
    "sensitivity_of",
    "strongest_stub",
    "verdict_under",
]

_MOST_STATES = 60  # the choices of more states are not counted: their number grows with the third power


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The settings that a verdict can turn on; see the options of these names."""

    tau_func: float = 0.8
    tau_text: float = 0.75
    min_coverage: float = 0.8
    min_inputs: int = 8

    @classmethod
    def of(cls, settings: Settings) -> Thresholds:
        """Those of an audit."""
        return cls(
            tau_func=settings.tau_func,
            tau_text=settings.tau_text,
            min_coverage=settings.min_coverage,
            min_inputs=settings.min_inputs,
        )


STEPS: tuple[tuple[str, float], ...] = (
    ("tau_func", 0.1),
    ("tau_text", 0.05),
    ("min_coverage", 0.1),
    ("min_inputs", 1),
)
"""How far each threshold is moved, down and up, to see whether a verdict changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a verdict was made of.

    Attributes:
        target_text: SIM_text of the target.
        reference_text: SIM_text of the reference.
        target_func: SIM_func of the target; None without a harness.
        reference_func: SIM_func of the reference; None without a harness.
        runnable: Whether some completion holds a function.
        lacks: Why there is no harness, as its reason code; "" where there is one.
        valid: Valid distinct input states; None where nothing ran.
        coverage: Share of the original's lines that they reach; None where nothing ran.
        stub: Largest SIM_func of a stub on the harness; None where that is not known.
    """

    target_text: float
    reference_text: float
    target_func: float | None
    reference_func: float | None
    runnable: bool
    lacks: str
    valid: int | None
    coverage: float | None
    stub: float | None = None


def verdict_under(figures: Figures, thresholds: Thresholds) -> VerdictKind | None:
    """The verdict under some thresholds; None where only a new run could tell."""
    if figures.target_text >= thresholds.tau_text > figures.reference_text:
        return "verbatim"
    if not figures.runnable and (figures.lacks or not _stands(figures, thresholds)):
        return "clean"
    if figures.lacks:
        return None if _may_stand(figures, thresholds) else "inconclusive"
    if not _stands(figures, thresholds):
        return "inconclusive"
    if figures.target_func is None or figures.reference_func is None:
        raise ValueError("a function with a harness has two functional similarities")
    if (
        figures.target_func >= thresholds.tau_func > figures.reference_func
        and figures.target_text < thresholds.tau_text
    ):
        return "functional"
    return "clean"


def _stands(figures: Figures, thresholds: Thresholds) -> bool:
    """Whether a harness that is there would have been one under these thresholds too."""
    return (
        (figures.valid is None or figures.valid >= thresholds.min_inputs)
        and (figures.coverage is None or figures.coverage >= thresholds.min_coverage)
        and (figures.stub is None or figures.stub < thresholds.tau_func)
    )


def _may_stand(figures: Figures, thresholds: Thresholds) -> bool:
    """Whether a harness that failed for too few states or lines would have had enough of both."""
    if figures.lacks not in ("coverage", "too_few_states"):
        return False
    if figures.valid is None or figures.coverage is None:
        return False
    return figures.valid >= thresholds.min_inputs and figures.coverage >= thresholds.min_coverage


def figures_of(record: AuditRecord) -> Figures | None:
    """The figures of a record; None where the audit broke."""
    target, reference, harness = record.target, record.reference, record.harness
    if record.verdict.kind == "error" or target is None or reference is None or harness is None:
        return None
    evidence = harness.evidence
    return Figures(
        target_text=target.similarity.bleu.value,
        reference_text=reference.similarity.bleu.value,
        target_func=target.func,
        reference_func=reference.func,
        runnable=any(side.candidate.status not in ("unparsed", "empty") for side in (target, reference)),
        lacks="" if isinstance(harness, Harness) else harness.reason,
        valid=None if evidence is None else evidence.valid,
        coverage=None if evidence is None else evidence.coverage,
        stub=None if evidence is None else strongest_stub(evidence),
    )


def strongest_stub(evidence: HarnessEvidence) -> float | None:
    """Largest SIM_func that a stub reached on a harness; None where none was tried."""
    return max((proof.score for proof in evidence.proofs if proof.name.startswith("stub")), default=None)


# -------------------------------------------------------------------------------------------- sensitivity


def sensitivity_of(record: AuditRecord, thresholds: Thresholds) -> Sensitivity | None:
    """How firmly a verdict stands, as far as its record tells; None where the audit broke.

    Args:
        record: A finished record.
        thresholds: Those that its verdict was made with.
    """
    figures = figures_of(record)
    if figures is None:
        return None
    changes = sensitivity_changes(figures, record.verdict.kind, thresholds)
    matches = [(item.target_matches, item.reference_matches) for item in record.comparisons]
    kept = thresholds.min_inputs
    if not kept < len(matches) <= _MOST_STATES:
        return Sensitivity(changes=changes)
    same = 0
    for (target, reference), ways in _choices(matches, kept).items():
        chosen = replace(figures, target_func=target / kept, reference_func=reference / kept)
        same += ways * (verdict_under(chosen, thresholds) == record.verdict.kind)
    return Sensitivity(changes=changes, states=kept, choices=math.comb(len(matches), kept), choices_same=same)


def sensitivity_changes(
    figures: Figures, kind: VerdictKind, thresholds: Thresholds
) -> tuple[VerdictChange, ...]:
    """The thresholds nearby under which a verdict changes; see ``STEPS``."""
    return tuple(_changes(figures, kind, thresholds))


def _changes(figures: Figures, kind: VerdictKind, thresholds: Thresholds) -> Iterator[VerdictChange]:
    for name, step in STEPS:
        own = getattr(thresholds, name)
        for moved in (own - step, own + step):
            value = round(moved, 6) if isinstance(step, float) else int(moved)
            if value < (0 if isinstance(step, float) else 1) or (isinstance(step, float) and value > 1):
                continue
            verdict = verdict_under(figures, replace(thresholds, **{name: value}))
            if verdict != kind:
                yield VerdictChange(under=f"{name}={value:g}", verdict=verdict)


def _choices(matches: Sequence[tuple[bool, bool]], kept: int) -> Counter[tuple[int, int]]:
    """Ways to choose so many states, by how many of them match for the target and for the reference."""
    found = Counter(matches)
    both, target, reference = found[True, True], found[True, False], found[False, True]
    neither = found[False, False]
    ways: Counter[tuple[int, int]] = Counter()
    for a in range(min(both, kept) + 1):
        for b in range(min(target, kept - a) + 1):
            for c in range(min(reference, kept - a - b) + 1):
                number = math.comb(both, a) * math.comb(target, b) * math.comb(reference, c)
                ways[a + b, a + c] += number * math.comb(neither, kept - a - b - c)
    return ways
