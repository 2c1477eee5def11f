"""Tells the type of an expression as far as text tells it, so that of equal members the right one changes.

It follows declarations of variables, members of the file's structs and of made-up ones, casts and calls. It
knows nothing of macros: what stands for their parameters is put in its place before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from tree_sitter import Node

from pytest_funcmem.harness.compiled.c.chunks import KEYWORDS
from pytest_funcmem.harness.compiled.c.places import source
from pytest_funcmem.harness.compiled.c.standins import StandIns

__all__ = ["type_of"]

_NO_TYPES = KEYWORDS - frozenset(
    ["char", "int", "short", "long", "float", "double", "void", "unsigned", "signed", "_Bool"]
)
_MOST_BODIES = 2000


def type_of(node: Node | None, text: bytes, standins: StandIns, files: Mapping[str, str]) -> str | None:
    """The word or words of an expression's type without its stars, such as ``struct a`` or ``size_t``.

    Args:
        node: The expression.
        text: What its bytes are in.
        standins: What is made up.
        files: The parts of the program.

    Returns:
        None where the text does not tell.
    """
    for _ in range(20):
        if node is None:
            return None
        match node.type:
            case "parenthesized_expression":
                node = node.named_children[0] if node.named_children else None
            case "pointer_expression" | "subscript_expression" | "update_expression":
                node = node.child_by_field_name("argument")
            case "cast_expression":
                kind = node.child_by_field_name("type")
                return None if kind is None else source(kind, text).replace("*", "").strip()
            case "identifier":
                return _declared(source(node, text), node.start_byte, text, standins, files)
            case "call_expression":
                called = node.child_by_field_name("function")
                if called is None or called.type != "identifier":
                    return None
                return _answered(source(called, text), standins, files)
            case "field_expression":
                field = node.child_by_field_name("field")
                owner = type_of(node.child_by_field_name("argument"), text, standins, files)
                return (
                    None
                    if field is None or owner is None
                    else _member(owner, source(field, text), standins, files)
                )
            case _:
                return None
    return None


def _declared(name: str, place: int, text: bytes, standins: StandIns, files: Mapping[str, str]) -> str | None:
    """Type of a variable: of its last declaration before the place, of one in the function, of any."""
    if name in standins.variables:
        return _bare(standins.variables[name])
    pattern = re.compile(
        rf"\b((?:struct|union|enum)\s+\w+|[A-Za-z_]\w*)(?:\s+const)?\s*(?:\*[\s*]*|\s)"
        rf"(?:\w+(?:\s*=[^;,(]*)?(?:\[\w*\])?\s*,\s*\**\s*)*{re.escape(name)}\b\s*(?:[;,=)]|\[)"
    )
    for where in (
        text[:place].decode("utf-8", "replace"),
        files.get("function.c", ""),
        files.get("decl.c", ""),
    ):
        found = [match[1] for match in pattern.finditer(where) if match[1] not in _NO_TYPES]
        if found:
            return found[-1] if where is not files.get("decl.c", "") else found[0]
    return None


def _answered(name: str, standins: StandIns, files: Mapping[str, str]) -> str | None:
    if name in standins.functions:
        return _bare(standins.functions[name].result)
    for part in ("proto.c", "decl.c"):
        match = re.search(
            rf"((?:struct|union|enum)\s+\w+|[A-Za-z_]\w*)\s*\**\s*\b{re.escape(name)}\s*\(",
            files.get(part, ""),
        )
        if match is not None and match[1] not in _NO_TYPES:
            return match[1]
    return None


def _member(owner: str, member: str, standins: StandIns, files: Mapping[str, str]) -> str | None:
    tag = standins.owner(owner)
    if tag is None and "*" in standins.types.get(owner, ""):
        tag = standins.owner(_bare(standins.types[owner]))
    if tag is not None:
        shape = standins.structs[tag].get(member)
        return None if shape is None else _bare(shape)
    body = _bodies(files.get("decl.c", "")).get(re.sub(r"\s+", " ", owner))
    if body is None:
        alias = re.search(
            rf"\btypedef\s+((?:struct|union)\s+\w+)\s*\**\s*{re.escape(owner)}\s*;", files.get("decl.c", "")
        )
        return None if alias is None or alias[1] == owner else _member(alias[1], member, standins, files)
    match = re.search(
        rf"((?:struct|union|enum)\s+\w+|[A-Za-z_]\w*)\s*(?:\*[\s*]*|\s)(?:\w+(?:\[[^\]]*\])?\s*,\s*\**\s*)*"
        rf"{re.escape(member)}\b\s*[;,\[:]",
        body,
    )
    return None if match is None or match[1] in _NO_TYPES else match[1]


def _bare(shape: str) -> str:
    return re.sub(r"\bconst\b|\[[^\]]*\]|[@*]", "", shape).strip()


@lru_cache(maxsize=4)
def _bodies(text: str) -> dict[str, str]:
    """Bodies of the structs and unions of a text, by ``struct tag`` and by the names of typedefs."""
    found: dict[str, str] = {}
    for match in list(re.finditer(r"\b(struct|union)\s*(\w*)\s*\{", text))[:_MOST_BODIES]:
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        body = text[match.end() : end - 1]
        if match[2]:
            found.setdefault(f"{match[1]} {match[2]}", body)
        if re.search(r"\btypedef\s*$", text[max(0, match.start() - 20) : match.start()]):
            for name in re.findall(r"\w+", text[end : text.find(";", end)]):
                found.setdefault(name, body)
    return found
