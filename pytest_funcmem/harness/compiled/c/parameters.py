"""How a function uses its parameters, as far as its text tells: which are walked over, which only written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.c.table import INDEXED, OUT

__all__ = ["small_names", "uses_of"]


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


def small_names(codes: Iterable[str]) -> frozenset[str]:
    """Names that some code uses as an index or as the bound of a loop, where large values only run wild."""
    found: set[str] = set()
    for code in codes:
        for inner in re.findall(r"\[([^\[\]]{1,80})\]", code):
            found.update(re.findall(r"[A-Za-z_]\w*", inner))
        for bound in re.findall(r"\b(?:for|while)\s*\([^{;]*;?[^;{]*?<=?\s*([\w.>\- ]{1,60})", code):
            found.update(re.findall(r"[A-Za-z_]\w*", bound))
    return frozenset(found)
