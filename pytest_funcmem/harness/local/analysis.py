"""Reads the original and its file: parameters, kind, definitions, imports, free names.

Works on text alone and never imports or executes anything of it. A source may be a fragment that starts or
ends in the middle of something; what parses is analysed.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pytest_funcmem.core.records import SourceFunction

__all__ = [
    "Analysis",
    "FunctionKind",
    "FunctionNode",
    "Parameter",
    "UnreadableFunctionError",
    "analyse",
    "dotted_name",
    "own_nodes",
    "parse_quietly",
]

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FunctionKind = Literal["function", "method", "classmethod", "staticmethod", "property", "nested"]
ParameterKind = Literal["positional", "keyword", "var_positional", "var_keyword"]

_BUILTIN_NAMES = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__class__",
    "__annotations__",
}
_PARSE_LOCK = threading.Lock()
_MAX_CHUNK_JOINS = 4


class UnreadableFunctionError(Exception):
    """The function cannot be parsed by this interpreter; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter as it is declared, receiver excluded.

    Attributes:
        hint: Annotation as a syntax tree; None without one.
        default: Default as a syntax tree; None without one.
    """

    name: str
    kind: ParameterKind
    hint: ast.expr | None
    default: ast.expr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What the text of the original and of its file tells.

    Attributes:
        node: The function, with line numbers of the file.
        owners: Classes around it, outermost first.
        module: The statements of the file that parse, in order.
        definitions: Module-level functions, classes and assigned values by name (the last one wins).
        imports: Names bound by imports anywhere at module level, with the dotted name they stand for.
        receiver: Name of ``self`` or ``cls`` in the function; None without one.
        missing: Names that the function reads and that nothing in sight defines, in order.
    """

    source: SourceFunction
    node: FunctionNode
    owners: tuple[ast.ClassDef, ...]
    kind: FunctionKind
    is_async: bool
    is_generator: bool
    parameters: tuple[Parameter, ...]
    receiver: str | None
    module: tuple[ast.stmt, ...]
    definitions: dict[str, ast.stmt | ast.expr]
    imports: dict[str, str]
    missing: tuple[str, ...]

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class that the function stands in, if any."""
        return self.owners[-1] if self.owners else None


def parse_quietly(text: str) -> ast.Module:
    """Parse without letting the warnings of hostile text out.

    Raises:
        UnreadableFunctionError: It does not parse, nests too deeply or is too large.
    """
    try:
        with _PARSE_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as exc:
        raise UnreadableFunctionError(f"line {exc.lineno}: {exc.msg}") from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        raise UnreadableFunctionError(f"{type(exc).__name__}: {exc}") from exc


def analyse(function: SourceFunction) -> Analysis:
    """Read a function and its file.

    Raises:
        UnreadableFunctionError: The function itself does not parse.
    """
    try:
        return _analyse(function)
    except (RecursionError, MemoryError) as exc:
        raise UnreadableFunctionError(f"{type(exc).__name__}: {exc}") from exc


def _analyse(function: SourceFunction) -> Analysis:
    module = _statements(function.text)
    found = _locate(module, function)
    if found is None:
        found = _parse_alone(function)
    node, owners, nested = found
    definitions, imports = _bindings(module)
    kind = "nested" if nested else _kind(node, owners)
    parameters, receiver = _parameters(node, kind)
    return Analysis(
        source=function,
        node=node,
        owners=owners,
        kind=kind,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        is_generator=any(isinstance(item, ast.Yield | ast.YieldFrom) for item in own_nodes(node)),
        parameters=parameters,
        receiver=receiver,
        module=module,
        definitions=definitions,
        imports=imports,
        missing=_missing_names(node, module, definitions, imports),
    )


def _statements(text: str) -> tuple[ast.stmt, ...]:
    try:
        return tuple(parse_quietly(text).body)
    except UnreadableFunctionError:
        return tuple(_fragment_statements(text))


def _fragment_statements(text: str) -> Iterator[ast.stmt]:
    """Parse a broken file by top-level chunks, joining one to what follows where that makes it parse."""
    lines = text.split("\n")
    starts = [
        number
        for number, line in enumerate(lines)
        if re.match(r"[A-Za-z_@]", line) and not re.match(r"(else|elif|except|finally)\b", line)
    ]
    # A decorator belongs to what follows it.
    starts = [
        number
        for place, number in enumerate(starts)
        if place == 0 or not lines[starts[place - 1]].startswith("@")
    ]
    starts.append(len(lines))
    position = 0
    while position < len(starts) - 1:
        for reach in range(1, _MAX_CHUNK_JOINS + 1):
            if position + reach >= len(starts):
                break
            first, last = starts[position], starts[position + reach]
            try:
                chunk = parse_quietly("\n".join(lines[first:last]))
            except UnreadableFunctionError:
                continue
            for statement in chunk.body:
                ast.increment_lineno(statement, first)
                yield statement
            position += reach - 1
            break
        position += 1


def _locate(
    module: tuple[ast.stmt, ...], function: SourceFunction
) -> tuple[FunctionNode, tuple[ast.ClassDef, ...], bool] | None:
    name = function.qualname.rsplit(".", 1)[-1]
    stack: list[tuple[ast.AST, tuple[ast.ClassDef, ...], bool]] = [
        (item, (), False) for item in reversed(module)
    ]
    while stack:
        node, owners, nested = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.lineno == function.line and node.name == name:
                return node, owners, nested
            nested = True
        elif isinstance(node, ast.ClassDef):
            owners = (*owners, node)
        elif isinstance(node, ast.expr):
            continue
        stack.extend((child, owners, nested) for child in ast.iter_child_nodes(node))
    return None


def _parse_alone(function: SourceFunction) -> tuple[FunctionNode, tuple[ast.ClassDef, ...], bool]:
    line_start = function.text.rfind("\n", 0, function.signature_start) + 1
    indent = function.text[line_start : function.signature_start]
    tree = parse_quietly(textwrap.dedent((indent if not indent.strip() else "") + function.code))
    node = tree.body[0] if tree.body else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise UnreadableFunctionError("the text of the function is no function definition")
    ast.increment_lineno(node, function.line - node.lineno)
    owners = tuple(
        ast.ClassDef(name=owner, bases=[], keywords=[], body=[], decorator_list=[])
        for owner in function.qualname.split(".")[:-1]
    )
    return node, owners, False


def _kind(node: FunctionNode, owners: tuple[ast.ClassDef, ...]) -> FunctionKind:
    if not owners:
        return "function"
    decorators = {dotted_name(item).rsplit(".", 1)[-1] for item in node.decorator_list}
    if "staticmethod" in decorators:
        return "staticmethod"
    if "classmethod" in decorators or node.name in ("__init_subclass__", "__class_getitem__"):
        return "classmethod"
    if decorators & {"property", "cached_property", "setter", "deleter"}:
        return "property"
    return "method"


def _parameters(node: FunctionNode, kind: FunctionKind) -> tuple[tuple[Parameter, ...], str | None]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    gaps: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = [
        Parameter(name=item.arg, kind="positional", hint=_hint(item.annotation), default=default)
        for item, default in zip(positional, gaps + list(arguments.defaults), strict=True)
    ]
    receiver = None
    if kind in ("method", "classmethod", "property") and found:
        receiver = found.pop(0).name
    if arguments.vararg is not None:
        hint = _hint(arguments.vararg.annotation)
        found.append(Parameter(name=arguments.vararg.arg, kind="var_positional", hint=hint, default=None))
    found.extend(
        Parameter(name=item.arg, kind="keyword", hint=_hint(item.annotation), default=default)
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    )
    if arguments.kwarg is not None:
        hint = _hint(arguments.kwarg.annotation)
        found.append(Parameter(name=arguments.kwarg.arg, kind="var_keyword", hint=hint, default=None))
    return tuple(found), receiver


def _hint(annotation: ast.expr | None) -> ast.expr | None:
    """Read a hint that is written as a string, too."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            statement = parse_quietly(annotation.value.strip()).body
        except UnreadableFunctionError:
            return None
        if len(statement) == 1 and isinstance(statement[0], ast.Expr):
            return statement[0].value
        return None
    return annotation


def _bindings(module: tuple[ast.stmt, ...]) -> tuple[dict[str, ast.stmt | ast.expr], dict[str, str]]:
    definitions: dict[str, ast.stmt | ast.expr] = {}
    imports: dict[str, str] = {}
    stack: list[ast.stmt] = list(reversed(module))
    while stack:
        item = stack.pop()
        match item:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                definitions[item.name] = item
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            definitions[name.id] = value if name is target else item
            case ast.AnnAssign(target=ast.Name(id=name_id), value=value):
                if value is not None:
                    definitions[name_id] = value
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.split(".")[0]
                    imports[bound] = alias.name if alias.asname else bound
            case ast.ImportFrom(module=origin, names=names, level=level):
                for alias in names:
                    imports[alias.asname or alias.name] = "." * level + f"{origin or ''}.{alias.name}".lstrip(
                        "."
                    )
            case _:
                # Names bound under a guard (try around an import, if TYPE_CHECKING) are bound all the same.
                inner: list[ast.stmt] = []
                for child in ast.iter_child_nodes(item):
                    if isinstance(child, ast.stmt):
                        inner.append(child)
                    elif isinstance(child, ast.ExceptHandler):
                        inner.extend(child.body)
                    elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                        definitions[child.id] = item
                stack.extend(reversed(inner))
    return definitions, imports


def own_nodes(node: FunctionNode) -> Iterator[ast.AST]:
    """Walk a function's body in source order, without the bodies of functions and classes defined in it."""
    stack: list[ast.AST] = list(reversed(node.body))
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        stack.extend(reversed(list(ast.iter_child_nodes(item))))


def _missing_names(
    node: FunctionNode,
    module: tuple[ast.stmt, ...],
    definitions: dict[str, ast.stmt | ast.expr],
    imports: dict[str, str],
) -> tuple[str, ...]:
    bound = {
        item.id
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load)
    }
    for item in ast.walk(node):
        match item:
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.AsyncFunctionDef(name=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.split(".")[0])
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                bound.add(name)
    star = any(isinstance(item, ast.ImportFrom) and item.names[0].name == "*" for item in module)
    if star:
        return ()
    missing: dict[str, None] = {}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            known = (
                item.id in bound or item.id in definitions or item.id in imports or item.id in _BUILTIN_NAMES
            )
            if not known:
                missing[item.id] = None
    return tuple(missing)


def dotted_name(node: ast.expr) -> str:
    """``a.b`` for ``a.b``, ``a.b(...)`` and ``a.b[...]``: decorators, bases, hints; else ''."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            prefix = dotted_name(value)
            return f"{prefix}.{attr}" if prefix else ""
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return dotted_name(inner)
        case _:
            return ""
