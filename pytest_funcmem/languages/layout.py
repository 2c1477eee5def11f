"""How Python text falls into logical lines and blocks, without parsing it.

The reading goes forward only and decides nothing that more text could change, apart from the last token. That
is what lets a model be stopped as soon as its function has ended. It copes with any text: brackets that never
close, strings that never end. It knows nothing of functions in particular, nor of syntax trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "Block",
    "LogicalLine",
    "columns",
    "header_end",
    "indentation_at",
    "joined",
    "logical_lines",
    "read_block",
]

_TOKEN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<blank>[ \t\f\v]++)
    | (?P<comment>\#[^\n]*+)
    | (?P<string>
          \"\"\"(?:[^\\"]++|\\.|"(?!""))*+(?:\"\"\"|\\?\Z)
        | '''(?:[^\\']++|\\.|'(?!''))*+(?:'''|\\?\Z)
        | "(?:[^\\"\n]++|\\.)*+(?:"|(?=\n)|\\?\Z)
        | '(?:[^\\'\n]++|\\.)*+(?:'|(?=\n)|\\?\Z)
      )
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<colon>:)
    | (?P<join>\\\n)
    | (?P<code>[^\s\#"'()\[\]{}:\\]++|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_HEADER = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def[ \t]|class[ \t]|@[A-Za-z_])")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalLine:
    """The beginning of a logical line, or of a comment that has a line to itself.

    Attributes:
        start: Offset of its first character that is not blank.
        column: Width of its indentation.
        is_comment: Whether it is only a comment.
        is_inline: Whether the reading began in the middle of this line.
        follows_colon: Whether the code before it ends with a ``:`` outside brackets.
    """

    start: int
    column: int
    is_comment: bool
    is_inline: bool
    follows_colon: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What follows a header (the ``:`` of a ``def``).

    Attributes:
        end: Offset after the last character of the block, trailing blanks not included.
        has_code: Whether there is more in it than comments.
        is_closed: Whether a later line ends it, so that more text cannot change it.
        is_sound: Whether Python would take its indentation: deeper after a ``:`` and nowhere else, and back
            to a level that is open. (tree-sitter overlooks both.)
    """

    end: int
    has_code: bool
    is_closed: bool
    is_sound: bool


def columns(blank: str) -> int:
    """Width of an indentation, as Python counts it: a tab goes to the next multiple of eight."""
    width = 0
    for character in blank:
        if character == "\t":
            width += 8 - width % 8
        elif character == "\f":
            width = 0
        else:
            width += 1
    return width


def indentation_at(text: str, offset: int) -> str:
    """The blanks at the beginning of the line that holds a character, up to that character."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t\f\v"))]


def logical_lines(text: str, start: int = 0, *, resync: bool = False) -> Iterator[LogicalLine]:
    """Read the logical lines of a text, each as soon as its first character is known.

    Args:
        text: Any text.
        start: Where to begin; outside strings, brackets and comments.
        resync: Take a line that looks like a ``def``, ``class`` or decorator for a new logical line even
            where a bracket is still open.
    """
    depth = 0
    line_start = start
    is_inline = start > 0 and text[start - 1] != "\n"
    is_fresh = True
    follows_colon = False
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup
        if kind == "blank" or (kind == "join" and not is_fresh):
            continue
        if kind == "newline":
            if depth and resync and _HEADER.match(text, match.end()):
                depth = 0
            if not depth:
                is_fresh, is_inline, line_start = True, False, match.end()
            continue
        if is_fresh:
            is_fresh = False
            yield LogicalLine(
                start=match.start(),
                column=columns(text[line_start : match.start()]),
                is_comment=kind == "comment",
                is_inline=is_inline,
                follows_colon=follows_colon,
            )
        if kind == "open":
            depth += 1
        elif kind == "close" and depth:
            depth -= 1
        if kind != "comment":
            follows_colon = kind == "colon" and not depth


def header_end(text: str, start: int) -> int | None:
    """After the ``:`` that ends the header begun at ``start``, brackets respected; None if it has none."""
    depth = 0
    for match in _TOKEN.finditer(text, start):
        match match.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "colon" if depth == 0:
                return match.end()
            case "newline" if depth <= 0:
                return None
    return None


def read_block(text: str, start: int, *, column: int, terminator: str = "", resync: bool = False) -> Block:
    """Find the end of the block whose header stands at ``column`` and ends at ``start``.

    A block ends before the first line of code that is indented no deeper than its header. Comments that are
    indented deeper belong to it; others only when more of the block follows them.

    Args:
        text: Any text.
        start: After the header's ``:``.
        column: Width of the header's indentation.
        terminator: A line of code that begins with this ends the block at any indentation; "" for none.
        resync: As for ``logical_lines``.
    """
    end = last_code = start
    has_code = is_included = is_closed = False
    is_sound = True
    levels = [column]
    for line in logical_lines(text, start, resync=resync):
        if is_included:
            end = _end_before(text, line.start)
        is_deeper = line.is_inline or line.column > column
        if not line.is_comment:
            if not is_deeper or (has_code and terminator and text.startswith(terminator, line.start)):
                is_included, is_closed = False, True
                break
            if not line.is_inline:
                opens_block = line.follows_colon or not has_code
                is_sound = is_sound and _fits(levels, line.column, opens_block=opens_block)
            has_code, last_code = True, line.start
        is_included = is_deeper
    if is_included:
        end = _end_before(text, len(text))
    return Block(
        end=end,
        has_code=has_code,
        is_closed=is_closed,
        is_sound=is_sound and has_code and not _ends_with_colon(text, last_code, end),
    )


def _fits(levels: list[int], column: int, *, opens_block: bool) -> bool:
    """Whether a line may be indented this far; keeps the list of open levels."""
    if (column > levels[-1]) != opens_block:
        return False
    while column < levels[-1]:
        levels.pop()
    if opens_block:
        levels.append(column)
    return column == levels[-1]


def _ends_with_colon(text: str, start: int, end: int) -> bool:
    depth = 0
    last = ""
    for match in _TOKEN.finditer(text, start, end):
        kind = match.lastgroup or ""
        depth += (kind == "open") - (kind == "close")
        if kind not in ("blank", "comment", "newline", "join"):
            last = kind
    return last == "colon" and depth <= 0


def joined(text: str) -> str:
    """The text with line breaks and comments inside brackets as blanks; every place stays the same.

    The grammar of tree-sitter takes some lines inside brackets for the end of a block when they are indented
    less than it; Python does not look at indentation there.
    """
    pieces = []
    done = 0
    depth = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(depth - 1, 0)
        elif depth and (kind == "newline" or kind == "comment"):
            pieces += [text[done : match.start()], " " * (match.end() - match.start())]
            done = match.end()
    return "".join([*pieces, text[done:]])


def _end_before(text: str, offset: int) -> int:
    while offset and text[offset - 1].isspace():
        offset -= 1
    return offset
