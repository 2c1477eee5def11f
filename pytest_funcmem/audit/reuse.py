"""Taking a stored result back as the record that it was."""

from __future__ import annotations

import logging
from types import UnionType
from typing import Any

from pytest_funcmem.core.errors import StoreError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.store.codec import decode

__all__ = ["reuse"]

logger = logging.getLogger(__name__)


def reuse(store: Store, kind: str, key: str, record: type[Any] | UnionType) -> Any | None:
    """The stored record, or None where there is none that this version reads.

    Args:
        store: Where to look.
        kind: Kind of the result.
        key: Its key.
        record: Class of the record, or a tuple or union of such.
    """
    found = store.get(kind, key)
    if found is None:
        return None
    try:
        return decode(record, found)
    except StoreError as error:
        logger.warning("The stored %s %s is of another version and is made again. %s", kind, key, error.what)
        return None
