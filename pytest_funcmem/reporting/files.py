"""Report files appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from pytest_funcmem.core.errors import AuditError

__all__ = ["write_whole"]


def write_whole(path: Path, pieces: Iterable[str], *, what: str) -> None:
    """Write a text file beside its place and rename it; nothing is left where that fails.

    Args:
        path: Where the file goes; an older one there is replaced.
        pieces: The text, in order; characters that UTF-8 does not have must be gone.
        what: Name of the file in an error, such as ``HTML report``.

    Raises:
        AuditError: The file cannot be written.
    """
    beside = path.with_name(f".{path.name[:64]}-{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException as exc:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(exc, OSError):
            raise AuditError(
                f"The {what} could not be written: {exc.strerror or exc}.",
                where=str(path),
                remedy="name a file in a directory that can be written, with room for it",
            ) from exc
        raise
