"""The records that flow through an audit, in the order in which they come to be.

``SourceFunction → Prompt → Completion (target, reference) → Candidate → Harness → OutputState per input
state → Similarity → Verdict → AuditRecord``, under one ``RunManifest``.

Records are frozen, hold plain values only, and know nothing of files, models, sandboxes or pytest.
"""

from __future__ import annotations

from pytest_funcmem.core.records.completions import (
    Candidate,
    CandidateStatus,
    Completion,
    ModelIdentity,
    Prompt,
    StopReason,
)
from pytest_funcmem.core.records.execution import ExecutionOutcome, InputState, OutputState
from pytest_funcmem.core.records.functions import LANGUAGES, Json, Language, SourceFunction
from pytest_funcmem.core.records.harnesses import (
    AgentUse,
    Harness,
    HarnessEvidence,
    Inconclusive,
    InconclusiveReason,
    Proof,
    Scaffold,
)
from pytest_funcmem.core.records.verdicts import (
    AuditRecord,
    MetricScore,
    Rate,
    Sensitivity,
    Severity,
    Side,
    Similarity,
    StateComparison,
    TextScore,
    Verdict,
    VerdictChange,
    VerdictKind,
)

__all__ = [
    "LANGUAGES",
    "AgentUse",
    "AuditRecord",
    "Candidate",
    "CandidateStatus",
    "Completion",
    "ExecutionOutcome",
    "Harness",
    "HarnessEvidence",
    "Inconclusive",
    "InconclusiveReason",
    "InputState",
    "Json",
    "Language",
    "MetricScore",
    "ModelIdentity",
    "OutputState",
    "Prompt",
    "Proof",
    "Rate",
    "Scaffold",
    "Sensitivity",
    "Severity",
    "Side",
    "Similarity",
    "SourceFunction",
    "StateComparison",
    "StopReason",
    "TextScore",
    "Verdict",
    "VerdictChange",
    "VerdictKind",
]
