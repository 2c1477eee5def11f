"""Made-up records: what reports are rendered from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_funcmem.core.records import (
    AuditRecord,
    Candidate,
    Completion,
    Harness,
    HarnessEvidence,
    Inconclusive,
    InputState,
    ModelIdentity,
    OutputState,
    Prompt,
    Proof,
    Scaffold,
    Side,
    SourceFunction,
    StateComparison,
    Verdict,
)
from pytest_funcmem.metrics import text_similarity
from pytest_funcmem.verdict import decide

SIGNATURE = "def settle_invoice(amount: float, days_late: int, customer: Customer) -> float:"
ORIGINAL = '''
    """Settle an invoice and return what remains to be paid.

    Raises:
        ValueError: If the amount is negative.
    """
    if amount < 0:
        raise ValueError("amount must not be negative")
    grace = 14 if customer.is_loyal else 7
    if days_late <= grace:
        return round(amount, 2)
    weeks = (days_late - grace) // 7 + 1
    fee = min(amount * 0.015 * weeks, 250.0)
    customer.reminders.append(f"{weeks} weeks late")
    return round(amount + fee, 2)'''
TARGET = """
    # Compute late fee with a grace period
    if amount < 0:
        raise ValueError("amount must not be negative")
    allowed = 14 if customer.is_loyal else 7
    overdue = days_late - allowed
    if overdue <= 0:
        return round(amount, 2)
    weeks = overdue // 7 + 1
    late_fee = amount * 0.015 * weeks
    if late_fee > 250.0:
        late_fee = 250.0
    customer.reminders.append(f"{weeks} weeks late")
    return round(amount + late_fee, 2)"""
REFERENCE = '''
    """Settle an invoice."""
    if days_late > 30:
        return amount * 1.1
    return amount'''


def make_function(
    signature: str = SIGNATURE, body: str = ORIGINAL, path: str = "billing/invoices.py"
) -> SourceFunction:
    head = "import math\n\n\n"
    return SourceFunction(
        path=path,
        qualname="settle_invoice",
        language="python",
        line=4,
        text=head + signature + body + "\n",
        definition_start=len(head),
        signature_start=len(head),
        signature_end=len(head + signature),
        end=len(head + signature + body),
    )


def make_side(
    name: str,
    body: str,
    *,
    original: str = ORIGINAL,
    matches: int | None = None,
    of: int = 10,
    status: str = "ok",
    outcomes: dict[str, int] | None = None,
) -> Side:
    return Side(
        model=ModelIdentity(
            spec=f"hf:models/{name}", kind="hf", revision=f"sha256:{name:0<16}", dtype="float32", device="cpu"
        ),
        completion=Completion(text=body, token_ids=(1, 2), stop="function_end", batch="b" * 64, batch_row=0),
        candidate=Candidate(
            status=status,  # type: ignore[arg-type]
            body=body,
            code=SIGNATURE + body if status in ("ok", "uncompiled") else None,
            detail="" if status == "ok" else "line 2: invalid syntax",
        ),
        similarity=text_similarity(original, body),
        func=None if matches is None else matches / of,
        matches=matches,
        outcomes=outcomes if outcomes is not None else {},
    )


def returned(value: float, reminders: tuple[str, ...] | None = None) -> OutputState:
    shown = ["unchanged"]
    if reminders is not None:
        shown = ["object", "invoices.Customer", [["reminders", ["list", list(reminders)]]], None]
    return OutputState(outcome="returned", value=["float", repr(value)], arguments={"customer": shown})


def make_comparisons() -> tuple[StateComparison, ...]:
    refused = {
        "type": "builtins.ValueError",
        "message": "amount must not be negative",
        "own": True,
        "origin": "function",
        "authored": True,
    }
    found = []
    for number in range(10):
        amount, late = (-5.0, 3) if number == 0 else (100.0 * number + 0.125, 6 * number)
        state = InputState(
            setup=("loyal = Customer(is_loyal=True)",) if number == 7 else (),
            arguments=(repr(amount), str(late), "loyal" if number == 7 else "Customer(is_loyal=False)"),
        )
        if number == 0:
            original = OutputState(outcome="raised", exception=refused, arguments={"customer": ["unchanged"]})
            found.append(
                StateComparison(
                    state=state,
                    original=original,
                    target=original,
                    reference=returned(-5.0),
                    target_matches=True,
                    reference_matches=False,
                )
            )
            continue
        if late <= 7:
            original = returned(round(amount, 2))
        else:
            weeks = (late - 7) // 7 + 1
            original = returned(round(amount * (1 + 0.015 * weeks), 2), (f"{weeks} weeks late",))
        target = original if number != 9 else OutputState(outcome="timeout", detail="2.0 s")
        found.append(
            StateComparison(
                state=state,
                original=original,
                target=target,
                reference=original if number == 1 else returned(amount * 1.1 if late > 30 else amount),
                target_matches=number != 9,
                reference_matches=number == 1,
            )
        )
    return tuple(found)


HARNESS = Harness(
    builder="local/1",
    language="python",
    function_sha256="f" * 64,
    scaffold=Scaffold(),
    states=(),
    expected=(),
    state_timeout_s=2.0,
    evidence=HarnessEvidence(
        inputs=10,
        valid=10,
        outputs=8,
        executable_lines=tuple(range(7, 17)),
        covered_lines=tuple(range(7, 17)),
        mutants=22,
        mutants_killed=19,
        proofs=(
            Proof(name="self", score=1.0, passed=True),
            Proof(name="renamed", score=1.0, passed=True),
            Proof(name="stub:return None", score=0.0, passed=True),
            Proof(name="stub:commonest output", score=0.2, passed=True),
            Proof(name="stub:echo amount", score=0.1, passed=True),
        ),
    ),
)


@pytest.fixture
def functional_record() -> AuditRecord:
    target = make_side("target", TARGET, matches=9, outcomes={"raised": 1, "returned": 8, "timeout": 1})
    reference = make_side("reference", REFERENCE, matches=1, outcomes={"returned": 10})
    return AuditRecord(
        function=make_function(),
        verdict=decide(target=target, reference=reference, harness=HARNESS),
        prompt=Prompt(text=SIGNATURE, token_ids=(1,), tokenizer="t", context_tokens=0),
        target=target,
        reference=reference,
        harness=HARNESS,
        harness_sha256="0123456789abcdef" * 4,
        comparisons=make_comparisons(),
        seconds={"run": 0.25, "generate": 1.5, "build": 3.0},
    )


@pytest.fixture
def verbatim_record() -> AuditRecord:
    nearly = ORIGINAL.replace("14 if", "21 if")
    target = make_side("target", nearly)
    reference = make_side("reference", "\n    return (amount", status="unparsed")
    harness = Inconclusive(
        reason="missing_dependency", detail="it needs the name 'Customer', which no import of the file brings"
    )
    return AuditRecord(
        function=make_function(),
        verdict=decide(target=target, reference=reference, harness=harness),
        target=target,
        reference=reference,
        harness=harness,
        seconds={"generate": 1.0},
    )


@pytest.fixture
def error_record() -> AuditRecord:
    return AuditRecord(
        function=make_function(), verdict=Verdict(kind="error", reason="OSError: the engine is gone")
    )


GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def scrub_versions(text: str) -> str:
    """Versions of metric packages, which signatures name, are not pinned by snapshots."""
    return re.sub(r"(rapidfuzz|version):\d[\w.]*(?=\W|$)", r"\1:VERSION", text)


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with its snapshot; ``UPDATE_GOLDEN=1`` writes it instead, for a person to look at."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        shown = scrub_versions(text) + "\n"
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(shown, encoding="utf-8")
        assert shown == path.read_text(encoding="utf-8")

    return compare
