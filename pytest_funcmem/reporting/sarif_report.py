"""The SARIF report (OASIS, version 2.1.0): leaks at their places in the audited source.

Pages for code scanning read it. Leaks are results; functions whose audit broke are notifications of a run
that did not succeed; what is inconclusive is counted in the run's properties and is no result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from pytest_funcmem.core.records import AuditRecord, Json, Side
from pytest_funcmem.corpora.places import file_of
from pytest_funcmem.reporting.digests import shown_digest
from pytest_funcmem.reporting.plain_text import visible
from pytest_funcmem.reporting.report_file import ReportFile
from pytest_funcmem.reporting.run_facts import model_name, standings

__all__ = ["SarifReporter"]

_RULES = (
    {
        "id": "functional",
        "name": "FunctionalLeak",
        "shortDescription": {"text": "The model gives back what this function does"},
        "fullDescription": {
            "text": "The target's completion behaves like the training function on most input states, in "
            "other words; the reference's does not. "
            "The target learned the function's behaviour from its training."
        },
        "defaultConfiguration": {"level": "error"},
    },
    {
        "id": "verbatim",
        "name": "NearVerbatimLeak",
        "shortDescription": {"text": "The model gives back this function's text"},
        "fullDescription": {
            "text": "The target's completion is near-verbatim the training function; the reference's is not. "
            "The target learned the function's text from its training."
        },
        "defaultConfiguration": {"level": "error"},
    },
)
_ROOT = "%SRCROOT%"


class SarifReporter(ReportFile):
    """Writes the SARIF report of a finished audit.

    Args:
        settings: Of the audit; its sources say where the files lie.
    """

    what = "SARIF report"

    def pieces(self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]) -> Iterator[str]:
        """The report's text; see ``ReportFile``."""
        parts = self.apart(records, nodeids)
        targets = self.settings.model if parts else [model_name(manifest, "target")]
        parts = parts or {"": list(zip(records, nodeids, strict=True))}
        log = {
            "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
            "version": "2.1.0",
            "runs": [
                self._run(manifest, own, label, spec)
                for (label, own), spec in zip(parts.items(), targets, strict=True)
            ],
        }
        yield json.dumps(log, ensure_ascii=True, allow_nan=False, indent=1)
        yield "\n"

    def _run(
        self,
        manifest: Mapping[str, Json],
        pairs: Sequence[tuple[AuditRecord, str]],
        label: str,
        target: str,
    ) -> dict[str, Json]:
        summary = self.summary([record for record, _ in pairs])
        tool = manifest.get("tool") or {}
        standing = standings(manifest)
        # Pages for code scanning take results of two models for one unless their runs have different names.
        details = {"automationDetails": {"id": visible(f"funcmem/{label}/")}} if label else {}
        driver: dict[str, Json] = {
            "name": visible(str(tool.get("name", "pytest-funcmem"))),
            "rules": list(_RULES),
        }
        if tool.get("version"):
            driver["version"] = visible(str(tool["version"]))
        invocation: dict[str, Json] = {
            "executionSuccessful": summary.counts["error"] == 0,
            "toolExecutionNotifications": [
                self._notification(record) for record, _ in pairs if record.verdict.kind == "error"
            ],
        }
        return {
            "tool": {"driver": driver},
            **details,
            "invocations": [invocation],
            "columnKind": "utf16CodeUnits",
            "results": [
                self._result(record, nodeid, standing.get(nodeid), label)
                for record, nodeid in pairs
                if record.verdict.is_leak
            ],
            "properties": {
                "counts": dict(summary.counts),
                "inconclusive": dict(summary.reasons),
                "target": visible(target),
                "reference": visible(model_name(manifest, "reference")),
            },
        }

    def _result(self, record: AuditRecord, nodeid: str, standing: str | None, label: str) -> dict[str, Json]:
        accepted = {"kind": "external", "justification": "accepted by the baseline of the audit"}
        rules = [str(rule["id"]) for rule in _RULES]
        name = f"{record.function.qualname} [{label}]" if label else record.function.qualname
        return {
            "ruleId": record.verdict.kind,
            "ruleIndex": rules.index(record.verdict.kind),
            "level": "error",
            "message": {"text": visible(f"{name}: {record.verdict.reason}")},
            "locations": [self._location(record)],
            "suppressions": [accepted] if standing == "accepted" else [],
            # What a page for code scanning knows a finding again by, whatever line it has moved to.
            "partialFingerprints": {
                "functionAndVerdict/v1": ":".join(
                    filter(None, (shown_digest(record), record.verdict.kind, visible(label)))
                ),
            },
            "properties": {
                "nodeid": visible(nodeid),
                "target": _figures(record.target),
                "reference": _figures(record.reference),
            },
        }

    def _notification(self, record: AuditRecord) -> dict[str, Json]:
        return {
            "level": "error",
            "message": {"text": visible(f"{record.function.key}: {record.verdict.reason}")},
            "locations": [self._location(record)],
        }

    def _location(self, record: AuditRecord) -> dict[str, Json]:
        function = record.function
        region = {"startLine": function.line}
        if record.masked_sha256 is None:
            region["endLine"] = function.line + function.code.count("\n")
        return {
            "physicalLocation": {"artifactLocation": self._artifact(function.path), "region": region},
            "logicalLocations": [
                {
                    "name": visible(function.qualname.rpartition(".")[2]) or "function",
                    "fullyQualifiedName": visible(function.key),
                    "kind": "function",
                }
            ],
        }

    def _artifact(self, path: str) -> dict[str, Json]:
        """The file, below the working directory if it is there; a data set's row by its path."""
        file = file_of(self.settings.source, path)
        here = Path.cwd()
        if file is not None and file.is_relative_to(here):
            path = file.relative_to(here).as_posix()
        elif file is not None:
            return {"uri": file.as_uri()}
        return {"uri": quote(path.encode("utf-8", "surrogatepass")), "uriBaseId": _ROOT}


def _figures(side: Side | None) -> dict[str, Json]:
    if side is None:
        return {}
    return {"func": side.func, "bleu": side.similarity.bleu.value, "matches": side.matches}
