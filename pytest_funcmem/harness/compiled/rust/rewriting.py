"""The original with other local names, and stubs in its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.records import Json, OutputState, SourceFunction
from pytest_funcmem.harness.compiled.rust.literals import quoted
from pytest_funcmem.harness.compiled.rust.signature import split_types
from pytest_funcmem.harness.compiled.toolkit import StandIn
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["renamed_code", "stubs"]

_MOST_CONSTANTS = 6
_MOST_COMMON = 3
_NAMES_OF_ITEMS = frozenset({"function_item", "function_signature_item", "scoped_identifier", "const_item"})
"""Nodes in which an identifier names something else than a variable."""
_INTEGERS = frozenset(
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"]
)


def renamed_code(function: SourceFunction) -> str | None:
    """Change the names of parameters and local variables; None where there is none to change."""
    code = function.code
    tree = SyntaxTree("rust", code)
    bound: dict[str, None] = {}
    barred = {"self", "_"}
    places: list[tuple[int, int, str]] = []
    own_macros = _KNOWN_MACROS | set(re.findall(r"macro_rules!\s*(\w+)", function.text))
    for node in inner_nodes(tree.root):
        text = tree.source(node)
        if node.type in ("shorthand_field_initializer", "shorthand_field_identifier"):
            barred.add(text)
        elif node.type in ("string_literal", "raw_string_literal"):
            barred.update(re.findall(r"\{(\w+)", text))
        elif node.type == "identifier":
            parent = node.parent
            if parent is None or parent.type in _NAMES_OF_ITEMS:
                continue
            if parent.type in ("scoped_identifier", "scoped_type_identifier"):
                continue  # a path begins with a module or a type, whatever a variable beside it is called
            if _is_binding(node, parent):
                bound.setdefault(text)
            if parent.type == "token_tree":
                before, after = node.prev_sibling, node.next_sibling
                marks = (tree.source(before) if before else "", tree.source(after) if after else "")
                if marks[0] in (".", "::") or marks[1] in (":", "::", "!", "("):
                    barred.add(text)
                if not own_macros & _macros_around(tree, node):
                    # A macro that is not there can do nothing but look at the words that it is given.
                    barred.add(text)
            elif parent.type in ("call_expression", "macro_invocation") and parent.children[0].id == node.id:
                barred.add(text)
            places.append((tree.start(node), tree.end(node), text))
    # Names of constants and of variants look like bindings in patterns.
    names = [name for name in bound if name not in barred and name[:1].islower()]
    if not names:
        return None
    taken = set(re.findall(r"\w+", function.text))
    new: dict[str, str] = {}
    for name in names:
        fresh = f"{name}_renamed"
        while fresh in taken:
            fresh += "_"
        new[name] = fresh
    for start, end, text in sorted(places, reverse=True):
        if text in new:
            code = code[:start] + new[text] + code[end:]
    return code


def _macros_around(tree: SyntaxTree, node: Node) -> set[str]:
    """The innermost macro call around a word."""
    parent = node.parent
    while parent is not None and parent.type != "macro_invocation":
        parent = parent.parent
    name = parent.child_by_field_name("macro") if parent is not None else None
    return {tree.source(name).rpartition("::")[2]} if name is not None else set()


_KNOWN_MACROS = frozenset(
    word
    for line in (
        "assert assert_eq assert_ne debug_assert debug_assert_eq debug_assert_ne eprint eprintln format",
        "matches panic print println todo unimplemented unreachable vec write writeln try concat",
        "format_args dbg trace debug info warn error log bail ensure anyhow json smallvec",
    )
    for word in line.split()
)
"""Macros of the standard library and of crates, which are there."""


def _is_binding(node: Node, parent: Node) -> bool:
    if parent.type in ("let_declaration", "parameter", "for_expression"):
        pattern = parent.child_by_field_name("pattern")
        return pattern is not None and pattern.id == node.id
    if parent.type == "closure_parameters":
        return True
    return parent.type in ("mut_pattern", "tuple_pattern", "ref_pattern", "reference_pattern")


def stubs(function: SourceFunction, expected: Sequence[OutputState]) -> Iterator[StandIn]:
    """Functions that do next to nothing: no harness may take one of them for the original."""
    tree = SyntaxTree("rust", function.code)
    top = next((node for node in inner_nodes(tree.root) if node.type == "function_item"), None)
    body = top.child_by_field_name("body") if top is not None else None
    if top is None or body is None:
        return
    head = function.code[: tree.start(body)]
    result = top.child_by_field_name("return_type")
    kind = re.sub(r"\s+", " ", tree.source(result)) if result is not None else "()"

    def stub(name: str, value: str) -> StandIn:
        return StandIn(name=name, code=f"{head}{{ {value} }}")

    seen: set[str] = set()
    for name, value in (
        ("nothing", zero(kind)),
        *_constants(function, tree, kind),
        *_commonest(expected, kind),
        *_echoes(tree, top, kind),
    ):
        if value is not None and value not in seen:
            seen.add(value)
            yield stub(name, value)
    yield stub("raise", 'panic!("a stub")')


def zero(kind: str) -> str | None:
    """The smallest value of a type, as source."""
    kind = kind.strip()
    if kind == "()":
        return "()"
    if kind.startswith("Option<"):
        return "None"
    inner = re.match(r"(?:\w+::)*\w*Result(?:<(.*)>)?\Z", kind)
    if inner:
        parts = split_types(inner[1] or "()")
        value = zero(parts[0]) if parts else "()"
        return None if value is None else f"Ok({value})"
    if kind.startswith("&"):
        return '""' if kind.endswith("str") else "&[]" if "[" in kind else None
    if kind.startswith("(") and kind.endswith(")"):
        parts_found = [zero(part) for part in split_types(kind[1:-1])]
        if any(part is None for part in parts_found):
            return None
        return "(" + "".join(f"{part}, " for part in parts_found) + ")"
    if "impl " in kind or "dyn " in kind or kind == "!":
        return None
    return "Default::default()"


def _constants(function: SourceFunction, tree: SyntaxTree, kind: str) -> Iterator[tuple[str, str | None]]:
    """Each constant of the body that has the result's type."""
    found: dict[str, None] = {}
    for node in inner_nodes(tree.root):
        text = tree.source(node)
        if (
            (node.type == "integer_literal" and kind in _INTEGERS)
            or (node.type == "float_literal" and kind in ("f32", "f64"))
            or (node.type == "boolean_literal" and kind == "bool")
            or (node.type == "char_literal" and kind == "char" and not text.startswith("b"))
        ):
            found.setdefault(text)
        elif node.type == "string_literal" and not text.startswith(("b", "c")):
            if kind == "String":
                found.setdefault(f"{text}.to_string()")
            elif re.fullmatch(r"&(?:'\w+ )?str", kind):
                found.setdefault(text)
    if kind == "bool":
        found.setdefault("true")
        found.setdefault("false")
    for place, text in enumerate(list(found)[:_MOST_CONSTANTS]):
        yield f"constant {place}", text


def _commonest(expected: Sequence[OutputState], kind: str) -> Iterator[tuple[str, str | None]]:
    counts: Counter[str] = Counter()
    values: dict[str, Json] = {}
    for output in expected:
        if output.outcome == "returned":
            key = digest([output.value])
            counts[key] += 1
            values.setdefault(key, output.value)
    ranked = sorted(values, key=lambda key: -counts[key])
    for place, key in enumerate(ranked[:_MOST_COMMON]):
        yield ("commonest" if not place else f"commonest {place + 1}"), written(values[key], kind)


def written(value: Json, kind: str) -> str | None:
    """An encoded value as source of a type; None where it cannot be written."""
    kind = kind.strip()
    match value:
        case bool():
            return str(value).lower() if kind == "bool" else None
        case int():
            return str(value) if kind in _INTEGERS else None
        case None:
            return "()" if kind == "()" else None
        case str():
            if kind == "String":
                return f"{quoted(value)}.to_string()"
            return quoted(value) if re.fullmatch(r"&(?:'\w+ )?str", kind) else None
        case ["float", str(text)]:
            return text if kind in ("f32", "f64") and re.fullmatch(r"-?[\d.]+(?:e-?\d+)?", text) else None
        case ["object", "None", [], _]:
            return "None"
        case ["object", ("Some" | "Ok" | "Err") as name, [[_, inner]], _]:
            found = re.match(r"(?:\w+::)*\w+<(.*)>\Z", kind)
            parts = split_types(found[1]) if found else []
            place = 1 if name == "Err" else 0
            held = written(inner, parts[place]) if len(parts) > place else None
            return None if held is None else f"{name}({held})"
        case ["object", str(name), [], _] if re.fullmatch(r"\w+::\w+", name):
            return name
        case ["list", list(items)] if kind.startswith("Vec<"):
            texts = [written(item, kind[4:-1]) for item in items[:50]]
            return None if any(text is None for text in texts) else f"vec![{', '.join(map(str, texts))}]"
        case ["tuple", list(items)] if kind.startswith("("):
            kinds = split_types(kind[1:-1])
            if len(kinds) != len(items):
                return None
            texts = [written(item, part) for item, part in zip(items, kinds, strict=True)]
            return (
                None if any(text is None for text in texts) else "(" + "".join(f"{t}, " for t in texts) + ")"
            )
    return None


def _echoes(tree: SyntaxTree, top: Node, kind: str) -> Iterator[tuple[str, str | None]]:
    parameters = top.child_by_field_name("parameters")
    for place, child in enumerate(parameters.children if parameters is not None else ()):
        if child.type != "parameter":
            continue
        pattern, own = child.child_by_field_name("pattern"), child.child_by_field_name("type")
        if pattern is None or own is None or pattern.type != "identifier":
            continue
        name, text = tree.source(pattern), re.sub(r"\s+", " ", tree.source(own))
        value = None
        if text == kind:
            value = name
        elif kind == "String" and re.fullmatch(r"&(?:'\w+ )?str|&String", text):
            value = f"{name}.to_string()"
        elif kind == f"Option<{text}>":
            value = f"Some({name})"
        elif re.match(rf"(?:\w+::)*\w*Result<{re.escape(text)}\b", kind):
            value = f"Ok({name})"
        yield f"echo {place}", value
