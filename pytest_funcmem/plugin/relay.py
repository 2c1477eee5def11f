"""Hands records from the process that audits to those that show them, under pytest-xdist.

The controller audits, once; each worker process asks for the records of the items that it is given. Records
travel as files of a private directory: the controller makes it, tells the workers of it, and removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import AuditError, StoreError
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.store.codec import decode, encode
from pytest_funcmem.store.directory_store import DirectoryStore

__all__ = ["RecordInbox", "RecordOutbox"]

_LOOK_S = 0.05
_KIND, _STOP = "record", "stop"


class RecordOutbox:
    """The controller's end."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="funcmem-relay-"))
        self._store = DirectoryStore(self.path)
        self._store.prepare()

    def put(self, nodeid: str, record: AuditRecord) -> None:
        """Lay a record down.

        Raises:
            StoreError: It cannot be written; whoever waits for records learns that no more will come.
        """
        try:
            self._store.put(_KIND, text_digest(nodeid), encode(record))
        except StoreError:
            self.close()
            raise

    def stop(self, run: str, reason: str) -> None:
        """Say that no more records of a run will come.

        Raises:
            StoreError: As for ``put``.
        """
        try:
            self._store.put(_STOP, text_digest(run), reason)
        except StoreError:
            self.close()
            raise

    def pass_on(self, nodeid: str, future: Future[AuditRecord]) -> None:
        """Lay a record down as soon as it is there; called back from the pipeline's threads."""

        def put(done: Future[AuditRecord]) -> None:
            with contextlib.suppress(StoreError):
                self.put(nodeid, done.result())

        future.add_done_callback(put)

    def close(self) -> None:
        """Remove the directory; a worker that still waits gives up."""
        shutil.rmtree(self.path, ignore_errors=True)


class RecordInbox:
    """A worker's end.

    Args:
        path: The controller's directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._store = DirectoryStore(path)
        self._parent = os.getppid()

    def wait(self, nodeid: str, run: str) -> AuditRecord | str:
        """The record of an item, waited for; or why its run ended before it.

        Args:
            nodeid: Of the item.
            run: Name of its run.

        Raises:
            AuditError: The controller is gone, or cannot hand records over.
        """
        key = text_digest(nodeid)
        stop = text_digest(run)
        while True:
            reason = self._store.get(_STOP, stop)  # looked for first: what comes before the end counts
            found = self._store.get(_KIND, key)
            if found is not None:
                return decode(AuditRecord, found)
            if reason is not None:
                return str(reason)
            if not self.path.is_dir() or os.getppid() != self._parent:
                raise AuditError(
                    "The process that audits has ended or can hand over no more records.",
                    where=nodeid,
                    expected=f"records in {self.path}",
                    remedy="Look at the room on that disk, or run without -n: an audit works on all cores.",
                )
            time.sleep(_LOOK_S)
