"""Follows names back to the literals of the file that their values are taken from."""

from __future__ import annotations

import ast

from pytest_funcmem.harness.local.analysis import Analysis
from pytest_funcmem.harness.local.literals import literals_in

__all__ = ["LiteralRoots"]

_MAX_MEMBERS = 16


class LiteralRoots:
    """The literals behind the local names of one function, as far as it has been read.

    Args:
        analysis: The original and its file.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._bound: dict[str, list[ast.expr]] = {}

    def bind(self, name: str, value: ast.expr | None) -> None:
        """Note what a local name is bound to."""
        roots = self.roots(value)
        if roots:
            self._bound[name] = roots

    def roots(self, node: ast.expr | None) -> list[ast.expr]:
        """Literals that an expression is taken from: a name bound to one, an item of one."""
        match node:
            case ast.Dict() | ast.List() | ast.Tuple() | ast.Set():
                return [node]
            case ast.Constant():
                return [node]
            case ast.UnaryOp(operand=ast.Constant()):
                return [node]
            case ast.Name(id=name):
                if name in self._bound:
                    return self._bound[name]
                definition = self._analysis.definitions.get(name)
                if isinstance(
                    definition, ast.Dict | ast.List | ast.Tuple | ast.Set | ast.Constant | ast.UnaryOp
                ):
                    return [definition]
                if isinstance(definition, ast.Call) and definition.args:
                    return self.roots(definition.args[0])
                return []
            case ast.Subscript(value=base):
                return self.roots(base)
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                return self._class_constant(name, attr)
            case ast.Call(func=ast.Attribute(value=base, attr="items" | "keys" | "values" | "get")):
                return self.roots(base)
            case ast.Call(
                func=ast.Name(id="enumerate" | "sorted" | "set" | "frozenset" | "list" | "zip"),
                args=[inner, *_],
            ):
                return self.roots(inner)
            case _:
                return []

    def _class_constant(self, name: str, attr: str) -> list[ast.expr]:
        owner = (
            self._analysis.owner
            if name in (self._analysis.receiver, "cls")
            else self._analysis.definitions.get(name)
        )
        for item in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(item, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == attr for target in item.targets
            ):
                return self.roots(item.value)
        return []

    def members(self, node: ast.expr, *, keys: bool = True) -> list[str]:
        """Constants that are in a literal (the keys of a dictionary, unless all constants are asked for)."""
        texts: dict[str, None] = {}
        for root in self.roots(node):
            if keys and isinstance(root, ast.Dict):
                parts: list[ast.AST] = [key for key in root.keys if key is not None]
            elif keys and isinstance(root, ast.List | ast.Tuple | ast.Set):
                parts = list(root.elts)
            else:
                parts = [root]
            for text in literals_in(parts):
                texts.setdefault(text)
        return list(texts)[:_MAX_MEMBERS]
