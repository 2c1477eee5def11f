"""Hands records from the process that audits to those that show them, under pytest-xdist.

The controller audits, once; each worker process asks for the records of the items that it is given. Records
travel as files of a private directory: the controller makes it, tells the workers of it, and removes it.
"""

from __future__ import annotations

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
_KIND = "record"


class RecordOutbox:
    """The controller's end."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="funcmem-relay-"))
        self._store = DirectoryStore(self.path)
        self._store.prepare()

    def pass_on(self, nodeid: str, future: Future[AuditRecord]) -> None:
        """Lay a record down as soon as it is there; called back from the pipeline's threads."""

        def put(done: Future[AuditRecord]) -> None:
            try:
                self._store.put(_KIND, text_digest(nodeid), encode(done.result()))
            except StoreError:
                self.close()  # whoever waits learns that no record will come

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

    def wait(self, nodeid: str) -> AuditRecord:
        """The record of an item, waited for.

        Raises:
            AuditError: The controller is gone, or cannot hand records over.
        """
        key = text_digest(nodeid)
        while True:
            found = self._store.get(_KIND, key)
            if found is not None:
                return decode(AuditRecord, found)
            if not self.path.is_dir() or os.getppid() != self._parent:
                raise AuditError(
                    "The process that audits has ended or can hand over no more records.",
                    where=nodeid,
                    expected=f"records in {self.path}",
                    remedy="Look at the room on that disk, or run without -n: an audit works on all cores.",
                )
            time.sleep(_LOOK_S)
