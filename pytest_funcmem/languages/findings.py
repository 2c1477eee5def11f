"""From a language's definitions to a scan: the rules that hold in every language on what is left out.

Knows nothing of any one language's syntax.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pytest_funcmem.core.protocols import FunctionScan
from pytest_funcmem.core.records import Language, SourceFunction
from pytest_funcmem.languages.trees import LineIndex, SyntaxTree, normalised

__all__ = ["DropReason", "Finding", "LeftOut", "ScanningFrontend", "is_generated", "is_infilling"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A definition that a scan dropped.

    Attributes:
        first_line: Line of its first decorator or annotation, or of the signature; counted from 1.
        line: Line of the signature.
    """

    qualname: str
    first_line: int
    line: int
    reason: DropReason


class ScanningFrontend(ABC):
    """The half of a front end that finds functions; what a definition looks like is each language's own."""

    language: Language
    suffixes: tuple[str, ...]

    @abstractmethod
    def _find(self, tree: SyntaxTree) -> Iterable[Finding]:
        """Find the definitions of a parsed file, in any order."""

    def scan(self, text: str, *, path: str, row: str | None = None, metadata: str = "") -> FunctionScan:
        """Find the functions and methods of a file; never raises on broken text.

        Left out, and counted, are functions with a syntax error of their own, functions without a body to
        speak of, and text that a program wrote or reordered. Functions inside functions are neither found
        nor counted. A qualname is ambiguous when any two definitions of the file share it, audited or
        not: node ids must not change with the limits on length.
        """
        text = normalised(text)
        findings = self._screened(text)
        shared = Counter(finding.qualname for finding in findings)
        dropped = Counter(finding.problem for finding in findings if finding.problem is not None)
        index = LineIndex(text)
        functions = tuple(
            SourceFunction(
                path=path,
                row=row,
                qualname=found.qualname,
                ambiguous=shared[found.qualname] > 1,
                language=self.language,
                line=index.line(found.signature_start),
                text=text,
                definition_start=found.definition_start,
                signature_start=found.signature_start,
                signature_end=found.signature_end,
                end=found.end,
                metadata=metadata,
            )
            for found in findings
            if found.problem is None
        )
        return FunctionScan(functions=functions, dropped=dict(sorted(dropped.items())))

    def left_out(self, text: str) -> tuple[LeftOut, ...]:
        """The definitions that ``scan`` drops, in order of their place."""
        text = normalised(text)
        index = LineIndex(text)
        return tuple(
            LeftOut(
                qualname=found.qualname,
                first_line=index.line(found.definition_start),
                line=index.line(found.signature_start),
                reason=found.problem,
            )
            for found in self._screened(text)
            if found.problem is not None
        )

    def _screened(self, text: str) -> list[Finding]:
        tree = SyntaxTree(self.language, text)
        findings = sorted(self._find(tree), key=lambda finding: finding.signature_start)
        if is_generated(text):
            return [replace(found, problem="generated") for found in findings]
        if is_infilling(text, tree.is_quoted):
            return [replace(found, problem="fill_in_the_middle") for found in findings]
        return [
            replace(found, problem="fill_in_the_middle")
            if _INFILLING.search(text, found.definition_start, found.end)
            else found
            for found in findings
        ]
