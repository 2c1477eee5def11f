"""How a class of the audited file is made: constructor calls, enumeration members, typed dictionaries.

Works on the file's text alone.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from pytest_funcmem.harness.local.analysis import Analysis, dotted_name
from pytest_funcmem.harness.local.evidence import Evidence
from pytest_funcmem.harness.local.shapes import Shape, shape_of

__all__ = ["class_path", "class_shape", "owner_shape"]

_ENUM_BASES = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
_MAX_MEMBERS = 12


def owner_shape(analysis: Analysis) -> Shape:
    """Shape of instances of the class that the function stands in.

    Raises:
        LookupError: The function stands in no class.
    """
    if analysis.owner is None:
        raise LookupError(analysis.source.qualname)
    return _shape(analysis, analysis.owner, class_path(analysis))


def class_path(analysis: Analysis) -> str:
    """Expression for the class that the function stands in."""
    return ".".join(owner.name for owner in analysis.owners)


def class_shape(analysis: Analysis, name: str) -> Shape:
    """Shape of instances of a module-level class; ``any`` where there is no such class."""
    definition = analysis.definitions.get(name)
    if not isinstance(definition, ast.ClassDef):
        return Shape(kind="any")
    return _shape(analysis, definition, name)


def _shape(analysis: Analysis, node: ast.ClassDef, path: str) -> Shape:
    bases = _bases(analysis, node)
    names = {dotted_name(base).rsplit(".", 1)[-1] for owner in bases for base in owner.bases}
    if names & _ENUM_BASES:
        members = [
            f"{path}.{target.id}"
            for item in node.body
            if isinstance(item, ast.Assign)
            for target in item.targets
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        ]
        return Shape(kind="constants", constants=tuple(members[:_MAX_MEMBERS]))
    if "TypedDict" in names:
        fields = tuple((repr(name), shape) for name, shape, _ in _fields(analysis, bases))
        return Shape(kind="dict", items=(Shape(kind="str"), Shape(kind="int")), fields=fields)
    for owner in bases:
        for item in owner.body:
            if isinstance(item, ast.FunctionDef) and item.name in ("__init__", "__new__"):
                return _call(analysis, item, path)
    if "NamedTuple" in names or any(_is_dataclass(owner) for owner in bases):
        found = _fields(analysis, bases)
        return Shape(
            kind="call",
            name=path,
            fields=tuple((name, shape) for name, shape, _ in found),
            constants=tuple(name for name, _, optional in found if optional),
        )
    if names & {"Exception", "ValueError", "RuntimeError", "KeyError", "TypeError"}:
        return Shape(kind="call", name=path, items=(Shape(kind="str"),))
    return Shape(kind="call", name=path)


def _bases(analysis: Analysis, node: ast.ClassDef) -> list[ast.ClassDef]:
    """The class and its bases in the file, nearest first."""
    found, queue = [node], list(node.bases)
    while queue and len(found) < _MAX_MEMBERS:
        definition = analysis.definitions.get(dotted_name(queue.pop(0)))
        if isinstance(definition, ast.ClassDef) and definition not in found:
            found.append(definition)
            queue.extend(definition.bases)
    return found


def _is_dataclass(node: ast.ClassDef) -> bool:
    names = {dotted_name(item).rsplit(".", 1)[-1] for item in node.decorator_list}
    return bool(names & {"dataclass", "attrs", "define", "frozen", "s"})


def _fields(analysis: Analysis, bases: list[ast.ClassDef]) -> list[tuple[str, Shape, bool]]:
    """Annotated fields with their shapes and whether they may be left out, in the order of declaration."""
    fields: dict[str, tuple[str, Shape, bool]] = {}
    for owner in reversed(bases):
        for item in owner.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                if dotted_name(item.annotation).rsplit(".", 1)[-1] == "ClassVar":
                    continue
                name = item.target.id
                shape = shape_of(analysis, name, item.annotation, None, Evidence(label=name))
                fields[name] = (name, shape, item.value is not None)
    return list(fields.values())


def _call(analysis: Analysis, node: ast.FunctionDef, path: str) -> Shape:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    gaps: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = gaps + list(arguments.defaults)
    declared = [
        *zip(positional, defaults, strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    fields, optional = [], []
    for item, default in declared:
        shape = shape_of(analysis, item.arg, item.annotation, default, _stored_in(node, item.arg))
        fields.append((item.arg, replace(shape, extent=None)))
        if default is not None:
            optional.append(item.arg)
    return Shape(kind="call", name=path, fields=tuple(fields), constants=tuple(optional))


def _stored_in(node: ast.FunctionDef, name: str) -> Evidence:
    """A little evidence about a constructor's parameter from what its body does with it."""
    evidence = Evidence(label=name)
    for item in ast.walk(node):
        match item:
            case ast.Call(
                func=ast.Name(id="len" | "list" | "enumerate" | "sorted"), args=[ast.Name(id=used)]
            ):
                if used == name:
                    evidence.vote("list", 2)
            case ast.For(iter=ast.Name(id=used)) if used == name:
                evidence.vote("list", 2)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=used), attr="items" | "get")) if used == name:
                evidence.vote("dict", 3)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=used), attr="split" | "strip" | "lower")):
                if used == name:
                    evidence.vote("str", 3)
            case ast.BinOp(left=ast.Name(id=used), op=ast.Mult() | ast.Sub() | ast.Div()) if used == name:
                evidence.vote("number", 2)
    return evidence
