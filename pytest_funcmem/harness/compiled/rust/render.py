"""Writes a plan as the text of one module, and remembers whose each line is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.constants import constant_value, named_constants
from pytest_funcmem.harness.compiled.rust.driver import (
    answering,
    behind,
    driver_text,
    made_object,
    made_trait,
    registering_text,
    trait_impl,
)
from pytest_funcmem.harness.compiled.rust.flatten import flattened, without_attributes
from pytest_funcmem.harness.compiled.rust.items import Item, Member
from pytest_funcmem.harness.compiled.rust.literals import pools_text
from pytest_funcmem.harness.compiled.rust.pinned import is_pinned, projection_text
from pytest_funcmem.harness.compiled.rust.plan import Plan, usable_imports
from pytest_funcmem.harness.compiled.rust.signature import read_signature
from pytest_funcmem.harness.compiled.rust.standintext import (
    function_text,
    method_text,
    own_method_text,
    type_text,
)
from pytest_funcmem.harness.compiled.rust.traits import made_to_have
from pytest_funcmem.harness.compiled.rust.values import value_impls

__all__ = ["HOLE", "Rendered", "render"]

HOLE = "/*funcmem: the function*/"
"""Where in the text of a scaffold the function's code goes."""

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
        out.write(f"type {stand_in.name}", type_text(plan, stand_in))
    for name, function in plan.functions.items():
        out.write(f"function {name}", function_text(name, name, function))
    for name, function in plan.methods.items():
        out.write(f"method {name}", method_text(plan, name, function))
    for own, methods in plan.own_methods.items():
        for name, function in methods.items():
            out.write(f"own {own} {name}", own_method_text(plan, own, name, function))
    for name, kind in plan.constants.items():
        out.write(f"constant {name}", f"pub const {name}: {kind} = {constant_value(plan, name, kind)};")
    for item, _ in items:
        if item.kind == "trait" and re.search(rf"\bdyn\s+(?:\w+::)*{item.name}\b", plan.function.text):
            plan.traits.setdefault(f"own {item.name}", {"argument": ""})
    written = 0
    while written < len(plan.traits):  # to write one may ask for types that have another
        key, parts = list(plan.traits.items())[written]
        written += 1
        if key.startswith("own "):
            trait = next((i for i, _ in items if i.kind == "trait" and i.name == key[4:]), None)
            if trait is not None:
                out.write(key, made_trait(plan, trait, parts["argument"]))
        elif key.startswith("has "):
            trait = next((i for i, _ in items if i.kind == "trait" and i.name == parts["trait"]), None)
            if trait is not None and key not in plan.left_out:
                out.write(key, trait_impl(plan, trait, parts["type"], parts["argument"]))
        else:
            is_pointed_to = re.search(rf"\bdyn\s+(?:\w+::)*{key}\b", plan.function.text) is not None
            is_plain = (
                re.match(rf"pub trait {re.escape(key)}(?:: [^{{]*)? {{", parts.get("head", "")) is not None
            )
            is_plain = (
                is_plain and "type " not in parts.get("head", "") and "Sized" not in parts.get("head", "")
            )
            is_made = is_plain and is_pointed_to and "blanket" not in parts
            if is_made:
                made_to_have(plan, key, "")
            texts = [text for what, text in parts.items() if not what.startswith(("type ", "super"))]
            out.write(f"trait {key}", "\n".join(texts))
            if is_made:
                out.write(f"made {key}", behind(f"Made_impl_{key}", key))
            elif is_plain and is_pointed_to and "head" in parts:
                out.write(f"made {key}", made_object(key))
    for item, _ in items:
        if item.kind in ("struct", "enum", "union"):
            for owner, text in value_impls(plan, item):
                out.write(owner, text)
            if is_pinned(plan, item) and f"pinned {item.name}" not in plan.left_out:
                out.write(f"pinned {item.name}", projection_text(plan, item))
    numbers, texts = named_constants(plan)
    if "pools" in plan.left_out:
        numbers, texts = [], []
    out.write("pools", pools_text(plan.function, _helpers(plan), numbers=numbers, names=texts))
    out.write("registered", registering_text(plan, driver))
    out.write("driver", driver)
    text = "\n".join(out.lines) + "\n"
    hole = next(place for place, line in enumerate(out.lines, 1) if HOLE in line)
    return Rendered(text=text, owners=tuple(out.owners), hole=hole, driver=driver_line)


def _helpers(plan: Plan) -> list[str]:
    """Bodies of what the function calls in its file, as far as they are written."""
    found = []
    for item, members in plan.taken_items():
        parts = [
            (place, member.node, member.kind) for place, member in members if member is not plan.file.member
        ]
        if item.kind == "fn" and item is not plan.file.target:
            parts.append((-1, item.node, "fn"))
        found += [
            plan.file.tree.source(node)
            for place, node, kind in parts
            if kind == "fn" and (item.index, place) not in plan.replaced
        ]
    return found


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
    if f"derive {item.index}" in plan.left_out:
        attributes = re.sub(r"#\[derive\([^)]*\)\]", "", attributes).strip()
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
            text = _clean(plan, member.node, derives)
            is_open = member.kind == "macro" and not text.endswith(("}", ";"))
            out.write(f"item {item.index}.{place}", text + ";" if is_open else text)
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
