"""Types as the compiler writes them in messages: read, and solved for those that stand in."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.known import GENERIC_NAMES, STANDARD_PATHS
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInType
from pytest_funcmem.harness.compiled.rust.signature import split_types

__all__ = ["is_open", "normal", "settle", "unify"]

_HEAD = re.compile(r"(?:[A-Za-z_]\w*::)+(?=[A-Za-z_])")


def normal(plan: Plan, text: str) -> str | None:
    """A type of a message as source; None where it cannot be written."""
    text = re.sub(r"\b(?:crate::|main::)?p\d+::", "", text.strip())
    text = text.replace("{integer}", "i64").replace("{float}", "f64")
    if text == "integer":
        text = "i64"
    if text in ("floating-point number", "float"):
        text = "f64"
    if re.search(
        r"[{}@]|\bas\b|\bimpl\b|\.\.\.|…|closure|\bfn item\b|^type parameter|\bdyn\b|\basync\b", text
    ):
        return None
    text = re.sub(r"'_\b|'\w+", "'static", text)
    text = re.sub(r"&(?!\s*'static)", "&'static ", text).replace("&'static  ", "&'static ")
    text = re.sub(r"<'static>", "<'static>", text)
    if text == "str" or plan.file.parameters & set(re.findall(r"\w+", text)):
        return None
    if any(word in GENERIC_NAMES for word in re.findall(r"([A-Za-z_]\w*)(?!\w|<|::)", text)):
        return None
    # The compiler writes the standard type in full, whatever the file calls so.
    text = re.sub(r"(?<![:\w])Result<", "std::result::Result<", text)

    own = plan.names.own | {name for name, kind in plan.types.items() if kind.alias is None}

    def with_path(match: re.Match[str]) -> str:
        word = match.group()
        start = match.start()
        if word in STANDARD_PATHS and text[max(0, start - 2) : start] != "::" and word not in own:
            return f"{STANDARD_PATHS[word]}::{word}"
        return word

    return re.sub(r"[A-Za-z_]\w*", with_path, text)


_OF_NUMBERS = frozenset({"from", "try_from", "default", "MAX", "MIN", "BITS", "max_value", "min_value"})
"""What a type may be known for that turns out to be one of numbers."""


def is_open(plan: Plan, text: str) -> bool:
    """Whether a text names a type that stands in and may still turn out to be another."""
    kind = plan.types.get(text)
    if kind is None or kind.fields or kind.variants or kind.parameters:
        return False
    if not (kind.functions.keys() | kind.constants.keys()) <= _OF_NUMBERS:
        return False
    if kind.shape == "unit" or text in plan.implemented():
        return False
    return kind.alias is None or kind.is_weak


def settle(plan: Plan, name: str, text: str, *, weak: bool = False) -> bool:
    """Say what a type that stands in is."""
    kind = plan.types[name]
    while "_" in re.findall(r"\b_\b", text):
        text = re.sub(r"\b_\b", plan.fresh(name), text, count=1)
    if re.search(rf"(?<!::)\b{re.escape(name)}\b", text) or text in kind.tried or _circles(plan, name, text):
        return False
    kind.tried.add(text)
    kind.alias, kind.is_weak = text, weak
    return True


_HOLDERS = re.compile(
    r"&'static (?:mut )?\w+(?![\w<:])"
    r"|\b(?:Vec|Box|Rc|Arc|VecDeque|IntoIter|HashMap|BTreeMap|HashSet|BTreeSet)<.*>"
)


def _circles(plan: Plan, name: str, text: str) -> bool:
    """Whether an alias would lead back to itself, or to a type that holds itself in place."""
    return _leads_to(plan, name, text, in_place=False) or _leads_to(plan, name, text, in_place=True)


def _leads_to(plan: Plan, name: str, text: str, *, in_place: bool) -> bool:
    """Whether a text names a type, itself or by what it stands for; in place also by what is held."""
    seen: set[str] = set()
    texts = [text]
    while texts:
        part = texts.pop()
        for word in re.findall(r"(?<!::)\b[A-Za-z_]\w*", _HOLDERS.sub("", part) if in_place else part):
            if word == name:
                return True
            kind = plan.types.get(word)
            if kind is None or word in seen:
                continue
            seen.add(word)
            texts.append(kind.alias or "")
            if in_place and kind.alias is None:
                texts += kind.fields.values()
                for payload in kind.variants.values():
                    texts += payload.values() if isinstance(payload, dict) else payload or ()
    return False


def part_of_generic(plan: Plan, one: str, other: str) -> bool:
    """A part of a type with parameters that turns out to depend on them.

    Messages within generic code name the parameters of that code; where the code mentions the type that
    holds the part, it says which of its parameters those are.
    """
    kind = plan.types.get(one)
    words = plan.file.parameters & set(re.findall(r"\w+", other))
    if kind is None or not words or not is_open(plan, one) or kind.alias is not None:
        return False
    if re.search(r"[{}@…]|\.\.\.|\bimpl\b|\bdyn\b|\bas\b|'|_\b", other):
        return False
    for holder in plan.types.values():
        if not holder.parameters or holder.alias is not None or not _replace_part(holder, one, one):
            continue
        text = other
        for word in words:
            place = _place_of(plan, holder.name, word)
            if place is None or place >= holder.parameters:
                return False
            text = re.sub(rf"\b{word}\b", f"T{place}", text)
        return _replace_part(holder, one, text)
    return False


def _replace_part(kind: StandInType, one: str, text: str) -> bool:
    """Write another type where a type is among the parts of one that stands in; whether it is."""
    found = False
    for fields in [kind.fields, *(part for part in kind.variants.values() if isinstance(part, dict))]:
        for name, inner in fields.items():
            if inner == one:
                fields[name], found = text, True
    for payload in kind.variants.values():
        for place, inner in enumerate(payload if isinstance(payload, list) else ()):
            if isinstance(payload, list) and inner == one:
                payload[place], found = text, True
    return found


def _place_of(plan: Plan, name: str, parameter: str) -> int | None:
    """Which parameter of a type the file gives one of its own type parameters for."""
    for listed in re.findall(rf"\b{name}\s*(?:::\s*)?<([^;{{}}]*)", plan.file.tree.text):
        depth, end = 1, len(listed)
        for place, character in enumerate(listed):
            depth += (character == "<") - (character == ">")
            if depth == 0:
                end = place
                break
        given = [text for text in split_types(listed[:end]) if not text.startswith("'")]
        if parameter in given:
            return given.index(parameter)
    return 0 if plan.types[name].parameters == 1 else None


def merged(plan: Plan, one: str, other: str) -> bool:
    """A type of which only fields were known, and that has no name in the file, is another that has those."""
    kind = plan.types.get(one)
    if kind is None or not one.startswith("Made_") or not kind.fields or kind.alias is not None:
        return False
    if kind.variants or kind.functions or kind.constants or kind.parameters or kind.lifetimes:
        return False
    if set(kind.fields) <= {"start", "end"} and re.match(r"(?:std::ops::)?Range<", other):
        text = normal(plan, other)
        return text is not None and _became(plan, one, text)
    name = other.partition("<")[0].rpartition("::")[2]
    partner = plan.types.get(name)
    text = normal(plan, other)
    if text is None:
        return False
    if partner is None:
        return name in plan.names.own and _became(plan, one, text)
    if partner.alias is not None or partner.variants or name == one:
        return False
    if partner.shape == "unit" or (partner.shape == "tuple") != (kind.shape == "tuple"):
        return False
    if not partner.fields and partner.shape != kind.shape and kind.shape == "tuple":
        return False
    fields = dict(kind.fields)
    if not _became(plan, one, text):
        return False
    for field, inner in fields.items():
        partner.fields.setdefault(field, inner)
    return True


def _became(plan: Plan, name: str, text: str) -> bool:
    kind = plan.types[name]
    fields, kind.fields = kind.fields, {}
    if settle(plan, name, text):
        return True
    kind.fields = fields
    return False


def same_name(plan: Plan, one: str, other: str) -> bool:
    """A type of which functions are used, and that turns out to be a well-known one of its name."""
    kind = plan.types.get(one)
    path, _, name = other.partition("<")[0].rpartition("::")
    is_whole = path.startswith("std::") and name == one
    if kind is None or not is_whole or kind.alias is not None or one in plan.implemented():
        return False
    text = normal(plan, other)
    if kind.fields or kind.variants or kind.parameters or kind.lifetimes or text is None:
        return False
    return settle(plan, one, text)


def named_generic(plan: Plan, one: str, other: str) -> bool:
    """A type that is given lifetimes or types, and turns out to be another under that name."""
    match = re.match(r"([A-Za-z_]\w*)<(.*)>\Z", one)
    kind = plan.types.get(match[1]) if match else None
    if match is None or kind is None or kind.alias is not None or kind.name in plan.implemented():
        return False
    if kind.fields or kind.variants or kind.functions or kind.constants or kind.shape == "unit":
        return False
    given = split_types(match[2])
    types = [text for text in given if not text.startswith("'")]
    name = other.partition("<")[0]
    if name == kind.name or is_open(plan, other) or len(types) > kind.parameters:
        return False
    written = other
    for place, text in enumerate(types):
        if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", written):
            written = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", f"T{place}", written)
    found = normal(plan, written)
    if found is None:
        return False
    text = found
    while re.search(r"\b_\b", text):
        text = re.sub(r"\b_\b", plan.fresh(kind.name), text, count=1)
    if kind.lifetimes:
        text = text.replace("'static", "'l0")
    if re.search(rf"(?<!::)\b{kind.name}\b", text) or text in kind.tried or _circles(plan, kind.name, text):
        return False
    kind.tried.add(text)
    kind.alias = text
    return True


_OWNED = {"str": "String", "Path": "std::path::PathBuf", "OsStr": "std::ffi::OsString", "CStr": "CString"}


def _owned(text: str) -> str:
    """What holds a value that only a reference leads to; "" where a value has a size of its own."""
    if text.startswith("[") and ";" not in text:
        return f"Vec<{text[1:-1]}>"
    return _OWNED.get(text.rpartition("::")[2], "")


def unify(plan: Plan, left: str, right: str, *, weak: bool = False) -> bool:
    """Make two types one; whether something became known by it."""
    left, right = left.strip(), right.strip()
    if left == right or "_" in (left, right):
        return False
    for one, other in ((left, right), (right, left)):
        if is_open(plan, one) and not (is_open(plan, other) and plan.types[one].alias is not None):
            text = normal(plan, other)
            if text is None or text == one:
                continue
            is_guess = weak or other in ("integer", "{integer}", "float", "{float}", "floating-point number")
            if settle(plan, one, text, weak=is_guess):
                return True
    for one, other in ((left, right), (right, left)):
        if (
            same_name(plan, one, other)
            or part_of_generic(plan, one, other)
            or merged(plan, one, other)
            or named_generic(plan, one, other)
        ):
            return True
    reference = re.compile(r"&\s*(?:'\w+\s+)?(?:mut\s+)?")
    a, b = reference.match(left), reference.match(right)
    if a and b:
        inner = left[a.end() :], right[b.end() :]
        for one, other in (inner, inner[::-1]):
            # What is behind a reference has a size here: the reference fits all the same.
            owned = _owned(other)
            if owned and is_open(plan, one) and one not in _OWNED.values():
                text = normal(plan, owned)
                return text is not None and settle(plan, one, text, weak=weak)
            held = re.match(r"(?:\w+::)*(?:Vec|Box)<(.*)>\Z", one)
            if held and other.startswith("[") and ";" not in other:
                return unify(plan, held[1], other[1:-1], weak=weak)
        return unify(plan, *inner, weak=weak)
    if left.startswith("(") and right.startswith("("):
        pairs = (split_types(left[1:-1]), split_types(right[1:-1]))
    elif left.startswith("[") and right.startswith("["):
        pairs = ([left[1:-1].partition(";")[0]], [right[1:-1].partition(";")[0]])
    else:
        one_match, other_match = re.match(r"([\w:]+)<(.*)>\Z", left), re.match(r"([\w:]+)<(.*)>\Z", right)
        if not one_match or not other_match:
            return False
        if _HEAD.sub("", one_match[1]) != _HEAD.sub("", other_match[1]):
            return False
        pairs = (split_types(one_match[2]), split_types(other_match[2]))
    if len(pairs[0]) != len(pairs[1]):
        return False
    return any(unify(plan, x, y, weak=weak) for x, y in zip(*pairs, strict=True))
