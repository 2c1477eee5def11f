"""Projections of pinned types: what a macro of another crate would write for a type whose fields it marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.items import Item
from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.values import impl_head

__all__ = ["is_pinned", "projection_text"]

_MARK = re.compile(r"#\s*\[\s*pin\s*\]")
_ATTRIBUTE = re.compile(r"#\s*\[\s*(?:\w+::)?pin_project\b")
_KINDS = (("project", "mut "), ("project_ref", ""))
"""Methods that give a projection, with the mark of the references in it."""


def is_pinned(plan: Plan, item: Item) -> bool:
    """Whether a struct or enum has fields that are pinned with it."""
    tree = plan.file.tree
    marked = any(_ATTRIBUTE.match(tree.source(attribute)) for attribute in item.attributes)
    return item.kind in ("struct", "enum") and (marked or _MARK.search(tree.source(item.node)) is not None)


def projection_text(plan: Plan, item: Item) -> str:
    """The types of a type's projections, and the methods that give them; "" where the file writes its own."""
    own = {member.name for other in plan.file.items if other.name == item.name for member in other.members}
    tree = plan.file.tree
    said = " ".join(tree.source(attribute) for attribute in item.attributes)
    (opening, where), kind = impl_head(plan, item)
    inner = opening[1:-1]
    given = re.search(r"<(.*)>\Z", kind)
    listed = f"<'p, {given[1]}>" if given else "<'p>"
    declared = f"<'p, {inner}>" if inner else "<'p>"
    lines, methods = [], []
    for method, mark in _KINDS:
        named = re.search(rf"\b{method}\s*=\s*(\w+)", said)
        if method in own or (item.kind == "enum" and named is None):
            continue
        name = named[1] if named else f"Made_{method}_{item.name}"
        this = "unsafe { self.get_unchecked_mut() }" if mark else "self.get_ref()"
        if item.kind == "struct":
            fields = list(_fields(plan, item.node.child_by_field_name("body"), mark))
            parts = ", ".join(f"{field}: {text}" for field, text, _ in fields)
            lines.append(f"pub struct {name}{declared}{where} {{ {parts} }}")
            made = ", ".join(
                f"{field}: {_lent(f'&{mark}this.{field}', is_pinned)}" for field, _, is_pinned in fields
            )
            body = f"let this = {this}; {name} {{ {made} }}"
        else:
            variants, arms = _variants(plan, item, name, mark)
            lines.append(f"pub enum {name}{declared}{where} {{ {variants} }}")
            body = f"match {this} {{ {arms} }}"
        pin = f"std::pin::Pin<&'p {mark}Self>"
        # Parameters are named like those of the implementation, so the lifetime is the method's own.
        methods.append(f"pub fn {method}<'p>(self: {pin}) -> {name}{listed} {{ {body} }}")
    if not methods:
        return ""
    return "\n".join([*lines, f"impl{opening} {kind}{where} {{ {' '.join(methods)} }}"])


def _lent(reference: str, is_pinned: bool) -> str:
    return f"unsafe {{ std::pin::Pin::new_unchecked({reference}) }}" if is_pinned else reference


def _fields(plan: Plan, node: Node | None, mark: str) -> Iterator[tuple[str, str, bool]]:
    """Names of fields, their types in a projection, and whether they are pinned."""
    tree = plan.file.tree
    is_marked = False
    for child in node.children if node is not None else ():
        if child.type == "attribute_item":
            is_marked = is_marked or _MARK.match(tree.source(child)) is not None
        elif child.type == "field_declaration":
            name, kind = child.child_by_field_name("name"), child.child_by_field_name("type")
            if name is not None and kind is not None:
                text = f"&'p {mark}{flattened(tree.source(kind), plan.names)}"
                yield tree.source(name), f"std::pin::Pin<{text}>" if is_marked else text, is_marked
            is_marked = False


def _variants(plan: Plan, item: Item, name: str, mark: str) -> tuple[str, str]:
    """Variants of an enum's projection, and the arms that make them."""
    tree = plan.file.tree
    body = item.node.child_by_field_name("body")
    variants, arms = [], []
    for child in body.children if body is not None else ():
        label = child.child_by_field_name("name")
        if child.type != "enum_variant" or label is None:
            continue
        own = tree.source(label)
        inner = child.child_by_field_name("body")
        if inner is None:
            variants.append(own)
            arms.append(f"{item.name}::{own} => {name}::{own},")
        elif inner.type == "field_declaration_list":
            fields = list(_fields(plan, inner, mark))
            parts = ", ".join(f"{field}: {text}" for field, text, _ in fields)
            variants.append(f"{own} {{ {parts} }}")
            bound = ", ".join(field for field, _, _ in fields)
            made = ", ".join(f"{field}: {_lent(field, is_pinned)}" for field, _, is_pinned in fields)
            arms.append(f"{item.name}::{own} {{ {bound} }} => {name}::{own} {{ {made} }},")
        else:
            kinds: list[str] = []
            names: list[str] = []
            lent: list[str] = []
            is_marked = False
            for part in inner.children:
                if part.type == "attribute_item":
                    is_marked = _MARK.match(tree.source(part)) is not None
                elif part.is_named and "comment" not in part.type and part.type != "visibility_modifier":
                    text = f"&'p {mark}{flattened(tree.source(part), plan.names)}"
                    kinds.append(f"std::pin::Pin<{text}>" if is_marked else text)
                    names.append(f"f{len(names)}")
                    lent.append(_lent(names[-1], is_marked))
                    is_marked = False
            variants.append(f"{own}({', '.join(kinds)})")
            arms.append(f"{item.name}::{own}({', '.join(names)}) => {name}::{own}({', '.join(lent)}),")
    return ", ".join(variants), " ".join(arms)
