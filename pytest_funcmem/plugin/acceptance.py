"""Which leaks of an audit are accepted: the baseline, the maximal rates, and what is written back."""

from __future__ import annotations

import datetime
import getpass
from collections.abc import Sequence
from pathlib import Path

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Json, SourceFunction
from pytest_funcmem.plugin.entry import AuditEntry, Standing
from pytest_funcmem.reporting.baseline_file import parse_day, read_baseline, write_baseline
from pytest_funcmem.reporting.digests import shown_digest
from pytest_funcmem.verdict.baseline import Baseline, Seen, Sweep
from pytest_funcmem.verdict.gate import covers, parse_limits

__all__ = ["Acceptance"]

_ACCEPTED_DAYS = 90
_REASON = "accepted without a reason by --funcmem-update-baseline"


class Acceptance:
    """Tells what a leak counts as, and keeps the baseline.

    Args:
        settings: Of the audit.

    Raises:
        UsageError: A maximal rate, the baseline, or a day cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self.limits = parse_limits(settings.max_rate)
        self.path = None if settings.baseline is None else Path(settings.baseline)
        self.updating = settings.update_baseline
        self.today = datetime.datetime.now(tz=datetime.UTC).date()
        self._until = self.today + datetime.timedelta(days=_ACCEPTED_DAYS)
        if settings.accept_until is not None:
            self._until = parse_day(settings.accept_until, where="--funcmem-accept-until")
        self._who = settings.accept_who
        self._reason = settings.accept_reason or _REASON
        self._baseline = Baseline()
        if self.path is not None and not (self.updating and not self.path.exists()):
            self._baseline = read_baseline(self.path)

    def standing(self, record: AuditRecord) -> tuple[Standing, str]:
        """What a record counts as, and a note for people."""
        verdict = record.verdict
        if not verdict.is_leak:
            return "decided", ""
        sha256 = shown_digest(record)
        entry = self._baseline.find(sha256, verdict.kind)
        if entry is not None:
            note = f"accepted by {entry.who} until {entry.until.isoformat()}: {entry.reason}"
            if self._baseline.status(sha256, verdict, today=self.today) == "accepted":
                return "accepted", note
            return "expired", f"expired: was {note}"
        if self.updating:
            return "accepting", f"added to the baseline until {self._until.isoformat()}"
        if covers(self.limits, verdict, record.function.language):
            return "counted", "counted by --funcmem-max-rate"
        return "leak", ""

    def finish(self, entries: Sequence[AuditEntry], functions: Sequence[SourceFunction]) -> Sweep | None:
        """Look for entries whose leak is gone, and write the baseline where that was asked for.

        Args:
            entries: All selected functions of all runs.
            functions: All functions of the source.

        Returns:
            What is gone; None without a baseline.

        Raises:
            AuditError: The baseline cannot be written.
        """
        if self.path is None:
            return None
        seen = [
            Seen(
                sha256=shown_digest(entry.record),
                function=entry.function.key,
                verdict=entry.record.verdict.kind,
            )
            for entry in entries
            if entry.record is not None
        ]
        present = frozenset(text_digest(function.code) for function in functions)
        sweep = self._baseline.sweep(seen, present=present)
        if self.updating:
            updated = self._baseline.updated(
                seen, present=present, reason=self._reason, who=self._who or _login(), until=self._until
            )
            write_baseline(updated, self.path)
        return sweep


def baseline_summary(entries: Sequence[AuditEntry], sweep: Sweep | None) -> dict[str, Json]:
    """What a report says of accepted leaks: node ids, and the functions of entries without a leak."""
    return {
        **{
            standing: [entry.nodeid for entry in entries if entry.standing == standing]
            for standing in ("accepted", "expired", "accepting", "counted")
        },
        "vanished": [] if sweep is None else [entry.function for entry in sweep.vanished],
        "absent": [] if sweep is None else [entry.function for entry in sweep.absent],
    }


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "unknown"
