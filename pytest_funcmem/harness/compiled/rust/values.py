"""Writes how values of the file's own types are made from choices, and how they are encoded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.items import Item, is_enabled
from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.signature import generics_of

__all__ = ["dump_impl", "impl_head", "make_impl", "opaque_type", "value_impls"]


def value_impls(plan: Plan, item: Item) -> Iterator[tuple[str, str]]:
    """How values of a struct, enum or union are made and encoded, as (what, text)."""
    (opening, where), kind = impl_head(plan, item)
    if f"dump {item.name}" not in plan.left_out:
        yield f"dump {item.name}", dump_impl(kind, _dump_body(plan, item), opening=opening, where=where)
    if f"make {item.name}" not in plan.left_out and item.kind != "union":
        body = _make_body(plan, item)
        if body is not None:
            # What is made has a size, and so has what it holds.
            sized = [re.sub(r"\?\s*(?:\w+::)*Sized\b(?:\s*\+)?", "", text) for text in (opening, where)]
            yield f"make {item.name}", make_impl(kind, body, opening=sized[0], where=sized[1])


def make_impl(kind: str, body: str, *, opening: str = "", where: str = "") -> str:
    """How values of a type are made."""
    head = f"impl{opening} funcmem::Make for {kind}{where}"
    return f"{head} {{ fn make(source: &mut funcmem::Source) -> Self {{ {body} }} }}"


def opaque_type(name: str, shown: str) -> str:
    """A type whose values differ by a number."""
    display = f"impl std::fmt::Display for {name} {{ fn fmt(&self, out: &mut std::fmt::Formatter)"
    return "\n".join(
        [
            "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)] "
            f"pub struct {name} {{ id: u64 }}",
            display + ' -> std::fmt::Result { write!(out, "{}", self.id) } }',
            make_impl(name, f"{name} {{ id: funcmem::opaque_id(source) }}"),
            dump_impl(name, f'funcmem::Encoding::Value("{shown}".into(), self.id.to_string())'),
        ]
    )


def dump_impl(kind: str, body: str, *, opening: str = "", where: str = "") -> str:
    """How values of a type are encoded."""
    head = f"impl{opening} funcmem::Dump for {kind}{where}"
    return f"{head} {{ fn dump(&self, depth: usize) -> funcmem::Encoding {{ {body} }} }}"


def impl_head(plan: Plan, item: Item) -> tuple[tuple[str, str], str]:
    """Parameters and conditions of an implementation for a type of the file, and the type as it names it."""
    tree = plan.file.tree
    generics = generics_of(plan, item.node)
    declared, names = [], []
    for generic in generics:
        names.append(generic.name)
        if generic.kind == "const":
            declared.append(f"const {generic.name}: {generic.type}")
        else:
            bounds = " + ".join(generic.bounds)
            declared.append(f"{generic.name}: {bounds}" if bounds else generic.name)
    where = " ".join(
        flattened(tree.source(child), plan.names)
        for child in item.node.children
        if child.type == "where_clause"
    )
    where = re.sub(r"\s+", " ", where)
    opening = f"<{', '.join(declared)}>" if declared else ""
    kind = item.name + (f"<{', '.join(names)}>" if names else "")
    return (opening, f" {where}" if where else ""), kind


def _fields(plan: Plan, node: Node | None) -> tuple[str, list[str]]:
    """Shape (``named``, ``tuple``, ``unit``) and names of the fields of a struct or variant."""
    if node is None:
        return "unit", []
    tree = plan.file.tree
    if node.type == "field_declaration_list":
        names = []
        pending: list[Node] = []
        for child in node.children:
            if child.type == "attribute_item":
                pending.append(child)
            elif child.type == "field_declaration":
                name = child.child_by_field_name("name")
                if name is not None and is_enabled(tree, tuple(pending)):
                    names.append(tree.source(name))
                pending = []
        return "named", names
    skipped = ("attribute_item", "visibility_modifier")
    count = sum(
        1
        for child in node.children
        if child.is_named and child.type not in skipped and "comment" not in child.type
    )
    return "tuple", [str(place) for place in range(count)]


def _shape(plan: Plan, item: Item) -> tuple[str, list[str]]:
    return _fields(plan, item.node.child_by_field_name("body"))


def _variants(plan: Plan, item: Item) -> list[tuple[str, str, list[str], str]]:
    """Name, shape, fields and text of each variant."""
    found = []
    body = item.node.child_by_field_name("body")
    pending: list[Node] = []
    for child in body.children if body is not None else ():
        if child.type == "attribute_item":
            pending.append(child)
        elif child.type == "enum_variant":
            name = child.child_by_field_name("name")
            attributes = [*pending, *(part for part in child.children if part.type == "attribute_item")]
            if name is not None and is_enabled(plan.file.tree, tuple(attributes)):
                shape, names = _fields(plan, child.child_by_field_name("body"))
                found.append((plan.file.tree.source(name), shape, names, plan.file.tree.source(child)))
            pending = []
    return found


def _built(path: str, shape: str, names: list[str]) -> str:
    if shape == "unit":
        return path
    if shape == "tuple":
        return f"{path}({', '.join('funcmem::Make::make(source)' for _ in names)})"
    return f"{path} {{ {', '.join(f'{name}: funcmem::Make::make(source)' for name in names)} }}"


def _constructed(plan: Plan, item: Item) -> str:
    """A call of the function that makes a type's values, where it is written as the file has it."""
    index, place, count = plan.constructors.get(item.name, (-1, -1, 0))
    if place not in plan.taken.get(index, ()) or (index, place) in plan.replaced:
        return ""
    name = plan.file.items[index].members[place].name
    return f"{item.name}::{name}({', '.join('funcmem::Make::make(source)' for _ in range(count))})"


def _make_body(plan: Plan, item: Item) -> str | None:
    if item.kind == "struct":
        made = _constructed(plan, item)
        if made:
            return f"source.deeper(|source| {made})"
        shape, names = _shape(plan, item)
        return f"source.deeper(|source| {_built(item.name, shape, names)})"
    variants = _variants(plan, item)
    if not variants:
        return None
    # Where values are deep already, only variants that hold none of the file's types are made.
    own = {other.name for other, _ in plan.taken_items() if other.kind in ("struct", "enum")}
    leaves = [
        place for place, variant in enumerate(variants) if not own & set(re.findall(r"\w+", variant[3]))
    ] or [0]
    arms = " ".join(
        f"{place} => {_built(f'{item.name}::{name}', shape, names)},"
        for place, (name, shape, names, _) in enumerate(variants[:-1])
    )
    last = _built(f"{item.name}::{variants[-1][0]}", variants[-1][1], variants[-1][2])
    return (
        f"let choice = source.below({len(variants)}); "
        f"let choice = if funcmem::is_deep(source) {{ {leaves[0]} }} else {{ choice }}; "
        f"source.deeper(|source| match choice {{ {arms} _ => {last} }})"
    )


def _dump_body(plan: Plan, item: Item) -> str:
    deep = 'if depth > 60 { return funcmem::Encoding::Opaque("deep".into()); } '
    if item.kind == "struct":
        _, names = _shape(plan, item)
        pairs = ", ".join(
            f'("{name.removeprefix("r#")}".into(), funcmem::Dump::dump(&self.{name}, depth + 1))'
            for name in names
        )
        return f'{deep}funcmem::Encoding::Object("{item.name}".into(), vec![{pairs}])'
    if item.kind == "union":
        return f'funcmem::Encoding::Opaque("{item.name}".into())'
    arms = []
    for name, shape, names, _ in _variants(plan, item):
        bound = [f"f{place}" for place in range(len(names))]
        if shape == "tuple":
            pattern = f"({', '.join(bound)})"
        elif shape == "named":
            pattern = " { " + ", ".join(f"{n}: {b}" for n, b in zip(names, bound, strict=True)) + " }"
        else:
            pattern = ""
        pairs = ", ".join(
            f'("{n.removeprefix("r#")}".into(), funcmem::Dump::dump({b}, depth + 1))'
            for n, b in zip(names, bound, strict=True)
        )
        path = f"{item.name}::{name}"
        arms.append(f'{path}{pattern} => funcmem::Encoding::Object("{path}".into(), vec![{pairs}])')
    if not arms:
        return f'funcmem::Encoding::Opaque("{item.name}".into())'
    return f"{deep}match self {{ {', '.join(arms)} }}"
