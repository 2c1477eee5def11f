"""Source files: which ones a directory holds, and their text.

A file that cannot be audited is an error where the user named it, and a count where a directory brought
it in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_funcmem.core.errors import SourceError
from pytest_funcmem.corpora.tallies import DropReason, Tally
from pytest_funcmem.languages import SUFFIXES, language_of

__all__ = ["MAX_FILE_BYTES", "Unusable", "check_language", "decode", "read_text", "source_files"]

MAX_FILE_BYTES = 5_000_000
_SKIPPED_DIRECTORIES = frozenset({"node_modules", "__pycache__"})
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Why a text cannot be read.

    Attributes:
        what: For people: the end of a sentence that begins with the file's name.
        expected: What would have been accepted.
        where: Place within the file (``byte 17``); "" for the whole.
    """

    reason: DropReason
    what: str
    expected: str
    where: str = ""

    def error(self, path: Path) -> SourceError:
        """The error to raise for a file that the user named."""
        return SourceError(
            f"'{path.name}' {self.what}.",
            where=f"{path}, {self.where}" if self.where else str(path),
            expected=self.expected,
            remedy="Name another source, or its directory: there, such files are left out and counted.",
        )


def source_files(root: Path, tally: Tally) -> Iterator[Path]:
    """Find the source files of a directory, in a fixed order.

    Skipped are hidden directories, virtual environments, ``node_modules`` and ``__pycache__``. Symbolic
    links are not followed: what they lead to inside the directory is found at its own place, and what
    lies outside is not part of the source.

    Raises:
        SourceError: The directory itself cannot be listed.
    """
    real_root = root.resolve()
    pending = [root]
    while pending:
        directory = pending.pop()
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as exc:
            if directory == root:
                raise _unreadable(root, exc) from exc
            tally.add("unreadable")
            continue
        subdirectories = []
        for entry in entries:
            path = directory / entry.name
            if entry.is_symlink():
                _count_link(path, real_root, tally)
            elif entry.is_dir(follow_symlinks=False):
                if not _is_skipped(path):
                    subdirectories.append(path)
            elif language_of(entry.name) is not None:
                yield path
        pending.extend(reversed(subdirectories))


def _is_skipped(directory: Path) -> bool:
    name = directory.name
    if name.startswith(".") or name in _SKIPPED_DIRECTORIES:
        return True
    return os.path.lexists(directory / "pyvenv.cfg")


def _count_link(path: Path, real_root: Path, tally: Tally) -> None:
    try:
        target = path.resolve(strict=True)
    except FileNotFoundError:
        tally.add("symlink")
        return
    except (OSError, RuntimeError):  # RuntimeError: how Python before 3.13 reports a loop
        tally.add("symlink_loop")
        return
    if path.parent.resolve().is_relative_to(target):
        tally.add("symlink_loop")
    elif not target.is_relative_to(real_root) and (target.is_dir() or language_of(path.name) is not None):
        tally.add("symlink")


def check_language(path: Path) -> None:
    """Refuse a file whose suffix is of no known language.

    Raises:
        SourceError: There is no front end for it.
    """
    if language_of(path.name) is None:
        raise SourceError(
            f"'{path.name}' is neither a source file nor a data set.",
            where=str(path),
            expected="a directory, or a file that ends in "
            + ", ".join([*SUFFIXES, ".jsonl", ".parquet"])
            + " (data sets also with .gz or .zst)",
            remedy="Rename the file, or name another source.",
        )


def read_text(path: Path) -> str | Unusable:
    """Read a source file whole, unless it is too large, binary, or not UTF-8.

    Returns:
        Its text without a byte-order mark, newlines as they are; or why there is none.
    """
    try:
        # Opened without waiting: a named pipe would wait for a writer.
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Unusable(reason="unreadable", what="is not a regular file", expected="a regular file")
            if status.st_size > MAX_FILE_BYTES:
                return too_large(status.st_size)
            # One byte more than allowed: the file may grow between the two calls.
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        return Unusable(
            reason="unreadable", what=f"cannot be read: {exc.strerror}", expected="a file that may be read"
        )
    return decode(data)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def too_large(size: int) -> Unusable:
    """Say that a text is larger than any that is audited."""
    return Unusable(
        reason="too_large",
        what=f"is too large to be audited: {size:,} bytes",
        expected=f"at most {MAX_FILE_BYTES:,} bytes a file",
    )


def decode(data: bytes) -> str | Unusable:
    """Decode the bytes of a source file."""
    if len(data) > MAX_FILE_BYTES:
        return too_large(len(data))
    nul = data.find(b"\0")
    if nul >= 0:
        return Unusable(
            reason="binary_file",
            what="is a binary file",
            expected="text in UTF-8",
            where=f"NUL at byte {nul}",
        )
    try:
        return data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as exc:
        offset = exc.start + (len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0)
        return Unusable(
            reason="encoding",
            what="is not UTF-8",
            expected="text in UTF-8",
            where=f"byte {offset} (0x{data[offset]:02x})",
        )


def _unreadable(path: Path, exc: OSError) -> SourceError:
    return SourceError(
        f"'{path.name}' cannot be listed: {exc.strerror}.",
        where=str(path),
        expected="a directory that may be read",
        remedy="Check its permissions.",
    )
