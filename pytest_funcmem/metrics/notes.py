"""What a score says beside its figure, in the same words for every metric."""

from __future__ import annotations

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.metrics.flat_tree import TEXT_LIMIT, flatten

__all__ = ["blank_note", "join_notes", "text_notes"]


def blank_note(pair: CodePair) -> str:
    """Why there is nothing to compare; "" where there is."""
    if not pair.original.strip():
        return "the original is empty"
    return "" if pair.candidate.strip() else "the candidate is empty"


def text_notes(pair: CodePair) -> list[str]:
    """What a reader of a score over syntax trees must know of the two texts."""
    notes = []
    for name, text in (("original", pair.original), ("candidate", pair.candidate)):
        tree = flatten(pair.language, text)
        if tree.is_cut:
            notes.append(f"only the first {TEXT_LIMIT} characters of the {name} were compared")
        if tree.has_error:
            notes.append(f"the {name} does not parse as {pair.language} as a whole")
    return notes


def join_notes(*notes: str) -> str:
    """Notes as one text."""
    return "; ".join(note for note in notes if note)
