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
from pathlib import Path

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Json
from pytest_funcmem.reporting.files import write_whole
from pytest_funcmem.reporting.html.details import details, index_row
from pytest_funcmem.reporting.html.overview import overview
from pytest_funcmem.reporting.plain_text import visible
from pytest_funcmem.reporting.run_facts import headline, standings
from pytest_funcmem.verdict.rates import summarise

__all__ = ["HtmlReporter"]

CHUNK = 40
"""Functions whose details are packed together: unpacking one unpacks these."""

_SLOT = re.compile(r"@@([A-Z]+)@@")


class HtmlReporter:
    """Writes the HTML report of a finished audit.

    Args:
        settings: Of the audit.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def write(
        self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str], path: Path
    ) -> None:
        """Write the file beside its place and rename it.

        Args:
            manifest: What the run was made under.
            records: Finished records.
            nodeids: Their node ids, in the same order.
            path: Where the report goes.

        Raises:
            AuditError: The file cannot be written; nothing is left of it.
        """
        write_whole(path, self._pieces(manifest, records, nodeids), what="HTML report")

    def _pieces(
        self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]
    ) -> Iterator[str]:
        settings = self._settings
        summary = summarise(records, tau_func=settings.tau_func, tau_text=settings.tau_text)
        standing = standings(manifest)
        style, script = _asset("page.css"), _asset("page.js")
        index = {
            "chunk": CHUNK,
            "taus": [settings.tau_func, settings.tau_text],
            "rows": [
                index_row(record, nodeid, standing.get(nodeid, ""))
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
            "OVERVIEW": overview(manifest, records, summary, settings),
            "TOOL": escape(_tool(manifest)),
            "TIMES": escape(_times(manifest)),
            "INDEX": _packed(index),
        }
        head, _, tail = _asset("page.html").partition("@@CHUNKS@@")
        yield _filled(head, slots)
        for number in range(0, len(records), CHUNK):
            packed = _packed([details(record) for record in records[number : number + CHUNK]])
            yield f'<script type="application/octet-stream" id="chunk-{number // CHUNK}">{packed}</script>\n'
        yield _filled(tail, slots)


def _filled(template: str, slots: dict[str, str]) -> str:
    # In one pass: what is filled in is not looked through again.
    return _SLOT.sub(lambda match: slots[match[1]], template)


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


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
