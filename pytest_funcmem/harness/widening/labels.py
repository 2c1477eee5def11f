"""How a harness says what it was widened by: behind its builder's name, for people and programs alike."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_funcmem.core.records import Harness

__all__ = ["widened_label", "widenings"]

_MARK = ", widened: "
_BETWEEN = "; "
_EDITED = ", edited"  # what an exchanged harness bears behind all else, once a person has changed it


def widenings(harness: Harness) -> tuple[str, ...]:
    """What a harness was widened by."""
    _, mark, said = harness.builder.removesuffix(_EDITED).partition(_MARK)
    return tuple(said.split(_BETWEEN)) if mark else ()


def widened_label(harness: Harness, lacks: Sequence[str]) -> str:
    """The label of a harness once it is widened by more: ``local/4, widened: import math; import re``."""
    builder = harness.builder.removesuffix(_EDITED).partition(_MARK)[0]
    if harness.builder.endswith(_EDITED):
        builder += _EDITED
    return builder + _MARK + _BETWEEN.join((*widenings(harness), *lacks))
