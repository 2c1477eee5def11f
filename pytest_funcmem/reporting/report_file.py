"""What the reports that are one file have in common: written whole from finished records, or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Json
from pytest_funcmem.reporting.files import write_whole
from pytest_funcmem.reporting.models_apart import by_label, labels_of
from pytest_funcmem.verdict.rates import Summary, summarise

__all__ = ["ReportFile"]


class ReportFile(ABC):
    """Writes one report of a finished audit.

    Args:
        settings: Of the audit.

    Attributes:
        what: Name of the report in errors.
    """

    what: ClassVar[str]

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

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
        write_whole(path, self.pieces(manifest, records, nodeids), what=self.what)

    def summary(self, records: Sequence[AuditRecord]) -> Summary:
        """Counts and rates of records, by the audit's thresholds."""
        return summarise(records, tau_func=self.settings.tau_func, tau_text=self.settings.tau_text)

    def apart(
        self, records: Sequence[AuditRecord], nodeids: Sequence[str]
    ) -> dict[str, list[tuple[AuditRecord, str]]]:
        """Records with their node ids by model; nothing where there is one model."""
        labels = labels_of(self.settings)
        return by_label(labels, records, nodeids) if labels else {}

    @abstractmethod
    def pieces(self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]) -> Iterable[str]:
        """The report's text, in order; arguments as of ``write``."""
