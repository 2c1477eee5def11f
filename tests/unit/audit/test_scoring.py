"""Scores of both sides: which texts are compared, what is kept, what is asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.scoring import Scorer, compared_pair
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import Score
from pytest_funcmem.core.records import (
    AuditRecord,
    Candidate,
    Completion,
    ModelIdentity,
    Side,
    SourceFunction,
    Verdict,
)
from pytest_funcmem.metrics.choice import MetricSettings
from pytest_funcmem.metrics.text import text_similarity
from pytest_funcmem.reporting.masking import mask
from pytest_funcmem.store.memory_store import MemoryStore

SIGNATURE = "def f(a):"
BODY = "\n    return a * 3"
FUNCTION = SourceFunction(
    path="a.py",
    qualname="f",
    language="python",
    line=1,
    text=SIGNATURE + BODY,
    definition_start=0,
    signature_start=0,
    signature_end=len(SIGNATURE),
    end=len(SIGNATURE + BODY),
)


def side(completion: str, status: Any = "ok") -> Side:
    parsed = status in ("ok", "uncompiled")
    return Side(
        model=ModelIdentity(spec="replay:a", kind="replay", revision="r"),
        completion=Completion(text=completion, token_ids=None, stop="stop"),
        candidate=Candidate(status=status, body=completion, code=SIGNATURE + completion if parsed else None),
        similarity=text_similarity(BODY, completion),
        func=None,
        matches=None,
        outcomes={},
    )


def record(target: Side, reference: Side) -> AuditRecord:
    verdict = Verdict(kind="inconclusive", reason="language: none")
    return AuditRecord(function=FUNCTION, verdict=verdict, target=target, reference=reference)


def scorer(*names: str, store: MemoryStore, counters: Counters | None = None) -> Scorer:
    return Scorer(names, store=store, settings=MetricSettings(), counters=counters or Counters())


def test_text_metrics_compare_bodies_and_others_whole_functions() -> None:
    found = side("\n    return a * 4")
    assert compared_pair("bleu", FUNCTION, found).candidate == "\n    return a * 4"
    assert compared_pair("bleu", FUNCTION, found).original == BODY
    assert compared_pair("tsed", FUNCTION, found).candidate == SIGNATURE + "\n    return a * 4"
    assert compared_pair("judge:ours@hf:x", FUNCTION, found).original == SIGNATURE + BODY
    broken = side("\n    return ((", "unparsed")
    assert compared_pair("edit", FUNCTION, broken).candidate == "\n    return (("
    assert compared_pair("codebleu", FUNCTION, broken).candidate == SIGNATURE + "\n    return (("
    empty = side("  ", "empty")
    assert compared_pair("codebleu", FUNCTION, empty).candidate == ""
    assert compared_pair("codebleu", FUNCTION, side("  # only a remark", "empty")).candidate.endswith(
        "remark"
    )


def test_scores_are_computed_once_and_those_of_text_are_the_verdicts() -> None:
    store, counters = MemoryStore(), Counters()
    audited = record(side("\n    return a * 4"), side("\n    return ((", "unparsed"))
    first = scorer("bleu", "codebleu", "tsed", store=store, counters=counters)
    found = first.scored(audited)
    assert (counters.scores_computed, counters.scores_reused) == (6, 0)
    assert found.target is not None
    assert found.reference is not None
    assert [score.name for score in found.target.scores] == ["bleu", "codebleu", "tsed"]
    bleu = found.target.scores[0]
    assert (bleu.value, bleu.signature) == (
        found.target.similarity.bleu.value,
        found.target.similarity.bleu.signature,
    )
    assert "does not parse" in found.reference.scores[1].note
    again = scorer("tsed", "bleu", store=store, counters=counters)
    repeated = again.scored(audited)
    assert (counters.scores_computed, counters.scores_reused) == (6, 4)
    assert repeated.target is not None
    assert repeated.target.scores == (found.target.scores[2], found.target.scores[0])
    for opened in (first, again):
        opened.close()
        opened.close()
    broken = AuditRecord(function=FUNCTION, verdict=Verdict(kind="error", reason="gone"))
    assert again.scored(broken) is broken


def test_what_a_model_did_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        name = "embedding:x"
        asked = 0

        def signature(self, language: str) -> str:
            return "embedding|x"

        def scores(self, pairs: Any) -> tuple[Score, ...]:
            Silent.asked += 1
            note = "the server said: def secret(): ..."
            return tuple(Score(value=None, signature="embedding|x", note=note) for _ in pairs)

        def close(self) -> None:
            pass

    monkeypatch.setattr("pytest_funcmem.audit.scoring.open_metric", lambda name, **_: Silent())
    store = MemoryStore()
    audited = record(side("\n    return 1"), side("\n    return 2"))
    for asked in (2, 4):
        found = scorer("embedding:x", store=store).scored(audited)
        assert Silent.asked == asked
    masked = mask(replace(found, harness=None))
    assert masked.target is not None
    assert masked.target.scores[0].note == "masked"  # what a server said may quote what it was asked


def test_metrics_that_cannot_be_had_are_refused_when_opened() -> None:
    with pytest.raises(UsageError, match="no metric named"):
        scorer("bleu", "meteor", store=MemoryStore())
