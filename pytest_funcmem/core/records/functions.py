"""The original: one training function, as found in a source file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["LANGUAGES", "Json", "Language", "SourceFunction"]

Json: TypeAlias = Any
"""A value made of None, bool, int, float, str, lists and string-keyed dicts."""

Language = Literal["python", "java", "c", "rust", "go"]
LANGUAGES: tuple[Language, ...] = ("python", "java", "c", "rust", "go")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFunction:
    """One training function ("original"), as found in a source file.

    All offsets count characters in ``text`` and satisfy
    ``definition_start <= signature_start < signature_end <= end``.

    Attributes:
        path: Path relative to the source, with forward slashes; for a data-set row, the row's path.
        row: Identifier of the data-set row where two rows share the path, else None.
        qualname: ``Type.method`` or ``function``, in every language.
        ambiguous: Whether another function of the same file has this qualname.
        language: Language of the file.
        line: Line of the signature, counted from 1; decorators and annotations are not counted.
        text: The whole file, decoded, with single line feeds and no byte-order mark.
        definition_start: Where decorators or annotations begin, or the signature if it has none.
        signature_start: Where the signature begins (``def``, ``async def``, a modifier, a return type).
        signature_end: Where the prompt ends and the body begins: after ``:`` (Python); after ``{`` where the
            brace stands on the signature's last line, else after the signature's last token.
        end: Where the function ends; trailing newline not included.
        metadata: Unknown columns of the data-set row, as canonical JSON text ("" if none).
    """

    path: str
    row: str | None = None
    qualname: str
    ambiguous: bool = False
    language: Language
    line: int
    text: str
    definition_start: int
    signature_start: int
    signature_end: int
    end: int
    metadata: str = ""

    @property
    def key(self) -> str:
        """``PATH::QUALNAME``, as replay files and node ids name the function."""
        path = self.path if self.row is None else f"{self.path}#{self.row}"
        name = f"{self.qualname}@{self.line}" if self.ambiguous else self.qualname
        return f"{path}::{name}"

    @property
    def signature(self) -> str:
        """The signature, from its first token to where the body begins."""
        return self.text[self.signature_start : self.signature_end]

    @property
    def body(self) -> str:
        """All that a model is asked to give back: docstring and comments included, signature excluded."""
        return self.text[self.signature_end : self.end]

    @property
    def code(self) -> str:
        """Signature and body."""
        return self.text[self.signature_start : self.end]
