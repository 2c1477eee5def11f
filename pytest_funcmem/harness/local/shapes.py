"""Decides what values a parameter should get: from its hint first, then its uses, its default and its name.

A shape says what kind of value, with what inside and which constants are worth trying. It makes no values.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from pytest_funcmem.harness.local.analysis import Analysis, dotted_name
from pytest_funcmem.harness.local.evidence import Evidence
from pytest_funcmem.harness.local.literals import constant_text
from pytest_funcmem.harness.local.vocabulary import (
    DICT_HINTS,
    FLAVOURS,
    LIST_HINTS,
    NAME_KINDS,
    PLAIN_HINTS,
    SET_HINTS,
)

__all__ = ["Shape", "shape_of"]

_MAX_NESTING = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A set of values.

    Attributes:
        kind: Name of a strategy.
        items: Shapes of what is inside: elements, (key, value), members of a union, places of a tuple.
        fields: Keys (as source expressions) or attributes, with their shapes.
        constants: Source expressions to try often.
        lengths: Lengths to try.
        formats: Formats of text, as (sort, text).
        name: Class or enumeration of the file, or the flavour of a text.
        extent: Symbol of the number that its length equals.
        label: Name of the parameter or attribute, for what has to be made up.
    """

    kind: str
    items: tuple[Shape, ...] = ()
    fields: tuple[tuple[str, Shape], ...] = ()
    constants: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    formats: tuple[tuple[str, str], ...] = ()
    name: str = ""
    extent: str | None = None
    label: str = ""


def shape_of(
    analysis: Analysis, name: str, hint: ast.expr | None, default: ast.expr | None, evidence: Evidence
) -> Shape:
    """Decide on the shape of one parameter or attribute.

    Args:
        analysis: The original and its file.
        name: Its name, which is the weakest sign.
        hint: Its annotation.
        default: Its default.
        evidence: What its uses show.
    """
    shape = _from_hint(analysis, name, hint, evidence, 0) if hint is not None else None
    if shape is None or shape.kind == "any":
        shape = _from_evidence(analysis, name, default, evidence, 0)
    if default is not None:
        text = constant_text(default)
        if text == "None" and shape.kind not in ("none", "any"):
            shape = Shape(kind="union", items=(shape, Shape(kind="none")))
        elif text is not None:
            shape = replace(shape, constants=(*shape.constants, text))
    return replace(shape, label=name)


# ------------------------------------------------------------------------------------------------ hints


def _from_hint(
    analysis: Analysis, name: str, hint: ast.expr, evidence: Evidence, nesting: int
) -> Shape | None:
    if nesting > _MAX_NESTING:
        return Shape(kind="none")
    match hint:
        case ast.Constant(value=None):
            return Shape(kind="none")
        case ast.Constant(value=str() as text):
            return (
                _from_hint(analysis, name, _quoted(text), evidence, nesting) if text.isidentifier() else None
            )
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _union(analysis, name, [left, right], evidence, nesting)
        case ast.Subscript(value=base, slice=inner):
            parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
            return _generic(analysis, name, dotted_name(base).rsplit(".", 1)[-1], parts, evidence, nesting)
        case ast.Name() | ast.Attribute():
            return _named(analysis, name, dotted_name(hint), evidence, nesting)
        case _:
            return None


def _quoted(text: str) -> ast.expr:
    return ast.Name(id=text, ctx=ast.Load())


def _named(analysis: Analysis, name: str, dotted: str, evidence: Evidence, nesting: int) -> Shape | None:
    short = dotted.rsplit(".", 1)[-1]
    definition = analysis.definitions.get(dotted)
    if isinstance(definition, ast.ClassDef):
        return Shape(kind="instance", name=dotted, constants=(), fields=())
    if isinstance(definition, ast.expr) and not isinstance(definition, ast.Constant):
        alias = _from_hint(analysis, name, definition, evidence, nesting + 1)
        if alias is not None:
            return alias
    if short in PLAIN_HINTS:
        return _enrich(Shape(kind=PLAIN_HINTS[short]), name, evidence)
    if short in LIST_HINTS or short in SET_HINTS or short in DICT_HINTS or short in ("tuple", "Tuple"):
        return _from_evidence(analysis, name, None, evidence, nesting, forced=_container(short))
    if short in ("Callable", "function"):
        return Shape(kind="callable")
    return None


def _container(short: str) -> str:
    if short in DICT_HINTS:
        return "dict"
    if short in SET_HINTS:
        return "set"
    return "tuple" if short in ("tuple", "Tuple") else "list"


def _generic(
    analysis: Analysis, name: str, short: str, parts: list[ast.expr], evidence: Evidence, nesting: int
) -> Shape | None:
    if short == "Optional":
        return _union(analysis, name, [*parts, ast.Constant(value=None)], evidence, nesting)
    if short == "Union":
        return _union(analysis, name, parts, evidence, nesting)
    if short == "Literal":
        return Shape(
            kind="constants", constants=tuple(text for part in parts if (text := constant_text(part)))
        )
    if short in ("Annotated", "Final", "ClassVar", "Required", "NotRequired"):
        return _from_hint(analysis, name, parts[0], evidence, nesting)
    if short == "Callable":
        return Shape(kind="callable")
    if short in ("Type", "type"):
        return Shape(kind="type", name=dotted_name(parts[0]))
    inner = evidence.element or Evidence(depth=evidence.depth + 1)
    if short in LIST_HINTS or short in SET_HINTS:
        item = _inside(analysis, _singular(name), parts[0], inner, nesting)
        shape = Shape(kind="set" if short in SET_HINTS else "list", items=(item,))
        return _sized(shape, evidence)
    if short in DICT_HINTS:
        if len(parts) < 2:
            parts = [parts[0], ast.Name(id="int", ctx=ast.Load())]
        key = _inside(analysis, "key", parts[0], evidence.key or Evidence(), nesting)
        value = _inside(analysis, _singular(name), parts[1], inner, nesting)
        fields = tuple(
            (text, _inside(analysis, text.strip("'\""), parts[1], found, nesting))
            for text, found in evidence.keys.items()
        )
        return _sized(Shape(kind="dict", items=(key, value), fields=fields), evidence)
    if short in ("tuple", "Tuple"):
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
            return _sized(
                Shape(kind="tuple", items=(_inside(analysis, name, parts[0], inner, nesting),)), evidence
            )
        places = tuple(
            _inside(analysis, name, part, evidence.places.get(place, inner), nesting)
            for place, part in enumerate(parts)
        )
        return Shape(kind="places", items=places)
    return None


def _inside(analysis: Analysis, name: str, hint: ast.expr, evidence: Evidence, nesting: int) -> Shape:
    shape = _from_hint(analysis, name, hint, evidence, nesting + 1)
    if shape is None or shape.kind == "any":
        return _from_evidence(analysis, name, None, evidence, nesting + 1)
    return shape


def _union(analysis: Analysis, name: str, parts: list[ast.expr], evidence: Evidence, nesting: int) -> Shape:
    shapes = [_inside(analysis, name, part, evidence, nesting) for part in parts]
    flat: list[Shape] = []
    for shape in shapes:
        flat.extend(shape.items if shape.kind == "union" else [shape])
    return Shape(kind="union", items=tuple(dict.fromkeys(flat)))


# ----------------------------------------------------------------------------------------------- evidence


def _from_evidence(
    analysis: Analysis,
    name: str,
    default: ast.expr | None,
    evidence: Evidence,
    nesting: int,
    *,
    forced: str | None = None,
) -> Shape:
    kind = forced or _kind(name, default, evidence)
    if nesting > _MAX_NESTING:
        kind = "int"
    if kind.startswith("class:"):
        return Shape(kind="instance", name=kind.removeprefix("class:"))
    inner = evidence.element or Evidence(depth=evidence.depth + 1)
    singular = _singular(name)
    if kind == "grid":
        kind, inner = "list", inner if inner.best() else _voted("list")
    if kind in ("list", "set", "tuple"):
        if kind in ("list", "tuple") and len(evidence.places) > 1 and evidence.element is None:
            places = tuple(
                _from_evidence(analysis, singular, None, found, nesting + 1)
                for _, found in sorted(evidence.places.items())
            )
            return Shape(kind="places", items=places)
        item = _from_evidence(analysis, singular, None, inner, nesting + 1)
        shape = _sized(Shape(kind=kind, items=(item,)), evidence)
    elif kind == "dict":
        key = _from_evidence(analysis, "key", None, evidence.key or Evidence(), nesting + 1)
        value = _from_evidence(analysis, singular, None, inner, nesting + 1)
        fields = tuple(
            (text, _from_evidence(analysis, text.strip("'\""), None, found, nesting + 1))
            for text, found in evidence.keys.items()
        )
        shape = _sized(Shape(kind="dict", items=(key, value), fields=fields), evidence)
    elif kind == "object":
        fields = tuple(
            (attribute, _from_evidence(analysis, attribute, None, found, nesting + 1))
            for attribute, found in evidence.fields.items()
            if not attribute.startswith(("<", "__"))
        )
        shape = Shape(kind="object", fields=fields)
    else:
        shape = _enrich(Shape(kind=kind), name, evidence)
    alternatives = [
        _enrich(Shape(kind=other.removeprefix("union:")), name, evidence)
        for other in evidence.kinds
        if other.startswith("union:") and other.removeprefix("union:") != kind
    ]
    alternatives += [
        Shape(kind="instance", name=other.removeprefix("class:"))
        for other in evidence.kinds
        if other.startswith("class:") and other != kind
    ][:4]
    if evidence.optional:
        alternatives.append(Shape(kind="none"))
    return Shape(kind="union", items=(shape, *alternatives)) if alternatives else shape


def _voted(kind: str) -> Evidence:
    found = Evidence()
    found.vote(kind)
    return found


def _kind(name: str, default: ast.expr | None, evidence: Evidence) -> str:
    votes = evidence.kinds.copy()
    by_name = next((kind for pattern, kind in NAME_KINDS if re.search(pattern, name.lower())), None)
    match default:
        case ast.Constant(value=bool()):
            votes["bool"] += 4
        case ast.Constant(value=int()):
            votes["int"] += 4
        case ast.Constant(value=float()):
            votes["float"] += 4
        case ast.Constant(value=str()):
            votes["str"] += 4
        case ast.List():
            votes["list"] += 4
        case ast.Dict():
            votes["dict"] += 4
        case ast.Tuple():
            votes["tuple"] += 3
    # Weak signs point to several kinds at once; the name decides among them.
    if by_name is not None:
        votes["list" if by_name == "grid" else by_name] += 2 if by_name != "bool" else 3
    if votes["number"] and not votes["int"] and not votes["float"]:
        votes["int"] += votes["number"] + 1
    elif votes["number"]:
        votes["int" if votes["int"] >= votes["float"] else "float"] += votes["number"]
    if evidence.keys:
        votes["dict"] += 2
    for ignored in ("number", "extent"):
        del votes[ignored]
    if evidence.fields and votes["object"]:
        others = [kind for kind in votes if kind not in ("object", "bool") and votes[kind] >= 3]
        if not others:
            return "object"
    votes["object"] = min(votes["object"], 2)
    top = max((votes[kind] for kind in votes if not kind.startswith("union:")), default=0)
    if top <= 0:
        return "any"
    best = next(kind for kind in votes if votes[kind] == top)
    if by_name is not None and votes["list" if by_name == "grid" else by_name] == top:
        return by_name
    return best


def _enrich(shape: Shape, name: str, evidence: Evidence) -> Shape:
    flavour = next((found for pattern, found in FLAVOURS if re.search(pattern, name.lower())), "")
    return replace(
        shape,
        constants=tuple(evidence.constants),
        formats=tuple(evidence.formats),
        lengths=tuple(evidence.lengths),
        name=flavour if shape.kind == "str" else shape.name,
        extent=evidence.counts if shape.kind == "int" else None,
    )


def _sized(shape: Shape, evidence: Evidence) -> Shape:
    return replace(
        shape, lengths=tuple(evidence.lengths), extent=evidence.extent, constants=tuple(evidence.constants)
    )


def _singular(name: str) -> str:
    """Name of one of several: ``names`` -> ``name``, ``word_list`` -> ``word``."""
    name = re.sub(r"_(list|lst|array|arr|set|map|dict)$", "", name)
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
