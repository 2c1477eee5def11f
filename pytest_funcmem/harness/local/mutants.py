"""Small mutants of a Python original: one constant, comparison, branch, operator or result changed each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.local.analysis import FunctionNode, dotted_name
from pytest_funcmem.harness.local.rewriting import UnwritableCodeError, code_with_body

__all__ = ["Mutant", "make_mutants"]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed original.

    Attributes:
        sort: What was changed: ``constant``, ``comparison``, ``branch``, ``operator``, ``boolean`` or
            ``result``.
        lines: Lines of the changed statement in the original (of its head, if it has a body), relative to the
            signature's line. Where none of them is executed, the mutant does what the original does.
        code: Signature and body.
    """

    sort: str
    lines: frozenset[int]
    code: str


def make_mutants(function: SourceFunction, node: FunctionNode, *, limit: int) -> tuple[Mutant, ...]:
    """Make mutants, spread evenly over the function where there are more than wanted.

    Those that look equivalent are not left out: whoever reads the share that was told apart should know that
    it is a lower bound.

    Args:
        function: The original.
        node: Its syntax tree, with line numbers of the file.
        limit: Most mutants.
    """
    places = list(_places(node))
    if len(places) > limit:
        places = [places[number * len(places) // limit] for number in range(limit)]
    mutants: list[Mutant] = []
    seen: set[str] = set()
    for sort, lines, index, variant in places:
        body = _mutated(node, index, variant)
        try:
            code = code_with_body(function, body)
        except UnwritableCodeError:
            continue
        if code not in seen:
            seen.add(code)
            mutants.append(Mutant(sort=sort, lines=lines, code=code))
    return tuple(mutants)


def _places(node: FunctionNode) -> Iterator[tuple[str, frozenset[int], int, int]]:
    """(sort, relative lines, number of the node in a walk, variant) of every change, in source order."""
    found: list[tuple[int, int, int, str, int]] = []
    lines: dict[int, range] = {}
    skipped = _left_alone(node)
    statements = _statement_lines(node)
    for index, item in enumerate(_walk(node)):
        if id(item) in skipped:
            continue
        place = getattr(item, "lineno", node.lineno), getattr(item, "col_offset", 0)
        for variant, (sort, _) in enumerate(_variants(item)):
            found.append((*place, index, sort, variant))
            lines[index] = statements[id(item)]
    for _, _, index, sort, variant in sorted(found):
        yield sort, frozenset(line - node.lineno for line in lines[index]), index, variant


def _statement_lines(node: FunctionNode) -> dict[int, range]:
    """For every node below a statement, the lines of the innermost statement around it, without its body."""
    found: dict[int, range] = {}
    stack: list[tuple[ast.AST, range]] = [(statement, _head_lines(statement)) for statement in node.body]
    while stack:
        item, lines = stack.pop()
        if isinstance(item, ast.stmt):
            lines = _head_lines(item)
        found[id(item)] = lines
        stack.extend((child, lines) for child in ast.iter_child_nodes(item))
    return found


def _head_lines(statement: ast.stmt) -> range:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(body, list) and body:
        first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        last = max(statement.lineno, min(last, first.lineno - 1))
    return range(statement.lineno, last + 1)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for statement in node.body:
            yield from ast.walk(statement)


def _left_alone(node: FunctionNode) -> set[int]:
    """Docstrings, annotations, parts of formatted strings, and arguments of logging calls."""
    skipped: set[int] = set()
    for item in _walk(node):
        match item:
            case ast.Expr(value=ast.Constant()):
                skipped.update(id(inner) for inner in ast.walk(item))
            case ast.AnnAssign(annotation=annotation):
                skipped.update(id(inner) for inner in ast.walk(annotation))
            case ast.JoinedStr(values=values):
                skipped.update(id(inner) for inner in values if isinstance(inner, ast.Constant))
            case ast.FormattedValue(format_spec=ast.JoinedStr() as spec):
                skipped.update(id(inner) for inner in ast.walk(spec))
            case ast.match_case(pattern=pattern):
                skipped.update(id(inner) for inner in ast.walk(pattern))
            case ast.Call(func=func) if "log" in dotted_name(func).split(".")[0].lower():
                skipped.update(id(inner) for inner in ast.walk(item))
    return skipped


def _variants(node: ast.AST) -> Sequence[tuple[str, ast.AST]]:
    """The changes of one node, each as (sort, what stands in its place)."""
    match node:
        case ast.Constant(value=bool() as value):
            return [("constant", ast.Constant(value=not value))]
        case ast.Constant(value=int() as value):
            return [("constant", ast.Constant(value=value + 1)), ("constant", ast.Constant(value=value - 1))][
                : 2 if value not in (0, 1) else 1
            ]
        case ast.Constant(value=float() as value):
            return [("constant", ast.Constant(value=value * 2 + 1.0))]
        case ast.Constant(value=str() as value):
            return [("constant", ast.Constant(value=value + "x" if value else "x"))]
        case ast.Constant(value=bytes() as content):
            return [("constant", ast.Constant(value=content + b"x"))]
        case ast.Compare(left=left, ops=[first, *rest], comparators=comparators):
            return [
                ("comparison", ast.Compare(left=left, ops=[other(), *rest], comparators=comparators))
                for other in _COMPARISONS[type(first)]
            ]
        case ast.If(test=test, body=body, orelse=orelse) if not isinstance(test, ast.Compare):
            return [("branch", ast.If(test=_negated(test), body=body, orelse=orelse))]
        case ast.IfExp(test=test, body=first_value, orelse=second_value):
            return [("branch", ast.IfExp(test=test, body=second_value, orelse=first_value))]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return [("operator", ast.BinOp(left=left, op=_OPERATORS[type(op)](), right=right))]
        case ast.AugAssign(target=target, op=op, value=value_node) if type(op) in _OPERATORS:
            return [("operator", ast.AugAssign(target=target, op=_OPERATORS[type(op)](), value=value_node))]
        case ast.BoolOp(op=op, values=values):
            return [
                ("boolean", ast.BoolOp(op=ast.And() if isinstance(op, ast.Or) else ast.Or(), values=values))
            ]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [("boolean", operand)]
        case ast.Return(value=ast.expr() as returned) if not _is_none(returned):
            return [("result", ast.Return(value=ast.Constant(value=None)))]
        case ast.Break():
            return [("branch", ast.Continue())]
        case ast.Continue():
            return [("branch", ast.Break())]
        case _:
            return []


def _negated(test: ast.expr) -> ast.expr:
    return (
        test.operand
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        else ast.UnaryOp(op=ast.Not(), operand=test)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _mutated(node: FunctionNode, index: int, variant: int) -> list[ast.stmt]:
    changed: ast.AST = copy.deepcopy(node)
    target = next(item for place, item in enumerate(_walk(changed)) if place == index)
    new = _variants(target)[variant][1]

    class Replacing(ast.NodeTransformer):
        def visit(self, item: ast.AST) -> ast.AST:
            return new if item is target else self.generic_visit(item)

    changed = Replacing().generic_visit(changed)
    return changed.body if isinstance(changed, ast.FunctionDef | ast.AsyncFunctionDef) else []
