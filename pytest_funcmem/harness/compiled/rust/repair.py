"""Reads a compiler's messages about a scaffold, and changes the plan so that they go away.

What a message says of types that stand in is used to find out what they are; names that are not there get
something that stands in for them; helpers that do not compile are made to answer as if made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_funcmem.harness.compiled.rust.bounds import bounded
from pytest_funcmem.harness.compiled.rust.fitting import in_pattern, mismatch, operands, resigned, used_as
from pytest_funcmem.harness.compiled.rust.lacking import made_from, passed_on, unfulfilled
from pytest_funcmem.harness.compiled.rust.messages import TICKS, Message, Work, in_one_module
from pytest_funcmem.harness.compiled.rust.methods import counted_otherwise, told_apart
from pytest_funcmem.harness.compiled.rust.missing import (
    arguments_counted,
    associated_type,
    member_missing,
    name_missing,
    not_a_member,
    not_a_value,
)
from pytest_funcmem.harness.compiled.rust.operators import compared
from pytest_funcmem.harness.compiled.rust.plan import Plan, grow
from pytest_funcmem.harness.compiled.rust.render import Rendered
from pytest_funcmem.harness.compiled.rust.reopening import named_for_another, reopened
from pytest_funcmem.harness.compiled.rust.results import unguessed
from pytest_funcmem.harness.compiled.rust.standins import add_function
from pytest_funcmem.harness.compiled.rust.undecided import (
    moved,
    outlived,
    owned,
    undecided,
    unnamed_lifetime,
    written_to,
)
from pytest_funcmem.harness.compiled.rust.uses import Uses

__all__ = ["Message", "repair"]

_MISSING = frozenset({"E0412", "E0422", "E0531", "E0433", "E0425", "E0405", "E0404", ""})
_MEMBERS = frozenset({"E0599", "E0609", "E0610", "E0615", "E0560", "E0026", "E0576"})
_IMPORTS = frozenset({"E0432", "E0433", "E0252", "E0254", "E0255", "E0428", "E0603", "E0365"})
_OPERANDS = frozenset({"E0369", "E0368", "E0600"})


def leave_out(work: Work, owner: str) -> bool:
    """Do without whatever a message is about."""
    plan = work.plan
    if owner in ("pools", "registered") or owner.startswith(("use ", "make ", "dump ", "has ", "pinned ")):
        if owner in plan.left_out:
            return False
        plan.left_out.add(owner)
        return True
    if owner.startswith("extra "):
        return plan.extra.pop(owner[6:], "gone") is None
    if owner.startswith("item "):
        index, _, place_text = owner[5:].partition(".")
        item = plan.file.items[int(index)]
        place = int(place_text) if place_text else -1
        node = item.members[place].node if place >= 0 else item.node
        is_function = (item.members[place].kind if place >= 0 else item.kind) == "fn"
        if item.kind in ("struct", "enum") and plan.derives:
            plan.derives = frozenset()
            return True
        if item.kind in ("struct", "enum", "union") and f"derive {index}" not in plan.left_out:
            # What it is asked for is made up; what nothing asks for is not missed.
            plan.left_out.add(f"derive {index}")
            return True
        has_body = is_function and node.child_by_field_name("body") is not None
        if has_body and (item.index, place) not in plan.replaced and item.kind != "trait":
            plan.replaced.add((item.index, place))
            return True
        if item is plan.file.target and place < 0:
            return False
        if place >= 0 and not item.trait:
            plan.left_out.add(owner)
            plan.taken.get(item.index, set()).discard(place)
            return True
        if item is plan.file.target:
            return False
        plan.left_out.add(f"item {item.index}")
        plan.taken.pop(item.index, None)
        return True
    word, _, name = owner.partition(" ")
    if word == "method":
        return plan.methods.pop(name, None) is not None
    if word == "own":
        own, _, method = name.rpartition(" ")
        return plan.own_methods.get(own, {}).pop(method, None) is not None
    if owner.startswith(("trait impl ", "trait convert ")) and name in plan.traits:
        # It stays known, so that it is not written again.
        was = plan.traits[name].get("impl", "")
        plan.traits[name] = {"impl": ""}
        return bool(was)
    if word == "type" and name in plan.types:
        kind = plan.types[name]
        if kind.impls:
            kind.impls.clear()
            return True
        if kind.alias is not None and kind.is_weak:
            kind.alias = None
            return True
    return False


def implemented_twice(work: Work, message: Message) -> bool:
    """What the file implements for a type that stands in, which has it anyway."""
    plan = work.plan
    for span in message["spans"]:
        owner = work.owner_of(int(span["line_start"]))
        if not owner.startswith("item ") or "." in owner:
            continue
        item = plan.file.items[int(owner[5:])]
        if item.kind == "impl" and item.trait and item is not plan.file.target and item.index in plan.taken:
            plan.left_out.add(owner)
            plan.taken.pop(item.index)
            return True
    return False


def called_while_compiling(work: Work, message: Message) -> bool:
    """What stands in for a function that gives a constant or a static its value."""
    for whole in TICKS.findall(message["message"]):
        left, _, name = re.sub(r"::<.*>(?=::)", "", re.sub(r"::<[^:]*>\Z", "", whole)).rpartition("::")
        kind = work.plan.types.get(left.rpartition("::")[2].partition("<")[0])
        function = kind.functions.get(name) if kind is not None else work.plan.functions.get(name)
        if function is not None and not function.is_const and not function.closures:
            function.is_const = True
            return True
    return False


def method_found_twice(work: Work, message: Message) -> bool:
    """A method that stands in beside one of the same name: only the scaffold's own types get it."""
    for child in message["children"]:
        match = re.search(r"Made_method_(\w+)", child["message"])
        function = work.plan.methods.get(match[1]) if match else None
        if function is not None and not function.is_narrow:
            function.is_narrow = True
            return True
    return False


def repair(
    plan: Plan, rendered: Rendered, messages: Sequence[Message], uses: Uses, *, code_lines: int
) -> bool:
    """Change a plan by what a compiler said of it; whether anything changed."""
    work = Work(plan, rendered, uses, code_lines - 1)
    messages = [in_one_module(message) for message in messages]
    changed = False
    for message in messages:
        code = message["code"]
        owner = work.owner(message)
        handled = False
        is_import = owner.startswith(("use ", "extra "))
        if owner in ("pools", "registered") or (is_import and code in _IMPORTS):
            handled = leave_out(work, owner)
        elif code == "E0432":
            handled = name_missing(work, message)
        elif code in ("E0423", "E0532") and "found struct" in message["message"]:
            handled = not_a_value(work, message)
        elif code in ("E0521", "E0597", "E0716", "E0515") or "lifetime may not" in message["message"]:
            handled = outlived(work, message)
        elif "in a pattern" in message["message"]:
            handled = in_pattern(work, message)
        elif code in _MISSING:
            handled = name_missing(work, message)
        elif code == "E0408":
            name = next(iter(TICKS.findall(message["message"])), "")
            handled = name[:1].isupper() and add_function(plan, name, uses)
        elif code == "E0015" and called_while_compiling(work, message):
            handled = True
        elif code == "E0015" and owner.startswith(("item ", "target")) and not plan.is_const_stripped:
            plan.is_const_stripped = handled = True
        elif code in ("E0407", "E0437", "E0438"):
            handled = not_a_member(work, message)
        elif code == "E0220":
            handled = associated_type(work, message)
        elif code in _MEMBERS:
            handled = member_missing(work, message)
        elif code == "E0308":
            handled = mismatch(work, message) or made_from(work, message) or compared(work, message)
        elif code == "E0605" and named_for_another(work, message):
            handled = True
        elif code in _OPERANDS:
            handled = operands(work, message)
        elif code in ("E0277", "E0271"):
            handled = unfulfilled(work, message) or mismatch(work, message)
        elif code in ("E0282", "E0283", "E0284", "E0641"):
            handled = undecided(work, message)
        elif code in ("E0608", "E0614", "E0604", "E0605", "E0606", "E0607", "E0618"):
            handled = used_as(work, message)
        elif code == "E0631":
            handled = passed_on(work, message)
        elif code == "E0034":
            handled = method_found_twice(work, message)
        elif code == "E0119":
            handled = implemented_twice(work, message)
        elif code == "E0061":
            handled = counted_otherwise(work, message)
        elif code == "E0106":
            handled = unnamed_lifetime(work, message)
        elif code in ("E0594", "E0596"):
            handled = written_to(work, message)
        elif code == "E0107":
            handled = arguments_counted(work, message)
        elif code in ("E0382", "E0505", "E0507"):
            handled = moved(work, message) or owned(work, message)
        elif code == "E0204" and owner.startswith("type "):
            kind = plan.types.get(owner[5:])
            if kind is not None and kind.is_copy:
                kind.is_copy, handled = False, True
        elif code in ("E0782", "E0783") and plan.edition == "2021":
            plan.edition, handled = "2018", True
        changed = handled or bounded(work, message) or changed
    changed = changed or any(unguessed(work, message) for message in messages)
    changed = changed or any(
        resigned(work, message) for message in messages if message["code"] in ("E0308", "E0271", "E0277")
    )
    changed = changed or any(told_apart(work, message) for message in messages)
    changed = changed or any(
        reopened(work, message)
        for message in messages
        if message["code"] in ("E0308", "E0271", "E0277", "E0605")
    )
    if not changed:
        for owner in dict.fromkeys(work.owner(message) for message in messages):
            if owner and owner not in ("target", "driver", "macros"):
                changed = leave_out(work, owner) or changed
    if changed:
        grow(plan)
    return changed
