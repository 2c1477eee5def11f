"""What a function takes and gives back, with every type parameter replaced by a type that there is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.plan import Plan

__all__ = [
    "Generic",
    "Parameter",
    "Signature",
    "generics_of",
    "read_signature",
    "split_bounds",
    "split_types",
    "substituted",
]

_WORD = re.compile(r"'?[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter.

    Attributes:
        name: Its name, or its place where it has none.
        type: Text of its type.
    """

    name: str
    type: str


@dataclass
class Generic:
    """A parameter of a type, or of a function.

    Attributes:
        name: Its name; with its mark for a lifetime.
        kind: ``lifetime``, ``type`` or ``const``.
        bounds: What it must be, as texts.
        type: Of a constant.
    """

    name: str
    kind: str
    bounds: list[str] = field(default_factory=list)
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function's signature.

    Attributes:
        name: Its name.
        receiver: ``&self``, ``&mut self``, ``self``, the type of a typed one, or "".
        parameters: Its parameters, without the receiver.
        result: Text of the result type, or "".
        generics: Of the function and of what it stands in.
        is_async: Whether it gives a future.
        is_unsafe: Whether only unsafe code may call it.
    """

    name: str
    receiver: str
    parameters: tuple[Parameter, ...]
    result: str
    generics: tuple[Generic, ...]
    is_async: bool
    is_unsafe: bool


def read_signature(plan: Plan, node: Node, outer: Node | None = None) -> Signature:
    """Read the signature of a function item; ``outer`` is the impl block or trait around it."""
    tree = plan.file.tree
    receiver = ""
    parameters: list[Parameter] = []
    listed = node.child_by_field_name("parameters")
    for child in listed.children if listed is not None else ():
        if child.type == "self_parameter":
            text = re.sub(r"'\w+\s*", "", tree.source(child))
            receiver = "&mut self" if "mut" in text and "&" in text else "&self" if "&" in text else "self"
        elif child.type == "parameter":
            pattern, kind = child.child_by_field_name("pattern"), child.child_by_field_name("type")
            if pattern is None or kind is None:
                continue
            type_text = flattened(tree.source(kind), plan.names)
            if tree.source(pattern) in ("self", "mut self") or pattern.type == "self":
                receiver = type_text
                continue
            name = tree.source(pattern) if pattern.type == "identifier" else str(len(parameters))
            parameters.append(Parameter(name=name.removeprefix("mut ").strip(), type=type_text))
    result = node.child_by_field_name("return_type")
    head = tree.text[tree.start(node) : tree.start(listed) if listed is not None else tree.end(node)]
    words = head.split()
    generics = generics_of(plan, node) + (generics_of(plan, outer) if outer is not None else [])
    return Signature(
        name=tree.source(node.child_by_field_name("name") or node),
        receiver=receiver,
        parameters=tuple(parameters),
        result=flattened(tree.source(result), plan.names) if result is not None else "",
        generics=tuple(generics),
        is_async="async" in words,
        is_unsafe="unsafe" in words,
    )


def generics_of(plan: Plan, node: Node) -> list[Generic]:
    """The type parameters of an item, with the bounds of its where clause."""
    tree = plan.file.tree
    found: dict[str, Generic] = {}
    listed = node.child_by_field_name("type_parameters")
    for child in listed.children if listed is not None else ():
        if not child.is_named or "comment" in child.type or child.type == "attribute_item":
            continue
        text = re.sub(r"\s+", " ", flattened(tree.source(child), plan.names)).strip()
        if text.startswith("const "):
            name, _, kind = text[6:].partition(":")
            found[name.strip()] = Generic(name.strip(), "const", type=kind.partition("=")[0].strip())
        elif text.startswith("'"):
            name = text.partition(":")[0].strip()
            found[name] = Generic(name, "lifetime")
        else:
            name, _, bounds = text.partition(":")
            if not bounds:
                name = name.partition("=")[0]
            else:
                bounds = _without_default(bounds)
            found[name.strip()] = Generic(name.strip(), "type", split_bounds(bounds))
    for child in node.children:
        if child.type != "where_clause":
            continue
        for predicate in child.children:
            if predicate.type != "where_predicate":
                continue
            left = predicate.child_by_field_name("left")
            required = predicate.child_by_field_name("bounds")
            name = tree.source(left) if left is not None else ""
            if name in found and required is not None:
                text = re.sub(r"\s+", " ", flattened(tree.source(required), plan.names)).lstrip(": ")
                found[name].bounds.extend(split_bounds(text))
            borrowed = re.fullmatch(r"&\s*(?:'\w+\s+)?(\w+)", name)
            if borrowed and borrowed[1] in found and required is not None:
                # What is behind the reference holds what is given behind references.
                text = re.sub(r"\s+", " ", flattened(tree.source(required), plan.names)).lstrip(": ")
                held = re.sub(r"\bItem\s*=\s*&\s*(?:'\w+\s+)?(?:mut\s+)?", "Item = ", text)
                found[borrowed[1]].bounds.extend(b for b in split_bounds(held) if "IntoIterator" in b)
    return list(found.values())


def _without_default(text: str) -> str:
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character == ")" or (character == ">" and text[place - 1] != "-"))
        if character == "=" and not depth:
            return text[:place]
    return text


def split_bounds(text: str) -> list[str]:
    """The traits of a bound, without lifetimes."""
    return [part for part in _split(text, "+") if not part.startswith("'")]


def _split(text: str, mark: str) -> list[str]:
    """Parts between marks outside of brackets, without blanks around them."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        closes = character in ")]" or (character == ">" and text[place - 1 : place] != "-")
        depth += (character in "<([") - closes
        if character == mark and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def split_types(text: str) -> list[str]:
    """The types of a list such as that between angle brackets."""
    return _split(text, ",")


def substituted(text: str, concrete: dict[str, str]) -> str:
    """A type with its parameters replaced, its lifetimes the longest there is."""

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        if word.startswith("'"):
            return "'static"
        return concrete.get(word, word)

    return re.sub(r"\s+", " ", _WORD.sub(replace, text)).strip()
