"""The report ``harness:DIR``: every harness of an audit as a directory, with the completions it judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Harness, Json
from pytest_funcmem.exchange.directory import write_harness

__all__ = ["HarnessReporter"]


class HarnessReporter:
    """Writes the harnesses of a finished audit.

    Args:
        settings: Of the audit.

    Raises:
        UsageError: Code is to be masked, and a harness is code; or several models are audited, and a
            directory holds the completions of one.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.mask:
            raise UsageError(
                "Harnesses cannot be written while code is masked: they hold the function and its inputs.",
                where="--funcmem-report=harness:DIR with --funcmem-mask",
                remedy="leave out one of the two",
            )
        if len(settings.model) > 1:
            raise UsageError(
                "Harnesses are written with the completions of one model, and several are audited.",
                where="--funcmem-report=harness:DIR",
                remedy="audit one of them again with this report: what the store has is not computed again",
            )

    def write(
        self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str], path: Path
    ) -> None:
        """Write a directory for each function that has a harness; others that stand there are left alone.

        Args:
            manifest: What the run was made under.
            records: Finished records.
            nodeids: Their node ids, in the same order.
            path: Directory under which they go.

        Raises:
            AuditError: A file cannot be written.
            SourceError: A directory cannot be made.
        """
        for record in records:
            if isinstance(record.harness, Harness):
                write_harness(path, record.function, record.harness, record=record)
