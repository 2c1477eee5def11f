"""The original with its local names changed: a rewriting that cannot change behaviour, used as a proof."""

from __future__ import annotations

import ast
import copy

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.local.analysis import FunctionNode, dotted_name
from pytest_funcmem.harness.local.rewriting import UnwritableCodeError, code_with_body

__all__ = ["renamed_code"]

_NAME_READERS = frozenset(
    {"locals", "vars", "eval", "exec", "dir", "globals", "inspect.currentframe", "sys._getframe"}
)


def renamed_code(function: SourceFunction, node: FunctionNode) -> str | None:
    """Rename the true local variables of a function.

    Parameters, names shared with nested functions' parameters, imports, definitions, globals and nonlocals
    keep their names.

    Returns:
        Signature and body; None where there is no such name, where the function looks its own names up
        (``locals()``, ``eval``), or where the result cannot be written.
    """
    names = _renameable(node)
    if not names:
        return None
    taken = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    mapping: dict[str, str] = {}
    for number, name in enumerate(names):
        new = f"{name}_{number}_renamed"
        while new in taken:
            new += "_"
        mapping[name] = new
    changed = copy.deepcopy(node)
    for statement in changed.body:
        for item in ast.walk(statement):
            if isinstance(item, ast.Name) and item.id in mapping:
                item.id = mapping[item.id]
            elif isinstance(item, ast.ExceptHandler) and item.name in mapping:
                item.name = mapping[item.name]
    try:
        return code_with_body(function, changed.body)
    except UnwritableCodeError:
        return None


def _renameable(node: FunctionNode) -> list[str]:
    bound: dict[str, None] = {}
    kept: set[str] = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
    comprehension_targets: set[int] = set()
    for statement in node.body:
        for item in ast.walk(statement):
            match item:
                case ast.Call(func=func) if dotted_name(func) in _NAME_READERS:
                    return []
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    kept.update(names)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    kept.add(name)
                case ast.ClassDef(name=name):
                    kept.add(name)
                    # Names assigned in a class body are attributes.
                    kept.update(inner.id for inner in ast.walk(item) if isinstance(inner, ast.Name))
                case ast.alias(name=name, asname=asname):
                    kept.add(asname or name.split(".")[0])
                case (
                    ast.MatchAs(name=str(name))
                    | ast.MatchStar(name=str(name))
                    | ast.MatchMapping(rest=str(name))
                ):
                    kept.add(name)
                case ast.comprehension(target=target):
                    comprehension_targets.update(id(inner) for inner in ast.walk(target))
                case ast.ExceptHandler(name=str(name)):
                    bound.setdefault(name)
                case _:
                    pass
    for item in _outside_functions(node):
        if (
            isinstance(item, ast.Name)
            and isinstance(item.ctx, ast.Store)
            and id(item) not in comprehension_targets
        ):
            bound.setdefault(item.id)
    return [name for name in bound if name not in kept and not name.startswith("__")]


def _outside_functions(node: FunctionNode) -> list[ast.AST]:
    """Nodes of the function's own scope; a name bound only in a nested scope may be a global outside it."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(node.body)
    while stack:
        item = stack.pop(0)
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        found.append(item)
        stack.extend(ast.iter_child_nodes(item))
    return found
