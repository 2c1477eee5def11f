"""Content-addressed results on disk, from which an audit goes on, and the JSON form of records.

The room keeps values under keys that others make. It knows neither what a key stands for nor when a value is
out of date.
"""

from __future__ import annotations

from pytest_funcmem.store.codec import decode, encode
from pytest_funcmem.store.directory_store import DirectoryStore
from pytest_funcmem.store.memory_store import MemoryStore

__all__ = ["DirectoryStore", "MemoryStore", "decode", "encode"]
