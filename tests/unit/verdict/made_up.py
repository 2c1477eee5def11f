"""Records with the figures that a test wants, and nothing else that could decide a verdict."""

from __future__ import annotations

from pytest_funcmem.core.records import (
    Candidate,
    CandidateStatus,
    Completion,
    Harness,
    HarnessEvidence,
    ModelIdentity,
    Proof,
    Scaffold,
    Side,
    Similarity,
    SourceFunction,
    TextScore,
)

__all__ = ["EVIDENCE", "FUNCTION", "HARNESS", "side"]

EVIDENCE = HarnessEvidence(
    inputs=10,
    valid=10,
    outputs=4,
    executable_lines=tuple(range(10)),
    covered_lines=tuple(range(9)),
    mutants=5,
    mutants_killed=4,
    proofs=(Proof(name="self", score=1.0, passed=True), Proof(name="stub: None", score=0.3, passed=True)),
)
HARNESS = Harness(
    builder="local/1",
    language="python",
    function_sha256="f" * 64,
    scaffold=Scaffold(),
    states=(),
    expected=(),
    state_timeout_s=1.0,
    evidence=EVIDENCE,
)
FUNCTION = SourceFunction(
    path="a.py",
    qualname="f",
    language="python",
    line=1,
    text="def f():\n    return 1\n",
    definition_start=0,
    signature_start=0,
    signature_end=8,
    end=21,
)


def side(text: float, func: float | None = None, status: CandidateStatus = "ok") -> Side:
    """One side with these similarities."""
    score = TextScore(value=text, signature="s")
    return Side(
        model=ModelIdentity(spec="replay:a", kind="replay", revision="r"),
        completion=Completion(text="", token_ids=None, stop="stop"),
        candidate=Candidate(status=status, body="", code="" if status == "ok" else None),
        similarity=Similarity(bleu=score, edit=score, lcs=score, exact=False),
        func=func,
        matches=None if func is None else round(func * 10),
        outcomes={},
    )
