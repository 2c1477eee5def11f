"""The JSON report: one object a line, a manifest, the functions, a summary. Format version 1.

All bytes follow from the records: keys stand in a fixed order, text is ASCII, and only ``seconds`` and the
manifest's times differ between an audit and its repetition. An absent figure is null, never 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import (
    AgentUse,
    AuditRecord,
    Harness,
    Inconclusive,
    Json,
    Rate,
    Sensitivity,
    Side,
)
from pytest_funcmem.reporting.agent_lines import agents_json
from pytest_funcmem.reporting.digests import shown_digest
from pytest_funcmem.reporting.report_file import ReportFile
from pytest_funcmem.verdict.rates import Rates, Summary
from pytest_funcmem.verdict.thresholds import strongest_stub

__all__ = [
    "FORMAT_VERSION",
    "JsonReport",
    "JsonReporter",
    "function_line",
    "manifest_line",
    "read_report",
    "report_lines",
    "report_schema",
    "summary_line",
]

FORMAT_VERSION = 1
"""Version of the report's format. 1: the first."""

_STAGES = ("generate", "build", "run")
_LEAK_RATES = ("functional", "verbatim", "leaks")


class JsonReporter(ReportFile):
    """Writes the JSON report of a finished audit.

    Args:
        settings: Of the audit; its thresholds are needed for the noise floor.
    """

    what = "JSON report"

    def pieces(self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]) -> Iterator[str]:
        """The report's text; see ``ReportFile``."""
        summary = self.summary(records)
        models = {
            label: self.summary([record for record, _ in own])
            for label, own in self.apart(records, nodeids).items()
        }
        lines = report_lines(manifest, records, nodeids, summary, models)
        for line in lines:
            yield json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(", ", ": ")) + "\n"


def report_lines(
    manifest: Json,
    records: Sequence[AuditRecord],
    nodeids: Sequence[str],
    summary: Summary,
    models: Mapping[str, Summary] | None = None,
) -> Iterator[dict[str, Json]]:
    """The objects of the report, in order: manifest, functions, summary."""
    yield manifest_line(manifest)
    for record, nodeid in zip(records, nodeids, strict=True):
        yield function_line(record, nodeid)
    yield summary_line(summary, records, models or {})


def manifest_line(manifest: Json) -> dict[str, Json]:
    """The first line: the manifest, led by its kind and the format's version."""
    return {"kind": "manifest", "format_version": FORMAT_VERSION, **manifest}


def function_line(record: AuditRecord, nodeid: str) -> dict[str, Json]:
    """The line of one function."""
    function = record.function
    return {
        "kind": "function",
        "nodeid": nodeid,
        "function": {
            "id": function.key,
            "path": function.path,
            "qualname": function.qualname,
            "language": function.language,
            "line": function.line,
            "sha256": shown_digest(record),
            "severity": None if record.severity is None else record.severity.value,
        },
        "verdict": record.verdict.kind,
        "reason": record.verdict.reason,
        "model": None if record.target is None else record.target.model.spec,
        "target": _side(record.target),
        "reference": _side(record.reference),
        "harness": _harness(record.harness, record.harness_sha256),
        "sensitivity": _sensitivity(record.sensitivity),
        "agent": _agent(record.agent),
        "seconds": _by_stage([record.seconds]),
        "cost": _figure(record.cost_usd),
    }


def summary_line(
    summary: Summary, records: Sequence[AuditRecord] = (), models: Mapping[str, Summary] | None = None
) -> dict[str, Json]:
    """The last line: counts, and every rate with its numerator, denominator and interval.

    Beside each leak rate stands its noise floor, the same rule with target and reference exchanged.

    Args:
        summary: Of the run.
        records: For the seconds spent.
        models: The same by model, where several were audited; the rates above are then over all of them.
    """
    by_model = {
        label: {"counts": dict(item.counts), "rates": _rates(item.rates, item.noise_floor)}
        for label, item in (models or {}).items()
    }
    return {
        "kind": "summary",
        "counts": dict(summary.counts),
        "rates": {
            **_rates(summary.rates, summary.noise_floor),
            "conclusive": _rate(summary.conclusive),
        },
        "reasons": dict(sorted(summary.reasons.items())),
        "languages": {
            item.language: {"counts": dict(item.counts), "rates": _rates(item.rates, item.noise_floor)}
            for item in summary.languages
        },
        **({"models": by_model} if by_model else {}),
        "note": summary.note,
        "scores": _score_means(summary),
        "agents": agents_json(records),
        "seconds": _by_stage([record.seconds for record in records]),
    }


def _score_means(summary: Summary) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for item in summary.scores:
        found.setdefault(item.name, {})[item.side] = {
            "mean": _figure(item.mean),
            "figures": item.figures,
            "missing": item.missing,
        }
    return found


def _side(side: Side | None) -> dict[str, Json]:
    if side is None:
        names = ("func", "bleu", "edit", "lcs", "exact", "matches", "candidate", "stop", "outcomes")
        return dict.fromkeys((*names, "scores", "notes", "signatures"))
    similarity = side.similarity
    return {
        "func": _figure(side.func),
        "bleu": _figure(similarity.bleu.value),
        "edit": _figure(similarity.edit.value),
        "lcs": _figure(similarity.lcs.value),
        "exact": similarity.exact,
        "matches": side.matches,
        "candidate": side.candidate.status,
        "stop": side.completion.stop,
        "outcomes": dict(sorted(side.outcomes.items())),
        "scores": {score.name: _figure(score.value) for score in side.scores},
        "notes": {score.name: score.note for score in side.scores if score.note},
        "signatures": {
            "bleu": similarity.bleu.signature,
            "edit": similarity.edit.signature,
            "lcs": similarity.lcs.signature,
            **{score.name: score.signature for score in side.scores},
        },
    }


def _sensitivity(sensitivity: Sensitivity | None) -> dict[str, Json] | None:
    if sensitivity is None:
        return None
    return {
        "changes": [{"under": change.under, "verdict": change.verdict} for change in sensitivity.changes],
        "states": sensitivity.states,
        "choices": sensitivity.choices,
        "choices_same": sensitivity.choices_same,
    }


def _harness(harness: Harness | Inconclusive | None, sha256: str | None) -> dict[str, Json]:
    evidence = None if harness is None else harness.evidence
    return {
        "builder": harness.builder if isinstance(harness, Harness) else None,
        "inputs": None if evidence is None else evidence.inputs,
        "valid": None if evidence is None else evidence.valid,
        "outputs": None if evidence is None else evidence.outputs,
        "coverage": None if evidence is None else _figure(evidence.coverage),
        "strength": None if evidence is None else _figure(evidence.strength),
        "stub": None if evidence is None else _figure(strongest_stub(evidence)),
        "mock_share": None if evidence is None else _figure(evidence.mock_share),
        "sha256": sha256,
    }


def _agent(use: AgentUse | None) -> dict[str, Json] | None:
    """What an agent used in this run; None where none worked on the function."""
    if use is None:
        return None
    return {
        "model": use.model,
        "turns": use.turns,
        "tokens": {
            "input": use.input_tokens,
            "output": use.output_tokens,
            "cache_read": use.cache_read_tokens,
            "cache_write": use.cache_write_tokens,
        },
        "cost": _figure(use.cost_usd),
        "seconds": round(use.seconds, 6),
    }


def _by_stage(seconds: Iterable[Mapping[str, float]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for stages in seconds:
        for stage, value in stages.items():
            totals[stage] = totals.get(stage, 0.0) + value
    order = [*_STAGES, *sorted(totals.keys() - set(_STAGES))]
    return {stage: round(totals[stage], 6) for stage in order if stage in totals}


def _rates(rates: Rates, noise_floor: Rates) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name in _LEAK_RATES:
        found[name] = _rate(getattr(rates, name))
        found[f"{name}_noise_floor"] = _rate(getattr(noise_floor, name))
    return found


def _rate(rate: Rate) -> dict[str, Json]:
    return {
        "numerator": rate.numerator,
        "denominator": rate.denominator,
        "value": _figure(rate.value),
        # The last digits of an interval depend on the version of scipy; nobody reads them.
        "interval": [round(rate.low, 12), round(rate.high, 12)],
        "confidence": rate.confidence,
    }


def _figure(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def report_schema() -> Json:
    """The JSON Schema (draft 2020-12) of one line of the report, as it is shipped with this package."""
    return json.loads(files(__package__).joinpath("schema", "report.schema.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonReport:
    """A report as it was read back; the lines as they stand in the file."""

    manifest: Mapping[str, Json]
    functions: tuple[Mapping[str, Json], ...]
    summary: Mapping[str, Json]


def read_report(path: Path) -> JsonReport:
    """Read a JSON report.

    Args:
        path: The file.

    Raises:
        UsageError: It is no report of this format, or not whole.
    """
    try:
        # Lines end in newlines alone: other separators may stand in a report that another tool wrote.
        texts = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(
            "The report cannot be read.", where=str(path), expected="a JSON report, one object a line"
        ) from exc
    found: dict[str, list[Mapping[str, Json]]] = {"manifest": [], "function": [], "summary": []}
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        kind, line = _parsed(text, where=f"{path}:{number}")
        if (number == 1) is not (kind == "manifest") or found["summary"]:
            raise _broken(f"{path}:{number}", "a manifest, then functions, then one summary")
        found[kind].append(line)
    if not found["summary"]:
        raise _broken(str(path), "a summary on the last line; without one the report was cut short")
    return JsonReport(
        manifest=found["manifest"][0], functions=tuple(found["function"]), summary=found["summary"][0]
    )


def _parsed(text: str, *, where: str) -> tuple[str, Mapping[str, Json]]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise _broken(where, "one JSON object a line") from exc
    kind = line.get("kind") if isinstance(line, dict) else None
    if kind not in ("manifest", "function", "summary"):
        raise _broken(where, "an object whose kind is manifest, function or summary")
    if kind == "manifest" and line.get("format_version") != FORMAT_VERSION:
        raise _broken(where, f"format_version {FORMAT_VERSION}")
    return kind, line


def _broken(where: str, expected: str) -> UsageError:
    return UsageError(
        "This is no whole JSON report.",
        where=where,
        expected=expected,
        remedy="write it again with --funcmem-report=json:FILE",
    )
