"""Writes what stands in for types, functions and methods that a file lacks."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_funcmem.harness.compiled.rust.constants import constant_value
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInFunction, StandInType
from pytest_funcmem.harness.compiled.rust.uses import FUTURE
from pytest_funcmem.harness.compiled.rust.values import dump_impl, impl_head, make_impl

__all__ = ["function_text", "method_text", "own_method_text", "type_text"]

_DEEPEST_ALIAS = 12
_TRAITS = ("Debug", "Display", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash", "Default")
"""What every type that stands in can do."""
_REST = "MadeRest"
"""A variant that is never made: it uses the parameters that no other variant does."""


def _parameters(path: str, function: StandInFunction) -> tuple[list[str], list[str], list[str], str]:
    """Type parameters, parameters, logged parts, and statements that call closures."""
    kinds, parameters, parts = [], [], []
    # What a call names and leaves open must be the type of something.
    is_result = function.result is None or re.search(r"\bX0\b", function.result)
    left = [number for number in function.inferred if number or not is_result]
    for place in range(function.arity):
        borrow = function.borrowed.get(place, "")
        # Where calls name types, those of arguments are none of them.
        is_named = place in function.types or (bool(function.turbofish) and place not in function.closures)
        bare = f"{borrow}impl Sized" if is_named else f"{borrow}A{place}"
        if is_named and left and place not in function.types:
            bare = f"{borrow}X{left.pop(0)}"
        parameters.append(f"a{place}: {function.types.get(place, bare)}")
        if place not in function.closures:
            if not is_named:
                kinds.append(f"A{place}: ?Sized" if borrow else f"A{place}")
            parts.append(f"funcmem::Given::given(a{place})")
    # What a closure gives back is known once it was called, so that it is among what is logged.
    calls = ""
    for place, count in sorted(function.closures.items()):
        if count == FUTURE:
            kinds += [f"A{place}: std::future::Future<Output = R{place}>", f"R{place}"]
            calls += f"let c{place} = funcmem::blocked(a{place}); "
            parts.append(f"funcmem::Dump::encoded(&c{place})")
            continue
        given = [function.given.get((place, i), f"P{place}_{i}") for i in range(count)]
        result = function.given_back.get(place, f"R{place}")
        kinds.append(f"A{place}: FnOnce({', '.join(given)}) -> {result}")
        if place not in function.given_back:
            kinds.append(f"R{place}")
        kinds += [kind for kind in given if kind.startswith(f"P{place}_")]
        made = ", ".join(f'funcmem::answer("{path}({i})", vec![])' for i in range(count))
        calls += f"let c{place} = a{place}({made}); "
        parts.append(f"funcmem::Dump::encoded(&c{place})")
    return kinds, parameters, parts, calls


def function_text(
    name: str, path: str, function: StandInFunction, *, is_method: bool = False, own: str = ""
) -> str:
    """A function that logs its call and makes up its answer.

    Args:
        name: Its name.
        path: What its calls are logged as, behind the type's name.
        function: What is known of it.
        is_method: Whether it has a receiver.
        own: Name of the type that it is associated with.
    """
    shown = path if not own else f"{own}.{path}"
    kinds, parameters, parts, calls = _parameters(shown, function)
    result = function.result
    if result is None:
        kinds.append("R")
        result = "R"
    elif function.turbofish:
        kinds.append("X0" if re.search(r"\bX0\b", " ".join([result, *parameters])) else "X0: ?Sized")
    kinds += function.free
    for number in range(1, function.turbofish):
        is_given = re.search(rf"\bX{number}\b", " ".join(parameters))
        kinds.append(f"X{number}" if is_given else f"X{number}: ?Sized")
    receiver = ["&self"] if is_method else []
    logged = ["funcmem::Dump::encoded(self)"] if is_method else []
    generic = f"<{', '.join(kinds)}>" if kinds else ""
    visible = "" if is_method and not own else "pub "
    if function.is_const:
        kept = "".join(f"std::mem::forget(a{place}); " for place in range(function.arity))
        head = f"pub const fn {_raw(name)}{generic}({', '.join(receiver + parameters)}) -> {result}"
        return f"{head} {{ {kept}unsafe {{ std::mem::zeroed() }} }}"
    return (
        f"{visible}fn {_raw(name)}{generic}({', '.join(receiver + parameters)}) -> {result} "
        f'{{ {calls}funcmem::answer("{shown}", vec![{", ".join(logged + parts)}]) }}'
    )


def _raw(name: str) -> str:
    return (
        f"r#{name}" if name in ("type", "match", "try", "loop", "move", "ref", "in", "yield", "box") else name
    )


def method_text(plan: Plan, name: str, function: StandInFunction) -> str:
    """A method that every type has, or the scaffold's own types where others have one of that name."""
    text = function_text(name, name, function, is_method=True)
    declared = text[: text.index(" { ")]
    trait = f"Made_method_{name}"
    head = f"pub trait {trait} {{ {declared}; }}"
    if not function.is_narrow:
        return f"{head}\nimpl<T: ?Sized> {trait} for T {{ {text} }}"
    own = [
        kind.name
        for kind in plan.types.values()
        if kind.alias is None and not kind.parameters and not kind.lifetimes
    ]
    own += [
        item.name
        for item, _ in plan.taken_items()
        if item.kind in ("struct", "enum") and item.node.child_by_field_name("type_parameters") is None
    ]
    return "\n".join([head, *(f"impl {trait} for {kind} {{ {text} }}" for kind in own)])


def own_method_text(plan: Plan, own: str, name: str, function: StandInFunction) -> str:
    """A method that one type has: others have one of that name that is called otherwise."""
    text = function_text(name, name, function, is_method=True)
    trait = f"Made_method_{name}_of_{re.sub(r'[^0-9A-Za-z_]+', '_', own)}"
    kind = plan.types.get(own)
    item = next(
        (i for i, _ in plan.taken_items() if i.name == own and i.kind in ("struct", "enum", "union")), None
    )
    opening, where, whole = "", "", own
    if kind is not None:
        given = [f"'l{i}" for i in range(kind.lifetimes)] + [f"T{i}" for i in range(kind.parameters)]
        opening = f"<{', '.join(given)}>" if given else ""
        whole = f"{own}{opening}"
    elif item is not None:
        (opening, where), whole = impl_head(plan, item)
    declared = f"pub trait {trait} {{ {text[: text.index(' { ')]}; }}"
    return f"{declared}\nimpl{opening} {trait} for {whole}{where} {{ {text} }}"


def type_text(plan: Plan, kind: StandInType) -> str:
    """A type that stands in, with how its values are made and encoded."""
    name = kind.name
    if kind.alias is not None:
        types = [f"T{i}" for i in range(kind.parameters)]
        text = kind.alias
        is_unused = (types and "T0" not in text) or (kind.lifetimes and "'l0" not in text)
        if is_unused or kind.lifetimes > 1 or kind.parameters > 1:
            marks = [f"&'l{i} ()" for i in range(kind.lifetimes)]
            text = _tie(text, f"({', '.join([*marks, *types])},)")
        generics = [f"'l{i}" for i in range(kind.lifetimes)] + types
        listed = f"<{', '.join(generics)}>" if generics else ""
        return f"pub type {name}{listed} = {text};"
    lifetimes = [f"'l{i}" for i in range(kind.lifetimes)]
    types = [f"T{i}" for i in range(kind.parameters)]
    defaults = [f"T{i} = ()" for i in range(kind.parameters)]
    declared = f"<{', '.join(lifetimes + defaults)}>" if lifetimes or types else ""
    opening = f"<{', '.join(lifetimes + types)}>" if lifetimes or types else ""
    own = f"{name}{opening}"
    phantom = ", ".join([f"&{mark} ()" for mark in lifetimes] + types)
    is_generic = bool(lifetimes or types)
    if lifetimes:
        kind = _as_short(plan, kind)
    if is_generic:
        kind = _tied(kind, f"({phantom},)")
    kind_fields = set(_parts(kind))
    implemented = _implemented(plan, kind)
    if "Clone" in implemented:
        kind = replace(kind, is_clone=False, is_copy=False)
    derive = "" if is_generic or not kind.is_clone else "Clone, Copy" if kind.is_copy else "Clone"
    if kind.is_pattern:
        derive = f"{derive}, PartialEq, Eq" if derive else "PartialEq, Eq"
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
        is_unit = kind.shape == "unit" and not kind.fields and not is_generic
        identity = "" if is_unit or (kind.shape == "literal" and kind.fields) else "pub id: u64, "
        is_marked = is_generic and bool(identity)
        mark = f"pub made: std::marker::PhantomData<({phantom},)>, " if is_marked else ""
        body = ";" if is_unit else f" {{ {identity}{parts}{mark}}}"
        lines.append(f"{derived}pub struct {name}{declared}{body}")
        built = "".join(f"{_raw(f)}: funcmem::Make::make(source), " for f in kind.fields)
        identity_made = "id: funcmem::opaque_id(source), " if identity else ""
        make = f"{name} {{ {identity_made}{built}{'made: std::marker::PhantomData, ' if is_marked else ''}}}"
        dump = _fields_dump(kind, with_id=bool(identity) and not kind.fields)
        copied = "".join(f"{_raw(f)}: self.{_raw(f)}.clone(), " for f in kind.fields)
        copied = ("id: self.id, " if identity else "") + copied
        cloned = f"{name} {{ {copied}{'made: std::marker::PhantomData' if is_marked else ''} }}"
    if is_generic:
        held = sorted(text for text in kind_fields if re.search(r"\bT\d", text) and "Tied<" not in text)
        bounds = f" where {', '.join(f'{kind}: Clone' for kind in held)}" if held else ""
        lines.append(f"impl{opening} Clone for {own}{bounds} {{ fn clone(&self) -> Self {{ {cloned} }} }}")
        if kind.is_copy and not kind.fields and not held:
            lines.append(f"impl{opening} Copy for {own} {{}}")
    lines.append(make_impl(own, make, opening=opening))
    lines.append(dump_impl(own, dump, opening=opening))
    rest = [trait for trait in _TRAITS if trait not in implemented]
    named = f", {' '.join(rest)}" if len(rest) < len(_TRAITS) else ""
    lines.append(f"funcmem::stand_in_type!([{', '.join(lifetimes + types)}] {own}{named});")
    functions = [function_text(f, f, function, own=name) for f, function in kind.functions.items()]
    constants = [
        f"pub const {c}: {text} = {_own_constant(plan, kind, c, text)};" for c, text in kind.constants.items()
    ]
    if functions or constants:
        head = f"impl{opening} {own}"
        if kind.is_fixed:
            given = [*lifetimes, *("()" for _ in types)]
            head = f"impl{_listed(lifetimes)} {name}{_listed(given)}"
        lines.append(f"{head} {{ {' '.join([*constants, *functions])} }}")
    lines.extend(kind.impls.values())
    return "\n".join(lines)


def _implemented(plan: Plan, kind: StandInType) -> set[str]:
    """Traits that a type which stands in is given otherwise: by the file, or derived."""
    found = {"PartialEq", "Eq"} if kind.is_pattern else set()
    for item, _ in plan.taken_items():
        if item.kind == "impl" and item.name == kind.name and item.trait in (*_TRAITS, "Clone", "Copy"):
            trait = item.node.child_by_field_name("trait")
            if trait is not None and (trait.type != "generic_type" or item.trait.startswith("Partial")):
                found.add(item.trait)
    return found


def _listed(names: list[str]) -> str:
    return f"<{', '.join(names)}>" if names else ""


def _as_short(plan: Plan, kind: StandInType) -> StandInType:
    """The same type where references in it live as long as its first parameter, not for ever."""
    variants: dict[str, list[str] | dict[str, str] | None] = {}
    for name, payload in kind.variants.items():
        if isinstance(payload, dict):
            variants[name] = {field: _shortened(plan, text) for field, text in payload.items()}
        else:
            variants[name] = None if payload is None else [_shortened(plan, text) for text in payload]
    fields = {name: _shortened(plan, text) for name, text in kind.fields.items()}
    return replace(kind, variants=variants, fields=fields)


def _shortened(plan: Plan, text: str, depth: int = 0) -> str:
    """A type with those that it names spelled out where they hold references."""

    def spelled(match: re.Match[str]) -> str:
        kind = plan.types.get(match[0])
        if kind is None or kind.alias is None or kind.parameters or depth > _DEEPEST_ALIAS:
            return match[0]
        inner = _shortened(plan, kind.alias, depth + 1)
        return inner if "'l0" in inner else match[0]

    return re.sub(r"(?<!')\b[A-Za-z_]\w*", spelled, text).replace("'static", "'l0")


def _tied(kind: StandInType, parameters: str) -> StandInType:
    """The same type where one of its parts depends on its parameters, since each must be used."""
    if kind.variants:
        variants = dict(kind.variants)
        used = set(re.findall(r"'l\d+|\bT\d+", " ".join(_parts(kind))))
        if kind.parameters and set(re.findall(r"'l\d+|\bT\d+", parameters)) <= used:
            return kind
        for name, payload in variants.items():
            if payload and not any(mark.startswith("T") for mark in used):
                variants[name] = (
                    {field: _tie(text, parameters) for field, text in payload.items()}
                    if isinstance(payload, dict)
                    else [_tie(text, parameters) for text in payload]
                )
                break
        else:
            # Nothing can be of it, so that a match on the others is whole.
            variants[_REST] = ["std::convert::Infallible", f"std::marker::PhantomData<{parameters}>"]
        return replace(kind, variants=variants)
    if kind.shape == "tuple":
        if len(kind.fields) == 1 and kind.parameters == 1:
            return replace(kind, fields=dict.fromkeys(kind.fields, "T0"))
        return replace(kind, fields={name: _tie(text, parameters) for name, text in kind.fields.items()})
    if kind.shape == "literal" and kind.fields:
        whole = " ".join(kind.fields.values())
        left = [f"T{i}" for i in range(kind.parameters) if not re.search(rf"\bT{i}\b", whole)]
        plain = [name for name, text in kind.fields.items() if not re.search(r"\bT\d", text)]
        if left and len(plain) == len(left) < kind.parameters:
            # What is left over on both sides belongs together.
            return replace(kind, fields={**kind.fields, **dict(zip(plain, left, strict=True))})
        if left:
            tied = {name: _tie(text, parameters) for name, text in kind.fields.items() if name in plain}
            return replace(kind, fields={**kind.fields, **tied})
        lost = [mark for mark in re.findall(r"'l\d+", parameters) if not re.search(rf"{mark}\b", whole)]
        if lost and plain:
            # A part that was of them is made anew.
            return replace(kind, fields={**kind.fields, plain[0]: _tie(kind.fields[plain[0]], parameters)})
    return kind


def _parts(kind: StandInType) -> list[str]:
    """Types of all fields and of all payloads of variants."""
    found = [*kind.fields.values()]
    for payload in kind.variants.values():
        found += payload.values() if isinstance(payload, dict) else payload or ()
    return found


def _tie(text: str, parameters: str) -> str:
    return f"<{text} as funcmem::Tied<{parameters}>>::Out"


def _own_constant(plan: Plan, kind: StandInType, constant: str, text: str) -> str:
    if text in ("Self", kind.name) and kind.shape == "unit":
        return kind.name
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
