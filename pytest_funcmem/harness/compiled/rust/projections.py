"""Types of a type parameter's traits, written so that the parameter can be replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.signature import Generic, Signature

__all__ = ["named_projections", "projected"]

_KNOWN = {
    "Item": ("Iterator", "IntoIterator"),
    "IntoIter": ("IntoIterator",),
    "Target": ("Deref",),
    "Err": ("FromStr",),
    "Error": ("TryFrom", "TryInto"),
    "Output": ("Add", "Sub", "Mul", "Div", "Rem", "Neg", "Not", "Index", "Future"),
}
_PATHS = {
    "Deref": "std::ops::Deref",
    "FromStr": "std::str::FromStr",
    "Index": "std::ops::Index",
    "Future": "std::future::Future",
    **{name: f"std::ops::{name}" for name in ("Add", "Sub", "Mul", "Div", "Rem", "Neg", "Not")},
}


def projected(plan: Plan, signature: Signature, own: Mapping[str, str]) -> Signature:
    """A signature in which ``T::Name`` says of which trait the name is.

    Args:
        plan: What traits there are.
        signature: Of the original.
        own: What ``Self::Name`` is, by name.
    """
    bounds = {generic.name: generic.bounds for generic in signature.generics if generic.kind == "type"}

    def whole(text: str) -> str:
        for name, kind in own.items():
            text = re.sub(rf"\bSelf::{name}\b", kind, text)
        for inner in sorted(set(re.findall(r"(?<![\w:])Self::([A-Z]\w*)", text))):
            trait = _trait_with(plan, inner)
            if trait:
                text = re.sub(rf"(?<![\w:])Self::{inner}\b", f"<Self as {trait}>::{inner}", text)
        return named_projections(plan, text, bounds)

    return replace(
        signature,
        parameters=tuple(replace(p, type=whole(p.type)) for p in signature.parameters),
        receiver=whole(signature.receiver),
        generics=tuple(
            Generic(g.name, g.kind, [whole(bound) for bound in g.bounds], g.type) for g in signature.generics
        ),
    )


def named_projections(plan: Plan, text: str, bounds: Mapping[str, Sequence[str]]) -> str:
    """A text in which ``T::Name`` says of which of a parameter's traits the name is."""
    for name, listed in bounds.items():
        for inner in sorted(set(re.findall(rf"(?<![\w:]){name}::([A-Z]\w*)", text))):
            text = re.sub(rf"(?<![\w:]){name}::{inner}\b", _named(plan, name, listed, inner), text)
    return text


def _trait_with(plan: Plan, name: str) -> str:
    """A trait without parameters that has a type of a name; "" where there is none."""
    for item, _ in plan.taken_items():
        is_plain = item.kind == "trait" and item.node.child_by_field_name("type_parameters") is None
        if is_plain and any(member.kind == "type" and member.name == name for member in item.members):
            return item.name
    for trait, parts in plan.traits.items():
        head = parts.get("head", "")
        if re.search(rf"\btype {name}\b", head) and "<" not in head.partition("{")[0]:
            return trait
    return ""


def _named(plan: Plan, parameter: str, bounds: Sequence[str], name: str) -> str:
    traits = [bound.partition("=")[0] if "<" not in bound else bound for bound in bounds]
    own = {item.name: item for item, _ in plan.taken_items() if item.kind == "trait"}
    for bound in traits:
        short = re.split(r"[<(]", bound)[0].strip("? ").rpartition("::")[2]
        item = own.get(short)
        is_own = item is not None and any(m.kind == "type" and m.name == name for m in item.members)
        is_made = f"type {name}" in plan.traits.get(short, {}).get("head", "")
        if is_own or is_made or short in _KNOWN.get(name, ()):
            listed = re.search(r"<.*>", bound)
            given = listed[0] if listed and "=" not in listed[0] else ""
            path = (bound if short in own else _PATHS.get(short, bound)).partition("<")[0]
            return f"<{parameter} as {path}{given}>::{name}"
    for trait, parts in plan.traits.items():
        head = parts.get("head", "")
        if f"type {name}" in head and "blanket" in parts and "<" not in head.partition("{")[0]:
            return f"<{parameter} as {trait}>::{name}"
    return f"{parameter}::{name}"
