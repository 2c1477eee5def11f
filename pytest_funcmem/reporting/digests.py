"""The digest that reports name a function by."""

from __future__ import annotations

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.records import AuditRecord

__all__ = ["shown_digest"]


def shown_digest(record: AuditRecord) -> str:
    """SHA-256 of the function's signature and body, also where a mask hides them."""
    return record.masked_sha256 or text_digest(record.function.code)
