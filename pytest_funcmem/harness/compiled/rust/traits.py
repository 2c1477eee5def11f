"""Traits that stand in: types that are made to have one, and others that are given one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.signature import split_types
from pytest_funcmem.harness.compiled.rust.values import opaque_type

__all__ = ["given_trait", "made_to_have"]


def made_to_have(plan: Plan, trait: str, argument: str) -> bool:
    """Where a trait that stands in asks for something, a type that has it stands for the parameter.

    Args:
        plan: Changed.
        trait: Its name.
        argument: What it is given, as source; "" for nothing.
    """
    parts = plan.traits.get(trait, {})
    if not _asks_for_members(parts) or "made" in parts:
        return False
    name = f"Made_impl_{trait}"
    parts["made"] = f"{opaque_type(name, trait)}\n{_implemented(plan, trait, argument, name)}"
    return True


def given_trait(plan: Plan, kind: str, trait: str, argument: str) -> bool:
    """Let a type have a trait that is the file's own or stands in: what the trait asks for is made up.

    Args:
        plan: Changed.
        kind: The type.
        trait: Name of the trait.
        argument: What the trait is given, as source; "" for nothing.
    """
    words = set(re.findall(r"\w+", kind))
    if words & (plan.file.parameters | {"_", "impl", "dyn", "Self"}) or "{" in kind or "'_" in kind:
        return False
    parts = plan.traits.get(trait, {})
    if _asks_for_members(parts):
        key = f"for {kind} {argument}".strip()
        if key in parts:
            return False
        parts[key] = _implemented(plan, trait, argument, kind)
        return True
    key = f"has {trait} for {kind}"
    if key in plan.traits or all(
        item.name != trait or item.kind != "trait" for item, _ in plan.taken_items()
    ):
        return False
    plan.traits[key] = {"trait": trait, "type": kind, "argument": argument}
    return True


def _asks_for_members(parts: Mapping[str, str]) -> bool:
    return " {" in parts.get("head", "") and "blanket" not in parts


def _implemented(plan: Plan, trait: str, argument: str, name: str) -> str:
    """An implementation of a trait that stands in."""
    head, _, body = plan.traits[trait]["head"].partition(" {")
    given = dict(zip(re.findall(r"\bT\d", head.partition(":")[0]), split_types(argument), strict=False))
    lifetimes = re.findall(r"'l\d", head.partition(":")[0])
    members = []
    for member in _members(body.rpartition("}")[0]):
        for parameter, kind in given.items():
            member = re.sub(rf"\b{parameter}\b", kind, member)
        member = re.sub(r"'l\d\b", "'static", member)
        word = member.split(None, 1)[0]
        if word == "type":
            members.append(f"{member.partition(':')[0]} = {plan.fresh(trait)};")
        elif word == "const":
            members.append(f"{member} = unsafe {{ std::mem::zeroed() }};")
        else:
            called = re.search(r"\bfn\s+(\w+)", member)
            members.append(f'{member} {{ funcmem::answer("{trait}.{called[1] if called else ""}", vec![]) }}')
    listed = ", ".join([*("'static" for _ in lifetimes), *given.values()])
    unsafe = "unsafe " if "unsafe trait" in head else ""
    return f"{unsafe}impl {trait}{f'<{listed}>' if listed else ''} for {name} {{ {' '.join(members)} }}"


def _members(body: str) -> list[str]:
    """What a trait asks for, without the semicolons."""
    found, depth, start = [], 0, 0
    for place, character in enumerate(body):
        depth += (character in "([{") - (character in ")]}")
        if character == "}" and depth == 0:
            start = place + 1  # It has a body of its own.
        elif character == ";" and depth == 0:
            found.append(re.sub(r",\s*\Z", "", body[start:place].strip()))
            start = place + 1
    return [text for text in found if text]
