"""Canonical digests: the same content gives the same hexadecimal string on every machine and run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["canonical_json", "digest", "plain", "text_digest"]

_KEPT = frozenset({bool, int, float, str, type(None)})


def plain(value: Any) -> Any:
    """Turn frozen records, tuples and mappings into what JSON can hold.

    Raises:
        TypeError: The value has no canonical form (a set, bytes, or an object that is no dataclass).
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        # Most of what is in deep values is a text or a number: a call for each would be most of the work.
        return [item if type(item) in _KEPT else plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("canonical mappings have string keys")
        return {key: plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no canonical form")


def canonical_json(value: Any) -> str:
    """Render a value as JSON with sorted keys, no spaces, and ASCII only."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, lone surrogates kept, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
