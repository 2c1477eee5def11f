"""Operators and comparisons of types that stand in, or are the file's, and that no known type explains."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.implementations import keep_implementation
from pytest_funcmem.harness.compiled.rust.messages import TICKS, Message, Work, bare
from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.typetext import normal

__all__ = ["compared", "operator"]

_NAMES = {
    "+": ("Add", "add"),
    "-": ("Sub", "sub"),
    "*": ("Mul", "mul"),
    "/": ("Div", "div"),
    "%": ("Rem", "rem"),
    "&": ("BitAnd", "bitand"),
    "|": ("BitOr", "bitor"),
    "^": ("BitXor", "bitxor"),
    "<<": ("Shl", "shl"),
    ">>": ("Shr", "shr"),
}
_UNARY = {"!": ("Not", "not"), "-": ("Neg", "neg")}
_WORDED = (
    (r"cannot (add|add-assign) `(?P<right>[^`]+)` to `(?P<left>[^`]+)`", "+"),
    (r"cannot (subtract|subtract-assign) `(?P<right>[^`]+)` from `(?P<left>[^`]+)`", "-"),
    (r"cannot (multiply|multiply-assign) `(?P<left>[^`]+)` by `(?P<right>[^`]+)`", "*"),
    (r"cannot (divide|divide-assign) `(?P<left>[^`]+)` by `(?P<right>[^`]+)`", "/"),
    (r"cannot (calculate) the remainder of `(?P<left>[^`]+)` divided by `(?P<right>[^`]+)`", "%"),
)
"""How messages name operators in words."""
_SHOWN = re.compile(
    r"no implementation for `(?P<left>[^`]+?) (?P<sign><<|>>|[-+*/%&|^])(?P<assign>=?) (?P<right>[^`]+)`"
)
_ASSIGNED = re.compile(
    r"binary assignment operation `(?P<sign>\S+)=` cannot be applied to type `(?P<left>[^`]+)`"
)
_ALONE = re.compile(r"cannot apply unary operator `(?P<sign>[!-])` to type `(?P<left>[^`]+)`")


def operator(work: Work, message: Message) -> bool:
    """An operator of a type that is no number: what it gives is made up, and of the same type."""
    text = message["message"]
    alone, assigned, shown = _ALONE.search(text), _ASSIGNED.search(text), _SHOWN.search(text)
    if alone:
        trait, method = _UNARY[alone["sign"]]
        return _implement(work.plan, alone["left"], None, trait, method)
    if assigned and assigned["sign"] in _NAMES:
        # The other side is not named: it is of the same type until a message says more.
        return _assign(work.plan, assigned["left"], bare(assigned["left"]), assigned["sign"])
    if shown:
        both = (shown["left"], shown["right"])
        if shown["assign"]:
            return _assign(work.plan, *both, shown["sign"])
        return _implement(work.plan, *both, *_NAMES[shown["sign"]])
    for pattern, sign in _WORDED:
        match = re.search(pattern, text)
        if match and match[1].endswith("assign"):
            return _assign(work.plan, match["left"], match["right"], sign)
        if match:
            return _implement(work.plan, match["left"], match["right"], *_NAMES[sign])
    return compared(work, message)


def compared(work: Work, message: Message) -> bool:
    """Two types that are compared, one of them the scaffold's own: what comes of it is made up."""
    labels = [str(span["label"]) for span in message["spans"]]
    match = re.search(r"can't compare `([^`]+)` with `([^`]+)`", message["message"])
    if match:
        is_order = any(re.search(r"no implementation for `.* (?:<|>|<=|>=) ", label) for label in labels)
        return _compare(work.plan, match[1], match[2], is_order=is_order)
    # With one implementation only, the compiler takes it that the right side has to be of that type.
    left = next(
        (
            found[0]
            for label in labels
            if label.startswith("expected because this is") and (found := TICKS.findall(label))
        ),
        "",
    )
    for label in labels:
        right = re.search(r"expected (?:[a-z ]+ )?`[^`]+`,? found (?:[a-z ]+ )?`?([^`]+)`?\Z", label)
        if left and right:
            source = " ".join(str(span["text"]) for span in message["spans"])
            is_order = not re.search(r"[!=]=", source)
            return _compare(work.plan, left, right[1], is_order=is_order)
    return False


def _receiver(plan: Plan, name: str) -> tuple[list[str], str]:
    """Parameters of a type, and the type with them."""
    kind = plan.types.get(name)
    given = [] if kind is None else [f"'l{i}" for i in range(kind.lifetimes)]
    given += [] if kind is None else [f"T{i}" for i in range(kind.parameters)]
    return given, name + (f"<{', '.join(given)}>" if given else "")


def _own_name(text: str) -> str:
    return bare(text).partition("<")[0].rpartition("::")[2]


def _other(plan: Plan, text: str, own: str, whole: str) -> str | None:
    """The type on the right as source; references in it may live as short as they like."""
    marks = re.match(r"(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)*", text)
    reference = marks[0] if marks else ""
    inner = bare(text)
    found = whole if _own_name(inner) == own else "str" if inner == "str" else normal(plan, inner)
    if found is None:
        return None
    return ("&'r " * reference.count("&") + found).replace("'static", "'r")


def _implement(plan: Plan, left: str, right: str | None, trait: str, method: str) -> bool:
    """An operator that gives a value; without a right side, of one value."""
    name = _own_name(left)
    given, whole = _receiver(plan, name)
    other = "" if right is None else _other(plan, right, name, whole)
    if other is None or other == "str":
        return False
    receiver = f"&'l {whole}" if left.startswith("&") else whole
    opening = [*(["'l"] if left.startswith("&") else []), *(["'r"] if "'r" in other else []), *given]
    parameter, argument = (f", other: {other}", f"<{other}>") if other else ("", "")
    logged = "funcmem::Dump::encoded(&self)" + (", funcmem::Dump::encoded(&other)" if other else "")
    return keep_implementation(
        plan,
        name,
        f"{trait}{argument} for {receiver}",
        f"{_head(opening)} std::ops::{trait}{argument} for {receiver} {{ type Output = {whole}; "
        f"fn {method}(self{parameter}) -> {whole} "
        f'{{ funcmem::answer("{name}.{method}", vec![{logged}]) }} }}',
    )


def _assign(plan: Plan, left: str, right: str, sign: str) -> bool:
    """An operator that changes its left side."""
    name = _own_name(left)
    given, whole = _receiver(plan, name)
    other = _other(plan, right, name, whole)
    if other is None or other == "str" or left.startswith("&"):
        return False
    trait, method = (part + end for part, end in zip(_NAMES[sign], ("Assign", "_assign"), strict=True))
    opening = [*(["'r"] if "'r" in other else []), *given]
    return keep_implementation(
        plan,
        name,
        f"{trait}<{other}>",
        f"{_head(opening)} std::ops::{trait}<{other}> for {whole} {{ fn {method}(&mut self, other: {other}) "
        f'{{ let made = funcmem::answer("{name}.{method}", '
        "vec![funcmem::Dump::encoded(&*self), funcmem::Dump::encoded(&other)]); *self = made; } }",
    )


def _compare(plan: Plan, left: str, right: str, *, is_order: bool) -> bool:
    """A comparison of two types, of which either is the scaffold's own."""
    name, partner = _own_name(left), _own_name(right)
    owner = name if name in plan.types or name in plan.names.own else partner
    given, whole = _receiver(plan, owner)
    one, other = _other(plan, left, owner, whole), _other(plan, right, owner, whole)
    if one is None or other is None or one == other:
        return False
    head = _head([*(["'r"] if "'r" in one + other else []), *given])
    logged = "vec![funcmem::Dump::encoded(&self), funcmem::Dump::encoded(&other)]"
    changed = keep_implementation(
        plan,
        owner,
        f"PartialEq<{other}> for {one}",
        f"{head} PartialEq<{other}> for {one} {{ fn eq(&self, other: &{other}) -> bool "
        f'{{ funcmem::answer("{owner}.eq", {logged}) }} }}',
    )
    if is_order:
        changed |= keep_implementation(
            plan,
            owner,
            f"PartialOrd<{other}> for {one}",
            f"{head} PartialOrd<{other}> for {one} {{ "
            f"fn partial_cmp(&self, other: &{other}) -> Option<std::cmp::Ordering> "
            f'{{ funcmem::answer("{owner}.partial_cmp", {logged}) }} }}',
        )
    return changed


def _head(opening: list[str]) -> str:
    return f"impl<{', '.join(opening)}>" if opening else "impl"
