"""Writes a plan as the text of one module, and remembers whose each line is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.constants import constant_value
from pytest_funcmem.harness.compiled.rust.driver import answering, driver_text, made_trait
from pytest_funcmem.harness.compiled.rust.flatten import flattened, without_attributes
from pytest_funcmem.harness.compiled.rust.items import Item, Member
from pytest_funcmem.harness.compiled.rust.literals import pools_text
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInFunction, StandInType, usable_imports
from pytest_funcmem.harness.compiled.rust.signature import read_signature
from pytest_funcmem.harness.compiled.rust.values import dump_impl, make_impl, value_impls

__all__ = ["HOLE", "Rendered", "render"]

HOLE = "/*funcmem: the function*/"
"""Where in the text of a scaffold the function's code goes."""

_REST = "MadeRest"
"""A variant that is never made: it uses the parameters that no other variant does."""
_CONST_FUNCTION = re.compile(r"\bconst\s+(?=(?:unsafe\s+)?fn\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A scaffold's text.

    Attributes:
        text: The module, with a hole for the function.
        owners: Whose the lines are, as (first line, owner), in order; lines are counted from 1, with the hole
            as one line.
        hole: Line of the hole.
        driver: First line of the part that is not of the file.
    """

    text: str
    owners: tuple[tuple[int, str], ...]
    hole: int
    driver: int

    def owner(self, line: int) -> str:
        """Whose a line is."""
        found = ""
        for first, owner in self.owners:
            if first > line:
                break
            found = owner
        return found


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.owners: list[tuple[int, str]] = []

    def write(self, owner: str, text: str) -> None:
        self.owners.append((len(self.lines) + 1, owner))
        self.lines.extend(text.split("\n"))


def render(plan: Plan) -> Rendered | None:
    """Write a plan; None where nothing can call the function."""
    driver = driver_text(plan)
    if driver is None:
        return None
    out = _Writer()
    out.write("macros", "use funcmem::Make as _; use funcmem::Dump as _;")
    for line in plan.extra:
        out.write(f"extra {line}", line)
    for imported, text in usable_imports(plan):
        del imported
        out.write(text.removesuffix(";"), text)
    for name, text in plan.macros.items():
        out.write(f"macro {name}", text)
    items = plan.taken_items()
    for item, members in sorted(items, key=lambda pair: pair[0].kind != "macro"):
        _write_item(out, plan, item, members, plan.derives)
    driver_line = len(out.lines) + 1
    for stand_in in plan.types.values():
        out.write(f"type {stand_in.name}", _type_text(plan, stand_in))
    for name, function in plan.functions.items():
        out.write(f"function {name}", _function_text(name, name, function, is_method=False))
    for name, function in plan.methods.items():
        out.write(f"method {name}", _method_text(name, function))
    for name, kind in plan.constants.items():
        out.write(f"constant {name}", f"pub const {name}: {kind} = {constant_value(plan, name, kind)};")
    for item, _ in items:
        if item.kind == "trait" and re.search(rf"\bdyn\s+{item.name}\b", plan.function.text):
            plan.traits.setdefault(f"own {item.name}", {"argument": ""})
    for key, parts in plan.traits.items():
        if key.startswith("own "):
            trait = next((i for i, _ in items if i.kind == "trait" and i.name == key[4:]), None)
            if trait is not None:
                out.write(key, made_trait(plan, trait, parts["argument"]))
        else:
            texts = [text for what, text in parts.items() if not what.startswith("type ")]
            out.write(f"trait {key}", "\n".join(texts))
    for item, _ in items:
        if item.kind in ("struct", "enum", "union"):
            for owner, text in value_impls(plan, item):
                out.write(owner, text)
    out.write("driver", pools_text(plan.function))
    out.write("driver", driver)
    text = "\n".join(out.lines) + "\n"
    hole = next(place for place, line in enumerate(out.lines, 1) if HOLE in line)
    return Rendered(text=text, owners=tuple(out.owners), hole=hole, driver=driver_line)


def _write_item(
    out: _Writer, plan: Plan, item: Item, members: list[tuple[int, Member]], derives: frozenset[str]
) -> None:
    tree = plan.file.tree
    is_target = item is plan.file.target
    if is_target and item.kind == "fn":
        out.write("target", HOLE)
        return
    owner = f"item {item.index}"
    attributes = _attributes(plan, item.attributes, derives)
    if attributes and item.kind != "macro":
        out.write(owner, attributes)
    if item.kind not in ("impl", "trait"):
        if (item.index, -1) in plan.replaced:
            out.write(owner, _replaced(plan, item.node, item.name))
        else:
            text = _clean(plan, item.node, derives)
            out.write(owner, text + ";" if item.kind == "call" and not text.endswith(("}", ";")) else text)
        return
    body = item.node.child_by_field_name("body")
    if body is None:
        out.write(owner, _clean(plan, item.node, derives))
        return
    head = flattened(tree.text[tree.start(item.node) : tree.start(body)], plan.names)
    out.write(owner, head.rstrip() + " {")
    for place, member in members:
        if member is plan.file.member:
            out.write("target", HOLE)
        elif (item.index, place) in plan.replaced:
            out.write(
                f"item {item.index}.{place}", _replaced(plan, member.node, f"{item.name}.{member.name}")
            )
        else:
            out.write(f"item {item.index}.{place}", _clean(plan, member.node, derives))
    out.write(owner, "}")


def _attributes(plan: Plan, attributes: tuple[Node, ...], derives: frozenset[str]) -> str:
    text = " ".join(plan.file.tree.source(attribute) for attribute in attributes)
    return re.sub(r"#\s*\[\s*cfg\b[^\n]*?\]\s*(?=#|$)", "", without_attributes(text, derives=derives)).strip()


def _clean(plan: Plan, node: Node, derives: frozenset[str]) -> str:
    text = flattened(without_attributes(plan.file.tree.source(node), derives=derives), plan.names)
    return _CONST_FUNCTION.sub("", text) if plan.is_const_stripped else text


def _replaced(plan: Plan, node: Node, path: str) -> str:
    """A helper with a body that logs its call and makes up its answer."""
    tree = plan.file.tree
    body = node.child_by_field_name("body")
    end = tree.start(body) if body is not None else tree.end(node)
    head = flattened(tree.text[tree.start(node) : end], plan.names).rstrip().removesuffix(";")
    head = re.sub(r"\bconst\s+(?=(?:unsafe\s+)?fn\b)", "", head)
    return f"{head} {{ {answering(path, read_signature(plan, node))} }}"


def _parameters(function: StandInFunction) -> tuple[list[str], list[str], list[str], str]:
    """Type parameters, parameters, logged parts, and statements that call closures."""
    kinds, parameters, parts, calls = [], [], [], ""
    for place in range(function.arity):
        parameters.append(f"a{place}: A{place}")
        if place in function.closures:
            count = function.closures[place]
            bound = ", ".join(f"P{place}_{i}" for i in range(count))
            kinds += [
                f"A{place}: FnMut({bound}) -> R{place}",
                *(f"P{place}_{i}" for i in range(count)),
                f"R{place}",
            ]
        else:
            kinds.append(f"A{place}")
            parts.append(f"funcmem::Dump::encoded(&a{place})")
    return kinds, parameters, parts, calls


def _function_text(name: str, path: str, function: StandInFunction, *, is_method: bool, own: str = "") -> str:
    kinds, parameters, parts, _ = _parameters(function)
    result = function.result
    if result is None:
        kinds.append("R")
        result = "R"
    receiver = ["&self"] if is_method else []
    logged = ["funcmem::Dump::encoded(self)"] if is_method else []
    generic = f"<{', '.join(kinds)}>" if kinds else ""
    visible = "" if is_method and not own else "pub "
    shown = path if not own else f"{own}.{path}"
    return (
        f"{visible}fn {_raw(name)}{generic}({', '.join(receiver + parameters)}) -> {result} "
        f'{{ funcmem::answer("{shown}", vec![{", ".join(logged + parts)}]) }}'
    )


def _raw(name: str) -> str:
    return (
        f"r#{name}" if name in ("type", "match", "try", "loop", "move", "ref", "in", "yield", "box") else name
    )


def _method_text(name: str, function: StandInFunction) -> str:
    text = _function_text(name, name, function, is_method=True)
    declared = text[: text.index("{ funcmem::answer")].rstrip()
    trait = f"Made_method_{name}"
    return f"pub trait {trait} {{ {declared}; }}\nimpl<T: ?Sized> {trait} for T {{ {text} }}"


def _type_text(plan: Plan, kind: StandInType) -> str:
    name = kind.name
    if kind.alias is not None:
        generics = [f"'l{i}" for i in range(kind.lifetimes)] + [f"T{i}" for i in range(kind.parameters)]
        listed = f"<{', '.join(generics)}>" if generics and "T0" in kind.alias else ""
        return f"pub type {name}{listed} = {kind.alias};"
    lifetimes = [f"'l{i}" for i in range(kind.lifetimes)]
    types = [f"T{i}" for i in range(kind.parameters)]
    defaults = [f"T{i} = ()" for i in range(kind.parameters)]
    declared = f"<{', '.join(lifetimes + defaults)}>" if lifetimes or types else ""
    opening = f"<{', '.join(lifetimes + types)}>" if lifetimes or types else ""
    own = f"{name}{opening}"
    phantom = ", ".join([f"&{mark} ()" for mark in lifetimes] + types)
    is_generic = bool(lifetimes or types)
    if is_generic:
        kind = _tied(kind, f"({phantom},)")
    derive = "Clone, Copy" if kind.is_copy and not is_generic else "Clone" if not is_generic else ""
    derived = f"#[derive({derive})] " if derive else ""
    lines = []
    if kind.variants:
        variants = ", ".join(_variant_text(v, p) for v, p in kind.variants.items())
        lines.append(f"{derived}pub enum {name}{declared} {{ {variants} }}")
        made = [_variant_made(name, v, p) for v, p in kind.variants.items() if v != _REST]
        arms = " ".join(f"{place} => {text}," for place, text in enumerate(made[:-1]))
        make = f"match source.below({len(made)}) {{ {arms} _ => {made[-1]} }}"
        patterns = ", ".join(_variant_dump(name, v, p) for v, p in kind.variants.items())
        dump = f"match self {{ {patterns} }}"
        copies = ", ".join(_variant_clone(name, v, p) for v, p in kind.variants.items())
        cloned = f"match self {{ {copies} }}"
    elif kind.shape == "tuple":
        parts = ", ".join(f"pub {text}" for text in kind.fields.values())
        lines.append(f"{derived}pub struct {name}{declared}({parts});")
        make = f"{name}({', '.join('funcmem::Make::make(source)' for _ in kind.fields)})"
        dump = _fields_dump(kind)
        cloned = f"{name}({', '.join(f'self.{f}.clone()' for f in kind.fields)})"
    else:
        parts = "".join(f"pub {_raw(f)}: {text}, " for f, text in kind.fields.items())
        identity = "" if kind.shape == "literal" and kind.fields else "pub id: u64, "
        mark = f"pub made: std::marker::PhantomData<({phantom},)>, " if is_generic else ""
        lines.append(f"{derived}pub struct {name}{declared} {{ {identity}{parts}{mark}}}")
        built = "".join(f"{_raw(f)}: funcmem::Make::make(source), " for f in kind.fields)
        identity_made = "id: funcmem::opaque_id(source), " if identity else ""
        make = f"{name} {{ {identity_made}{built}{'made: std::marker::PhantomData, ' if is_generic else ''}}}"
        dump = _fields_dump(kind, with_id=bool(identity) and not kind.fields)
        copied = "".join(f"{_raw(f)}: self.{_raw(f)}.clone(), " for f in kind.fields)
        cloned = f"{name} {{ {'id: self.id, ' if identity else ''}{copied}made: std::marker::PhantomData }}"
    if is_generic:
        lines.append(f"impl{opening} Clone for {own} {{ fn clone(&self) -> Self {{ {cloned} }} }}")
        if kind.is_copy and not kind.fields:
            lines.append(f"impl{opening} Copy for {own} {{}}")
    lines.append(make_impl(own, make, opening=opening))
    lines.append(dump_impl(own, dump, opening=opening))
    lines.append(f"funcmem::stand_in_type!([{', '.join(lifetimes + types)}] {own});")
    functions = [
        _function_text(f, f, function, is_method=False, own=name) for f, function in kind.functions.items()
    ]
    constants = [
        f"pub const {c}: {text} = {_own_constant(plan, kind, c, text)};" for c, text in kind.constants.items()
    ]
    if functions or constants:
        lines.append(f"impl{opening} {own} {{ {' '.join([*constants, *functions])} }}")
    lines.extend(kind.impls.values())
    return "\n".join(lines)


def _tied(kind: StandInType, parameters: str) -> StandInType:
    """The same type where one of its parts depends on its parameters, since each must be used."""
    if kind.variants:
        variants = dict(kind.variants)
        for name, payload in variants.items():
            if payload:
                variants[name] = (
                    {field: _tie(text, parameters) for field, text in payload.items()}
                    if isinstance(payload, dict)
                    else [_tie(text, parameters) for text in payload]
                )
                break
        else:
            variants[_REST] = [f"std::marker::PhantomData<{parameters}>"]
        return replace(kind, variants=variants)
    if kind.shape == "tuple":
        if len(kind.fields) == 1 and kind.parameters == 1:
            return replace(kind, fields=dict.fromkeys(kind.fields, "T0"))
        return replace(kind, fields={name: _tie(text, parameters) for name, text in kind.fields.items()})
    return kind


def _tie(text: str, parameters: str) -> str:
    return f"<{text} as funcmem::Tied<{parameters}>>::Out"


def _own_constant(plan: Plan, kind: StandInType, constant: str, text: str) -> str:
    if text in ("Self", kind.name) and not kind.fields and not kind.variants:
        mark = ", made: std::marker::PhantomData" if kind.lifetimes or kind.parameters else ""
        return f"{kind.name} {{ id: {3 + sum(map(ord, constant)) % 60}{mark} }}"
    return constant_value(plan, constant, text)


def _variant_text(name: str, payload: list[str] | dict[str, str] | None) -> str:
    if payload is None:
        return name
    if isinstance(payload, dict):
        return f"{name} {{ {', '.join(f'{_raw(f)}: {t}' for f, t in payload.items())} }}"
    return f"{name}({', '.join(payload)})"


def _variant_made(owner: str, name: str, payload: list[str] | dict[str, str] | None) -> str:
    made = "funcmem::Make::make(source)"
    if payload is None:
        return f"{owner}::{name}"
    if isinstance(payload, dict):
        return f"{owner}::{name} {{ {', '.join(f'{_raw(f)}: {made}' for f in payload)} }}"
    return f"{owner}::{name}({', '.join(made for _ in payload)})"


def _variant_clone(owner: str, name: str, payload: list[str] | dict[str, str] | None) -> str:
    if payload is None:
        return f"{owner}::{name} => {owner}::{name}"
    names = [_raw(n) for n in payload] if isinstance(payload, dict) else []
    bound = [f"f{i}" for i in range(len(payload))]
    if names:
        pattern = ", ".join(f"{n}: {b}" for n, b in zip(names, bound, strict=True))
        copied = ", ".join(f"{n}: {b}.clone()" for n, b in zip(names, bound, strict=True))
        return f"{owner}::{name} {{ {pattern} }} => {owner}::{name} {{ {copied} }}"
    copied = ", ".join(f"{b}.clone()" for b in bound)
    return f"{owner}::{name}({', '.join(bound)}) => {owner}::{name}({copied})"


def _variant_dump(owner: str, name: str, payload: list[str] | dict[str, str] | None) -> str:
    names = list(payload) if isinstance(payload, dict) else [str(i) for i in range(len(payload or ()))]
    bound = [f"f{i}" for i in range(len(names))]
    pattern = ""
    if isinstance(payload, dict):
        pattern = " { " + ", ".join(f"{_raw(n)}: {b}" for n, b in zip(names, bound, strict=True)) + " }"
    elif payload is not None:
        pattern = f"({', '.join(bound)})"
    pairs = ", ".join(
        f'("{n}".into(), funcmem::Dump::dump({b}, depth + 1))' for n, b in zip(names, bound, strict=True)
    )
    return f'{owner}::{name}{pattern} => funcmem::Encoding::Object("{owner}::{name}".into(), vec![{pairs}])'


def _fields_dump(kind: StandInType, *, with_id: bool = False) -> str:
    pairs = [f'("{f}".into(), funcmem::Dump::dump(&self.{_raw(f)}, depth + 1))' for f in kind.fields]
    if with_id:
        return f'funcmem::Encoding::Value("{kind.name}".into(), self.id.to_string())'
    return f'funcmem::Encoding::Object("{kind.name}".into(), vec![{", ".join(pairs)}])'
