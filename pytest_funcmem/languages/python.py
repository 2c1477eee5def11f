"""The Python front end.

Functions are found in the syntax tree. In a file with a syntax error they are found by indentation
instead, and each is parsed alone, so that an error costs only the function it stands in.

Functions nested in functions are not audited on their own: they are part of the body of the outer one, and
nothing outside can call them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from pytest_funcmem.core.records import Candidate, Language, SourceFunction
from pytest_funcmem.languages.completions import FENCE, OPENING_FENCE, read_raw
from pytest_funcmem.languages.findings import DropReason, Finding, ScanningFrontend
from pytest_funcmem.languages.layout import (
    columns,
    header_end,
    indentation_at,
    joined,
    logical_lines,
    read_block,
)
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["PythonFrontend"]

_DEF = re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)")
_CLASS = re.compile(r"class[ \t]+(\w+)")
_BLOCK_INDENT = "    "
# A first line like one of these says that the model went on to something else without writing a body.
_NEXT_DEFINITION = re.compile(r"(?:async\s|def\s|class\s|@|import\s|from\s|if\s+__name__\b)")


class PythonFrontend(ScanningFrontend):
    """Finds Python functions and reads completions of them; see ``core.protocols.LanguageFrontend``."""

    language: Language = "python"
    suffixes = (".py",)

    def _find(self, tree: SyntaxTree) -> Iterator[Finding]:
        text = tree.text
        if tree.root.has_error:
            tree = SyntaxTree(self.language, joined(text))
        return _by_indentation(text) if tree.root.has_error else _by_tree(tree, text)

    def candidate(self, function: SourceFunction, completion: str) -> Candidate:
        """Cut the completed function out of a raw completion; never raises on hostile text.

        A code fence, a repeated signature and whatever follows the function are cut away. The body of a
        repeated signature is moved to the original's indentation; text inside its strings is not. A body
        that begins on the signature's own line and goes on below it gets the line break that it lacks.
        """
        reading = _read(function, completion)
        if reading.status == "empty":
            return Candidate(status="empty", body=reading.body, code=None, detail=reading.detail)
        if reading.status == "ok":
            indentation = indentation_at(function.text, function.signature_start)
            for body in _spellings(reading, indentation):
                if _definition(function.signature, body, indentation) is not None:
                    detail = (
                        reading.detail if body == reading.body else "a line break was added before the body"
                    )
                    return Candidate(status="ok", body=body, code=function.signature + body, detail=detail)
        return Candidate(
            status="unparsed",
            body=completion,
            code=None,
            detail=reading.detail
            if reading.status == "unparsed"
            else "the completed function has a syntax error",
        )

    def function_ended(self, function: SourceFunction, completion: str) -> bool:
        """Whether a line of code at the signature's indentation, or a special token, follows the body."""
        return _read(function, completion).is_ended


# ------------------------------------------------------------------------------------------ finding


def _by_tree(tree: SyntaxTree, text: str) -> Iterator[Finding]:
    stack: list[tuple[Node, tuple[str, ...], int | None]] = [(tree.root, (), None)]
    while stack:
        node, types, definition_start = stack.pop()
        match node.type:
            case "function_definition":
                yield _finding(tree, text, node, types, definition_start)
            case "decorated_definition":
                inner = node.child_by_field_name("definition")
                if inner is not None:
                    stack.append((inner, types, tree.start(node)))
            case "class_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    stack.extend((child, (*types, tree.source(name)), None) for child in body.children)
            case _:
                stack.extend((child, types, None) for child in node.children if child.is_named)


def _finding(
    tree: SyntaxTree, text: str, node: Node, types: tuple[str, ...], definition_start: int | None
) -> Finding:
    start = tree.start(node)
    colon = next(child for child in reversed(node.children) if child.type == ":")
    signature_end = tree.end(colon)
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    assert name is not None
    column = columns(indentation_at(text, start))
    block = read_block(text, signature_end, column=column)
    problem: DropReason | None = None
    if not block.is_sound:
        problem = "syntax_error"
    elif body is None or _is_stub(body):
        problem = "no_body"
    return Finding(
        qualname=".".join((*types, tree.source(name))),
        definition_start=start if definition_start is None else definition_start,
        signature_start=start,
        signature_end=signature_end,
        end=block.end,
        problem=problem,
    )


def _is_stub(body: Node) -> bool:
    return all(
        child.type in ("comment", "pass_statement")
        or (
            child.type == "expression_statement"
            and child.child_count == 1
            and child.children[0].type in ("string", "concatenated_string", "ellipsis")
        )
        for child in body.children
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    column: int
    name: str
    is_function: bool


def _by_indentation(text: str) -> Iterator[Finding]:
    """Find functions where the tree cannot be trusted, by the indentation of ``class`` and ``def`` lines."""
    scopes: list[_Scope] = []
    decorator: tuple[int, int] | None = None  # where it begins, and its column
    for line in logical_lines(text, resync=True):
        if line.is_comment:
            continue
        while scopes and scopes[-1].column >= line.column:
            scopes.pop()
        if text[line.start] == "@":
            decorator = decorator or (line.start, line.column)
            continue
        definition, kind = _DEF.match(text, line.start), _CLASS.match(text, line.start)
        if definition and not any(scope.is_function for scope in scopes):
            types = [scope.name for scope in scopes]
            is_decorated = decorator is not None and decorator[1] == line.column
            yield _finding_alone(
                text,
                line.start,
                qualname=".".join([*types, definition[1]]),
                definition_start=decorator[0] if decorator is not None and is_decorated else line.start,
            )
        header = definition or kind
        if header:
            scopes.append(_Scope(column=line.column, name=header[1], is_function=definition is not None))
        decorator = None


def _finding_alone(text: str, start: int, *, qualname: str, definition_start: int) -> Finding:
    indentation = indentation_at(text, start)
    signature_end = header_end(text, start)
    problem: DropReason | None = "syntax_error"
    if signature_end is None:
        newline = text.find("\n", start)
        signature_end = end = len(text) if newline < 0 else newline
    else:
        end = read_block(text, signature_end, column=columns(indentation), resync=True).end
        definition = _definition(text[start:signature_end], text[signature_end:end], indentation)
        if definition is not None:
            body = definition.child_by_field_name("body")
            problem = "no_body" if body is None or _is_stub(body) else None
    return Finding(
        qualname=qualname,
        definition_start=definition_start,
        signature_start=start,
        signature_end=signature_end,
        end=end,
        problem=problem,
    )


# ---------------------------------------------------------------------------------------- completions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What stands in a completion.

    Attributes:
        status: ``ok`` if there is a body, parsed or not.
        body: Its text; "" unless there is one or comments stand in its place.
        is_ended: Whether more text could not change it.
    """

    status: str
    body: str
    is_ended: bool
    detail: str = ""


def _read(function: SourceFunction, completion: str) -> _Reading:
    raw = read_raw(completion, original=function.text[function.definition_start : function.end])
    text = raw.text
    indentation = indentation_at(function.text, function.signature_start)
    column = columns(indentation)
    name = function.qualname.rpartition(".")[2]
    begin = 0
    is_ended = bool(raw.rest)
    comments_end = 0
    preamble: str | None = None
    for line in logical_lines(" " + text, 1):
        # The blank in front stands for the signature: reading begins in the middle of its line.
        start = line.start - 1
        if line.is_comment:
            if preamble is None:
                comments_end = text.find("\n", start) if "\n" in text[start:] else len(text)
            continue
        is_outside = line.is_inline or line.column <= column
        definition = _DEF.match(text, start) if is_outside else None
        if definition is not None and definition[1] == name:
            return _read_repeated(text, start, indentation, is_ended=is_ended, rest=raw.rest)
        fence = OPENING_FENCE.match(text, start)
        if fence is not None and (preamble is None or is_outside):
            begin, preamble, comments_end = max(fence.end() - 1, 0), None, 0
            if not text.startswith("\n", begin):
                begin = len(text)
            continue
        if preamble is not None:
            continue
        if is_outside and (not line.is_inline or _NEXT_DEFINITION.match(text, start)):
            preamble = text[start : start + 40]
            continue
        block = read_block(" " + text, begin + 1, column=column, terminator=FENCE)
        return _Reading(
            status="ok",
            body=text[begin : block.end - 1],
            is_ended=is_ended or block.is_closed,
            detail=_cut_detail(text[block.end - 1 :] + raw.rest),
        )
    if preamble is None or _NEXT_DEFINITION.match(preamble):
        return _Reading(
            status="empty",
            body=text[begin:comments_end].rstrip(),
            is_ended=is_ended,
            detail="nothing but blanks and comments",
        )
    return _Reading(
        status="unparsed", body="", is_ended=is_ended, detail="the text after the signature is not indented"
    )


def _read_repeated(text: str, start: int, indentation: str, *, is_ended: bool, rest: str) -> _Reading:
    signature_end = header_end(text, start)
    if signature_end is None:
        return _Reading(
            status="unparsed", body="", is_ended=is_ended, detail="the repeated signature does not end"
        )
    own = indentation_at(text, start)
    block = read_block(text, signature_end, column=columns(own), terminator=FENCE)
    body = text[signature_end : block.end]
    if not block.has_code:
        return _Reading(
            status="empty", body=body, is_ended=is_ended, detail="a repeated signature without a body"
        )
    if own != indentation:
        body = _moved(body, own, indentation)
    return _Reading(
        status="ok",
        body=body,
        is_ended=is_ended or block.is_closed,
        detail=_cut_detail(text[block.end :] + rest, "a repeated signature was dropped"),
    )


def _moved(body: str, old: str, new: str) -> str:
    """Move every logical line, and every comment, from one base indentation to another."""
    pieces = []
    done = 0
    for line in logical_lines(" " + body, 1):
        start = body.rfind("\n", 0, line.start - 1) + 1
        if line.is_inline or not body.startswith(old, start):
            continue
        pieces += [body[done:start], new]
        done = start + len(old)
    return "".join([*pieces, body[done:]])


def _cut_detail(rest: str, *more: str) -> str:
    return "; ".join([*more, *(["text after the function was cut"] if rest.strip() else [])])


def _spellings(reading: _Reading, indentation: str) -> Iterator[str]:
    yield reading.body
    first, newline, below = reading.body.partition("\n")
    if not first.strip() or first.lstrip().startswith("#"):
        return
    inner = indentation + _BLOCK_INDENT
    for line in logical_lines(" " + reading.body, 1):
        if not line.is_inline and not line.is_comment:
            inner = indentation_at(reading.body, line.start - 1)
            break
    yield f"\n{inner}{first.lstrip()}{newline}{below}"


def _definition(signature: str, body: str, indentation: str) -> Node | None:
    """The function definition that is all of a text; None where there is an error or anything else in it."""
    if not read_block(signature + body, len(signature), column=columns(indentation)).is_sound:
        return None
    # An indented function needs something to be indented under.
    opening = "if 1:\n" if indentation else ""
    text = f"{opening}{indentation}{signature}{body}\n"
    tree = SyntaxTree("python", text)
    if tree.root.has_error:
        tree = SyntaxTree("python", joined(text))
    if tree.root.has_error or any(_is_half(node) for node in inner_nodes(tree.root)):
        return None
    children = _statements(tree.root)
    if opening and len(children) == 1:
        block = children[0].child_by_field_name("consequence")
        children = [] if block is None else _statements(block)
    if len(children) == 1 and children[0].type == "function_definition":
        return children[0]
    return None


def _is_half(node: Node) -> bool:
    """Whether a ``try`` has nothing after it, which tree-sitter overlooks."""
    return node.type == "try_statement" and not any(
        child.type in ("except_clause", "except_group_clause", "finally_clause") for child in node.children
    )


def _statements(block: Node) -> list[Node]:
    return [child for child in block.children if child.type != "comment"]
