"""Audited text made harmless and made to fit: what a terminal would obey becomes something to read.

Widths are terminal cells, of which wide characters take two and combining marks none.
"""

from __future__ import annotations

import unicodedata

__all__ = ["around", "cells", "fold", "fold_spans", "shorten", "visible"]

# Control, format (bidirectional overrides, zero-width characters), surrogate, private, unassigned characters,
# and the two separators that some terminals break lines at.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS_IN_A_ROW = 2


def visible(text: str, *, tab: int = 4) -> str:
    r"""Replace what is invisible, or would steer a terminal, by what shows it: ``\x1b``, ``\u202e``, ``→``.

    Newlines are replaced too: cut the text into lines before. More than two combining marks in a row are
    shown by their numbers, for no line could be measured otherwise.

    Args:
        text: Any text.
        tab: Distance of tab stops.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    column = marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if character == "\t":
            piece = "→".ljust(tab - column % tab)
        elif category in _HIDDEN or marks > _MARKS_IN_A_ROW:
            piece = _escape(character)
        elif category == "Zs" and character != " ":
            piece = _escape(character)  # a no-break space that is no space to a parser
        else:
            piece = character
        shown.append(piece)
        column += len(piece)
    return "".join(shown)


def _escape(character: str) -> str:
    named = {"\n": "\\n", "\r": "\\r"}.get(character)
    if named is not None:
        return named
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def cells(text: str) -> int:
    """Width of a visible text, in terminal cells."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a visible text that is too wide; its head keeps two thirds.

    Args:
        text: A visible text.
        width: Most cells, at least 1.
    """
    if cells(text) <= width:
        return text
    tail_width = (width - 1) // 3
    tail = _take(text[::-1], tail_width)[::-1]
    return f"{_take(text, width - 1 - tail_width)}…{tail}"


def around(text: str, position: int, width: int) -> str:
    """Shorten a visible text so that what stands at a position can be seen.

    Args:
        text: A visible text.
        position: Index of the character that matters.
        width: Most cells, at least 10.
    """
    if cells(text) <= width or position < (width - 1) // 2:
        return shorten(text, width)
    head = _take(text, max(2, width // 5))
    start = max(len(head), position - width // 4)
    rest = text[start:]
    room = width - cells(head) - 1
    return f"{head}…{rest if cells(rest) <= room else _take(rest, room - 1) + '…'}"


def fold(text: str, width: int, *, hang: int = 0) -> list[str]:
    """Break a visible text into lines, after a blank or a mark of punctuation where one is near.

    Args:
        text: A visible text.
        width: Most cells of a line.
        hang: Indentation of all lines but the first.
    """
    spans = fold_spans(text, width, hang=hang)
    return [" " * (hang if number else 0) + text[start:end] for number, (start, end) in enumerate(spans)]


def fold_spans(text: str, width: int, *, hang: int = 0) -> list[tuple[int, int]]:
    """Where ``fold`` breaks a text: the pieces of its lines, as (start, end), without indentation.

    Args:
        text: A visible text.
        width: Most cells of a line, at least ``hang`` + 2.
        hang: Indentation of all lines but the first.
    """
    spans: list[tuple[int, int]] = []
    start, room = 0, width
    while cells(text[start:]) > room:
        head = _take(text[start:], room)
        # A blank is the best place; a mark of punctuation will do; else the line is simply full.
        near = head.rfind(" ") + 1
        for marks in (",;([", "{=.|/"):
            if near <= len(head) // 3:
                near = max(head.rfind(mark) + 1 for mark in marks)
        end = start + (near if near > len(head) // 3 else len(head))
        spans.append((start, start + len(text[start:end].rstrip(" "))))
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
        room = width - hang
    spans.append((start, max(start, len(text.rstrip(" ")))))
    return spans


def _take(text: str, width: int) -> str:
    """The longest beginning that fits."""
    if text.isascii():
        return text[:width]
    used = 0
    for index, character in enumerate(text):
        used += cells(character)
        if used > width:
            return text[:index]
    return text
