"""How code uses names, as far as its text tells: what is walked over, followed, counted by, only written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.c.table import FOLLOWED, INDEXED, OUT, SMALL

__all__ = ["buffer_room", "flags_of", "uses_of", "views_of"]


def uses_of(function: SourceFunction, names: Iterable[str]) -> dict[str, int]:
    """Flags of the table for each parameter."""
    found: dict[str, int] = {}
    for name in names:
        if not name:
            continue
        word = re.escape(name)
        if re.search(rf"\b{word}\s*(?:\[|\+\+|--|\+=|\+\s*\w)|(?:\+\+|--|\+)\s*{word}\b", function.body):
            found[name] = INDEXED
        elif re.search(rf"\*\s*{word}\s*(?:[-+*/|&]?=[^=]|\+\+|--)|\(\s*\*\s*{word}\s*\)", function.body):
            found[name] = OUT
    return found


def flags_of(codes: Iterable[str]) -> dict[str, int]:
    """Flags of the table for names of any kind, by how some code uses them.

    Indices and bounds of loops are small, as large values only run wild. What is indexed points to several
    things. What is followed has to point somewhere for anything to happen; a variable passes its use on to
    the member that it is a copy of.
    """
    found: dict[str, int] = {}

    def note(names: Iterable[str], flag: int) -> None:
        for name in names:
            found[name] = found.get(name, 0) | flag

    for code in codes:
        for inner in re.findall(r"\[([^\[\]]{1,80})\]", code):
            note(re.findall(r"[A-Za-z_]\w*", inner), SMALL)
        for bound in re.findall(r"\b(?:for|while)\s*\([^{;]*;?[^;{]*?<=?\s*([\w.>\- ]{1,60})", code):
            note(re.findall(r"[A-Za-z_]\w*", bound), SMALL)
        note(re.findall(r"([A-Za-z_]\w*)\s*(?:\)\s*)?\[", code), INDEXED)
        note(re.findall(r"([A-Za-z_]\w*)\s*(?:\)\s*|\[[^\[\]]{1,80}\]\s*)?->", code), FOLLOWED)
        note(re.findall(r"([A-Za-z_]\w*)\s*\[", code), FOLLOWED)
        note(re.findall(r"\*\s*(?:[A-Za-z_]\w*\s*(?:->|\.)\s*)+([A-Za-z_]\w*)", code), FOLLOWED)
        for name, member in re.findall(r"\b(\w+)\s*=[^=;,]*?(?:->|\.)\s*(\w+)\s*[;,)]", code):
            note([member], found.get(name, 0) & (INDEXED | FOLLOWED))
    return found


def views_of(codes: Iterable[str]) -> dict[str, str]:
    """As what some code takes what names point to: ``struct a`` for ``(struct a *)name``, by name."""
    found: dict[str, str] = {}
    # What is counted back from has something before it, of which nothing is known.
    kind = r"(?:const\s+)?((?:struct\s+|unsigned\s+)?[A-Za-z_]\w*)\s*(?:const\s*)?\*\s*(?:const\s+)?"
    path = r"(?:\w+(?:\[\w*\])?\s*(?:->|\.)\s*)*"
    for code in codes:
        for pattern in (
            rf"\(\s*{kind}\)\s*\(?\s*{path}([A-Za-z_]\w*)\b(?!\s*-[^>])",
            rf"(?:^|[;{{}}])\s*{kind}\w+\s*=\s*{path}([A-Za-z_]\w*)\s*;",
        ):
            for written, name in re.findall(pattern, code, re.MULTILINE):
                if written not in ("void", "return", "sizeof"):
                    found.setdefault(name, re.sub(r"\s+", " ", written))
    return found


def buffer_room(codes: Iterable[str]) -> int:
    """Bytes of a buffer that are enough for every place in it that some code names by a number."""
    most = 0
    for code in codes:
        for text in re.findall(r"(?:\[\s*|\w\s*\+\s*)(0[xX][0-9a-fA-F]{1,4}|\d{1,5})\b", code):
            most = max(most, int(text, 16) if text[:2] in ("0x", "0X") else int(text))
    return 256 if most < 240 or most > 4000 else (most + 64 + 255) // 256 * 256
