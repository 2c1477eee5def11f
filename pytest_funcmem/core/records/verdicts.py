"""Similarities, comparisons, verdicts and the record that an audit ends in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_funcmem.core.records.completions import Candidate, Completion, ModelIdentity, Prompt
from pytest_funcmem.core.records.execution import InputState, OutputState
from pytest_funcmem.core.records.functions import SourceFunction
from pytest_funcmem.core.records.harnesses import AgentUse, Harness, Inconclusive

__all__ = [
    "AuditRecord",
    "MetricScore",
    "Rate",
    "Sensitivity",
    "Severity",
    "Side",
    "Similarity",
    "StateComparison",
    "TextScore",
    "Verdict",
    "VerdictChange",
    "VerdictKind",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScore:
    """A similarity in [0, 1] with the signature that says how it was computed."""

    value: float
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """Textual similarity of a candidate to the original, on bodies.

    Attributes:
        bleu: SIM_text of the verdict.
        edit: Edit similarity, 1 - Levenshtein / |x|, at least 0.
        lcs: Length of the longest common substring / |x|.
        exact: Whether the bodies are the same text.
    """

    bleu: TextScore
    edit: TextScore
    lcs: TextScore
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScore:
    """One figure of one metric for a candidate, beside those that decide.

    Attributes:
        name: As the user named the metric.
        value: In [0, 1]; None where the metric has no figure, and ``note`` says why.
        signature: How it was computed.
        note: What a reader must know: a cap that was reached, text that does not parse.
    """

    name: str
    value: float | None
    signature: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateComparison:
    """One input state: the three outputs, and which of the two candidates' equal the original's.

    ``target`` and ``reference`` are None where that candidate could not be run at all.
    """

    state: InputState
    original: OutputState
    target: OutputState | None
    reference: OutputState | None
    target_matches: bool
    reference_matches: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two models on one function.

    Attributes:
        func: SIM_func in [0, 1]; None without a harness.
        matches: Input states on which the output state equals the original's; None without a harness.
        outcomes: Counts by execution outcome.
        scores: Of the metrics that were asked for, in their order.
    """

    model: ModelIdentity
    completion: Completion
    candidate: Candidate
    similarity: Similarity
    func: float | None
    matches: int | None
    outcomes: Mapping[str, int]
    scores: tuple[MetricScore, ...] = ()


VerdictKind = Literal["functional", "verbatim", "clean", "inconclusive", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one function.

    Attributes:
        kind: What was decided.
        reason: The rule that decided, in words with its numbers; for ``inconclusive`` begins with the reason
            code and a colon.
    """

    kind: VerdictKind
    reason: str

    @property
    def is_leak(self) -> bool:
        """Whether the target leaked text or behaviour that the reference did not."""
        return self.kind in ("functional", "verbatim")

    @property
    def is_decided(self) -> bool:
        """Whether the function counts in the denominator of a rate."""
        return self.kind in ("functional", "verbatim", "clean")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """What a verdict would be under another threshold, where it would be another.

    Attributes:
        under: The setting with its other value, ``tau_func=0.9``.
        verdict: What it would be; None where only a new run could tell.
    """

    under: str
    verdict: VerdictKind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How firmly a verdict stands, as far as its record tells.

    Attributes:
        changes: Thresholds nearby under which it changes; empty where it changes under none of them.
        states: Input states in each smaller choice that was tried; None where there is no smaller one.
        choices: Number of choices of so many of the harness's states.
        choices_same: Of those, the ones under which the verdict is the same.
    """

    changes: tuple[VerdictChange, ...] = ()
    states: int | None = None
    choices: int = 0
    choices_same: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Severity:
    """How much logic worth protecting a function holds.

    Attributes:
        value: From 1 (boilerplate) to 10 (what a company lives by); None where the rater gave none.
        signature: What rated it.
        note: Why there is no value, or what it rests on.
    """

    value: int | None
    signature: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """All that is known about one function at the end of its audit.

    Attributes:
        prompt: None where the audit broke before prompts were cut.
        harness: The harness, or why there is none; None where the audit broke before.
        harness_sha256: Digest of the harness; None without one.
        comparisons: One per input state, in order; empty without a harness.
        seconds: Wall-clock seconds by stage (``generate``, ``build``, ``run``); 0 for what was reused.
        agent: What an agent used to build the harness in this run; None where none worked on it.
        cost_usd: Money spent on this function; None where nothing paid was used.
        reused: Stages whose result came out of the store.
        masked_sha256: Digest of the function's code where its text is masked; None where the text is there.
        severity: What the filter rated; None where there was no filter.
        sensitivity: How firmly the verdict stands; None where the audit broke.
    """

    function: SourceFunction
    verdict: Verdict
    prompt: Prompt | None = None
    target: Side | None = None
    reference: Side | None = None
    harness: Harness | Inconclusive | None = None
    harness_sha256: str | None = None
    comparisons: tuple[StateComparison, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    agent: AgentUse | None = None
    cost_usd: float | None = None
    reused: tuple[str, ...] = ()
    masked_sha256: str | None = None
    severity: Severity | None = None
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share with its Clopper-Pearson interval.

    Attributes:
        numerator: Functions counted.
        denominator: Functions decided.
        value: Their quotient; None where nothing was decided.
        low: Lower bound; 0 where nothing was decided.
        high: Upper bound; 1 where nothing was decided.
        confidence: Two-sided confidence of the interval.
    """

    numerator: int
    denominator: int
    value: float | None
    low: float
    high: float
    confidence: float = 0.95
