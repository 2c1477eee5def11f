"""Looking after a store's directory: what it holds, what of it is damaged, and what can go.

Like the store itself, this module knows nothing of what keys and values stand for.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.store.directory_store import FORMAT, STALE_S, entry_place, read_entry

__all__ = ["Collected", "Contents", "Damage", "collect", "contents", "damaged"]

_FORMAT_DIRECTORY = re.compile(r"v[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a store holds.

    Attributes:
        format: Number of the entry format that this version reads and writes.
        kinds: (kind, entries, bytes), by kind.
        leftovers: Files that killed writers left beside their places.
        others: Directories of other formats, which this version neither reads nor writes.
    """

    format: int
    kinds: tuple[tuple[str, int, int], ...]
    leftovers: int
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """An entry that cannot be used, and why; the next audit that wants it makes it again."""

    path: Path
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """How many entries, leftovers and directories of other formats were removed, and their bytes in all."""

    damaged: int
    unused: int
    leftovers: int
    others: int
    bytes: int


def contents(path: Path) -> Contents:
    """Count what a store holds.

    Raises:
        UsageError: There is no store.
    """
    root = _root(path)
    kinds: dict[str, tuple[int, int]] = {}
    for entry in _entries(root):
        number, size = kinds.get(entry.relative_to(root).parts[0], (0, 0))
        with contextlib.suppress(FileNotFoundError):  # another process may tidy up meanwhile
            kinds[entry.relative_to(root).parts[0]] = number + 1, size + entry.stat().st_size
    return Contents(
        format=FORMAT,
        kinds=tuple((kind, *kinds[kind]) for kind in sorted(kinds)),
        leftovers=sum(1 for _ in root.rglob(".*.tmp")),
        others=tuple(sorted(other.name for other in _others(path))),
    )


def damaged(path: Path) -> Iterator[Damage]:
    """Read every entry and name those that cannot be used.

    Raises:
        UsageError: There is no store.
    """
    root = _root(path)
    for entry in _entries(root):
        fault = _fault(entry, root)
        if fault:
            yield Damage(path=entry, fault=fault)


def collect(path: Path, *, older_than_s: float | None = None) -> Collected:
    """Remove what no audit can use: damaged entries, leftovers of killed writers, other formats.

    Args:
        path: The store.
        older_than_s: Also remove entries that no audit used for so many seconds; None keeps them all.

    Raises:
        UsageError: There is no store.
    """
    root = _root(path)
    now = time.time()
    counts = {"damaged": 0, "unused": 0, "leftovers": 0, "others": 0}
    freed = 0
    for entry in _entries(root):
        with contextlib.suppress(FileNotFoundError):
            status = entry.stat()
            unused = older_than_s is not None and now - status.st_mtime > older_than_s
            if unused:
                entry.unlink()
                counts["unused"] += 1
                freed += status.st_size
            elif _fault(entry, root) and _removed(entry, root):
                counts["damaged"] += 1
                freed += status.st_size
    for left in root.rglob(".*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            status = left.stat()
            if now - status.st_mtime > STALE_S:  # a younger one may be another process's that still writes
                left.unlink()
                counts["leftovers"] += 1
                freed += status.st_size
    for other in _others(path):
        freed += sum(file.stat().st_size for file in other.rglob("*") if file.is_file())
        shutil.rmtree(other)
        counts["others"] += 1
    return Collected(**counts, bytes=freed)


def _root(path: Path) -> Path:
    root = path / f"v{FORMAT}"
    if not root.is_dir() and not any(_others(path)):
        raise UsageError(
            "There is no store in this place.",
            where=str(path),
            expected=f"a directory that an audit keeps its results in, with a directory v{FORMAT}",
            remedy="Name the directory with --store; an audit makes it by itself.",
        )
    return root


def _entries(root: Path) -> Iterator[Path]:
    yield from sorted(root.glob("*/*/*.json"))


def _others(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for child in path.iterdir():
            if child.is_dir() and _FORMAT_DIRECTORY.fullmatch(child.name) and child.name != f"v{FORMAT}":
                yield child


def _removed(entry: Path, root: Path) -> bool:
    """Remove a damaged entry, unless another process has made it again meanwhile."""
    aside = entry.with_name(f".{entry.name[:16]}-{secrets.token_hex(8)}.tmp")
    entry.rename(aside)
    if not _fault(entry, root, at=aside):
        aside.replace(entry)
        return False
    aside.unlink()
    return True


def _fault(entry: Path, root: Path, *, at: Path | None = None) -> str:
    """What is wrong with an entry, wherever it lies at the moment; "" if nothing."""
    try:
        raw = (at or entry).read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as exc:
        return f"cannot be read ({exc.strerror})"
    try:
        head = json.loads(raw)
        kind, key = str(head["kind"]), str(head["key"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return "is damaged or cut short"
    fault = read_entry(raw, kind, key)[1]
    if not fault and entry.relative_to(root) != entry_place(kind, key):
        return "belongs to another key"
    return fault
