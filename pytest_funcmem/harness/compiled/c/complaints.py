"""The compiler's diagnostics, checked: they come out of the sandbox."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Complaint", "read_complaints", "types_in"]

_MOST_COMPLAINTS = 200
_TYPE_TEXT = re.compile(r"[\w *()\[\],.:]{1,200}")
_TWO_TYPES: tuple[tuple[str, bool], ...] = (
    (r"expected '([^']+)'(?: \{aka '[^']+'\})? but argument is of type '([^']+)'", False),
    (r"to '([^']+)'(?: \{aka '[^']+'\})? from (?:incompatible pointer type )?'([^']+)'", False),
    (r"of '([^']+)'(?: \{aka '[^']+'\})? from (?:incompatible pointer type )?'([^']+)'", False),
    (
        r"returning '([^']+)'(?: \{aka '[^']+'\})? from a function with (?:incompatible )?"
        r"return type '([^']+)'",
        True,
    ),
    (r"assigning to type '([^']+)'(?: \{aka '[^']+'\})? from type '([^']+)'", False),
    (r"initializing type '([^']+)'(?: \{aka '[^']+'\})? using type '([^']+)'", False),
    (r"returning type '([^']+)'(?: \{aka '[^']+'\})? but '([^']+)'", True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One diagnostic, at its first place.

    Attributes:
        is_error: Whether it keeps the text from compiling.
        message: With plain quotes.
        notes: Messages of its notes.
        file: Which part of the text.
        line: Counted from 1.
        column: In bytes, counted from 1: where the compiler points.
        first: Where the expression begins.
        last: Where it ends.
        expansions: Where the place is in a macro's body: names, files, lines and columns of the expansions,
            the innermost first.
    """

    is_error: bool
    message: str
    notes: tuple[str, ...]
    file: str
    line: int
    column: int
    first: int
    last: int
    expansions: tuple[tuple[str, str, int, int], ...] = ()


def read_complaints(value: object) -> tuple[Complaint, ...]:
    """Check the diagnostics that came out of the sandbox; what is not as it should be is left out."""
    found = []
    for item in value[:_MOST_COMPLAINTS] if isinstance(value, list) else []:
        complaint = _complaint(item)
        if complaint is not None:
            found.append(complaint)
    return tuple(found)


def _complaint(item: Any) -> Complaint | None:
    if not isinstance(item, dict) or not isinstance(item.get("message"), str):
        return None
    kind = str(item.get("kind"))
    if kind not in ("error", "warning", "fatal error", "fatal"):
        return None
    places = item.get("locations")
    place = places[0] if isinstance(places, list) and places and isinstance(places[0], dict) else {}
    caret = _position(place.get("caret"))
    start, finish = _position(place.get("start")), _position(place.get("finish"))
    children = item.get("children")
    notes = [
        _plain(child["message"])
        for child in (children[:20] if isinstance(children, list) else [])
        if isinstance(child, dict) and isinstance(child.get("message"), str)
    ]
    expansions = []
    if isinstance(item.get("expansions"), list) and isinstance(item.get("spelled"), dict):
        caret = start = finish = _position(item.get("spelled"))
        for entry in item["expansions"][:20]:
            macro = re.search(r"macro .(\w+)", str(entry[0])) if isinstance(entry, list) and entry else None
            if macro is not None:
                expansions.append((macro[1], *_position(entry[-1])))
    same = [position for position in (start, caret, finish) if position[:2] == caret[:2]]
    return Complaint(
        is_error=kind != "warning",
        message=_plain(item["message"]),
        notes=tuple(notes),
        file=caret[0],
        line=caret[1],
        column=caret[2],
        first=min(position[2] for position in same),
        last=max(position[2] for position in same),
        expansions=tuple(expansions),
    )


def _position(value: object) -> tuple[str, int, int]:
    if not isinstance(value, dict):
        return ("", 0, 0)
    file, line, column = (value.get(name) for name in ("file", "line", "byte-column"))
    if not isinstance(file, str) or type(line) is not int or type(column) is not int:
        return ("", 0, 0)
    return (file, line, column)


def _plain(message: str) -> str:
    return message[:1000].replace("\u2018", "'").replace("\u2019", "'")


def types_in(complaint: Complaint) -> tuple[str | None, str | None]:
    """What type was wanted and what was given, in the compiler's words; None where it does not say."""
    said = "\n".join((complaint.message, *complaint.notes))
    for pattern, swapped in _TWO_TYPES:
        match = re.search(pattern, said)
        if match is not None and all(_TYPE_TEXT.fullmatch(text) for text in match.groups()):
            return (match[2], match[1]) if swapped else (match[1], match[2])
    return None, None
