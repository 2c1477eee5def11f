"""Mends what a type parameter lacks: traits that stand in ask for what generic code does with them."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.messages import Message, Work, bare
from pytest_funcmem.harness.compiled.rust.plan import Plan

__all__ = ["asked_of_parameter", "bounded"]

_ADVICE = re.compile(r"restricting (?:the )?type parameter `(\w+)`")
_MOVED = re.compile(r"has type `([^`]+)`, which does not implement the `Copy` trait")


def bounded(work: Work, message: Message) -> bool:
    """What the compiler would have a type parameter, or a type of a trait, be able to do."""
    changed = False
    for child in message["children"]:
        suggested = [str(span.get("suggested", "")) for span in child["spans"]]
        advised = _ADVICE.search(child["message"])
        for text in suggested:
            if advised:
                changed = _ask(work.plan, advised[1], text.strip(" ,:+")) or changed
            match = re.search(r"<(\w+) as (\w+)(?:<.*?>)?>::(\w+):\s*(.+?)[\s,]*\Z", text)
            if match:
                changed = _ask_of_type(work.plan, match[2], match[3], match[4]) or changed
    short = re.search(r"the parameter type `(\w+)` may not live long enough", message["message"])
    if short and message["code"] == "E0310":
        changed = any(
            _extend(work.plan, name, short[1], "'static") for name in _bounding(work.plan, short[1])
        )
    written = re.search(r"cannot write into `(?:&mut )?(\w+)`", message["message"])
    if written:
        changed = any(_written_to(work.plan, name) for name in _bounding(work.plan, written[1])) or changed
    for span in message["spans"]:
        moved = _MOVED.search(str(span["label"]))
        if moved and message["code"] in ("E0382", "E0507", "E0505"):
            changed = _copied(work.plan, moved[1]) or changed
    return changed


_OPERATORS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Rem", "BitAnd", "BitOr", "BitXor", "Shl", "Shr", "Neg", "Not"}
)
_INTERNAL = frozenset(
    {"Try", "FromResidual", "Residual", "Step", "Thin", "Pointee", "Unsize", "CoerceUnsized", "SliceIndex"}
)
"""Traits that a compiler would have, and that code cannot ask for."""
_METHODS = {
    "clone": "Clone",
    "eq": "PartialEq",
    "ne": "PartialEq",
    "cmp": "Ord",
    "partial_cmp": "PartialOrd",
    "hash": "std::hash::Hash",
    "to_string": "std::fmt::Display",
}


def asked_of_parameter(work: Work, method: str, receiver: str) -> bool:
    """A method of a well-known trait, of a type parameter whose own trait stands in."""
    name = bare(receiver)
    return (
        method in _METHODS and name in work.plan.file.parameters and _ask(work.plan, name, _METHODS[method])
    )


def _copied(plan: Plan, text: str) -> bool:
    match = re.fullmatch(r"<(\w+) as (\w+)(?:<.*?>)?>::(\w+)", text)
    if match:
        return _ask_of_type(plan, match[2], match[3], "Copy")
    return text in plan.file.parameters and _ask(plan, text, "Copy")


def _ask(plan: Plan, parameter: str, wanted: str) -> bool:
    """Let a trait that stands in, and that bounds a parameter, ask for another."""
    wanted = wanted.rpartition(": ")[2] if wanted.startswith(f"{parameter}:") else wanted
    if wanted.rpartition("::")[2].partition("<")[0] in _INTERNAL:
        return False
    if not re.fullmatch(r"[\w:]+(?:<[^{}]*>)?", wanted):
        return False
    texts = re.findall(rf"\b{parameter}\s*:([^,;{{}}]*)", plan.file.tree.text)
    for text in texts:
        for name in re.findall(r"[A-Za-z_]\w*", text):
            if "head" in plan.traits.get(name, {}) and _extend(plan, name, parameter, wanted):
                return True
    return False


def _bounding(plan: Plan, parameter: str) -> list[str]:
    """Traits that stand in and bound a type parameter somewhere in the file."""
    texts = re.findall(rf"\b{parameter}\s*:([^,;{{}}]*)", plan.file.tree.text)
    names = [name for text in texts for name in re.findall(r"[A-Za-z_]\w*", text)]
    return [name for name in dict.fromkeys(names) if "head" in plan.traits.get(name, {})]


def _written_to(plan: Plan, name: str) -> bool:
    """Let what has a trait be written to by ``write!``."""
    parts = plan.traits[name]
    if "fn write_fmt" in parts["head"]:
        return False
    has_error = "type Error;" in parts["head"]
    kind, given = ("Result<(), Self::Error>", "") if has_error else ("R", "<R>")
    answer = f'funcmem::answer("{name}.write_fmt", vec![funcmem::Dump::encoded(&text.to_string())])'
    method = f"fn write_fmt{given}(&mut self, text: std::fmt::Arguments) -> {kind} {{ {answer} }}"
    parts["head"] = parts["head"].rstrip("} ") + f" {method} }}"
    return True


def _extend(plan: Plan, name: str, parameter: str, wanted: str) -> bool:
    parts = plan.traits[name]
    known = parts.get("super", "").split(" + ")
    text = re.sub(rf"\b{parameter}\b", "Self", wanted)
    if text.rpartition("::")[2] in _OPERATORS or ("<Output" in text and "Output = Self" not in text):
        text = text.partition("<")[0] + "<Output = Self>"
    if text in known or plan.file.parameters & set(re.findall(r"\w+", text)):
        return False
    added = f"Sized + {text}" if "Self" in text and "Sized" not in known else text
    parts["super"] = " + ".join([*filter(None, known), *added.split(" + ")])
    left, brace, right = parts["head"].partition(" {")
    parts["head"] = f"{left}{' + ' if ': ' in left else ': '}{added}{brace}{right}"
    if "blanket" in parts:
        own = re.sub(r"\bSelf\b", "Made", added)
        parts["blanket"] = parts["blanket"].replace("Made: ?Sized", f"Made: ?Sized + {own}", 1)
    return True


def _ask_of_type(plan: Plan, trait: str, name: str, wanted: str) -> bool:
    parts = plan.traits.get(trait, {})
    match = re.search(rf"type {name}(:[^;]*)?;", parts.get("head", ""))
    if match is None or wanted in (match[1] or "") or not re.fullmatch(r"[\w:]+", wanted):
        return False
    bounds = f"{match[1]} + {wanted}" if match[1] else f": {wanted}"
    parts["head"] = parts["head"].replace(match[0], f"type {name}{bounds};", 1)
    return True
