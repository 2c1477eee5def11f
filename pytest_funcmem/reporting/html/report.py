"""Puts the HTML report together: one file without network, whose only script is named by its digest.

The index of all functions is unpacked at once, a function's details only when it is opened; both lie in the
page as base64 of gzip, which nothing in an audit's text can break out of. Equal records and an equal manifest
give equal bytes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from pytest_funcmem.core.records import AuditRecord, Json
from pytest_funcmem.reporting.html.details import details, index_row
from pytest_funcmem.reporting.html.overview import overview
from pytest_funcmem.reporting.models_apart import label_of, labels_of
from pytest_funcmem.reporting.near_duplicates import near_duplicates
from pytest_funcmem.reporting.plain_text import visible
from pytest_funcmem.reporting.report_file import ReportFile
from pytest_funcmem.reporting.run_facts import headline, standings

__all__ = ["HtmlReporter"]

CHUNK = 40
"""Functions whose details are packed together: unpacking one unpacks these."""

SCRIPT = ("nodes", "filters", "list", "code", "evidence", "function", "routes", "start")
"""The parts of the page's script, in order; one may use what those before it define."""

_SLOT = re.compile(r"@@([A-Z]+)@@")


class HtmlReporter(ReportFile):
    """Writes the HTML report of a finished audit.

    Args:
        settings: Of the audit.
    """

    what = "HTML report"

    def pieces(self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]) -> Iterator[str]:
        """The page, in order; see ``ReportFile``."""
        settings = self.settings
        summary = self.summary(records)
        standing, labels = standings(manifest), labels_of(settings)
        models = {}
        for label, pairs in self.apart(records, nodeids).items():
            own = [record for record, _ in pairs]
            models[label] = (own, self.summary(own))
        style, script = _asset("page.css"), _script()
        index = {
            "chunk": CHUNK,
            "taus": [settings.tau_func, settings.tau_text],
            "rows": [
                index_row(record, nodeid, standing.get(nodeid, ""), label_of(nodeid, labels))
                for record, nodeid in zip(records, nodeids, strict=True)
            ],
        }
        leaks = summary.rates.leaks
        slots = {
            "TITLE": escape(headline(manifest, leaks=leaks.numerator, results=summary.functions)),
            "POLICY": _policy(style, script),
            "STYLE": style,
            "SCRIPT": script,
            "FUNCTIONS": str(len(records)),
            "OVERVIEW": overview(manifest, records, summary, settings, models),
            "TOOL": escape(_tool(manifest)),
            "TIMES": escape(_times(manifest)),
            "INDEX": _packed(index),
        }
        rows, near = range(len(records)), _near(records, [label_of(nodeid, labels) for nodeid in nodeids])
        head, _, tail = _asset("page.html").partition("@@CHUNKS@@")
        yield _filled(head, slots)
        for number in range(0, len(records), CHUNK):
            packed = _packed([details(records[row], near.get(row)) for row in rows[number : number + CHUNK]])
            yield f'<script type="application/octet-stream" id="chunk-{number // CHUNK}">{packed}</script>\n'
        yield _filled(tail, slots)


def _filled(template: str, slots: dict[str, str]) -> str:
    # In one pass: what is filled in is not looked through again.
    return _SLOT.sub(lambda match: slots[match[1]], template)


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _near(records: Sequence[AuditRecord], labels: Sequence[str]) -> dict[int, list[tuple[int, float]]]:
    """Near duplicates by row, as rows of the same model; a masked function's code is not there to compare."""
    rows = {(record.function.key, labels[row]): row for row, record in enumerate(records)}
    known = [record for record in records if record.masked_sha256 is None]
    functions = {record.function.key: record.function for record in known}
    keys = list(functions)
    twins = dict(zip(keys, near_duplicates(list(functions.values())), strict=True))
    found = {}
    for row, record in enumerate(records):
        if record.function.key in twins:
            places = [
                (rows.get((keys[twin.place], labels[row])), twin.similarity)
                for twin in twins[record.function.key]
            ]
            found[row] = [(place, share) for place, share in places if place is not None]
    return found


def _script() -> str:
    """The parts of the script as one: they share names with each other and none with anything else."""
    parts = "\n".join(_asset(f"script/{name}.js") for name in SCRIPT)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _policy(style: str, script: str) -> str:
    """The content security policy: this style sheet, this script, and nothing from anywhere."""
    return (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _packed(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")


def _tool(manifest: Json) -> str:
    tool = manifest.get("tool") or {}
    return visible(f"{tool.get('name', 'pytest-funcmem')} {tool.get('version', '')}".strip())


def _times(manifest: Json) -> str:
    started, finished = manifest.get("started"), manifest.get("finished")
    return visible(f"{started} to {finished}") if started and finished else visible(str(started or ""))
