"""Implementations of well-known traits for types whose own are in other files: every answer is made up."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInType
from pytest_funcmem.harness.compiled.rust.typetext import normal

__all__ = [
    "cut_by",
    "implement_deref",
    "implement_index",
    "implement_iterator",
    "implement_trait",
    "keep_implementation",
]

_KEPT = "Box::leak(Box::new({made}))"
_SHOWN = (
    "fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {{ out.write_str(&{me}.source()) }}"
)
_ME = "funcmem::Dump::encoded(self)"

_TRAITS = {
    "Debug": "std::fmt::Debug for {own} {{ " + _SHOWN + " }}",
    "Display": "std::fmt::Display for {own} {{ " + _SHOWN + " }}",
    **{
        name: f"std::fmt::{name} for {{own}} {{{{ " + _SHOWN + " }}"
        for name in ("Binary", "LowerHex", "UpperHex", "Octal", "LowerExp", "UpperExp")
    },
    "Error": "std::error::Error for {own} {{}}",
    "Future": "std::future::Future for {own} {{ type Output = {fresh}; "
    "fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<{fresh}> "
    "{{ std::task::Poll::Ready({poll}) }} }}",
    "Default": "Default for {own} {{ fn default() -> Self {{ funcmem::made_default::<Self>() }} }}",
    "Zero": "num_traits::Zero for {own} {{ "
    "fn zero() -> Self {{ {zero} }} fn is_zero(&self) -> bool {{ {is_zero} }} }}",
    "One": "num_traits::One for {own} {{ fn one() -> Self {{ {one} }} }}",
    "FromStr": "std::str::FromStr for {own} {{ type Err = {fresh}; "
    "fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {{ {from_str} }} }}",
    "AsRef": "AsRef<{argument}> for {own} {{ fn as_ref(&self) -> &{argument} {{ {as_ref} }} }}",
    "Into": "From<{own}> for {argument} {{ fn from(value: {own}) -> Self {{ {into} }} }}",
    "Read": "std::io::Read for {own} {{ fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> "
    "{{ let made: Vec<u8> = {read}; let count = made.len().min(into.len()); "
    "into[..count].copy_from_slice(&made[..count]); Ok(count) }} }}",
    "Write": "std::io::Write for {own} {{ fn write(&mut self, what: &[u8]) -> std::io::Result<usize> "
    "{{ {write}; Ok(what.len()) }} fn flush(&mut self) -> std::io::Result<()> {{ Ok(()) }} }}",
    "Iterator": "Iterator for {own} {{ type Item = {fresh}; "
    "fn next(&mut self) -> Option<{fresh}> {{ {next} }} }}",
    "Extend": "Extend<{argument}> for {own} {{ "
    "fn extend<I: IntoIterator<Item = {argument}>>(&mut self, all: I) "
    "{{ for value in all {{ {extend}; }} }} }}",
    "FromIterator": "FromIterator<{argument}> for {own} {{ "
    "fn from_iter<I: IntoIterator<Item = {argument}>>(all: I) -> Self "
    "{{ let all: Vec<{argument}> = all.into_iter().collect(); {from_iter} }} }}",
    "Hash": "std::hash::Hash for {own} {{ fn hash<H: std::hash::Hasher>(&self, state: &mut H) "
    "{{ " + _ME + ".json().hash(state) }} }}",
    "Serialize": "serde::Serialize for {own} {{ fn serialize<S: serde::Serializer>(&self, into: S) "
    "-> std::result::Result<S::Ok, S::Error> {{ into.serialize_str(&" + _ME + ".source()) }} }}",
    # Of the crate nom: parsers of any input fail with it.
    "ParseError": "<I> nom::error::ParseError<I> for {own} {{ "
    "fn from_error_kind(_: I, kind: nom::error::ErrorKind) -> Self {{ {from_kind} }} "
    "fn append(_: I, _: nom::error::ErrorKind, other: Self) -> Self {{ other }} }}",
    "Drop": "Drop for {own} {{ fn drop(&mut self) {{}} }}",
}
_CRATES = {"Zero": "num_traits", "One": "num_traits", "Serialize": "serde", "ParseError": "nom"}
"""Of which crate a trait is that is not the standard library's."""
_NEEDED = {"Zero": ("Add", "add"), "One": ("Mul", "mul")}
"""Operators that a trait asks for."""
_REFERENT = {"str": "String", "[u8]": "Vec<u8>", "Path": "std::path::PathBuf", "OsStr": "std::ffi::OsString"}


def implement_trait(plan: Plan, name: str, trait: str) -> bool:
    """Let a type of the file, or one that stands in, have a trait that it lacks.

    Args:
        plan: Changed.
        name: The type, without arguments.
        trait: The trait as a message names it, with its arguments.
    """
    short = re.split(r"[<(]", trait)[0].rpartition("::")[2]
    form = _TRAITS.get(short)
    if form is None and short == "IntoFuture":
        short, form = "Future", _TRAITS["Future"]
    given = re.search(r"<(.*)>", trait)
    argument = normal(plan, given[1]) if given else ""
    if form is None or argument is None or not _is_plain(plan, name):
        return False
    if "{argument}" in form and not argument and (short != "AsRef" or given is None):
        return False
    if short == "AsRef" and given is not None:
        argument = given[1]
    if _CRATES.get(short, "") not in {"", *plan.names.crates}:
        return False
    if "num_bigint" in trait:
        return False
    held = _REFERENT.get(argument.rpartition("::")[2] if "[" not in argument else argument, argument)
    answers = {
        "zero": _answer(f"{name}::zero"),
        "is_zero": _answer(f"{name}.is_zero", _ME),
        "one": _answer(f"{name}::one"),
        "from_str": _answer(f"{name}::from_str", "funcmem::Dump::encoded(text)"),
        "as_ref": _KEPT.format(made=_answer(f"{name}.as_ref", _ME, kind=held)),
        "into": _answer(f"{name}.into", "funcmem::Dump::encoded(&value)"),
        "read": _answer(f"{name}.read", "funcmem::Dump::encoded(&into.len())"),
        "write": _answer(f"{name}.write", "funcmem::Dump::encoded(what)", kind="()"),
        "next": _answer(f"{name}.next", _ME),
        "from_kind": _answer(f"{name}::from_error_kind", 'funcmem::Dump::encoded(&format!("{kind:?}"))'),
        "poll": _answer(f"{name}.poll", "funcmem::Dump::encoded(&*self)"),
        "extend": _answer(f"{name}.extend", "funcmem::Dump::encoded(&value)", kind="()"),
        "from_iter": _answer(f"{name}::from_iter", "funcmem::Dump::encoded(&all)"),
    }
    key = f"{short}<{argument}>"
    if not _is_new(plan, name, key):
        return False
    fresh = plan.fresh(f"{name}_{short}") if "{fresh}" in form else ""
    text = form.format(own=name, argument=argument, fresh=fresh, me=_ME, **answers)
    lines = [f"impl {text}"]
    if short in _NEEDED:
        operator, method = _NEEDED[short]
        if _is_new(plan, name, f"{operator}<{name}> for {name}"):
            both = (_ME.replace("self", "&self"), "funcmem::Dump::encoded(&other)")
            _keep(
                plan,
                name,
                f"{operator}<{name}> for {name}",
                f"impl std::ops::{operator}<{name}> for {name} {{ type Output = {name}; "
                f"fn {method}(self, other: {name}) -> {name} {{ {_answer(f'{name}.{method}', *both)} }} }}",
            )
    _keep(plan, name, key, "\n".join(lines))
    return True


def implement_iterator(plan: Plan, name: str, *, by_reference: bool) -> bool:
    """Let a type be walked through, itself or behind a reference."""
    kind = plan.types.get(name)
    if kind is not None and kind.alias is None and kind.parameters:
        return _walk_generic(plan, kind, by_reference=by_reference)
    if not by_reference:
        return implement_trait(plan, name, "Iterator")
    key = "IntoIterator for &"
    if not _is_plain(plan, name) or not _is_new(plan, name, key):
        return False
    item = plan.fresh(f"{name}_item")
    body = _answer(f"{name}.iter", "funcmem::Dump::encoded(self)", kind=f"Vec<{item}>")
    _keep(
        plan,
        name,
        key,
        f"impl<'m> IntoIterator for &'m {name} {{ type Item = &'m {item}; "
        f"type IntoIter = std::slice::Iter<'m, {item}>; "
        f"fn into_iter(self) -> Self::IntoIter {{ {_KEPT.format(made=body)}.iter() }} }}",
    )
    return True


def _walk_generic(plan: Plan, kind: StandInType, *, by_reference: bool) -> bool:
    """Let a type with parameters be walked through: it holds values of its first one."""
    key = "IntoIterator for &" if by_reference else "IntoIterator"
    if not _is_new(plan, kind.name, key):
        return False
    given = [f"'l{i}" for i in range(kind.lifetimes)] + [f"T{i}" for i in range(kind.parameters)]
    own, opening = f"{kind.name}<{', '.join(given)}>", ", ".join(given)
    item, walked, walk = "T0", "std::vec::IntoIter<T0>", "into_iter"
    made = _answer(f"{kind.name}.into_iter", "funcmem::Dump::encoded(&self)", kind="Vec<T0>")
    if by_reference:
        own, opening = f"&'m {own}", f"'m, {opening}"
        item, walked, walk = "&'m T0", "std::slice::Iter<'m, T0>", "iter"
        made = _KEPT.format(made=made)
    kind.impls[key] = (
        f"impl<{opening}> IntoIterator for {own} {{ type Item = {item}; type IntoIter = {walked}; "
        f"fn into_iter(self) -> Self::IntoIter {{ {made}.{walk}() }} }}"
    )
    return True


def implement_deref(plan: Plan, name: str, target: str) -> bool:
    """Let a type that stands in lead to another, which is known."""
    kind = plan.types.get(name)
    if kind is None or not _is_plain(plan, name) or not _is_new(plan, name, "Deref"):
        return False
    held = _REFERENT.get(target.rpartition("::")[2] if "[" not in target else target)
    if target.startswith("[") and ";" not in target:
        held = f"Vec<{target[1:-1]}>"
    text = normal(plan, held or target)
    whole = target if held else text
    if text is None or whole is None or re.search(rf"\b{name}\b", text) or text in plan.types:
        return False
    leaked = _KEPT.format(made=_answer(f"{name}.deref", _ME, kind=text))
    made = f"let made = {leaked}; made"
    _keep(
        plan,
        name,
        "Deref",
        f"impl std::ops::Deref for {name} {{ type Target = {whole}; "
        f"fn deref(&self) -> &{whole} {{ {made} }} }}\n"
        f"impl std::ops::DerefMut for {name} {{ fn deref_mut(&mut self) -> &mut {whole} {{ {made} }} }}",
    )
    return True


def implement_index(plan: Plan, name: str) -> bool:
    """Let a type be indexed by anything; what is written there is lost."""
    kind = plan.types.get(name)
    if kind is None and not _is_plain(plan, name):
        return False
    if not _is_new(plan, name, "Index"):
        return False
    generics = [] if kind is None else [f"'l{i}" for i in range(kind.lifetimes)]
    generics += [] if kind is None else [f"T{i}" for i in range(kind.parameters)]
    own = name + (f"<{', '.join(generics)}>" if generics else "")
    item = plan.fresh(f"{name}_item")
    made = _KEPT.format(made=_answer(f"{name}[]", "funcmem::Dump::encoded(&place)", kind=item))
    opening = ", ".join([*generics, "I"])
    _keep(
        plan,
        name,
        "Index",
        f"impl<{opening}> std::ops::Index<I> for {own} {{ type Output = {item}; "
        f"fn index(&self, place: I) -> &{item} {{ {made} }} }}\n"
        f"impl<{opening}> std::ops::IndexMut<I> for {own} {{ "
        f"fn index_mut(&mut self, place: I) -> &mut {item} {{ {made} }} }}",
    )
    return True


def cut_by(plan: Plan, whole: str, place: str) -> bool:
    """Let a part of a list or a text be named by a type that stands in."""
    held = "String" if whole == "str" else f"Vec<{whole[1:-1]}>" if re.fullmatch(r"\[\w+\]", whole) else ""
    if not held or not _is_plain(plan, place) or not _is_new(plan, place, f"Index for {whole}"):
        return False
    logged = "funcmem::Dump::encoded(self), funcmem::Dump::encoded(&place)"
    made = f"let made = {_KEPT.format(made=_answer(f'[{place}]', logged, kind=held))}; made"
    _keep(
        plan,
        place,
        f"Index for {whole}",
        f"impl std::ops::Index<{place}> for {whole} {{ type Output = {whole}; "
        f"fn index(&self, place: {place}) -> &{whole} {{ {made} }} }}\n"
        f"impl std::ops::IndexMut<{place}> for {whole} {{ "
        f"fn index_mut(&mut self, place: {place}) -> &mut {whole} {{ {made} }} }}",
    )
    return True


def _answer(path: str, *logged: str, kind: str = "") -> str:
    turbofish = f"::<{kind}>" if kind else ""
    return f'funcmem::answer{turbofish}("{path}", vec![{", ".join(logged)}])'


def _is_plain(plan: Plan, name: str) -> bool:
    """Whether a name is that of a type without parameters that is the scaffold's own."""
    kind = plan.types.get(name)
    if kind is not None:
        return kind.alias is None and not kind.parameters and not kind.lifetimes
    trait = name.removeprefix("Made_impl_")
    if trait != name and (f"own {trait}" in plan.traits or "made" in plan.traits.get(trait, {})):
        return True
    return any(
        item.name == name
        and item.kind in ("struct", "enum")
        and item.node.child_by_field_name("type_parameters") is None
        for item, _ in plan.taken_items()
    )


def _is_new(plan: Plan, name: str, key: str) -> bool:
    kind = plan.types.get(name)
    return key not in kind.impls if kind is not None else f"impl {key} of {name}" not in plan.traits


def _keep(plan: Plan, name: str, key: str, text: str) -> None:
    kind = plan.types.get(name)
    if kind is not None:
        kind.impls[key] = text
    else:
        plan.traits[f"impl {key} of {name}"] = {"impl": text}


def keep_implementation(plan: Plan, name: str, key: str, text: str) -> bool:
    """Give a type that stands in, or a plain one of the file, an implementation; once under one key."""
    kind = plan.types.get(name)
    is_own = kind.alias is None if kind is not None else _is_plain(plan, name)
    if not is_own or not _is_new(plan, name, key):
        return False
    _keep(plan, name, key, text)
    return True
