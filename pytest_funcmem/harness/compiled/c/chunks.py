"""Cuts a C file into what stands at its top level, by its tokens alone.

Real files are full of what a grammar calls errors, since macros are not expanded; brackets, semicolons and
directives are enough to tell where one thing ends. Conditionals are followed so that each branch begins at
the depth of the first.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["KEYWORDS", "Chunk", "Token", "cut", "identifiers", "tokens"]

KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "_Bool",
        "_Complex",
        "_Alignas",
        "_Alignof",
        "_Atomic",
        "_Generic",
        "_Noreturn",
        "_Static_assert",
        "_Thread_local",
        "asm",
        "typeof",
        "__attribute__",
        "__attribute",
        "__inline",
        "__inline__",
        "__restrict",
        "__restrict__",
        "__const",
        "__volatile__",
        "__extension__",
        "__typeof__",
        "__typeof",
        "__asm__",
        "__asm",
        "__signed__",
        "__alignof__",
        "__builtin_va_list",
        "defined",
    ]
)

TokenKind = Literal["directive", "text", "name", "number", "mark"]

_TOKEN = re.compile(
    r"(?P<directive>^[ \t]*#(?:/\*(?s:.*?)\*/|\\\n|[^\n])*)"
    r"|(?P<comment>/\*(?s:.*?)(?:\*/|\Z)|//(?:\\\n|[^\n])*)"
    r'|(?P<text>(?:L|u8|u|U)?"(?:[^"\\\n]|\\(?s:.))*"?|\'(?:[^\'\\\n]|\\(?s:.))*\'?)'
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)"
    r"|(?P<mark>->|\+\+|--|\.\.\.|[^\s])",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token that is neither blank nor comment."""

    kind: TokenKind
    text: str
    start: int
    end: int


ChunkKind = Literal["function", "declaration", "target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A definition or declaration at the top level of a file.

    Attributes:
        start: Where it begins in the file.
        end: Where it ends.
        kind: ``function`` has a body.
        tokens: Its tokens, directives inside it included.
        body: Where the body's brace stands in the file; -1 without a body.
    """

    start: int
    end: int
    kind: ChunkKind
    tokens: tuple[Token, ...]
    body: int = -1

    def declared(self) -> frozenset[str]:
        """Names that it may declare or define; too many rather than too few."""
        if self.kind != "declaration":
            return frozenset(self._called())
        return frozenset(self._declared())

    def _called(self) -> Iterator[str]:
        depth = 0
        for token, after in zip(self.tokens, self.tokens[1:], strict=False):
            if token.start >= self.body >= 0:
                return
            if depth == 0 and token.kind == "name" and after.text == "(" and token.text not in KEYWORDS:
                yield token.text
            depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "mark" else 0

    def _declared(self) -> Iterator[str]:
        words = [token for token in self.tokens if token.kind != "directive"]
        depth = 0
        in_enum = False
        for place, token in enumerate(words):
            before = words[place - 1].text if place else ""
            after = words[place + 1].text if place + 1 < len(words) else ""
            if token.kind == "mark":
                if token.text == "{":
                    in_enum = in_enum or "enum" in (before, words[place - 2].text if place > 1 else "")
                if token.text == "}" and depth == 1:
                    in_enum = False
                depth += (token.text in "([{") - (token.text in ")]}")
            elif token.kind == "name" and token.text not in KEYWORDS:
                is_tag = before in ("struct", "union", "enum")
                if (
                    (depth == 0 and after in (";", ",", "=", "[", "(", ":") and not is_tag)
                    or (is_tag and after == "{")
                    or (in_enum and after in (",", "=", "}"))
                    or (before == "*" and after in (")", "[") and depth >= 1)
                ):
                    yield token.text
            if token.text == "typedef":
                # Of ``typedef struct a b;`` the name is the last word; attributes may follow it.
                names = [word.text for word in words if word.kind == "name" and word.text not in KEYWORDS]
                yield from names[-1:]

    def initialised(self) -> frozenset[str]:
        """Variables that it gives a value."""
        found = set()
        depth = 0
        name = ""
        for token in self.tokens:
            if token.kind == "mark":
                if token.text == "=" and depth == 0 and name:
                    found.add(name)
                depth += (token.text in "([{") - (token.text in ")]}")
            elif token.kind == "name" and (depth == 0 or (self.kind == "declaration" and depth == 1)):
                name = token.text if depth == 0 or not name else name
        return frozenset(found)


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """Tokens of a text, in order."""
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        kind = match.lastgroup
        if kind is not None and kind != "comment":
            yield Token(kind=kind, text=match[0], start=match.start(), end=match.end())  # type: ignore[arg-type]  # a group's name


def identifiers(words: Sequence[Token]) -> frozenset[str]:
    """Names among tokens, those inside directives too; keywords are none."""
    found: set[str] = set()
    for token in words:
        if token.kind == "name":
            found.add(token.text)
        elif token.kind == "directive":
            found.update(re.findall(r"[A-Za-z_]\w*", token.text))
    return frozenset(found - KEYWORDS)


def cut(text: str, target_start: int, target_end: int) -> tuple[tuple[Chunk, ...], tuple[Token, ...]]:
    """Chunks of a file, and the directives between them.

    Args:
        text: The file.
        target_start: Where the function under test begins: one chunk, whatever it looks like.
        target_end: Where it ends.
    """
    cutter = _Cutter(target_start)
    for part in (tokens(text, 0, target_start), tokens(text, target_end)):
        for token in part:
            if token.start >= target_end and not cutter.past:
                cutter.meet_target(target_start, target_end)
            cutter.take(token)
    if not cutter.past:
        cutter.meet_target(target_start, target_end)
    cutter.close()
    return tuple(_with_old_style(cutter.chunks)), tuple(cutter.directives)


class _Cutter:
    def __init__(self, target_start: int) -> None:
        self.chunks: list[Chunk] = []
        self.directives: list[Token] = []
        self.past = False
        self._depth = 0
        self._open: list[Token] = []
        self._conditionals: list[int] = []
        self._body = -1

    def take(self, token: Token) -> None:
        if token.kind == "directive":
            self._directive(token)
            return
        if not self._open and token.text in (";", "}"):
            return  # stray
        self._open.append(token)
        if token.kind != "mark":
            return
        if token.text in "([{":
            if token.text == "{" and self._depth == 0:
                if len(self._open) > 1 and self._open[-2].kind == "text":
                    self._open = []  # extern "C" {
                    return
                if len(self._open) == 1 or self._opens_body():
                    self._body = token.start
            self._depth += 1
        elif token.text in ")]}":
            self._depth = max(0, self._depth - 1)
            if token.text == "}" and self._depth == 0 and self._body >= 0:
                self.close()
        elif token.text == ";" and self._depth == 0:
            self.close()

    def _opens_body(self) -> bool:
        """Whether a brace begins a function's body: after a parameter list, and not in an initialiser."""
        words = [word for word in self._open[:-1] if word.kind != "directive"]
        if not words or any(word.text == "=" for word in words):
            return False
        if words[-1].text == ")":
            return True
        tagged = len(words) > 1 and words[-2].text in ("struct", "union", "enum")
        return words[-1].kind == "name" and not tagged and any(word.text == ")" for word in words)

    def _directive(self, token: Token) -> None:
        word = re.match(r"\s*#\s*(\w*)", token.text)
        name = word[1] if word is not None else ""
        if name in ("if", "ifdef", "ifndef"):
            self._conditionals.append(self._depth)
        elif name in ("else", "elif") and self._conditionals:
            self._depth = self._conditionals[-1]
        elif name == "endif" and self._conditionals:
            self._conditionals.pop()
        if self._open:
            self._open.append(token)
        else:
            self.directives.append(token)

    def meet_target(self, start: int, end: int) -> None:
        self.past = True
        self._open = []
        self._depth = 0
        self._body = -1
        self.chunks.append(Chunk(start=start, end=end, kind="target", tokens=()))

    def close(self) -> None:
        if self._open:
            kind: ChunkKind = "function" if self._body >= 0 else "declaration"
            self.chunks.append(
                Chunk(
                    start=self._open[0].start,
                    end=self._open[-1].end,
                    kind=kind,
                    tokens=tuple(self._open),
                    body=self._body,
                )
            )
        self._open = []
        self._depth = 0
        self._body = -1


def _with_old_style(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Put definitions with late parameter declarations together: their semicolons cut them apart."""
    waiting: list[Chunk] = []
    for chunk in chunks:
        if chunk.tokens and chunk.tokens[0].text == "{" and waiting:
            first = next(
                (place for place in range(len(waiting) - 1, -1, -1) if _is_head(waiting[place])), None
            )
            if first is not None:
                yield from waiting[:first]
                parts = (*waiting[first:], chunk)
                waiting = []
                yield Chunk(
                    start=parts[0].start,
                    end=chunk.end,
                    kind="function",
                    tokens=tuple(token for part in parts for token in part.tokens),
                    body=chunk.start,
                )
                continue
        if chunk.kind != "declaration":
            yield from waiting
            waiting = []
            yield chunk
        else:
            waiting.append(chunk)
    yield from waiting


def _is_head(chunk: Chunk) -> bool:
    """Whether a declaration reads like ``int f(a, b) int a;``."""
    depth = 0
    words = [token for token in chunk.tokens if token.kind != "directive"]
    for token, after in itertools.pairwise(words):
        depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "mark" else 0
        if token.text == ")" and depth == 0 and after.kind == "name" and after.text != "__attribute__":
            return True
    return False
