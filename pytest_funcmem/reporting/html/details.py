"""A record as the compact JSON that the page draws a function from.

Everything that came out of an audit is made visible and bounded here; the page sets it as text and never as
markup. What equals the original is named, not repeated. This module knows nothing of HTML.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_funcmem.core.records import (
    AuditRecord,
    Harness,
    HarnessEvidence,
    Json,
    OutputState,
    Side,
    StateComparison,
    TextScore,
)
from pytest_funcmem.reporting.alignment import beside
from pytest_funcmem.reporting.digests import shown_digest
from pytest_funcmem.reporting.plain_text import shorten, visible
from pytest_funcmem.reporting.states import Part, input_lines, output_parts
from pytest_funcmem.reporting.summary import change_text

__all__ = ["details", "index_row"]

_CODE_LINES = 400  # lines of one body
_CODE_LINE = 400  # characters of one line
_PARTS = 40  # parts of one output
_VALUE = 1_500  # characters of one part
_STATES = 100
_ALL_STATES = 60_000  # characters of all states; what comes after them is cut to fit
_CUT_VALUE = 60


def index_row(record: AuditRecord, nodeid: str, standing: str = "", model: str = "") -> list[Json]:
    """What the list shows of a function, and what is searched.

    Args:
        record: A finished record.
        nodeid: Of its item.
        standing: What a leak counts as that does not simply fail, such as ``accepted``.
        model: Short name of the target, where there are several.
    """
    function = record.function
    figures: list[Json] = []
    for side in (record.target, record.reference):
        if side is None:
            figures += [None, None]
        else:
            figures += [None if side.func is None else round(side.func, 4), _share(side.similarity.bleu)]
    return [
        _clean(nodeid),
        record.verdict.kind,
        function.language,
        _clean(function.path),
        _clean(function.qualname),
        _clean(record.verdict.reason),
        *figures,
        standing,
        _clean(model),
    ]


def details(record: AuditRecord, near: Sequence[tuple[int, float]] | None = None) -> dict[str, Json]:
    """Everything that a function's page shows besides its row of the list.

    Args:
        record: A finished record.
        near: Its near duplicates, as rows of the list with their similarity; None where they are not known.
    """
    function = record.function
    found: dict[str, Json] = {
        "line": function.line,
        "sha256": shown_digest(record),
        "signature": _code_lines(function.signature, dedent=True),
    }
    bodies = [_body(function.body)]
    for name, side in (("target", record.target), ("reference", record.reference)):
        if side is not None:
            found[name] = _side(side)
            bodies.append(_body(side.candidate.body))
    found["bodies"] = bodies
    found["first"] = function.line + function.signature.count("\n") + _blank_lines(function.body)
    if len(bodies) == 3:
        found["rows"] = [
            [row.original, row.target, row.target_mark, row.reference, row.reference_mark]
            for row in beside(*bodies)
        ]
    else:
        found["rows"] = [[number, None, " ", None, " "] for number in range(len(bodies[0]))]
    found["firmness"] = _firmness(record)
    budget = [_ALL_STATES]
    found["states"] = [_state(comparison, budget) for comparison in record.comparisons[:_STATES]]
    found["more_states"] = max(0, len(record.comparisons) - _STATES)
    found["harness"] = _harness(record)
    found["near"] = None if near is None else [[row, round(share, 3)] for row, share in near]
    return found


def _firmness(record: AuditRecord) -> list[str]:
    """Sentences on what the verdict would be otherwise, and on how much the function matters."""
    said = []
    sensitivity, severity = record.sensitivity, record.severity
    if sensitivity is not None:
        if sensitivity.changes:
            said.append("Another verdict under: " + "; ".join(map(change_text, sensitivity.changes)) + ".")
        if sensitivity.states is not None:
            said.append(
                f"The same verdict under {sensitivity.choices_same} of the {sensitivity.choices} choices of"
                f" {sensitivity.states} of its states."
            )
    if severity is not None:
        value = "not rated" if severity.value is None else f"{severity.value} of 10"
        note = f" ({severity.note})" if severity.note else ""
        said.append(f"Severity {value}{note}, by {severity.signature}.")
    return [shorten(_clean(text), _VALUE) for text in said]


def _side(side: Side) -> dict[str, Json]:
    identity, similarity = side.model, side.similarity
    return {
        "model": _clean(identity.spec),
        "revision": shorten(_clean(identity.revision), 30),
        "on": _clean(" · ".join(text for text in (identity.dtype, identity.device) if text)),
        "func": side.func,
        "matches": side.matches,
        "bleu": _share(similarity.bleu),
        "edit": _share(similarity.edit),
        "lcs": _share(similarity.lcs),
        "exact": similarity.exact,
        "candidate": side.candidate.status,
        "detail": shorten(_clean(side.candidate.detail), _CODE_LINE),
        "stop": side.completion.stop.replace("_", " "),
        "outcomes": dict(sorted(side.outcomes.items())),
        "scores": [
            [_clean(score.name), score.value, shorten(_clean(score.note), _CODE_LINE)]
            for score in side.scores
        ],
        "signatures": [
            similarity.bleu.signature,
            similarity.edit.signature,
            similarity.lcs.signature,
            *(_clean(score.signature) for score in side.scores),
        ],
    }


def _share(score: TextScore) -> float:
    return round(score.value, 4)


def _clean(text: str) -> str:
    return visible(text)


def _body(body: str) -> list[str]:
    return _code_lines(body.strip("\n").rstrip(), dedent=True)


def _blank_lines(body: str) -> int:
    return len(body) - len(body.lstrip("\n"))


def _code_lines(text: str, *, dedent: bool) -> list[str]:
    lines = (textwrap.dedent(text) if dedent else text).split("\n")
    shown = [shorten(visible(line.rstrip()), _CODE_LINE) for line in lines[:_CODE_LINES]]
    if len(lines) > _CODE_LINES:
        shown.append(f"… and {len(lines) - _CODE_LINES} more lines")
    return shown


def _state(comparison: StateComparison, budget: list[int]) -> list[Json]:
    """The input state, the original's parts, and of each candidate its parts, or null where it equals."""
    original = output_parts(comparison.original)
    texts = {name: _fit(part.text, budget) for name, part in _first(original).items()}
    width = _VALUE if budget[0] > 0 else _CUT_VALUE
    inputs = list(input_lines(comparison.state, width=width, most=_PARTS))
    budget[0] -= sum(map(len, inputs))
    return [
        inputs,
        [[name, text] for name, text in texts.items()],
        None if comparison.target_matches else _candidate(comparison.target, original, texts, budget),
        None if comparison.reference_matches else _candidate(comparison.reference, original, texts, budget),
    ]


def _candidate(
    output: OutputState | None, original: Mapping[str, Part], texts: Mapping[str, str], budget: list[int]
) -> list[Json]:
    """Parts of a candidate's output: ``[name]`` where it is as in the original, else ``[name, text]``."""
    parts = output_parts(output)
    found: list[Json] = []
    for name, part in _first(parts).items():
        if name in texts and original[name].identity == part.identity:
            found.append([name])
        else:
            found.append([name, _fit(part.text, budget)])
    if "result" in parts and len(parts) > 1:
        found += [[name, None] for name in texts if name not in parts]
    return found


def _first(parts: Mapping[str, Part]) -> dict[str, Part]:
    if len(parts) <= _PARTS:
        return dict(parts)
    kept = dict(list(parts.items())[: _PARTS - 1])
    kept["…"] = Part(value=len(parts), text=f"and {len(parts) - _PARTS + 1} more parts")
    return kept


def _fit(text: str, budget: list[int]) -> str:
    shown = shorten(_clean(text), _VALUE if budget[0] > 0 else _CUT_VALUE)
    budget[0] -= len(shown)
    return shown


def _harness(record: AuditRecord) -> dict[str, Json] | None:
    harness = record.harness
    if harness is None:
        return None
    found: dict[str, Any] = {"sha256": record.harness_sha256}
    if isinstance(harness, Harness):
        found["builder"] = _clean(harness.builder)
        found["mocks"] = [shorten(_clean(name), 200) for name in harness.scaffold.mocks[:200]]
        found["version"] = harness.scaffold.version
        found["timeout_s"] = round(harness.state_timeout_s, 3)
    else:
        found["none"] = harness.reason
        found["detail"] = _clean(harness.detail)
    if harness.evidence is not None:
        found.update(_evidence(harness.evidence, record))
    return found


def _evidence(evidence: HarnessEvidence, record: AuditRecord) -> dict[str, Json]:
    covered = frozenset(evidence.covered_lines)
    return {
        "inputs": evidence.inputs,
        "valid": evidence.valid,
        "outputs": evidence.outputs,
        "lines": len(evidence.executable_lines),
        "covered": len(evidence.covered_lines),
        "unreached": _lines_of(
            [line for line in evidence.executable_lines if line not in covered], record.function.line
        ),
        "mutants": evidence.mutants,
        "killed": evidence.mutants_killed,
        "mocked": evidence.mocked_states,
        "proofs": [
            [shorten(_clean(proof.name), 200), proof.score, proof.passed] for proof in evidence.proofs[:100]
        ],
    }


def _lines_of(relative: Sequence[int], first: int) -> list[int]:
    return [first + line for line in relative]
