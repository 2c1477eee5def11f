"""Judges in an audit: what they cost stands in the record, what they do not answer is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.scoring import Scorer
from pytest_funcmem.cli import main
from pytest_funcmem.core.options import Settings
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
from pytest_funcmem.models.prices import Price
from pytest_funcmem.reporting.json_report import function_line, summary_line
from pytest_funcmem.reporting.pairs_report import PairsReporter
from pytest_funcmem.reporting.summary import summary_lines
from pytest_funcmem.store.directory_store import DirectoryStore
from pytest_funcmem.store.memory_store import MemoryStore
from pytest_funcmem.verdict.rates import summarise

SIGNATURE, BODY = "def f(a):", "\n    return a * 3"


def chat(score: object) -> dict[str, Any]:
    text = json.dumps({"equivalence_score": score, "reasoning": "so"})
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


def side(body: str) -> Side:
    return Side(
        model=ModelIdentity(spec="replay:a", kind="replay", revision="r"),
        completion=Completion(text=body, token_ids=None, stop="stop"),
        candidate=Candidate(status="ok", body=body, code=SIGNATURE + body),
        similarity=text_similarity(BODY, body),
        func=None,
        matches=None,
        outcomes={},
    )


def record() -> AuditRecord:
    function = SourceFunction(
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
    return AuditRecord(
        function=function,
        verdict=Verdict(kind="inconclusive", reason="language: none"),
        target=side("\n    return 3 * a"),
        reference=side("\n    return a"),
    )


def scored(server: Any, store: MemoryStore, **settings: Any) -> AuditRecord:
    name = f"judge:ours@openai:{server.url}/v1#m"
    scorer = Scorer((name, "exact"), store=store, settings=MetricSettings(**settings), counters=Counters())
    try:
        return scorer.scored(record())
    finally:
        scorer.close()


def test_what_judges_cost_stands_in_the_record_once(server: Any) -> None:
    server.in_turn((200, {}, chat(0.9)))
    store = MemoryStore()
    prices = {"m": Price(input=2.0, output=10.0)}
    found = scored(server, store, prices=prices)
    assert found.cost_usd == pytest.approx(2 * (1000 * 2.0 + 100 * 10.0) / 1e6)
    assert function_line(found, "a.py::f")["cost"] == found.cost_usd
    again = scored(server, store, prices=prices)
    assert again.cost_usd is None  # nothing was paid this time
    assert len(server.requests) == 2


def test_a_price_that_is_not_known_is_no_price_of_zero(server: Any) -> None:
    server.in_turn((200, {}, chat(0.9)))
    assert scored(server, MemoryStore()).cost_usd is None


def test_what_a_judge_does_not_answer_is_counted_in_every_summary(server: Any) -> None:
    server.in_turn((200, {}, chat(0.9)), (200, {}, chat(None)))
    found = scored(server, MemoryStore())
    assert found.target is not None
    assert found.reference is not None
    assert [score.value for score in found.target.scores] == [0.9, 0.0]
    assert found.reference.scores[0].value is None
    assert "judge failed" in found.reference.scores[0].note
    summary = summarise([found])
    name = found.target.scores[0].name
    assert summary_line(summary)["scores"][name] == {
        "target": {"mean": 0.9, "figures": 1, "missing": 0},
        "reference": {"mean": None, "figures": 0, "missing": 1},
    }
    lines = " ".join("\n".join(summary_lines(summary)).split())
    assert "0.900 and n/a (1 without a figure) · exact 0.000 and 0.000" in lines


def test_answers_of_a_batch_serve_a_later_audit(server: Any, tmp_path: Path) -> None:
    """The pairs of an audit, scored in a batch over the same store: the audit itself asks nothing."""
    pairs = tmp_path / "pairs.jsonl"
    PairsReporter(Settings()).write({}, [record()], ["a.py::f"], pairs)
    asked: list[Any] = []

    def script(method: str, path: str, body: Any) -> Any:
        if path == "/v1/messages/batches":
            asked.extend(body["requests"])
        if path.endswith("/results"):
            answer = {"type": "text", "text": '{"equivalence_score": 0.7}'}
            usage = {"input_tokens": 9, "output_tokens": 9}
            message = {"type": "message", "content": [answer], "usage": usage, "stop_reason": "end_turn"}
            lines = (
                json.dumps(
                    {"custom_id": item["custom_id"], "result": {"type": "succeeded", "message": message}}
                )
                for item in asked
            )
            return 200, {"Content-Type": "application/x-jsonl"}, "\n".join(lines).encode()
        batch = {"id": "b1", "type": "message_batch", "processing_status": "ended"}
        return 200, {}, {**batch, "results_url": f"{server.url}/v1/messages/batches/b1/results"}

    server.script = script
    name, store = "judge:ours@anthropic:claude-sonnet-4-6", tmp_path / "store"
    scores = tmp_path / "scores.jsonl"
    arguments = ["--store", str(store), "--metrics", name, "--batch", "-o", str(scores)]
    assert main(["score", str(pairs), *arguments]) == 0
    assert len(asked) == 2
    before = len(server.requests)
    scorer = Scorer((name,), store=DirectoryStore(store), settings=MetricSettings(), counters=Counters())
    try:
        found = scorer.scored(record())
    finally:
        scorer.close()
    assert found.target is not None
    assert found.reference is not None
    assert [found.target.scores[0].value, found.reference.scores[0].value] == [0.7, 0.7]
    assert len(server.requests) == before
