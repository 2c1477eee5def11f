"""Keeps the last objects that were made in a sandbox: a program that runs again is not compiled again.

What is kept was made by the compiler before anything of the program ran, goes back into the same sandbox
alone, and only for the same text.
"""

from __future__ import annotations

import json
from weakref import WeakKeyDictionary

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.protocols import Sandbox

__all__ = ["keep_object", "kept_object", "object_key"]

_MOST = 4
_MOST_BYTES = 2 * 1024 * 1024
_kept: WeakKeyDictionary[Sandbox, dict[str, dict[str, object]]] = WeakKeyDictionary()


def object_key(around: str, code: str, *, coverage: bool) -> str:
    """What an object depends on."""
    return digest([around, code, coverage])


def kept_object(sandbox: Sandbox, key: str) -> dict[str, object] | None:
    """An object of the sandbox: its content as Base64 and the lines of its blocks; None if it has none."""
    return _kept.get(sandbox, {}).get(key)


def keep_object(sandbox: Sandbox, key: str, records: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Keep the object that a task gives in its first record, if it does; the other records."""
    if not records or not records[0].startswith(b'{"kind": "made"') or len(records[0]) > _MOST_BYTES:
        return records
    try:
        made = json.loads(records[0])
    except (ValueError, RecursionError):
        return records[1:]
    if isinstance(made.get("object"), str) and isinstance(made.get("blocks"), list):
        objects = _kept.setdefault(sandbox, {})
        objects[key] = {"object": made["object"], "blocks": made["blocks"]}
        while len(objects) > _MOST:
            del objects[next(iter(objects))]
    return records[1:]
