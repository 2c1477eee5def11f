"""A record without what must not travel: code bodies, literals, values, and messages that could quote them.

Reports travel further than training data. A masked record still says which function, with which verdict and
figures, on how many input states what matched; an audited text is in it only as names: the path, the
qualified name, and the signature outside of quotes.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pytest_funcmem.core.digests import canonical_json, text_digest
from pytest_funcmem.core.records import (
    AuditRecord,
    Candidate,
    Harness,
    HarnessEvidence,
    Inconclusive,
    InputState,
    Json,
    OutputState,
    Prompt,
    Scaffold,
    Side,
    SourceFunction,
    StateComparison,
    Verdict,
)
from pytest_funcmem.harness.values import UNCHANGED

__all__ = ["HIDDEN", "mask"]

HIDDEN = "…"
"""What stands for a masked text."""

_SAME: Json = ["opaque", "masked"]
_OTHER: Json = ["opaque", "masked, another"]
# From the first quote to the last: whatever a language lets stand in a literal, it stands between these.
_QUOTED = re.compile("[\"'`].*[\"'`]", re.DOTALL)
_QUOTED_RUST = re.compile('".*"', re.DOTALL)  # a lone quote names a lifetime there
_LONE_QUOTE = re.compile('["`].*', re.DOTALL)
_MOCK = re.compile(r"[A-Za-z_][\w.]*( \([a-z ]+\))?", re.ASCII)

T = TypeVar("T")


def mask(record: AuditRecord) -> AuditRecord:
    """Hide what must not travel.

    Args:
        record: A finished record.

    Returns:
        The record with the same verdict and figures, and with the digest of the code that it hides.
    """
    if record.masked_sha256 is not None:
        return record
    return replace(
        record,
        function=_function(record.function),
        verdict=_verdict(record.verdict),
        prompt=None if record.prompt is None else _prompt(record.prompt),
        target=None if record.target is None else _side(record.target),
        reference=None if record.reference is None else _side(record.reference),
        harness=_harness(record.harness),
        comparisons=tuple(_comparison(comparison) for comparison in record.comparisons),
        severity=None
        if record.severity is None
        else replace(record.severity, note="masked" if record.severity.note else ""),
        masked_sha256=text_digest(record.function.code),
    )


def _function(function: SourceFunction) -> SourceFunction:
    quoted = _QUOTED_RUST if function.language == "rust" else _QUOTED
    signature = _LONE_QUOTE.sub(HIDDEN, quoted.sub(HIDDEN, function.signature))
    body = _body(function.body)
    return replace(
        function,
        text=signature + body,
        definition_start=0,
        signature_start=0,
        signature_end=len(signature),
        end=len(signature) + len(body),
        metadata="",
    )


def _body(body: str) -> str:
    lines = body.strip().count("\n") + 1 if body.strip() else 0
    return f"\n    {HIDDEN} ({lines} line{'' if lines == 1 else 's'}, masked)"


def _verdict(verdict: Verdict) -> Verdict:
    if verdict.kind == "inconclusive":
        code = verdict.reason.partition(":")[0]
        return Verdict(kind=verdict.kind, reason=f"{code}: details are masked")
    if verdict.kind == "error":
        return Verdict(
            kind=verdict.kind, reason="the audit broke; its message is masked, as it may quote code"
        )
    return verdict


def _prompt(prompt: Prompt) -> Prompt:
    return Prompt(text="", token_ids=(), tokenizer=prompt.tokenizer, context_tokens=prompt.context_tokens)


def _side(side: Side) -> Side:
    candidate = side.candidate
    return replace(
        side,
        completion=replace(side.completion, text="", token_ids=None),
        candidate=Candidate(
            status=candidate.status,
            body=_body(candidate.body),
            code=None if candidate.code is None else HIDDEN,
            detail="masked" if candidate.detail else "",
        ),
        # What a server said may quote what it was asked.
        scores=tuple(
            replace(score, note="masked") if score.note and ":" in score.name else score
            for score in side.scores
        ),
    )


def _harness(harness: Harness | Inconclusive | None) -> Harness | Inconclusive | None:
    match harness:
        case None:
            return None
        case Inconclusive():
            return Inconclusive(
                reason=harness.reason, detail="details are masked", evidence=_evidence(harness.evidence)
            )
        case Harness():
            scaffold = Scaffold(
                prelude="",
                version=harness.scaffold.version,
                mocks=tuple(name if _MOCK.fullmatch(name) else HIDDEN for name in harness.scaffold.mocks),
            )
            return replace(
                harness,
                scaffold=scaffold,
                states=(),
                expected=(),
                evidence=_some(_evidence(harness.evidence)),
            )


def _evidence(evidence: HarnessEvidence | None) -> HarnessEvidence | None:
    if evidence is None:
        return None
    proofs = []
    for number, proof in enumerate(evidence.proofs, start=1):
        kind, colon, _ = proof.name.partition(":")
        proofs.append(replace(proof, name=f"{kind}:proof {number}" if colon else kind))
    return replace(evidence, proofs=tuple(proofs))


def _some(value: T | None) -> T:
    if value is None:
        raise AssertionError("a harness has evidence")
    return value


def _comparison(comparison: StateComparison) -> StateComparison:
    original = comparison.original
    return StateComparison(
        state=_state(comparison.state),
        original=_output(original, original),
        target=_candidate_output(comparison.target, original, comparison.target_matches),
        reference=_candidate_output(comparison.reference, original, comparison.reference_matches),
        target_matches=comparison.target_matches,
        reference_matches=comparison.reference_matches,
    )


def _state(state: InputState) -> InputState:
    hidden = (HIDDEN, HIDDEN)
    return InputState(
        setup=(HIDDEN,) * len(state.setup),
        receiver=None if state.receiver is None else HIDDEN,
        arguments=(HIDDEN,) * len(state.arguments),
        keywords=tuple((name, HIDDEN) for name, _ in state.keywords),
        seed=state.seed,
        stdin=HIDDEN if state.stdin else "",
        files=(hidden,) * len(state.files),
        environment=(hidden,) * len(state.environment),
        answers=(hidden,) * len(state.answers),
    )


def _candidate_output(output: OutputState | None, original: OutputState, matches: bool) -> OutputState | None:
    if output is None:
        return None
    return _output(original if matches else output, original)


def _output(output: OutputState, original: OutputState) -> OutputState:
    """The kinds of what an output holds; a value only as the original's or another."""
    return OutputState(
        outcome=output.outcome,
        value=None if output.value is None else _value(output.value, original.value),
        exception=None
        if output.exception is None
        else {
            **{name: output.exception[name] for name in ("own", "authored") if name in output.exception},
            "type": _exception_type(output.exception.get("type")),
            "message": "" if output.exception == original.exception else "masked",
        },
        calls=tuple(
            {
                "path": "masked" if call == _at(original.calls, number) else "masked, another",
                "arguments": [],
                "keywords": {},
                "answer": None,
            }
            for number, call in enumerate(output.calls)
        ),
        receiver=None if output.receiver is None else _value(output.receiver, original.receiver),
        arguments=_named(output.arguments, original.arguments),
        module_globals=_named(output.module_globals, original.module_globals),
        stdout=_text(output.stdout, original.stdout),
        stderr=_text(output.stderr, original.stderr),
        files=_named(output.files, original.files),
        detail="",
    )


def _value(value: Json, original: Json) -> Json:
    if value == UNCHANGED:
        return UNCHANGED
    return _SAME if canonical_json(value) == canonical_json(original) else _OTHER


def _named(values: Mapping[str, Json], originals: Mapping[str, Json]) -> dict[str, Json]:
    """Values under numbers in the place of names, which may be made of literals."""
    names = [*sorted(originals), *sorted(values.keys() - originals.keys())]
    numbers = {name: str(number) for number, name in enumerate(names, start=1)}
    return {numbers[name]: _value(value, originals.get(name)) for name, value in sorted(values.items())}


def _text(text: str, original: str) -> str:
    if not text:
        return ""
    return "masked" if text == original else "masked, another"


def _at(calls: tuple[Json, ...], number: int) -> Json:
    return calls[number] if number < len(calls) else None


def _exception_type(name: Json) -> str:
    """Built-in exceptions by name; a class of the file may have been named at run time."""
    short = str(name).rpartition(".")[2]
    found = getattr(builtins, short, None)
    known = isinstance(found, type) and issubclass(found, BaseException)
    return f"builtins.{short}" if known else "builtins.Exception"
