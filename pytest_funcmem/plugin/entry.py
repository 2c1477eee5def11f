"""What a run knows of one selected function: its node id, its record once reached, what it counts as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.records import AuditRecord, SourceFunction

__all__ = ["AuditEntry", "Standing"]

Standing = Literal["decided", "leak", "expired", "accepted", "accepting", "counted"]
"""What becomes of a record: no leak at all; a leak that fails; one that fails since its acceptance ended; one
that is accepted; one that this run adds to the baseline; one that a maximal rate counts."""


@dataclass(slots=True)
class AuditEntry:
    """One selected function of one run.

    Attributes:
        nodeid: Of its item.
        function: The original.
        record: None until the item was reached.
        standing: What the record counts as.
        note: For people: whose acceptance it is and until when, or what counts it.
    """

    nodeid: str
    function: SourceFunction
    record: AuditRecord | None = None
    standing: Standing = "decided"
    note: str = ""

    @property
    def fails(self) -> bool:
        """Whether it is a leak that fails by itself."""
        return self.standing in ("leak", "expired")
