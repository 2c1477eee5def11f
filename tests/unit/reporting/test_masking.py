"""The mask: what is planted anywhere in a record reaches no report, and what may be said still is."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import (
    AuditRecord,
    Harness,
    Inconclusive,
    InputState,
    MetricScore,
    OutputState,
    Proof,
    Scaffold,
    Severity,
    StateComparison,
    Verdict,
)
from pytest_funcmem.core.registry import REGISTRY, load
from pytest_funcmem.reporting.failure_report import failure_report
from pytest_funcmem.reporting.masking import mask

SECRET = "hunter2-XYZZY"


def planted_output(outcome: str = "returned") -> OutputState:
    return OutputState(
        outcome=outcome,  # type: ignore[arg-type]
        value=["list", [SECRET, ["object", "m.C", [["attribute", SECRET]], None]]],
        exception={
            "type": f"m.{SECRET}",
            "message": SECRET,
            "own": True,
            "authored": True,
            "origin": "function",
        },
        calls=(
            {"path": f"get('{SECRET}')", "arguments": [SECRET], "keywords": {SECRET: 1}, "answer": SECRET},
        ),
        receiver=["dict", [[SECRET, 1]]],
        arguments={SECRET: SECRET},
        module_globals={SECRET: SECRET},
        stdout=SECRET,
        stderr=SECRET,
        files={SECRET: SECRET},
        detail=SECRET,
    )


@pytest.fixture
def planted(functional_record: AuditRecord) -> AuditRecord:
    """A record with the secret in every text that comes out of audited code or completions."""
    state = InputState(
        setup=(f"x = '{SECRET}'",),
        receiver=f"C('{SECRET}')",
        arguments=(repr(SECRET),),
        keywords=(("key", repr(SECRET)),),
        stdin=SECRET,
        files=((SECRET, SECRET),),
        environment=((SECRET, SECRET),),
        answers=((f"get('{SECRET}')", repr(SECRET)),),
    )
    harness = functional_record.harness
    assert isinstance(harness, Harness)
    head = f"KEY = '{SECRET}'\n"
    signature = f"def f(a='{SECRET}', b=\"{SECRET}\"):"
    body = f"\n    '''{SECRET}'''\n    # {SECRET}\n    return '{SECRET}'"
    function = dataclasses.replace(
        functional_record.function,
        text=head + signature + body,
        definition_start=len(head),
        signature_start=len(head),
        signature_end=len(head + signature),
        end=len(head + signature + body),
        metadata=json.dumps({"note": SECRET}),
    )

    def side(given: Any) -> Any:
        return dataclasses.replace(
            given,
            completion=dataclasses.replace(given.completion, text=SECRET),
            candidate=dataclasses.replace(given.candidate, body=body, code=signature + body, detail=SECRET),
            scores=(MetricScore(name="judge:x", value=None, signature="judge", note=SECRET),),
        )

    return dataclasses.replace(
        functional_record,
        function=function,
        prompt=dataclasses.replace(functional_record.prompt, text=head + signature),
        target=side(functional_record.target),
        reference=side(functional_record.reference),
        severity=Severity(value=None, signature="judge", note=SECRET),
        harness=dataclasses.replace(
            harness,
            scaffold=Scaffold(prelude=f"x = '{SECRET}'", mocks=("requests", f"get('{SECRET}')")),
            states=(state,),
            expected=(planted_output(),),
            evidence=dataclasses.replace(
                harness.evidence, proofs=(Proof(name=f"stub:return '{SECRET}'", score=0.1, passed=True),)
            ),
        ),
        comparisons=tuple(
            StateComparison(
                state=state,
                original=planted_output(),
                target=planted_output(outcome),
                reference=dataclasses.replace(planted_output(outcome), value=f"{SECRET}!", calls=()),
                target_matches=outcome == "returned",
                reference_matches=False,
            )
            for outcome in ("returned", "raised", "timeout", "signal")
        ),
    )


def shown_everywhere(record: AuditRecord, tmp_path: Path, settings: Settings) -> dict[str, str]:
    """What each report says of a record, packed parts unpacked."""
    found = {
        "terminal": failure_report(record, rerun="pytest x", color=False),
        "reason": record.verdict.reason,
    }
    for form in sorted(REGISTRY["reporter"].keys() - {"harness", "pairs"}):
        path = tmp_path / form
        load("reporter", form)(settings).write({"tool": {"name": "t"}}, [record], ["a.py::f"], path)
        text = path.read_text(encoding="utf-8")
        packed = re.findall(r'<script type="application/octet-stream"[^>]*>([^<]+)</script>', text)
        found[form] = "\n".join(
            [text, *(gzip.decompress(base64.b64decode(part)).decode() for part in packed)]
        )
    return found


def test_planted_secrets_are_seen_without_the_mask(planted: AuditRecord, tmp_path: Path) -> None:
    shown = shown_everywhere(planted, tmp_path, Settings())
    assert SECRET in shown["terminal"]
    assert SECRET in shown["html"]


def test_no_planted_secret_reaches_a_report(planted: AuditRecord, tmp_path: Path) -> None:
    for form, text in shown_everywhere(mask(planted), tmp_path, Settings(mask=True)).items():
        assert SECRET not in text, form
        assert "hunter2" not in text, form


def test_harnesses_are_not_written_under_a_mask() -> None:
    with pytest.raises(UsageError, match="masked"):
        load("reporter", "harness")(Settings(mask=True))


def test_no_planted_secret_is_left_in_the_record(planted: AuditRecord) -> None:
    assert SECRET in repr(planted)
    assert SECRET not in repr(mask(planted))


@pytest.mark.parametrize("kind", ["inconclusive", "error"])
def test_messages_that_may_quote_code_are_masked(planted: AuditRecord, tmp_path: Path, kind: str) -> None:
    record = dataclasses.replace(
        planted,
        verdict=Verdict(kind=kind, reason=f"no_valid_state: NameError('{SECRET}')"),  # type: ignore[arg-type]
        harness=Inconclusive(reason="no_valid_state", detail=SECRET),
        comparisons=(),
    )
    for form, text in shown_everywhere(mask(record), tmp_path, Settings(mask=True)).items():
        assert SECRET not in text, form
    assert mask(record).verdict.kind == kind
    if kind == "inconclusive":
        assert mask(record).verdict.reason.startswith("no_valid_state:")


def test_verdict_figures_and_digest_stay(functional_record: AuditRecord) -> None:
    masked = mask(functional_record)
    assert masked.verdict == functional_record.verdict
    assert masked.function.key == functional_record.function.key
    assert masked.masked_sha256 == text_digest(functional_record.function.code)
    assert masked.target is not None
    assert functional_record.target is not None
    assert masked.target.similarity == functional_record.target.similarity
    assert [c.target_matches for c in masked.comparisons] == [
        c.target_matches for c in functional_record.comparisons
    ]
    assert mask(masked) is masked


def test_signature_is_kept_outside_of_quotes(planted: AuditRecord) -> None:
    assert mask(planted).function.signature == "def f(a=…):"


def test_what_differs_still_shows_that_it_differs(functional_record: AuditRecord) -> None:
    text = failure_report(mask(functional_record), rerun="pytest x", color=False)
    assert "(13 lines, masked)" in text
    assert "<masked>" in text
    assert "<masked, another>" in text
    assert "raises ValueError" in text
