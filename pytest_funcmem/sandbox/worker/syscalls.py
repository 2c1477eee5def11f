"""The system calls that a candidate is refused, as a filter that it puts on itself before it runs anything."""

from __future__ import annotations


def refuse_dangerous() -> None:
    """Install the filter; it holds for every process that this one starts and cannot be taken off."""
