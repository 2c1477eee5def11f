"""Accepted leaks: which finding is known, for how long, and what becomes of the list after a run.

A leak is known again by the digest of its function's code and by its verdict, so that a function may move to
another file, and a functional leak that turns verbatim is new. It is accepted up to and including the day
that its entry names. The list holds for any target model: a baseline outlives the checkpoint that it was
made with.

This module reads no file and no clock.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.records import Verdict, VerdictKind

__all__ = ["AcceptedLeak", "Baseline", "LeakStatus", "Seen", "Sweep"]

LeakKind = Literal["functional", "verbatim"]
LeakStatus = Literal["new", "accepted", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedLeak:
    """One accepted leak.

    Attributes:
        sha256: Digest of the function's signature and body, as in the JSON report.
        verdict: ``functional`` or ``verbatim``.
        function: ``PATH::QUALNAME`` when it was accepted; for people, it decides nothing.
        reason: Why it was accepted.
        who: Who accepted it.
        until: Last day on which it is accepted.
    """

    sha256: str
    verdict: LeakKind
    function: str
    reason: str
    who: str
    until: datetime.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a run found on one function.

    Attributes:
        sha256: Digest of the function's signature and body.
        function: ``PATH::QUALNAME``.
        verdict: What was decided.
    """

    sha256: str
    function: str
    verdict: VerdictKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The entries of a baseline that a run leaves without a leak.

    Attributes:
        vanished: Their function was decided, by every model, and leaks in this way no more.
        absent: Their function is not in the source: it was changed or removed.
    """

    vanished: tuple[AcceptedLeak, ...]
    absent: tuple[AcceptedLeak, ...]


class Baseline:
    """The accepted leaks of a project.

    Args:
        entries: In any order; at most one for each digest and verdict.
    """

    def __init__(self, entries: Iterable[AcceptedLeak] = ()) -> None:
        self._entries: Mapping[tuple[str, str], AcceptedLeak] = {
            (entry.sha256, entry.verdict): entry for entry in entries
        }

    @property
    def entries(self) -> tuple[AcceptedLeak, ...]:
        """All entries, by function, then verdict."""
        return tuple(
            sorted(self._entries.values(), key=lambda entry: (entry.function, entry.verdict, entry.sha256))
        )

    def find(self, sha256: str, verdict: VerdictKind) -> AcceptedLeak | None:
        """The entry of a leak, whether it has expired or not."""
        return self._entries.get((sha256, verdict))

    def status(self, sha256: str, verdict: Verdict, *, today: datetime.date) -> LeakStatus:
        """Whether a leak is new, accepted, or was accepted up to an earlier day."""
        entry = self.find(sha256, verdict.kind)
        if entry is None:
            return "new"
        return "accepted" if today <= entry.until else "expired"

    def sweep(self, seen: Sequence[Seen], *, present: frozenset[str]) -> Sweep:
        """Find the entries whose leak is gone.

        Args:
            seen: All that this run found; a function may be there once for each model.
            present: Digests of all functions of the source, whether they were audited or not.
        """
        kinds: dict[str, set[VerdictKind]] = {}
        for item in seen:
            kinds.setdefault(item.sha256, set()).add(item.verdict)
        vanished, absent = [], []
        for entry in self.entries:
            found = kinds.get(entry.sha256)
            if entry.sha256 not in present:
                absent.append(entry)
            elif found is not None and not found & {entry.verdict, "inconclusive", "error"}:
                # What could not be decided may leak as before.
                vanished.append(entry)
        return Sweep(vanished=tuple(vanished), absent=tuple(absent))

    def updated(
        self,
        seen: Sequence[Seen],
        *,
        present: frozenset[str],
        reason: str,
        who: str,
        until: datetime.date,
    ) -> Baseline:
        """The baseline after a run: new leaks are added, vanished and absent ones go, known ones stay.

        Known entries keep who accepted them, why and until when, also where they have expired: a date that
        has passed is for a person to move.

        Args:
            seen: As for ``sweep``.
            present: As for ``sweep``.
            reason: Of new entries.
            who: Of new entries.
            until: Of new entries.
        """
        sweep = self.sweep(seen, present=present)
        gone = {(entry.sha256, entry.verdict) for entry in (*sweep.vanished, *sweep.absent)}
        entries = {key: entry for key, entry in self._entries.items() if key not in gone}
        for item in seen:
            if item.verdict != "functional" and item.verdict != "verbatim":
                continue
            entries.setdefault(
                (item.sha256, item.verdict),
                AcceptedLeak(
                    sha256=item.sha256,
                    verdict=item.verdict,
                    function=item.function,
                    reason=reason,
                    who=who,
                    until=until,
                ),
            )
        return Baseline(entries.values())
