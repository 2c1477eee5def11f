"""What one operation shows about the values it works on, as votes on their evidence."""

from __future__ import annotations

import ast

from pytest_funcmem.harness.local.analysis import Analysis, dotted_name
from pytest_funcmem.harness.local.evidence import Evidence
from pytest_funcmem.harness.local.vocabulary import ARGUMENT_KINDS, ITERATORS, TYPE_KINDS

__all__ = [
    "container_of",
    "measured_in",
    "split_text",
    "vote_arithmetic",
    "vote_call",
    "vote_comparison",
    "vote_format",
    "vote_instance",
    "vote_membership",
]

_PATTERN_FUNCTIONS = frozenset(
    f"re.{name}" for name in ("search", "match", "fullmatch", "findall", "sub", "split")
)


def vote_call(name: str, node: ast.Call, arguments: list[Evidence | None]) -> None:
    """Being handed to a function of the standard library."""
    first = arguments[0] if arguments else None
    if first is not None:
        _vote_first(name, first, node)
    if name.startswith("math."):
        for found in arguments:
            if found is not None:
                found.vote("number", 3)
    if name in _PATTERN_FUNCTIONS:
        _vote_pattern(node, arguments)
    if name.endswith("strptime") and len(node.args) == 2 and first is not None:
        first.vote("str", 4)
        if isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str):
            first.formats.setdefault(("date", node.args[1].value))


def _vote_first(name: str, first: Evidence, node: ast.Call) -> None:
    """Being the first argument of a well-known function."""
    if name in ARGUMENT_KINDS:
        first.vote(*ARGUMENT_KINDS[name])
    elif name in ITERATORS and len(node.args) == 1:
        first.vote("list", 2)
        if name == "sum":
            first.any_element().vote("number", 2)
    elif name in ("int", "float"):
        first.vote("numeric", 1)
    elif name in ("map", "filter") and len(node.args) > 1:
        first.vote("callable", 1)


def vote_arithmetic(
    op: ast.operator,
    left: ast.expr,
    left_found: Evidence | None,
    right: ast.expr,
    right_found: Evidence | None,
) -> Evidence | None:
    """Being an operand; the result is taken to be like the operand that is known."""
    for found, other in ((left_found, right), (right_found, left)):
        if found is None:
            continue
        match other:
            case ast.Constant(value=str()) | ast.JoinedStr():
                if isinstance(op, ast.Add):
                    found.vote("str")
            case ast.Constant(value=bytes()):
                found.vote("bytes")
            case ast.List() | ast.ListComp():
                if isinstance(op, ast.Add):
                    found.vote("list")
            case ast.Constant(value=float()):
                found.vote("number", 3)
            case _ if not (isinstance(left, ast.Constant | ast.JoinedStr) and isinstance(op, ast.Mod)):
                found.vote(*_operand_vote(op))
    return left_found or right_found


def _operand_vote(op: ast.operator) -> tuple[str, int]:
    match op:
        case (
            ast.BitAnd()
            | ast.BitOr()
            | ast.BitXor()
            | ast.LShift()
            | ast.RShift()
            | ast.Mod()
            | ast.FloorDiv()
        ):
            return "int", 2
        case ast.Add():
            return "number", 1
        case _:
            return "number", 2


def vote_comparison(op: ast.cmpop, found: Evidence, texts: list[str], *, exact: bool) -> None:
    """Being compared with constants; ``exact`` where they stand in the comparison itself."""
    found.known(texts)
    for text in texts[:3]:
        if text[0] in "-0123456789":
            found.vote("number", 2)
            if exact and "." not in text and "e" not in text:
                found.vote("int", 1)
        elif text[0] in "'\"":
            found.vote("str", 2)
        elif text in ("True", "False"):
            found.vote("bool", 2)
    if not texts and isinstance(op, ast.Lt | ast.Gt | ast.LtE | ast.GtE):
        found.vote("number", 1)


def vote_format(found: Evidence, spec: ast.expr) -> None:
    """Being written by a format specification."""
    if isinstance(spec, ast.Constant) and isinstance(spec.value, str):
        if spec.value[-1:] in ("f", "e", "g", "%"):
            found.vote("float")
        elif spec.value[-1:] in ("d", "x", "b", "o"):
            found.vote("int")


def vote_instance(analysis: Analysis, found: Evidence, types: ast.expr) -> None:
    """Being tested with ``isinstance``."""
    for item in types.elts if isinstance(types, ast.Tuple) else [types]:
        name = dotted_name(item)
        short = name.rsplit(".", 1)[-1]
        if short in TYPE_KINDS:
            found.vote(TYPE_KINDS[short], 2)
            found.vote("union:" + TYPE_KINDS[short], 0)
        elif isinstance(analysis.definitions.get(name), ast.ClassDef):
            found.vote(f"class:{name}", 2)


def vote_membership(found: Evidence, text: str | None) -> None:
    """Being searched for a constant, given as source, or for something else (None)."""
    if text is None:
        found.vote("list", 1)
        return
    found.vote("dict", 1)
    found.vote("list", 1)
    if text[0] in "'\"":
        found.vote("str", 2)
        found.formats.setdefault(("contains", text))
    found.any_element().known([text])


def split_text(base: Evidence, name: str, texts: list[str]) -> Evidence:
    """Being split; gives the evidence of the pieces."""
    separator = repr("\n" if name == "splitlines" else " ")
    if texts and texts[0][0] in "'\"":
        separator = texts[0]
    base.formats.setdefault(("separator", separator))
    piece = base.attribute("<piece>")
    piece.vote("str")
    return container_of(piece)


def container_of(inner: Evidence) -> Evidence:
    """Evidence of something that holds values of which something is known."""
    found = Evidence(depth=inner.depth)
    found.element = inner
    return found


def measured_in(node: ast.expr) -> ast.expr | None:
    """What ``len(…)`` measures; None for any other expression."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            return inner
        case _:
            return None


def _vote_pattern(node: ast.Call, arguments: list[Evidence | None]) -> None:
    """Being searched with a regular expression."""
    place = 2 if isinstance(node.func, ast.Attribute) and node.func.attr == "sub" else 1
    if place < len(arguments) and (found := arguments[place]) is not None:
        found.vote("str")
        if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            found.formats.setdefault(("pattern", node.args[0].value))
