"""Functions in languages whose bodies stand in braces: lexing, completions, and what their finders share.

Lexing goes forward only and decides nothing that more text could change, apart from the last token; that is
what lets a model be stopped at a closing brace. What a signature looks like is left to each language's front
end; nothing here parses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from tree_sitter import Node

from pytest_funcmem.core.records import Candidate, SourceFunction
from pytest_funcmem.languages.completions import FENCE, OPENING_FENCE, read_raw
from pytest_funcmem.languages.findings import DropReason, Finding, ScanningFrontend
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["BracedFrontend", "Lexicon", "Token", "is_balanced", "signature_end"]

TokenKind = Literal["comment", "literal", "word", "mark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of source text.

    Attributes:
        kind: ``comment`` also stands for preprocessor directives and for branches that they switch off;
            ``mark`` is a single character of punctuation.
    """

    kind: TokenKind
    start: int
    end: int
    text: str


class Lexicon:
    """The tokens of one language, as far as telling braces in code from all others takes.

    Args:
        literals: Regular expression of strings and character literals. It also matches one that the end of
            the text or of the line cuts short.
        has_directives: Whether lines that begin with ``#`` are for a preprocessor.
        nests_comments: Whether ``/* /* */ */`` is one comment.
    """

    def __init__(self, *, literals: str, has_directives: bool = False, nests_comments: bool = False) -> None:
        kinds = [rf"(?P<literal>{literals})", r"(?P<comment>/\*)", r"(?P<line_comment>//[^\n]*+)"]
        if has_directives:
            # A backslash at the end of a line continues the line: a directive, a comment, whatever it is.
            kinds[2] = r"(?P<line_comment>//(?:\\\n|[^\n])*+)"
            kinds.append(r"(?P<directive>^[ \t]*\#(?:/\*[\s\S]*?(?:\*/|\Z)|\\[\s\S]|[^\\\n])*+)")
        self._pattern = re.compile("|".join([*kinds, r"(?P<word>\w+)", r"(?P<mark>\S)"]), re.MULTILINE)
        self._comment_mark = re.compile(r"/\*|\*/" if nests_comments else r"\*/")

    def tokens(self, text: str, start: int = 0) -> Iterator[Token]:
        """Read the tokens of a text from a place outside comments and literals."""
        place = start
        while match := self._pattern.search(text, place):
            place = match.end()
            kind: TokenKind
            match match.lastgroup:
                case "comment":
                    kind, place = "comment", self._comment_end(text, place)
                case "directive":
                    kind = "comment"
                    if _DIRECTIVE_ELSE.match(match.group()):
                        place = self._branches_end(text, place)
                case "line_comment":
                    kind = "comment"
                case "literal":
                    kind = "literal"
                case "word":
                    kind = "word"
                case _:
                    kind = "mark"
            yield Token(kind=kind, start=match.start(), end=place, text=text[match.start() : place])

    def _comment_end(self, text: str, place: int) -> int:
        depth = 1
        while depth:
            match = self._comment_mark.search(text, place)
            if match is None:
                return len(text)
            place = match.end()
            depth += 1 if match.group() == "/*" else -1
        return place

    def _branches_end(self, text: str, place: int) -> int:
        """After the ``#endif`` of an ``#else`` or ``#elif``: of several branches only the first is read."""
        depth = 1
        for match in _CONDITIONAL.finditer(text, place):
            depth += -1 if match[1] == "endif" else 1
            if not depth:
                return match.end()
        return len(text)


_DIRECTIVE_ELSE = re.compile(r"[ \t]*#[ \t]*(?:else|elif)\b")
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b.*$", re.MULTILINE)
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def is_balanced(tokens: Iterable[Token]) -> bool:
    """Whether all brackets outside comments and literals pair up."""
    expected: list[str] = []
    for token in tokens:
        if token.kind == "mark":
            if token.text in _PAIRS:
                expected.append(_PAIRS[token.text])
            elif token.text in ")]}" and (not expected or expected.pop() != token.text):
                return False
    return not expected


def signature_end(tree: SyntaxTree, body: Node, last: Node) -> int:
    """Where a prompt ends: after ``{`` if it stands on the signature's last line, else after its last token.

    Args:
        tree: The tree that both nodes are of.
        body: The braced body.
        last: What comes before the body, comments not counted.
    """
    brace, end = tree.start(body), tree.end(last)
    return end if "\n" in tree.text[end:brace] else brace + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    status: Literal["ok", "empty", "unparsed"]
    body: str
    is_ended: bool
    detail: str = ""


class BracedFrontend(ScanningFrontend):
    """What the front ends of languages with braces have in common."""

    lexicon: ClassVar[Lexicon]
    keyword: ClassVar[str] = ""
    """The word that begins every definition of a function, if the language has one."""
    openers: ClassVar[frozenset[str]] = frozenset()
    """Words that begin a block which holds methods."""
    statements: ClassVar[frozenset[str]] = frozenset(
        {"if", "for", "while", "do", "switch", "return", "goto", "case", "break", "continue", "else"}
        | {"throw", "try", "assert"}
    )
    """Words that begin a statement, and so never a signature."""
    type_words: ClassVar[frozenset[str]] = frozenset()
    """Words after which a brace belongs to a type."""
    declares_parameters_late: ClassVar[bool] = False
    """Whether declarations of the parameters may stand between the parentheses and the body."""

    def candidate(self, function: SourceFunction, completion: str) -> Candidate:
        """Cut the completed function out of a raw completion, at the brace that closes it.

        Whether what stands between the braces compiles is for execution to say. Never raises on hostile text.
        """
        reading = self._read(function, completion)
        if reading.status == "ok":
            code = function.signature + reading.body
            return Candidate(status="ok", body=reading.body, code=code, detail=reading.detail)
        body = completion if reading.status == "unparsed" else reading.body
        return Candidate(status=reading.status, body=body, code=None, detail=reading.detail)

    def function_ended(self, function: SourceFunction, completion: str) -> bool:
        """Whether the brace that closes the function, or a special token, has come."""
        return self._read(function, completion).is_ended

    # ------------------------------------------------------------------------------------ finding

    def _finding(
        self, tree: SyntaxTree, node: Node, *, qualname: str, definition_start: int, signature_start: int
    ) -> Finding:
        """Report a definition: ``node`` spans it and has its body, if any, in the field ``body``."""
        end = tree.end(node)
        body = node.child_by_field_name("body")
        problem: DropReason | None = None
        prompt_end = end
        if body is None or not tree.text.startswith("{", tree.start(body)):
            problem = "no_body"
        else:
            end = tree.end(body)
            before = [
                child
                for child in node.children
                if child.end_byte <= body.start_byte and "comment" not in child.type
            ]
            prompt_end = signature_end(tree, body, before[-1])
            if not self._is_sound(tree, node, prompt_end, end):
                problem = "syntax_error"
            elif all(
                token.kind == "comment"
                for token in self.lexicon.tokens(tree.text[tree.start(body) + 1 : end - 1])
            ):
                problem = "no_body"
        return Finding(
            qualname=qualname,
            definition_start=definition_start,
            signature_start=signature_start,
            signature_end=prompt_end,
            end=end,
            problem=problem,
        )

    def _is_sound(self, tree: SyntaxTree, node: Node, prompt_end: int, end: int) -> bool:
        """Whether a definition is well formed, whatever the rest of the file is."""
        return not node.has_error

    # -------------------------------------------------------------------------------- completions

    def _read(self, function: SourceFunction, completion: str) -> _Reading:
        raw = read_raw(completion, original=function.text[function.definition_start : function.end])
        text = raw.text
        is_cut = bool(raw.rest)
        start = self._after_fence(text)
        has_brace = function.signature.endswith("{")
        brace = self._repeated_brace(text, start, function.qualname.rpartition(".")[2])
        detail = "" if brace is None else "a repeated signature was dropped"
        if brace is None and not has_brace:
            first = next(
                (token for token in self.lexicon.tokens(text, start) if token.kind != "comment"), None
            )
            if first is not None and first.text != "{":
                return _Reading(
                    status="unparsed", body="", is_ended=is_cut, detail="no brace opens the function's body"
                )
            brace = None if first is None else first.start
            lead = text[start:brace]
        else:
            lead = self._lead(function)
        inside = start if brace is None else brace + 1
        end, is_empty = self._closing_brace(text, inside) if has_brace or brace is not None else (None, True)
        if end is None:
            if is_empty and (brace is None or not detail):
                return _Reading(
                    status="empty",
                    body=text[start:].rstrip(),
                    is_ended=is_cut,
                    detail="nothing but blanks and comments",
                )
            return _Reading(
                status="unparsed", body="", is_ended=is_cut, detail="no brace closes the function"
            )
        body = text[inside:end] if has_brace else f"{lead}{{{text[inside:end]}"
        rest = "text after the function was cut" if (text[end:] + raw.rest).strip() else ""
        return _Reading(
            status="ok", body=body, is_ended=True, detail="; ".join(part for part in (detail, rest) if part)
        )

    @staticmethod
    def _lead(function: SourceFunction) -> str:
        """What stands between the original's signature and its opening brace."""
        return function.body[: function.body.find("{")]

    @staticmethod
    def _after_fence(text: str) -> int:
        """Where the code begins: after an opening fence that no brace precedes, else at the start."""
        place = text.find(FENCE)
        brace = re.search("[{}]", text)
        if place < 0 or (brace is not None and brace.start() < place):
            return 0
        line_start = text.rfind("\n", 0, place) + 1
        match = OPENING_FENCE.match(text, line_start)
        return 0 if match is None else max(match.end() - 1, 0)

    def _closing_brace(self, text: str, start: int) -> tuple[int | None, bool]:
        """Find the brace that closes one opened before ``start``.

        Returns:
            The place after it (None if there is none), and whether only comments stand before it.
        """
        depth = 1
        is_empty = True
        for token in self.lexicon.tokens(text, start):
            is_empty = is_empty and token.kind == "comment"
            if token.kind == "mark":
                if token.text == "{":
                    depth += 1
                elif token.text == "}":
                    depth -= 1
                    if not depth:
                        return token.end, is_empty
        return None, is_empty

    def _repeated_brace(self, text: str, start: int, name: str) -> int | None:
        """Where the opening brace of a repeated signature stands; None if the text does not begin with one.

        Before the signature may stand imports, attributes and the heads of enclosing types.
        """
        depth = 0
        previous = ""
        is_named = is_enclosing = False
        head: list[str] = []
        for token in self.lexicon.tokens(text, start):
            if token.kind == "comment":
                continue
            if token.text in ("(", "[") or (token.text == "{" and (depth or previous in self.type_words)):
                depth += 1
            elif depth:
                depth -= token.text in (")", "]", "}")
            elif token.text == "{":
                if is_named:
                    return token.start
                if not is_enclosing:
                    return None
                is_enclosing, head = False, []
            elif token.text == ";":
                is_parameter = is_named and self.declares_parameters_late and previous != ")"
                if not is_parameter and (is_named or not head or head[0] not in _PREAMBLE):
                    return None
                head = []
            elif token.text == "}" or (token.text == "=" and not is_named):
                return None
            elif token.kind == "word":
                if token.text in self.statements and not is_named:
                    return None
                if token.text == name and not is_enclosing:
                    is_named = is_named or (not self.keyword or self._is_definition(previous, head))
                is_enclosing = is_enclosing or (token.text in self.openers and not is_named)
                head.append(token.text)
            previous = token.text
        return None

    def _is_definition(self, previous: str, head: list[str]) -> bool:
        return previous == self.keyword


_PREAMBLE = frozenset({"import", "package", "use", "extern", "mod"})
