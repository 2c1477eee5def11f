"""Types as the compiler writes them in messages: read, and solved for those that stand in."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.known import STANDARD_PATHS
from pytest_funcmem.harness.compiled.rust.plan import Plan
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
    if re.search(r"[{}@]|\bas\b|\bimpl\b|\.\.\.|…|closure|\bfn item\b|^type parameter|\bdyn\b", text):
        return None
    text = re.sub(r"'_\b|'\w+", "'static", text)
    text = re.sub(r"&(?!\s*'static)", "&'static ", text).replace("&'static  ", "&'static ")
    text = re.sub(r"<'static>", "<'static>", text)
    if text == "str":
        return None
    # The compiler writes the standard type in full, whatever the file calls so.
    text = re.sub(r"(?<![:\w])Result<", "std::result::Result<", text)

    def with_path(match: re.Match[str]) -> str:
        word = match.group()
        start = match.start()
        if word in STANDARD_PATHS and text[max(0, start - 2) : start] != "::" and word not in plan.names.own:
            return f"{STANDARD_PATHS[word]}::{word}"
        return word

    return re.sub(r"[A-Za-z_]\w*", with_path, text)


def is_open(plan: Plan, text: str) -> bool:
    """Whether a text names a type that stands in and may still turn out to be another."""
    kind = plan.types.get(text)
    if kind is None or kind.fields or kind.variants or kind.functions or kind.constants or kind.parameters:
        return False
    if kind.shape == "unit" or text in plan.implemented():
        return False
    return kind.alias is None or kind.is_weak


def settle(plan: Plan, name: str, text: str, *, weak: bool = False) -> bool:
    """Say what a type that stands in is."""
    kind = plan.types[name]
    while "_" in re.findall(r"\b_\b", text):
        text = re.sub(r"\b_\b", plan.fresh(name), text, count=1)
    if re.search(rf"\b{re.escape(name)}\b", text) or text in kind.tried or _circles(plan, name, text):
        return False
    kind.tried.add(text)
    kind.alias, kind.is_weak = text, weak
    return True


def _circles(plan: Plan, name: str, text: str) -> bool:
    """Whether an alias would lead back to itself."""
    seen: set[str] = set()
    stack = re.findall(r"[A-Za-z_]\w*", text)
    while stack:
        word = stack.pop()
        if word == name:
            return True
        kind = plan.types.get(word)
        if kind is not None and word not in seen:
            seen.add(word)
            parts = [kind.alias or "", *kind.fields.values()]
            stack.extend(found for part in parts for found in re.findall(r"[A-Za-z_]\w*", part))
    return False


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
