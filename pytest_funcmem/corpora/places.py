"""Where a function's file lies on this machine, given the sources that the user named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = ["file_of"]


def file_of(sources: Iterable[str], name: str) -> Path | None:
    """The file that a function's path means.

    Args:
        sources: Files, directories and data sets, as the user named them.
        name: The function's path, relative to its source.

    Returns:
        An absolute path; None for a row of a data set, which is no file of its own.
    """
    for source in sources:
        base = Path(source).absolute()
        for candidate in (base / name, base):
            if candidate.is_file() and (candidate != base or base.name == name):
                return candidate
    return None
