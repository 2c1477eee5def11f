"""A store that lives as long as its process."""

from __future__ import annotations

import json

from pytest_funcmem.core.records import Json

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps values in memory, as text, so that a reader can change nothing for the next."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    def get(self, kind: str, key: str) -> Json | None:
        """The stored value, or None."""
        text = self._texts.get((kind, key))
        return None if text is None else json.loads(text)

    def put(self, kind: str, key: str, value: Json) -> None:
        """Keep a value, in the place of an earlier one."""
        self._texts[kind, key] = json.dumps(value, allow_nan=False)
