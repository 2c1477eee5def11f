"""Mends what is not there: names, members, macros and associated types that a compiler misses."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.bounds import asked_of_parameter
from pytest_funcmem.harness.compiled.rust.implementations import implement_iterator, keep_implementation
from pytest_funcmem.harness.compiled.rust.known import LIKELY_TYPES, MACRO_CRATES
from pytest_funcmem.harness.compiled.rust.messages import TICKS, Message, Work, bare
from pytest_funcmem.harness.compiled.rust.methods import own_method
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInType
from pytest_funcmem.harness.compiled.rust.standins import (
    add_function,
    add_macro,
    add_method,
    add_trait,
    add_type,
    own_function,
)
from pytest_funcmem.harness.compiled.rust.typetext import is_open, settle
from pytest_funcmem.harness.compiled.rust.uses import find_uses

__all__ = [
    "arguments_counted",
    "associated_type",
    "member_missing",
    "name_missing",
    "not_a_member",
    "not_a_value",
]


def name_missing(work: Work, message: Message) -> bool:
    """``cannot find …``: a type, function, constant, macro or trait that is not there."""
    text = message["message"]
    owner = work.owner(message)
    if owner.startswith(("use ", "extra ")):
        return False
    names = TICKS.findall(text)
    if not names:
        return False
    name = names[0].rpartition("::")[2].removeprefix("r#")
    if "macro" in text and "cannot find" in text:
        return macro_missing(work, name, owner)
    if message["code"] == "E0405" or "cannot find trait" in text or "expected trait" in text:
        return add_trait(work.plan, name, work.uses)
    if message["code"] == "E0432":
        # Within a function; whatever else it names is not there either.
        said = " ".join(str(span["label"]) for span in message["spans"])
        kind = work.plan.types.get(name)
        if kind is not None and not (kind.fields or kind.variants or kind.alias) and "not a module" in said:
            kind.variants["MadeOther"] = None
            return True
        return name[:1].isupper() and add_type(work.plan, name, work.uses)
    if "in this scope" not in text and "undeclared type" not in text and "use of" not in text:
        return member_missing(work, message)
    if message["code"] in ("E0412", "E0422", "E0531", "E0433") or "cannot find type" in text:
        if name.rpartition("__")[2][:1].islower() and message["code"] == "E0433":
            return False
        return add_type(work.plan, name, work.uses)
    if message["code"] == "E0425":
        if name == "self":
            return False
        return add_function(work.plan, name, work.uses)
    return False


def macro_missing(work: Work, name: str, owner: str) -> bool:
    """A macro: that of a crate, or made up. What it would define at the top of a file is missing too."""
    plan = work.plan
    crate = MACRO_CRATES.get(name)
    if crate in plan.names.crates and f"use {crate}::{name}" not in plan.left_out:
        line = f"use {crate}::{name};"
        if line not in plan.extra:
            plan.extra[line] = None
            return True
    if owner.startswith("item ") and "." in owner:
        index, place = (int(part) for part in owner[5:].split("."))
        if plan.file.items[index].members[place].kind == "macro" and owner not in plan.left_out:
            plan.left_out.add(owner)
            plan.taken[index].discard(place)
            return True
    elif owner.startswith("item "):
        item = plan.file.items[int(owner[5:])]
        if item.kind == "call" and owner not in plan.left_out:
            plan.left_out.add(owner)
            plan.taken.pop(item.index, None)
            return True
    return add_macro(plan, name, work.uses)


def member_missing(work: Work, message: Message) -> bool:
    """``no method named …``, ``no field …``, ``no associated item …``, ``no variant …``."""
    text = message["message"]
    names = TICKS.findall(text)
    if "is not an iterator" in text and names and not is_open(work.plan, bare(names[0])):
        own = bare(names[0]).partition("<")[0].rpartition("::")[2]
        if own in work.plan.types:
            return implement_iterator(work.plan, own, by_reference=names[0].startswith("&"))
    if "is not an iterator" in text and names and is_open(work.plan, bare(names[0])):
        name = bare(names[0])
        return settle(work.plan, name, f"std::vec::IntoIter<{work.plan.fresh(name + '_item')}>")
    if "cannot write into" in text and names:
        return _written_into(work, names[0])
    line = next((int(s["line_start"]) for s in message["spans"] if s["is_primary"]), 0)
    if len(names) < 2:
        return False
    name, of = names[0], names[1]
    of_name = re.sub(r"^(?:&(?:'\w+ )?(?:mut )?)+|<.*", "", of).rpartition("::")[2]
    kind = work.plan.types.get(of_name)
    trait = work.plan.traits.get(of_name, {})
    if message["code"] == "E0576" and "blanket" in trait and f"type {name}" not in trait:
        _give_type(work.plan, of_name, name)
        return True
    if "no method" in text or text.startswith("the method"):
        likely = LIKELY_TYPES.get(name)
        if likely is not None and of_name.startswith("Made_") and is_open(work.plan, of_name):
            while "?" in likely:
                likely = likely.replace("?", work.plan.fresh(of_name + "_part"), 1)
            if settle(work.plan, of_name, likely, weak=likely in ("i64", "f64")):
                return True
        if take_member(work, of_name, name):
            return True
        if asked_of_parameter(work, name, of):
            return True
        if name in work.plan.typed or (name == "clone" and name not in work.plan.methods):
            return own_method(work, name, of, line)
        text = next((span["text"] for span in message["spans"] if span["is_primary"]), "")
        return add_method(work.plan, name, work.uses, line, text)
    if "field" in text:
        if any(field_missing(work, name, inner) for inner in re.findall(r"(?<!')\b\w+", of)[:0:-1]):
            return True
        return field_missing(work, name, of_name) or (
            "no field" in text and field_missing(work, of_name, name)
        )
    if kind is not None and kind.alias is None:
        calls = (
            work.uses.paths.get(of_name, {}).get(name) or work.uses.paths.get("Self", {}).get(name) or [None]
        )
        called = next((call for call in calls if call is not None), None)
        if name[:1].isupper() and not name.isupper() and not kind.fields:
            if name in kind.variants:
                return False
            kind.variants[name] = (
                [work.plan.fresh(f"{of_name}_{name}") for _ in range(called.arity)] if called else None
            )
        elif called is not None:
            if name in kind.functions:
                return False
            kind.functions[name] = own_function(name, called)
        else:
            if name in kind.constants:
                return False
            kind.constants[name] = "Self"
        return True
    if take_member(work, of_name, name):
        return True
    return function_of_any(work, name)


def _written_into(work: Work, whole: str) -> bool:
    """What formatted text is written to: of which trait that is, the file's imports tell."""
    plan, name = work.plan, bare(whole)
    is_there = any(
        imported.path[-1] == "Write" or imported.path[-2:] == ("prelude", "*")
        for imported in plan.file.imports
    )
    is_text = any(imported.path[-2:] == ("fmt", "Write") for imported in plan.file.imports)
    if is_open(plan, name) and is_there and not re.match(r"&(?!\s*mut\b)", whole):
        return settle(plan, name, "String" if is_text else "Vec<u8>")
    own = name.partition("<")[0].rpartition("::")[2]
    result = "std::fmt::Result" if is_text else "std::io::Result<()>"
    # A method of its own is there whatever traits are in scope, and behind a shared reference too.
    return keep_implementation(
        plan,
        own,
        "write_fmt",
        f"impl {own} {{ pub fn write_fmt(&self, text: std::fmt::Arguments) -> {result} {{ "
        f'funcmem::answer("{own}.write_fmt", vec![funcmem::Dump::encoded(self), '
        f"funcmem::Dump::encoded(&text.to_string())]) }} }}",
    )


def function_of_any(work: Work, name: str) -> bool:
    """``Type::name(…)`` where the type is there and the function is that of a trait which is not."""
    key = f"static {name}"
    calls = [call for inner in work.uses.paths.values() for call in inner.get(name, ()) if call is not None]
    if key in work.plan.traits or not (calls or name.isupper()):
        return False
    if not calls:
        kind = work.plan.constants[f"MADE_{name}"] = work.plan.fresh(name)
        work.plan.traits[key] = {
            "head": f"pub trait Made_static_{name} {{ const {name}: {kind}; }}",
            "impl": f"impl<T: ?Sized> Made_static_{name} for T {{ const {name}: {kind} = MADE_{name}; }}",
        }
        return True
    kinds = [f"A{i}" for i in range(calls[0].arity)]
    listed = ", ".join(f"a{i}: A{i}" for i in range(calls[0].arity))
    parts = ", ".join(f"funcmem::Dump::encoded(&a{i})" for i in range(calls[0].arity))
    head = f"fn {name}<{', '.join([*kinds, 'R'])}>({listed}) -> R"
    work.plan.traits[key] = {
        "head": f"pub trait Made_static_{name} {{ {head}; }}",
        "impl": f"impl<T: ?Sized> Made_static_{name} for T "
        f'{{ {head} {{ funcmem::answer("{name}", vec![{parts}]) }} }}',
    }
    return True


def take_member(work: Work, of_name: str, name: str) -> bool:
    """Take a method of the file that was not reached by name before."""
    for item in work.plan.file.items:
        if item.kind != "impl" or item.name != of_name or f"item {item.index}" in work.plan.left_out:
            continue
        for place, member in enumerate(item.members):
            key = f"item {item.index}.{place}"
            if member.name == name and key not in work.plan.left_out:
                if place in work.plan.taken.get(item.index, set()):
                    continue
                work.plan.taken.setdefault(item.index, set()).add(place)
                return True
    return False


def field_missing(work: Work, name: str, of_name: str) -> bool:
    """A field that a type which stands in needs."""
    kind = work.plan.types.get(of_name)
    if kind is None or name in kind.fields or (kind.alias is not None and not kind.is_weak):
        return False
    if not re.fullmatch(r"[A-Za-z_]\w*|\d+", name):
        return False
    kind.alias = None
    if name.isdigit():
        kind.shape = "tuple"
        for place in range(int(name) + 1):
            if str(place) not in kind.fields:
                kind.fields[str(place)] = work.plan.fresh(f"{of_name}_{place}")
        return True
    kind.fields[name] = work.plan.fresh(f"{of_name}_{name}")
    return True


def not_a_value(work: Work, message: Message) -> bool:
    """What was taken for a type is a constant."""
    name = next(iter(TICKS.findall(message["message"])), "")
    kind = work.plan.types.get(name)
    if kind is None or kind.fields or kind.variants or kind.functions or name in work.plan.constants:
        return False
    if name in find_uses(work.plan.file.tree.text).types and not kind.parameters and not kind.lifetimes:
        # Its only value has its name.
        was, kind.shape = kind.shape, "unit"
        return was != "unit"
    del work.plan.types[name]
    work.plan.constants[name] = work.plan.fresh(name)
    return True


def associated_type(work: Work, message: Message) -> bool:
    """A type of a trait that stands in: of one trait, since two that have it would be ambiguous."""
    match = re.search(r"associated type `(\w+)` not found(?: for `(\w+)`)?", message["message"])
    if match is None:
        return False
    name, owner = match[1], match[2]
    plan = work.plan
    open_traits = [
        trait for trait, parts in plan.traits.items() if "blanket" in parts and f"type {name}" not in parts
    ]
    bounds = re.findall(rf"\b{owner}\s*:([^,{{}}]*)", plan.file.tree.text) if owner else []
    bounded = [trait for trait in open_traits if any(re.search(rf"\b{trait}\b", text) for text in bounds)]
    for trait in (bounded or open_traits)[: 1 if bounded else None]:
        _give_type(plan, trait, name)
    return bool(open_traits)


def not_a_member(work: Work, message: Message) -> bool:
    """What an implementation has, and the trait that stands in does not ask for."""
    names = TICKS.findall(message["message"])
    parts = work.plan.traits.get(names[1] if len(names) > 1 else "", {})
    if "head" not in parts or ("remade", *names) in work.plan.history:
        return False
    work.plan.history.add(("remade", *names))
    was = work.plan.traits.pop(names[1])
    add_trait(work.plan, names[1], work.uses)
    for name, text in was.items():
        if name.startswith("for "):
            work.plan.traits[names[1]][name] = text
    return True


def _give_type(plan: Plan, trait: str, name: str) -> None:
    parts = plan.traits[trait]
    parts["head"] = parts["head"].rstrip("} ") + f" type {name}; }}"
    inner = parts[f"type {name}"] = plan.fresh(f"{trait}_{name}")
    parts["blanket"] = parts["blanket"].rstrip("} ") + f" type {name} = {inner}; }}"


def arguments_counted(work: Work, message: Message) -> bool:
    """A type that stands in is given more lifetimes or types than it takes."""
    plan = work.plan
    bare_name = re.search(r"missing generics for \w+ `(?:\w+::)*(\w+)", message["message"])
    if bare_name:
        return not_the_standards(work, bare_name[1])
    match = re.search(r"takes (\d+) (lifetime|generic) arguments? but (\d+)", message["message"])
    span = next((span for span in message["spans"] if span["is_primary"]), None)
    if match is None or span is None:
        return False
    name = span["text"][int(span.get("column_start", 1)) - 1 : int(span.get("column_end", 1)) - 1]
    kind = plan.types.get(name.partition("<")[0].rpartition("::")[2])
    wanted = int(match[3])
    if kind is None and name.partition("<")[0] == "Result" and (match[1], wanted) == ("2", 1):
        # One whose error is always the same, of a module that the file takes everything from.
        plan.types["Result"] = StandInType("Result", parameters=1)
        if "Error" not in plan.names.own and "Error" not in plan.types:
            add_type(plan, "Error", work.uses)
        plan.types["Result"].alias = "std::result::Result<T0, Error>"
        return True
    if kind is None or wanted > 6:
        return False
    if match[2] == "lifetime" and wanted > kind.lifetimes:
        kind.lifetimes = wanted
        return True
    if match[2] == "generic" and wanted > kind.parameters:
        kind.parameters = wanted
        return True
    return False


def not_the_standards(work: Work, name: str) -> bool:
    """A name that was taken for the standard library's and is another's: that takes other arguments."""
    plan = work.plan
    line = next((line for line in plan.extra if re.fullmatch(rf"use std::[\w:]*::{name};", line)), None)
    if line is None:
        return False
    del plan.extra[line]
    plan.history.add(("not the standard's", name))
    return add_type(plan, name, work.uses)
