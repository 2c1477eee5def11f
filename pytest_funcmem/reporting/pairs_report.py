"""The report ``pairs:FILE``: what metrics of whole functions compare, as ``funcmem score`` reads it.

An audit wants each score when a verdict stands, and a batch endpoint answers within hours. What a judge has
answered about these pairs in a batch is in the store, and a later audit takes it from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pytest_funcmem.audit.scoring import compared_pair
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Json
from pytest_funcmem.reporting.report_file import ReportFile

__all__ = ["PairsReporter"]


class PairsReporter(ReportFile):
    """Writes the pairs of a finished audit.

    Args:
        settings: Of the audit.

    Raises:
        UsageError: Code is to be masked, and pairs are code.
    """

    what = "file of pairs"

    def __init__(self, settings: Settings) -> None:
        if settings.mask:
            raise UsageError(
                "Pairs cannot be written while code is masked: they are code.",
                where="--funcmem-report=pairs:FILE with --funcmem-mask",
                remedy="Leave out one of the two.",
            )
        super().__init__(settings)

    def pieces(self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]) -> Iterator[str]:
        """A line for each side of each record that has completions; see ``ReportFile``."""
        for record, nodeid in zip(records, nodeids, strict=True):
            for name, side in (("target", record.target), ("reference", record.reference)):
                if side is None:
                    continue
                pair = compared_pair("judge", record.function, side)
                row = {
                    "id": f"{nodeid}#{name}",
                    "language": pair.language,
                    "original": pair.original,
                    "candidate": pair.candidate,
                }
                yield json.dumps(row) + "\n"
