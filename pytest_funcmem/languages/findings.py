"""What a language's finder reports, and the rules on what is left out that hold in every language.

Knows nothing of syntax: it is handed places in a text and, for quoting, a parsed tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.protocols import FunctionScan
from pytest_funcmem.core.records import Language, SourceFunction
from pytest_funcmem.languages.trees import LineIndex

__all__ = ["DropReason", "Finding", "assemble", "is_generated", "is_infilling"]

DropReason = Literal["syntax_error", "fill_in_the_middle", "generated", "no_body"]

HEADER_LINES = 20
"""Lines at the head of a file in which a generator signs its work."""

_COMMENT_LINE = re.compile(r"""^\s*(?:#|//|/\*|\*|--|;|\"\"\"|''')""")
_GENERATED = re.compile(
    r"@generated\b|\bdo\s+not\s+(?:edit|modify)\b|\b(?:auto-?|automatically\s+)?generated\s+(?:by|from)\b"
    r"|\bgenerated\s+(?:protocol\s+buffer|code|file)\b|\bauto-?generated\b|\bautomatically\s+generated\b",
    re.IGNORECASE,
)

_INFILLING = re.compile(
    r"<\|?fim[_-](?:prefix|suffix|middle|pad|begin|hole|end)\|?>"
    r"|<[|\uff5c]fim[\u2581_-]?(?:begin|hole|end)[|\uff5c]>",
    re.IGNORECASE,
)
# Three letters in angle brackets are also HTML (`<PRE>` in a Javadoc comment), so these count only bare,
# or when two different ones stand in one file.
_INFILLING_SHORT = re.compile(r"<(?:PRE|SUF|MID)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A definition in a file, whether it can be audited or not.

    Attributes:
        problem: Why it cannot be audited; None if it can.
    """

    qualname: str
    definition_start: int
    signature_start: int
    signature_end: int
    end: int
    problem: DropReason | None = None


def is_generated(text: str) -> bool:
    """Whether a comment among a file's first lines says that a program wrote it."""
    lines = text[:8192].split("\n", HEADER_LINES)[:HEADER_LINES]
    return any(_COMMENT_LINE.match(line) and _GENERATED.search(line) for line in lines)


def is_infilling(text: str, is_quoted: Callable[[int], bool]) -> bool:
    """Whether a file's parts were reordered for training on fill-in-the-middle.

    Such a file holds a sentinel outside strings and comments. One that only mentions sentinels in its strings
    (a tokenizer's source) was not reordered; the functions that hold one are left out all the same.
    """
    if len({match.group() for match in _INFILLING_SHORT.finditer(text)}) > 1:
        return True
    places = [match.start() for rule in (_INFILLING, _INFILLING_SHORT) for match in rule.finditer(text)]
    return any(not is_quoted(place) for place in places)


def assemble(
    findings: Sequence[Finding],
    *,
    text: str,
    path: str,
    row: str | None,
    metadata: str,
    language: Language,
    is_quoted: Callable[[int], bool],
) -> FunctionScan:
    """Make the scan of a file from what was found in it.

    A qualname is ambiguous when any two definitions of the file share it, audited or not: node ids must not
    change with the limits on length.
    """
    ordered = sorted(findings, key=lambda finding: finding.signature_start)
    shared = Counter(finding.qualname for finding in ordered)
    dropped: Counter[str] = Counter()
    functions = []
    generated = is_generated(text)
    infilling = is_infilling(text, is_quoted)
    index = LineIndex(text)
    for found in ordered:
        problem = found.problem
        if infilling or _INFILLING.search(text, found.definition_start, found.end):
            problem = "fill_in_the_middle"
        if generated:
            problem = "generated"
        if problem is not None:
            dropped[problem] += 1
            continue
        functions.append(
            SourceFunction(
                path=path,
                row=row,
                qualname=found.qualname,
                ambiguous=shared[found.qualname] > 1,
                language=language,
                line=index.line(found.signature_start),
                text=text,
                definition_start=found.definition_start,
                signature_start=found.signature_start,
                signature_end=found.signature_end,
                end=found.end,
                metadata=metadata,
            )
        )
    return FunctionScan(functions=tuple(functions), dropped=dict(sorted(dropped.items())))
