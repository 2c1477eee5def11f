"""The closed list of reasons for which something was left out of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, get_args

__all__ = ["DROP_REASONS", "DropReason", "Tally"]

DropReason = Literal[
    # functions
    "too_short",  # fewer body lines than asked for
    "too_long",  # more body lines than asked for
    "unlisted",  # not in the row's own list of functions
    "syntax_error",
    "fill_in_the_middle",
    "generated",
    "no_body",
    "duplicate",  # another function has the same path, name and line
    # files and rows
    "binary_file",  # holds NUL
    "encoding",  # is not UTF-8
    "too_large",
    "unreadable",  # may not be read, or is no regular file
    "unknown_language",  # rows only: other files of a directory are not source files at all
    "symlink",  # leads out of the source, or nowhere
    "symlink_loop",
]
DROP_REASONS: tuple[DropReason, ...] = get_args(DropReason)


class Tally:
    """Counts by reason, reported in the order of ``DROP_REASONS``."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, reason: DropReason, number: int = 1) -> None:
        """Count something that was left out."""
        self._counts[reason] += number

    def add_all(self, counts: Mapping[str, int]) -> None:
        """Add the counts of a scan."""
        self._counts.update(counts)

    def counts(self) -> dict[str, int]:
        """The counts that are not 0."""
        return {reason: self._counts[reason] for reason in DROP_REASONS if self._counts[reason]}
