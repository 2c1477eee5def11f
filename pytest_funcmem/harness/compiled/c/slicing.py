"""What of a file a function needs: declarations in place, helpers behind it, all else left out.

The text that comes out keeps the lines of the file, so that places in diagnostics are places in it.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.c.chunks import Chunk, Token, cut, identifiers, tokens
from pytest_funcmem.harness.compiled.c.constants import constant_value

__all__ = ["Slice", "SourceFile"]

_MOST_HELPERS = 25
_MOST_HELPER_LINES = 500
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)[ \t]*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The parts of a file around one function.

    Attributes:
        declarations: The file with all but wanted declarations and directives blanked out.
        helpers: The file with all but wanted helpers blanked out.
        prototypes: Heads of the helpers and of the function, as declarations.
        included: Names of the helpers whose bodies are there.
        names: All names that the function reaches.
    """

    declarations: str
    helpers: str
    prototypes: str
    included: tuple[str, ...]
    names: frozenset[str]


class SourceFile:
    """A file, cut up around the function under test."""

    def __init__(self, function: SourceFunction) -> None:
        self.function = function
        self.text = _chosen_branches(function.text, function.signature_start, function.end)
        self.chunks, self.directives = cut(self.text, function.signature_start, function.end)

    @cached_property
    def code_tokens(self) -> tuple[Token, ...]:
        """Tokens of the function under test, from signature to end."""
        return tuple(tokens(self.function.code))

    @cached_property
    def headers(self) -> tuple[str, ...]:
        """Names of the headers that the file includes, in order, without those in quotes that have a path."""
        found: dict[str, None] = {}
        for directive in self.directives:
            match = re.match(r'\s*#\s*include\s*[<"]([\w./+-]+)[>"]', directive.text)
            if match is not None:
                found.setdefault(match[1])
        return tuple(found)

    @cached_property
    def macros(self) -> dict[str, frozenset[str]]:
        """Names in the bodies of the file's macros, by macro."""
        found: dict[str, frozenset[str]] = {}
        for directive in self.directives:
            match = re.match(r"\s*#\s*define\s+(\w+)(.*)", directive.text, re.DOTALL)
            if match is not None:
                found[match[1]] = found.get(match[1], frozenset()) | identifiers(tuple(tokens(match[2])))
        return found

    @cached_property
    def _macro_bodies(self) -> dict[str, str]:
        """Text behind the names of the file's macros that take no arguments."""
        found: dict[str, str] = {}
        for directive in self.directives:
            match = re.match(r"\s*#\s*define\s+(\w+)(?![\w(])(.*)", directive.text, re.DOTALL)
            if match is not None:
                found[match[1]] = match[2].strip()
        return found

    def macro_value(self, name: str, known: Mapping[str, int], depth: int = 0) -> int | None:
        """The number that a name stands for, where it is known or a macro says so in plain terms."""
        if name in known or name not in self._macro_bodies or depth > 8:
            return known.get(name)
        return constant_value(
            self._macro_bodies[name], lambda inner: self.macro_value(inner, known, depth + 1)
        )

    def macro_texts(self, names: Iterable[str]) -> list[str]:
        """Definitions of macros, as they are written."""
        wanted = set(names)
        found = []
        for directive in self.directives:
            match = re.match(r"\s*#\s*define\s+(\w+)", directive.text)
            if match is not None and match[1] in wanted:
                found.append(directive.text)
        return found

    def macro_tokens(self, names: Iterable[str]) -> list[Token]:
        """Tokens of the bodies of macros that take no arguments."""
        return [token for name in sorted(names) for token in tokens(self._macro_bodies.get(name, ""))]

    @cached_property
    def _by_name(self) -> dict[str, list[Chunk]]:
        found: dict[str, list[Chunk]] = {}
        for chunk in self.chunks:
            for name in sorted(chunk.declared()):
                found.setdefault(name, []).append(chunk)
        return found

    @cached_property
    def _torn(self) -> tuple[Token, ...]:
        """Directives inside chunks whose conditional begins or ends outside: they stay where it goes."""
        found: list[Token] = []
        stack: list[list[tuple[Token, int]]] = []
        placed = [(token, -1) for token in self.directives]
        for number, chunk in enumerate(self.chunks):
            placed += [(token, number) for token in chunk.tokens if token.kind == "directive"]
        for token, where in sorted(placed, key=lambda item: item[0].start):
            if _is(token, "if", "ifdef", "ifndef"):
                stack.append([(token, where)])
            elif stack and _is(token, "else", "elif"):
                stack[-1].append((token, where))
            elif stack and _is(token, "endif"):
                group = [*stack.pop(), (token, where)]
                if len({place for _token, place in group}) > 1:
                    found += [item for item, place in group if place >= 0]
        return tuple(found)

    def reached_names(self, helpers: Iterable[str]) -> frozenset[str]:
        """Names that the function, helpers of it and the macros in them mention."""
        words = [self.code_tokens]
        words += [c.tokens for name in helpers for c in self.defining(name) if c.kind == "function"]
        found: set[str] = set()
        todo = [name for part in words for name in identifiers(part)]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self.macros.get(name, ())
        return frozenset(found)

    def defining(self, name: str) -> tuple[Chunk, ...]:
        """Chunks that may declare or define a name."""
        return tuple(self._by_name.get(name, ()))

    def initialised(self) -> frozenset[str]:
        """Variables that the file gives a value."""
        return frozenset(
            name for chunk in self.chunks if chunk.kind == "declaration" for name in chunk.initialised()
        )

    def never_returns(self, name: str) -> bool:
        """Whether a declaration of a function says that it does not come back."""
        return any(
            "noreturn" in self.text[chunk.start : chunk.end if chunk.body < 0 else chunk.body].lower()
            for chunk in self._by_name.get(name, ())
        )

    def slice(
        self, *, stubbed: frozenset[str], dropped: frozenset[int], loose: frozenset[str] = frozenset()
    ) -> Slice:
        """What the function reaches.

        Args:
            stubbed: Helpers of which only the head is taken.
            dropped: Starts of chunks that are left out.
            loose: Functions defined in the old style that are called with other arguments than they have.
        """
        wanted = set(identifiers(self.code_tokens))
        todo = deque(sorted(wanted))
        declarations: set[Chunk] = set()
        helpers: dict[Chunk, str] = {}
        heads: set[Chunk] = set()
        lines = 0

        def want(names: Iterable[str]) -> None:
            for name in sorted(names):
                if name not in wanted:
                    wanted.add(name)
                    todo.append(name)

        while todo:
            name = todo.popleft()
            want(self.macros.get(name, ()))
            for chunk in self._by_name.get(name, ()):
                if chunk.start in dropped:
                    continue
                if chunk.kind == "declaration":
                    if chunk not in declarations:
                        declarations.add(chunk)
                        want(identifiers(chunk.tokens))
                elif chunk.kind == "function" and chunk not in heads:
                    heads.add(chunk)
                    size = self.text.count("\n", chunk.start, chunk.end)
                    room = len(helpers) < _MOST_HELPERS and lines + size <= _MOST_HELPER_LINES
                    if name in stubbed or not room:
                        want(identifiers([token for token in chunk.tokens if token.start < chunk.body]))
                    else:
                        lines += size
                        helpers[chunk] = name
                        want(identifiers(chunk.tokens))
        kept = [token for token in self.directives if _is(token, "define", "undef", *_CONDITIONALS)]
        conditionals = [token for token in kept if _is(token, *_CONDITIONALS)]
        return Slice(
            declarations=self._only([*kept, *self._torn, *declarations]),
            helpers=self._only([*conditionals, *self._torn, *helpers]),
            prototypes="\n".join(self._prototypes(heads, loose)),
            included=tuple(sorted(helpers.values())),
            names=frozenset(wanted),
        )

    def chunk_at(self, line: int) -> Chunk | None:
        """The chunk that stands on a line of the file, counted from 1."""
        for chunk in self.chunks:
            first = self.text.count("\n", 0, chunk.start) + 1
            if first <= line <= first + self.text.count("\n", chunk.start, chunk.end):
                return chunk
        return None

    def _prototypes(self, heads: Iterable[Chunk], loose: frozenset[str]) -> list[str]:
        found = []
        for chunk in sorted(heads, key=lambda chunk: chunk.start):
            head = _head(chunk, loose)
            if head:
                found.append(head)
        function = self.function
        whole = Chunk(
            start=0,
            end=len(function.code),
            kind="function",
            tokens=self.code_tokens,
            body=next((token.start for token in _at_top(self.code_tokens) if token.text == "{"), 0),
        )
        head = _head(whole, loose)
        return [*found, head] if head else found

    def _only(self, parts: Iterable[Chunk | Token]) -> str:
        """The file with everything else as empty lines."""
        pieces = []
        done = 0
        for part in sorted(parts, key=lambda part: part.start):
            if part.start < done:
                continue
            pieces.append("\n" * self.text.count("\n", done, part.start))
            pieces.append(self.text[part.start : part.end])
            if not pieces[-1].endswith("\n"):
                pieces.append(" ")
            done = part.end
        return "".join([*pieces, "\n"])


_CONDITIONALS = ("if", "ifdef", "ifndef", "else", "elif", "endif")


def _is(token: Token, *names: str) -> bool:
    match = _DIRECTIVE.match(token.text)
    return match is not None and match[1] in names


def _at_top(words: Iterable[Token]) -> list[Token]:
    """Tokens outside of any bracket; the brackets themselves included."""
    found = []
    depth = 0
    for token in words:
        if token.kind == "mark" and token.text in ")]}":
            depth -= 1
        if depth == 0:
            found.append(token)
        if token.kind == "mark" and token.text in "([{":
            depth += 1
    return found


def _head(chunk: Chunk, loose: frozenset[str]) -> str:
    """The declaration of a defined function, on one line; "" where a directive stands in its head."""
    words = [token for token in chunk.tokens if token.start < chunk.body]
    if any(token.kind == "directive" for token in words):
        return ""
    top = _at_top(words)
    closing = next((place for place, token in enumerate(top) if token.text == ")"), None)
    if closing is None:
        return ""
    late = top[closing + 1 :]
    is_old_style = any(
        (token.kind == "name" and after.text in (";", ",", "[", "*")) or token.text == ";"
        for token, after in zip(late, [*late[1:], top[-1]], strict=False)
    )
    opening = next(place for place, token in enumerate(words) if token.text == "(" and token in top)
    parameters = words[opening:]
    told = words[:opening] if is_old_style else words
    pieces = [token.text for token in told if token.text not in ("inline", "__inline", "__inline__")]
    if is_old_style:
        is_loose = not loose.isdisjoint(pieces)
        pieces.append("()" if is_loose else _late_parameters([token.text for token in parameters]))
    return " ".join([*pieces, ";"])


def _late_parameters(words: list[str]) -> str:
    """The parameter list of a definition in the old style, "()" where a call would widen what is given."""
    closing = words.index(")")
    names = [word for word in words[1:closing] if word != ","]
    kinds = dict.fromkeys(names, "int")
    statement: list[str] = []
    for word in words[closing + 1 :]:
        if word != ";":
            statement.append(word)
            continue
        first = next((place for place, word in enumerate(statement) if word in kinds or word in "*("), 0)
        base = [word for word in statement[:first] if word != "register"]
        for declarator in " ".join(statement[first:]).split(" , "):
            own = [word for word in declarator.split() if word in kinds]
            is_narrow = not set(base).isdisjoint(("char", "short", "float")) and declarator in kinds
            if len(own) != 1 or is_narrow or not base:
                return "()"
            kinds[own[0]] = " ".join([*base, declarator])
        statement = []
    listed = [kinds[name] if kinds[name] != "int" else f"int {name}" for name in names]
    return f"( {' , '.join(listed) or 'void'} )"


def _chosen_branches(text: str, start: int, end: int) -> str:
    """The text in which conditionals around a place are decided for it: their other branches are blank."""
    stack: list[list[Token]] = []
    groups: list[list[Token]] = []
    for token in tokens(text):
        if token.kind != "directive":
            continue
        if _is(token, "if", "ifdef", "ifndef"):
            stack.append([token])
        elif stack and _is(token, "else", "elif"):
            stack[-1].append(token)
        elif stack and _is(token, "endif"):
            groups.append([*stack.pop(), token])
    blank: list[tuple[int, int]] = []
    for group in groups:
        if not (group[0].start < start and group[-1].start >= end):
            continue
        for opening, closing in itertools.pairwise(group):
            blank.append((opening.start, opening.end))
            if not (opening.start < start and closing.start >= end):
                blank.append((opening.start, closing.start))
        blank.append((group[-1].start, group[-1].end))
    pieces = list(text)
    for first, last in blank:
        for place in range(first, last):
            if pieces[place] != "\n":
                pieces[place] = " "
    return "".join(pieces)
