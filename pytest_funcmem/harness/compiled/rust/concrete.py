"""Which type stands for a type parameter, by what it must be able to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.signature import Generic, generics_of, substituted

__all__ = [
    "choose_concrete",
    "choose_made",
    "concrete_types",
    "function_bound",
    "given_to_all",
    "supertraits",
    "type_for_bounds",
]

_BY_TRAIT: Mapping[str, str] = MappingProxyType(
    {
        "BufRead": "std::io::Cursor<Vec<u8>>",
        "Read": "std::io::Cursor<Vec<u8>>",
        "Seek": "std::io::Cursor<Vec<u8>>",
        "ReadBytesExt": "std::io::Cursor<Vec<u8>>",
        "WriteBytesExt": "Vec<u8>",
        "BuildHasher": "std::collections::hash_map::RandomState",
        "Hasher": "std::collections::hash_map::DefaultHasher",
        "Error": "std::fmt::Error",
        "ToString": "String",
        "Display": "String",
        "FromStr": "i64",
        "Float": "f64",
        "FloatCore": "f64",
        "Real": "f64",
        "PrimInt": "u32",
        "Unsigned": "u32",
        "Integer": "i64",
        "Num": "i64",
        "Signed": "i64",
        "Array": "[u8; 4]",
        "ArrayLength": "generic_array::typenum::U8",
        "ByteOrder": "byteorder::LittleEndian",
        "Buf": "&'static [u8]",
        "BufMut": "Vec<u8>",
        "Rng": "rand::rngs::StdRng",
        "RngCore": "rand::rngs::StdRng",
        "WriteColor": "&'static mut dyn termcolor::WriteColor",
        "Serializer": "serde_json::value::Serializer",
        "Deserializer": "serde_json::Value",
        "Deserialize": "serde_json::Value",
        "DeserializeOwned": "serde_json::Value",
        "Serialize": "String",
        "Visitor": "serde::de::IgnoredAny",
        "DeserializeSeed": "std::marker::PhantomData<u64>",
    }
)
_BY_ARGUMENT: Mapping[str, str] = MappingProxyType(
    {"str": "String", "[u8]": "Vec<u8>", "Path": "std::path::PathBuf", "OsStr": "std::ffi::OsString"}
)
_DEFAULT = "i64"
_ERRORS = (("de", "Error"), ("ser", "Error"))
_FUNCTION = re.compile(
    r"(?:for\s*<[^>]*>\s*)?(?:[\w:]*::)?(Fn|FnMut|FnOnce)\s*\((.*?)\)\s*(?:->\s*(.*))?\Z", re.DOTALL
)


def function_bound(bounds: Sequence[str]) -> tuple[str, str] | None:
    """Parameters and result of the function that a bound asks for; None where none does."""
    for bound in bounds:
        match = _FUNCTION.match(bound)
        if match:
            return match[2], (match[3] or "()").strip()
    return None


def choose_concrete(plan: Plan, trait: str, said: str) -> bool:
    """Choose another type for parameters that must have a trait, of those that a message says have it."""
    short = re.split(r"[<(]", trait)[0].rpartition("::")[2]
    listed = re.search(r"other types implement trait `[^`]*`:?((?:\n[^\n]+)+)", said)
    found = (
        re.findall(r"\n\s*`?(?:&\S*\s)?`?([\w:]+)`?(?: implements `[^`]*`)?(?=\n|\Z)", listed[1])
        if listed
        else []
    )
    nodes = [plan.file.target, plan.file.member]
    changed = False
    for node in [part.node for part in nodes if part is not None]:
        for generic in generics_of(plan, node):
            names = {re.split(r"[<(]", bound)[0].strip("? ").rpartition("::")[2] for bound in generic.bounds}
            if short in names and generic.name not in plan.concrete and found:
                plan.concrete[generic.name] = found[0]
                changed = True
    return changed


def choose_made(plan: Plan, trait: str) -> bool:
    """Let the type that was made to have a trait which stands in stand for parameters that must have it."""
    changed = False
    for node in [part.node for part in (plan.file.target, plan.file.member) if part is not None]:
        for generic in generics_of(plan, node):
            names = {re.split(r"[<(]", bound)[0].strip("? ").rpartition("::")[2] for bound in generic.bounds}
            if trait in names and plan.concrete.get(generic.name) != f"Made_impl_{trait}":
                plan.concrete[generic.name] = f"Made_impl_{trait}"
                changed = True
    return changed


def concrete_types(plan: Plan, generics: Sequence[Generic]) -> dict[str, str]:
    """A type for each type parameter, a number for each constant."""
    found: dict[str, str] = {}
    for generic in generics:
        if generic.kind == "const":
            found[generic.name] = (
                "true" if generic.type == "bool" else "'a'" if generic.type == "char" else "4"
            )
        elif generic.kind == "type":
            found[generic.name] = plan.concrete.get(generic.name, "")
    for _ in range(2):  # a bound may name another parameter
        for generic in generics:
            if generic.kind == "type" and not plan.concrete.get(generic.name):
                found[generic.name] = type_for_bounds(plan, generic.bounds, found)
    return found


def type_for_bounds(plan: Plan, bounds: Sequence[str], concrete: dict[str, str]) -> str:
    """A type that fulfils bounds, as far as they are known."""
    known = {name: kind for name, kind in concrete.items() if kind}
    function = function_bound(bounds)
    if function is not None:
        parameters, result = (substituted(part, known) for part in function)
        return f"fn({parameters}) -> {result}"
    best = ""
    asked = [wanted for bound in bounds for wanted in supertraits(plan, bound)]
    for whole in [*bounds, *asked]:
        bound = whole.lstrip("?")
        name = re.split(r"[<(]", bound, maxsplit=1)[0].strip().rpartition("::")[2]
        inner = re.search(r"<(.*)>", bound, re.DOTALL)
        argument = substituted(inner[1], known) if inner else ""
        if name == "Write":
            if {"Read", "BufRead", "Seek"} & {re.split(r"[<(]", b)[0].rpartition("::")[2] for b in bounds}:
                return "std::io::Cursor<Vec<u8>>"
            is_text = "fmt::Write" in bound or any(
                imported.path[-2:] == ("fmt", "Write") for imported in plan.file.imports
            )
            return "String" if is_text and "io::Write" not in bound else "Vec<u8>"
        if name in ("Iterator", "DoubleEndedIterator", "ExactSizeIterator", "FusedIterator"):
            item = re.search(r"Item\s*=\s*(.*)", argument)
            if item or not best:
                best = f"std::vec::IntoIter<{item[1] if item else _DEFAULT}>"
        elif name == "IntoIterator":
            item = re.search(r"Item\s*=\s*(.*)", argument)
            return f"Vec<{item[1] if item else _DEFAULT}>"
        elif name in ("AsRef", "Borrow", "Deref") and argument:
            target = argument.partition("=")[2].strip() or argument
            return _BY_ARGUMENT.get(target.rpartition("::")[2] if "[" not in target else target, target)
        elif name == "Future":
            return f"std::future::Ready<{argument.partition('=')[2].strip() or _DEFAULT}>"
        elif name in ("Index", "IndexMut") and argument:
            output = re.search(r"Output\s*=\s*(.*)", argument)
            return f"Vec<{output[1] if output else _DEFAULT}>"
        elif name in ("Extend", "FromIterator") and argument:
            return f"Vec<{argument}>"
        elif name == "RangeBounds" and argument:
            return f"std::ops::Range<{argument}>"
        elif name in ("Into", "TryInto", "From", "TryFrom") and argument:
            return argument
        elif name == "Error" and _is_of_serde(plan, bound):
            return "serde::de::value::Error"
        elif name in plan_traits(plan):
            return own_type(plan, name, argument)
        elif name == "Error" and _is_serdes(plan, bound):
            best = "serde::de::value::Error"
        elif name in _BY_TRAIT and not best:
            kind = _BY_TRAIT[name]
            root = re.match(r"([a-z]\w*)::", kind)
            if root is None or root[1] == "std" or root[1] in plan.names.crates:
                best = kind
    return best or _DEFAULT


def _is_serdes(plan: Plan, bound: str) -> bool:
    """Whether a bound names the trait of errors of the crate serde, by its path or by an import."""
    paths = [list(imported.path[:-1]) for imported in plan.file.imports if imported.name == "Error"]
    paths += [re.findall(r"\w+", bound)[:-1]]
    return "serde" in plan.names.crates and any(path[-1:] in (["de"], ["ser"]) for path in paths)


def _is_of_serde(plan: Plan, bound: str) -> bool:
    """Whether a trait that is called ``Error`` is of what serializes or deserializes."""
    named = re.match(r"(?:\w+::)*(?:de|ser)::Error\b", bound) is not None
    imported = any(i.path[0] == "serde" and i.path[-2:] in _ERRORS for i in plan.file.imports)
    return "serde" in plan.names.crates and (named or (imported and "::" not in bound))


def plan_traits(plan: Plan) -> set[str]:
    """Names of the file's own traits that are taken."""
    return {item.name for item, _ in plan.taken_items() if item.kind == "trait"}


def own_type(plan: Plan, trait: str, argument: str) -> str:
    """A type of the file that has a trait of the file, or one that is made to have it."""
    for item in plan.file.items:
        if (
            item.kind == "impl"
            and item.trait == trait
            and item.index in plan.taken
            and item.name in _plain_types(plan)
        ):
            return item.name
    everything = given_to_all(plan, trait)
    if everything is not None:
        bounds = [b for b in everything.bounds if not re.search(rf"\b{trait}\b", b)]
        return type_for_bounds(plan, bounds, {})
    if plan.file.parameters & set(re.findall(r"\w+", argument)):
        # What a bound names is known when it is asked again.
        return f"Made_impl_{trait}"
    parts = plan.traits.setdefault(f"own {trait}", {"argument": argument})
    if argument not in parts["argument"].split("\n"):
        parts["argument"] += f"\n{argument}"
    return f"Made_impl_{trait}"


def given_to_all(plan: Plan, trait: str) -> Generic | None:
    """Of a trait that the file gives to all types that can do something else, the parameter for those."""
    for item in plan.file.items:
        if item.kind == "impl" and item.trait == trait and item.index in plan.taken:
            generics = [generic for generic in generics_of(plan, item.node) if generic.kind == "type"]
            found = next((generic for generic in generics if generic.name == item.name), None)
            if found is not None:
                return found
    return None


def _plain_types(plan: Plan) -> set[str]:
    """Types of the file that take no parameters."""
    return {
        item.name
        for item, _ in plan.taken_items()
        if item.kind in ("struct", "enum") and item.node.child_by_field_name("type_parameters") is None
    }


def supertraits(plan: Plan, bound: str) -> list[str]:
    """What a trait that stands in asks for, by a bound that names it."""
    name = re.split(r"[<(]", bound.lstrip("?"), maxsplit=1)[0].strip().rpartition("::")[2]
    return [text for text in plan.traits.get(name, {}).get("super", "").split(" + ") if text]
