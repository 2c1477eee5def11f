"""Values of constants that a file lacks: as unlike each other as their types allow."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.signature import split_types
from pytest_funcmem.languages.trees import inner_nodes

__all__ = ["constant_value", "named_constants", "pattern_constants"]

_DEEPEST = 8
_STANDARD = frozenset({"std", "core", "alloc"})
_PATTERNS = frozenset(
    {"match_pattern", "or_pattern", "tuple_pattern", "tuple_struct_pattern", "slice_pattern"}
)
_NUMBER = re.compile(r"(?:(?:std|core)::\w+::|libc::)?(?:[iu](?:8|16|32|64|128|size)|c_[a-z]+)")
_TEXT = re.compile(r"&\s*(?:'static\s+)?str")


def constant_value(plan: Plan, name: str, kind: str) -> str:
    """An expression that gives a constant of a type its value while compiling."""
    if name in plan.sizes:
        return plan.sizes[name]
    number = 3 + sum(place * ord(character) for place, character in enumerate(name, 1)) % 97
    return _value(plan, kind.strip(), number, name, 0)


def _value(plan: Plan, kind: str, number: int, name: str, depth: int) -> str:
    if re.fullmatch(r"[iu](?:8|16|32|64|128|size)", kind):
        return str(number)
    if depth > _DEEPEST:
        return "unsafe { std::mem::zeroed() }"
    if kind in ("f32", "f64"):
        return f"{number}.0"
    plain = {
        "bool": "true" if number % 2 else "false",
        "char": "'" + chr(97 + number % 26) + "'",
        "String": "String::new()",
        "()": "()",
    }
    if kind in plain:
        return plain[kind]
    if re.fullmatch(r"&(?:'\w+\s+)?str", kind):
        return f'"{name}"'
    if re.fullmatch(r"&(?:'\w+\s+)?\[u8\]", kind):
        return f'b"{name}"'
    if kind.startswith("Vec<"):
        return "Vec::new()"
    reference = re.match(r"&\s*(?:'\w+\s+)?(?!mut\b)(?=\S)", kind)
    if reference:
        inner = kind[reference.end() :]
        is_list = inner.startswith("[") and not re.search(r";\s*\w+\]\Z", inner)
        return "&[]" if is_list else f"&{_value(plan, inner, number, name, depth + 1)}"
    if re.match(r"(?:std::option::)?Option<", kind):
        return "None"
    if kind.startswith("(") and kind.endswith(")"):
        parts = (_value(plan, part, number, name, depth + 1) for part in split_types(kind[1:-1]))
        return "(" + "".join(f"{part}, " for part in parts) + ")"
    array = re.fullmatch(r"\[(.*);\s*(\w+)\]", kind)
    if array:
        return f"[{_value(plan, array[1], number, name, depth + 1)}; {array[2]}]"
    return _named_value(plan, kind, number, name, depth)


def _named_value(plan: Plan, kind: str, number: int, name: str, depth: int) -> str:
    stand_in = plan.types.get(kind)
    if stand_in is not None:
        if stand_in.alias is not None:
            return _value(plan, stand_in.alias, number, name, depth + 1)
        if stand_in.variants:
            plain = next((variant for variant, payload in stand_in.variants.items() if payload is None), None)
            return f"{kind}::{plain}" if plain else "unsafe { std::mem::zeroed() }"
        parts = {
            field: _value(plan, text, number, name, depth + 1) for field, text in stand_in.fields.items()
        }
        if stand_in.shape == "tuple":
            return f"{kind}({', '.join(parts.values())})"
        is_whole = stand_in.shape == "unit" or (stand_in.shape == "literal" and parts)
        identity = "" if is_whole else f"id: {number}, "
        return f"{kind} {{ {identity}{''.join(f'{field}: {value}, ' for field, value in parts.items())}}}"
    for item, _ in plan.taken_items():
        body = item.node.child_by_field_name("body")
        is_meant = item.kind == "struct" and item.name == kind
        if is_meant and body is not None and body.type == "ordered_field_declaration_list":
            types = [part for part in body.children if part.is_named and part.type != "visibility_modifier"]
            texts = [flattened(plan.file.tree.source(part), plan.names) for part in types]
            return f"{kind}({', '.join(_value(plan, text, number, name, depth + 1) for text in texts)})"
    return "unsafe { std::mem::zeroed() }"


def pattern_constants(plan: Plan) -> list[str]:
    """Names in patterns that are written like constants and are missing: they would match anything."""
    file = plan.file
    known = set(plan.names.own)
    for imported in (*file.imports, *file.inner_imports):
        if imported.path[0] in _STANDARD or imported.path[0] in plan.names.crates:
            if imported.path[-1] == "*":
                return []  # It may be there.
            known.add(imported.name)
    found = []
    for item, members in plan.taken_items():
        nodes = [item.node] if item.kind == "fn" else [member.node for _, member in members]
        for node in (inner for outer in nodes for inner in inner_nodes(outer)):
            parent = node.parent
            if node.type == "identifier" and parent is not None and parent.type in _PATTERNS:
                name = file.tree.source(node)
                if re.fullmatch(r"[A-Z][A-Z0-9_]+", name) and name not in known:
                    found.append(name)
    return list(dict.fromkeys(found))


def named_constants(plan: Plan) -> tuple[list[str], list[str]]:
    """Constants that the original names, in order: whole numbers, and texts."""
    kinds = dict(plan.constants)
    for item, _ in plan.taken_items():
        declared = item.node.child_by_field_name("type")
        if item.kind == "const" and declared is not None:
            kinds[item.name] = flattened(plan.file.tree.source(declared), plan.names)
    numbers: list[str] = []
    texts: list[str] = []
    code = flattened(plan.function.code, plan.names)
    for name in dict.fromkeys(re.findall(r"(?<![\w.:])(?:libc::)?[A-Z][A-Z0-9_]+\b(?!\s*[:(!<])", code)):
        if name.startswith("libc::"):
            if "libc" in plan.names.crates and not name.endswith("_INITIALIZER"):
                numbers.append(name)
            continue
        kind = kinds.get(name, "")
        for _ in range(_DEEPEST):
            stand_in = plan.types.get(kind)
            kind = stand_in.alias if stand_in is not None and stand_in.alias is not None else kind
        if _NUMBER.fullmatch(kind):
            numbers.append(name)
        elif _TEXT.fullmatch(kind):
            texts.append(name)
    return numbers, texts
