"""Results as files under one directory, safe for several processes, and never half-written.

Layout: ``DIR/v1/<kind>/<2 hex>/<digest>.json``. An entry is one JSON object: its format number, kind, key,
the SHA-256 of the value's text, and last the value. Format history: 1, the first.

The digest is the key itself where that is one, else the key's SHA-256. An entry that is damaged, cut short,
or of another format counts as absent: it is named in a warning and replaced by the next ``put``.

This module knows nothing of records: values are plain JSON.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import StoreError, UsageError
from pytest_funcmem.core.records import Json

__all__ = ["FORMAT", "STALE_S", "DirectoryStore", "entry_place", "read_entry"]

FORMAT = 1
"""Number of the entry format; another number makes an entry absent."""

_LOGGER = logging.getLogger(__name__)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KIND = re.compile(r"[a-z][a-z0-9_-]*")
_DAY_S = 86_400.0
_ATTEMPTS = 3
STALE_S = 3600.0  # no writer holds a file beside its place for an hour
_CACHEDIR_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This directory holds results of pytest-funcmem; backups may leave it out.
# See https://bford.info/cachedir/
"""
_GITIGNORE = "# Made by pytest-funcmem. Remove this file to commit the results.\n*\n"


class DirectoryStore:
    """Keeps values under one directory.

    Args:
        path: The directory; made when something is first written.

    Raises:
        UsageError: The path is there and is no directory.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(
                "The store is not a directory.",
                where=f"--funcmem-store={path}",
                expected="a directory, or a path where one can be made",
                remedy="name another path with --funcmem-store",
            )
        self._path = path
        self._root = path / f"v{FORMAT}"
        self._ready = False
        self._tidied: set[Path] = set()
        self.damaged: list[tuple[Path, str]] = []
        """Entries that were found damaged, with what is wrong with each; whoever asked makes them again."""

    @property
    def path(self) -> Path:
        """The directory."""
        return self._path

    def prepare(self) -> None:
        """Make the directory, so that one that cannot be written is known before any work is done.

        Raises:
            StoreError: It cannot be made or written.
        """
        if self._ready:
            return
        with _translated(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
            if not self._root.is_dir():
                # Marks are written once: who removed one, to commit the store, does not get it back.
                for name, text in ((".gitignore", _GITIGNORE), ("CACHEDIR.TAG", _CACHEDIR_TAG)):
                    if not (self._path / name).exists():
                        _write_beside(self._path / name, text.encode("ascii"))
                self._root.mkdir(exist_ok=True)
            probe = self._root / f".{secrets.token_hex(8)}.tmp"
            probe.touch(exist_ok=False)
            probe.unlink()
        self._ready = True

    def get(self, kind: str, key: str) -> Json | None:
        """The stored value, or None where there is none or it is damaged."""
        path = self._place(kind, key)
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            _LOGGER.warning("The stored result %s cannot be read (%s); it is made again.", path, exc.strerror)
            self.damaged.append((path, f"cannot be read ({exc.strerror})"))
            return None
        value, damage = read_entry(raw, kind, key)
        if damage:
            _LOGGER.warning("The stored result %s %s; it is made again.", path, damage)
            self.damaged.append((path, damage))
            return None
        _mark_used(path)
        return value

    def put(self, kind: str, key: str, value: Json) -> None:
        """Write a value, in the place of an earlier one; a reader sees all of it or nothing.

        Raises:
            StoreError: It could not be written; nothing is left of it.
        """
        path = self._place(kind, key)
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        raw = _entry_head(kind, key, text.encode("ascii")) + text.encode("ascii") + b"}\n"
        self.prepare()
        with _translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._tidy(path.parent)
            for _ in range(_ATTEMPTS - 1):
                # A machine whose clock is hours ahead takes a file that is being written for a leftover.
                with contextlib.suppress(FileNotFoundError):
                    _write_beside(path, raw)
                    return
            _write_beside(path, raw)

    def _place(self, kind: str, key: str) -> Path:
        if not _KIND.fullmatch(kind):
            raise ValueError(f"{kind!r} is no kind of result: lower-case letters, digits, _ and - only")
        return self._root / entry_place(kind, key)

    def _tidy(self, directory: Path) -> None:
        """Remove what killed writers left beside their entries; once per directory and process."""
        if directory in self._tidied:
            return
        self._tidied.add(directory)
        for left in directory.glob(".*.tmp"):
            # Another process may be faster.
            with contextlib.suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > STALE_S:
                    left.unlink()


def entry_place(kind: str, key: str) -> Path:
    """Where an entry stands, relative to the directory of its format."""
    digest = key if _DIGEST.fullmatch(key) else text_digest(key)
    return Path(kind, digest[:2], f"{digest}.json")


def _entry_head(kind: str, key: str, value: bytes) -> bytes:
    head = {"format": FORMAT, "kind": kind, "key": key, "checksum": sha256(value).hexdigest()}
    return json.dumps(head, separators=(",", ":")).encode("ascii")[:-1] + b',"value":'


def _mark_used(path: Path) -> None:
    """Move an entry's time of last use, which ``funcmem store gc`` goes by, at most once a day."""
    with contextlib.suppress(OSError):  # a store that may only be read is as good
        if time.time() - path.stat().st_mtime > _DAY_S:
            os.utime(path)


def read_entry(raw: bytes, kind: str, key: str) -> tuple[Json, str]:
    """Take an entry apart; returns its value, and what is wrong with it ("" if nothing)."""
    # The head ends at a fixed length: only the digits of the checksum in it depend on the value.
    start = len(_entry_head(kind, key, b""))
    value = raw[start:-2]
    if raw[-2:] == b"}\n" and raw[:start] == _entry_head(kind, key, value):
        try:
            return json.loads(value), ""
        except (ValueError, RecursionError):
            return None, "holds no JSON"
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError):
        return None, "is damaged or cut short"
    if not isinstance(entry, dict):
        return None, "is damaged"
    if entry.get("format") != FORMAT:
        return None, f"has format {str(entry.get('format'))[:20]}, not {FORMAT}"
    if (entry.get("kind"), entry.get("key")) != (kind, key):
        return None, "belongs to another key"
    return None, "does not match its checksum"


def _write_beside(path: Path, raw: bytes) -> None:
    """Write a file beside its place and rename it; a failure leaves nothing behind."""
    beside = path.with_name(f".{path.name[:16]}-{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        # Also on Ctrl-C; the failure itself is what the caller must see.
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        full = exc.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise StoreError(
            f"A result could not be written to the store: {exc.strerror or exc}.",
            where=str(path),
            expected="a directory that can be written" + (", with room" if full else ""),
            remedy="free space there, or name another directory with --funcmem-store"
            if full
            else "give write permission there, or name another directory with --funcmem-store",
        ) from exc
