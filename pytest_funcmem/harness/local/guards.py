"""Finds what stands between the states found so far and the lines that none of them reached."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_funcmem.harness.local.analysis import Analysis, dotted_name
from pytest_funcmem.harness.local.literals import literals_in

__all__ = ["Wish", "parameters_behind", "wishes"]

_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A condition to be turned the other way, or a place to be interrupted by an exception.

    Attributes:
        names: Parameters (or the receiver) that it depends on.
        constants: Source of the constants that it compares with, and of those they come from.
        line: Relative line of the condition; a state that reached it is a good place to begin.
        last: Last relative line of the condition, or of the block to be interrupted.
        raises: Expressions of the exceptions that lead on; empty for a condition.
        origins: Relative lines of the statements that its names were assigned in.
        none: Whether it tests for None, which no made-up object notices.
        kinds: Source of values of the types that it tests for.
    """

    names: tuple[str, ...]
    constants: tuple[str, ...]
    line: int
    last: int = 0
    raises: tuple[str, ...] = ()
    origins: tuple[int, ...] = ()
    none: bool = False
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guard:
    nodes: tuple[ast.AST, ...]
    first: int
    last: int
    raises: tuple[str, ...] = ()


def wishes(analysis: Analysis, missed: Iterable[int]) -> tuple[Wish, ...]:
    """What guards missed lines, innermost first for each line.

    Args:
        analysis: The original and its file.
        missed: Lines that no valid state reached, relative to the signature's line.
    """
    behind = parameters_behind(analysis)
    lines = set(missed)
    start = analysis.node.lineno
    found: dict[Wish, None] = {}
    # Blocks still to be read, each with the guards before it, outermost first.
    blocks: list[tuple[list[ast.stmt], tuple[_Guard, ...]]] = [(analysis.node.body, ())]
    while blocks:
        block, before = blocks.pop()
        for statement in block:
            if statement.lineno - start in lines:
                for passed in reversed(before):
                    found.setdefault(_wish(analysis, passed, behind, start))
            guard = _guard(statement)
            inner = before if guard is None else (*before, guard)
            blocks.extend((part, inner) for part in _blocks(statement))
            blocks.extend(
                (handler.body, (*before, _interruption(statement, handler)))
                for handler in getattr(statement, "handlers", [])
            )
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], _EXITS):
                # What follows ``if …: return`` is guarded by that condition, too.
                before = inner
            elif isinstance(statement, ast.For | ast.While) and guard is not None:
                before = inner
    return tuple(found)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.body]
    parts = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    parts += [case.body for case in getattr(statement, "cases", [])]
    return [part for part in parts if part]


def _guard(node: ast.stmt) -> _Guard | None:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            pass
        case ast.For(iter=test) | ast.AsyncFor(iter=test):
            pass
        case ast.Match(subject=test):
            pass
        case _:
            return None
    return _Guard(nodes=(test,), first=test.lineno, last=test.end_lineno or test.lineno)


def _interruption(statement: ast.stmt, handler: ast.ExceptHandler) -> _Guard:
    """The way into an exception handler: one of its exceptions out of the guarded block."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    raises = [_exception(dotted_name(kind)) if kind is not None else "RuntimeError('boom')" for kind in kinds]
    last = body[-1].end_lineno or body[-1].lineno
    return _Guard(
        nodes=tuple(body), first=body[0].lineno, last=last, raises=tuple(text for text in raises if text)
    )


def _exception(name: str) -> str:
    """Source of an exception of a type."""
    short = name.rsplit(".", 1)[-1]
    arguments = {
        "UnicodeDecodeError": "'utf-8', b'\\xff', 0, 1, 'invalid start byte'",
        "UnicodeEncodeError": "'ascii', 'é', 0, 1, 'ordinal not in range'",
        "CalledProcessError": "1, 'command'",
        "TimeoutExpired": "'command', 5",
        "JSONDecodeError": "'Expecting value', '', 0",
        "KeyError": "'key'",
        "OSError": "2, 'No such file or directory'",
        "IOError": "2, 'No such file or directory'",
        "FileNotFoundError": "2, 'No such file or directory'",
        "HTTPError": "'http://example.com', 404, 'Not Found', {}, None",
        "Exception": "'boom'",
        "KeyboardInterrupt": "",
        "StopIteration": "",
    }
    return f"{name}({arguments.get(short, repr('boom'))})" if name else ""


def _wish(analysis: Analysis, guard: _Guard, behind: dict[str, frozenset[str]], start: int) -> Wish:
    names: dict[str, None] = {}
    roots: list[ast.AST] = list(guard.nodes)
    for item in [inner for node in guard.nodes for inner in ast.walk(node)]:
        if isinstance(item, ast.Name):
            for parameter in sorted(behind.get(item.id, ())):
                names.setdefault(parameter)
            definition = analysis.definitions.get(item.id)
            if definition is not None and not isinstance(definition, ast.stmt):
                roots.append(definition)
            elif item.id not in behind:
                roots.extend(_assigned(analysis, item.id))
    return Wish(
        names=tuple(names),
        constants=tuple(dict.fromkeys(literals_in(roots)))[:24],
        line=max(0, guard.first - start),
        last=max(0, guard.last - start),
        raises=guard.raises,
        origins=tuple(dict.fromkeys(_origins(analysis, guard.nodes, start))),
        none=any(
            isinstance(item, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in item.ops)
            for node in guard.nodes
            for item in ast.walk(node)
        ),
        kinds=tuple(dict.fromkeys(_kinds(analysis, guard.nodes))),
    )


def _kinds(analysis: Analysis, nodes: Iterable[ast.AST]) -> list[str]:
    """Source of values of the types that ``isinstance`` is asked for, and of what names are compared with."""
    found: list[str] = []
    for item in [inner for node in nodes for inner in ast.walk(node)]:
        match item:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                for kind in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
                    name = dotted_name(kind)
                    if isinstance(analysis.definitions.get(name), ast.ClassDef):
                        found.append(f"stand_in({name})")
                    elif name.rsplit(".", 1)[-1] in _SAMPLES:
                        found.append(_SAMPLES[name.rsplit(".", 1)[-1]])
            case ast.Call(func=ast.Name(id="callable")):
                found.append("len")
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=comparators):
                for side in comparators:
                    for kind in side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]:
                        name = dotted_name(kind).rsplit(".", 1)[-1]
                        found.extend([_SAMPLES[name]] if name in _SAMPLES else [])
            case ast.Compare(left=left, comparators=comparators):
                for side in (left, *comparators):
                    parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
                    found.extend(name for part in parts if (name := _shared_name(analysis, part)))
    return found


def _shared_name(analysis: Analysis, node: ast.expr) -> str:
    """A dotted name that means the same all over the file, such as a member of an enumeration; else ''."""
    name = dotted_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    root = name.partition(".")[0]
    shared = root in analysis.definitions or root in analysis.imports
    return name if shared and all(item.name != root for item in analysis.parameters) else ""


_SAMPLES = {
    "str": "'text'",
    "basestring": "'text'",
    "unicode": "'text'",
    "string_types": "'text'",
    "text_type": "'text'",
    "bytes": "b'text'",
    "int": "3",
    "Integral": "3",
    "float": "2.5",
    "Number": "2.5",
    "bool": "True",
    "list": "['a', 'b']",
    "Sequence": "['a', 'b']",
    "Iterable": "['a', 'b']",
    "tuple": "(1, 2)",
    "set": "{1, 2}",
    "dict": "{'a': 1, 'b': 'c'}",
    "Mapping": "{'a': 1, 'b': 'c'}",
    "datetime": "__import__('datetime').datetime(2024, 3, 1, 12, 30)",
    "date": "__import__('datetime').date(2024, 3, 1)",
    "timedelta": "__import__('datetime').timedelta(days=1)",
    "Decimal": "__import__('decimal').Decimal('1.5')",
    "Path": "__import__('pathlib').Path('data.txt')",
    "PathLike": "__import__('pathlib').Path('data.txt')",
    "Exception": "ValueError('bad')",
    "BaseException": "ValueError('bad')",
    "type": "int",
    "slice": "slice(1, 3)",
    "range": "range(3)",
    "complex": "1j",
    "frozenset": "frozenset({1, 2})",
    "bytearray": "bytearray(b'text')",
    "memoryview": "memoryview(b'text')",
    "Callable": "len",
    "FunctionType": "(lambda *items: None)",
    "LambdaType": "(lambda *items: None)",
    "ModuleType": "__import__('math')",
    "Iterator": "iter(['a', 'b'])",
    "Generator": "(item for item in ['a', 'b'])",
    "GeneratorType": "(item for item in ['a', 'b'])",
    "Set": "{1, 2}",
    "MutableMapping": "{'a': 1, 'b': 'c'}",
    "MutableSequence": "['a', 'b']",
    "Collection": "['a', 'b']",
    "OrderedDict": "__import__('collections').OrderedDict(a=1)",
    "defaultdict": "__import__('collections').defaultdict(list)",
    "Counter": "__import__('collections').Counter('aab')",
    "deque": "__import__('collections').deque([1, 2])",
    "Fraction": "__import__('fractions').Fraction(1, 2)",
    "UUID": "__import__('uuid').UUID(int=7)",
    "Pattern": "__import__('re').compile('a+')",
    "StringIO": "__import__('io').StringIO('text')",
    "TextIOBase": "__import__('io').StringIO('text')",
    "BytesIO": "__import__('io').BytesIO(b'text')",
    "IOBase": "__import__('io').BytesIO(b'text')",
    "Element": "__import__('xml.etree.ElementTree').etree.ElementTree.Element('a')",
}
"""Type -> source of a value of it."""


def _origins(analysis: Analysis, nodes: Iterable[ast.AST], start: int) -> list[int]:
    """Relative lines in which the names of some nodes, and the names behind those, get their values."""
    found: list[int] = []
    wanted = {item.id for node in nodes for item in ast.walk(node) if isinstance(item, ast.Name)}
    for _ in range(2):
        behind: set[str] = set()
        for item in ast.walk(analysis.node):
            match item:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    targets = [target]
                case ast.NamedExpr(target=target, value=value) | ast.For(target=target, iter=value):
                    targets = [target]
                case _:
                    continue
            names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            if names & wanted:
                found.extend(range(value.lineno - start, (value.end_lineno or value.lineno) - start + 1))
                behind |= {name.id for name in ast.walk(value) if isinstance(name, ast.Name)}
        wanted = behind - wanted
    return found


def _assigned(analysis: Analysis, name: str) -> list[ast.AST]:
    return [
        item.value
        for item in ast.walk(analysis.node)
        if isinstance(item, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in item.targets)
    ]


def parameters_behind(analysis: Analysis) -> dict[str, frozenset[str]]:
    """For each local name, the parameters (and the receiver) that its value may come from."""
    behind = {parameter.name: frozenset({parameter.name}) for parameter in analysis.parameters}
    if analysis.receiver is not None:
        behind[analysis.receiver] = frozenset({analysis.receiver})
    for _ in range(3):
        for item in ast.walk(analysis.node):
            match item:
                case ast.Assign(targets=targets, value=value):
                    _flow(behind, targets, value)
                case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                    _flow(behind, [target], value)
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                    _flow(behind, [target], value)
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                    _flow(behind, [target], value)
    return behind


def _flow(behind: dict[str, frozenset[str]], targets: list[ast.expr], value: ast.expr) -> None:
    sources: frozenset[str] = frozenset()
    for item in ast.walk(value):
        if isinstance(item, ast.Name):
            sources |= behind.get(item.id, frozenset())
    if not sources:
        return
    for target in targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                behind[name.id] = behind.get(name.id, frozenset()) | sources
