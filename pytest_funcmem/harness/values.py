"""Compare, check and show the canonical encodings of values that runners make.

An encoding is JSON. None, booleans, texts and integers up to 2**53 stand for themselves; everything else is a
list that begins with a tag:

=============  =====================================================================================
``int``        hexadecimal digits of a larger integer
``float``      its shortest text (``nan``, ``inf``, ``-inf`` included)
``complex``    the texts of both parts
``str``        UTF-8 in hexadecimal, for a text that holds lone surrogates
``bytes``      Latin-1 text (also ``bytearray``)
``list``       items (also ``tuple``, ``set``, ``frozenset``; sets are sorted by their items' encodings)
``dict``       pairs of key and value in insertion order; compared as a mapping
``object``     qualified class name, pairs of attribute name and value, contents or null: instances of the
               file's own classes, of subclasses of built-in types, named tuples, exceptions
``value``      class name and text: dates, decimals, fractions, UUIDs, paths, patterns, enum members, ranges
``type``       qualified name (also ``function``, ``module``, ``opaque``: things known by name only)
``iterator``   type name, items drained from it, final value (a generator's return value) or null
``graph``      an encoding and a table: ``["ref", n]`` inside it means entry n (shared or deep values)
``cycle``      number of levels from the top, inside a set item or a key, which hold no references
``cut``        type name, length, SHA-256 of the whole encoding and a preview, for a value too large to keep
``unchanged``  a receiver or argument that is as it was before the call
``deleted``    a file or a global that is gone
``directory``  a directory among files
=============  =====================================================================================

Types are strict: ``1``, ``1.0`` and ``True`` are three different values, and so are a list and a tuple.
Whether two parts of a value are one object or two equal ones does not count. This module never builds the
values themselves, and walks them with its own stack wherever the nesting is not yet known to be bounded.
"""

from __future__ import annotations

import json
import marshal
import math
from collections.abc import Iterable
from typing import Any

from pytest_funcmem.core.records import Json

__all__ = ["UNCHANGED", "canonical_value", "is_encoding", "is_text", "same_value", "show_value"]

UNCHANGED: Json = ["unchanged"]
"""Encoding of a receiver or argument that the call left as it was."""

_MAX_DEPTH = 200
_SCALARS = (type(None), bool, int, str)
_TEXT_TAGS = {
    "int": 1,
    "float": 1,
    "complex": 2,
    "str": 1,
    "bytes": 1,
    "bytearray": 1,
    "value": 2,
    "type": 1,
    "function": 1,
    "module": 1,
    "opaque": 1,
    "unchanged": 0,
    "deleted": 0,
    "directory": 0,
}
_SEQUENCES = frozenset({"list", "tuple"})
_SETS = frozenset({"set", "frozenset"})
# A leftover of unmatched set items or keys is compared pairwise for floats that differ within the tolerance;
# beyond this many the two are taken to differ.
_PAIRWISE_LIMIT = 64


def is_text(value: object) -> bool:
    """Whether a value is a text that can be written as UTF-8."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_encoding(value: object) -> bool:
    """Whether hostile JSON is an encoding as documented above: tags, shapes, and references that resolve."""
    stack: list[tuple[object, int, int]] = [(value, 0, 0)]  # node, depth, size of the reference table
    while stack:
        node, depth, table = stack.pop()
        if not isinstance(node, list):
            if not _is_scalar(node):
                return False
            continue
        if depth > _MAX_DEPTH or not node or not isinstance(node[0], str):
            return False
        children: Iterable[object] | None = None
        match node:
            case [tag, *rest] if tag in _TEXT_TAGS:
                if len(rest) == _TEXT_TAGS[tag] and all(is_text(item) for item in rest):
                    children = ()
            case [("list" | "tuple" | "set" | "frozenset"), list(items)]:
                children = items
            case ["dict", list(pairs)] if _are_pairs(pairs):
                children = [item for pair in pairs for item in pair]
            case ["object", str(name), list(pairs), contents] if is_text(name) and _are_pairs(pairs):
                if all(is_text(pair[0]) for pair in pairs):
                    children = [contents, *(pair[1] for pair in pairs)]
            case ["iterator", str(name), list(items), final] if is_text(name):
                children = [*items, final]
            case ["graph", root, list(entries)] if depth == 0:
                stack.extend((item, 1, len(entries)) for item in (root, *entries))
                children = ()
            case ["ref", int(index)] if type(index) is int and 0 <= index < table:
                children = ()
            case ["cycle", int(level)] if type(level) is int:
                children = ()
            case ["cut", str(name), int(length), str(sha256), str(preview)] if type(length) is int:
                if is_text(name) and is_text(sha256) and is_text(preview):
                    children = ()
        if children is None:
            return False
        for child in children:
            if isinstance(child, list):
                stack.append((child, depth + 1, table))
            elif not _is_scalar(child):
                return False
    return True


def _is_scalar(node: object) -> bool:
    if isinstance(node, str):
        return node.isascii() or is_text(node)
    return isinstance(node, _SCALARS) and not (type(node) is int and abs(node) > 2**53)


def _are_pairs(pairs: list[Any]) -> bool:
    return all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)


def same_value(a: Json, b: Json, *, float_tolerance: float) -> bool:
    """Whether two encodings stand for the same value.

    Args:
        a: One encoding, checked by ``is_encoding``.
        b: The other.
        float_tolerance: Relative difference up to which floats are equal; NaN equals NaN.
    """
    # What is written alike is alike, but for what was cut off; unlike ==, this tells True from 1.
    written = marshal.dumps(a, 2)
    if written == marshal.dumps(b, 2) and b"cut" not in written:
        return True
    return _same(a, b, float_tolerance, pairwise=True)


def _same(a: Json, b: Json, float_tolerance: float, *, pairwise: bool) -> bool:
    a, a_table = _root(a)
    b, b_table = _root(b)
    stack: list[tuple[Json, Json]] = [(a, b)]
    seen: set[tuple[int, int]] = set()
    while stack:
        left, right = stack.pop()
        if _is_ref(left) or _is_ref(right):
            left, right = _resolve(left, a_table), _resolve(right, b_table)
            # Assumed equal while their parts are compared: what makes cycles end.
            if (id(left), id(right)) in seen:
                continue
            seen.add((id(left), id(right)))
        if not isinstance(left, list) or not isinstance(right, list):
            if type(left) is not type(right) or left != right:
                return False
            continue
        if left[0] != right[0]:
            return False
        pairs = _parts(left, right, float_tolerance, pairwise)
        if pairs is None:
            return False
        stack.extend(pairs)
    return True


def _parts(
    left: list[Any], right: list[Any], float_tolerance: float, pairwise: bool
) -> list[tuple[Json, Json]] | None:
    """Pairs of parts that still have to be equal, or None where two nodes of one tag differ by themselves."""
    tag = left[0]
    if tag == "float":
        return [] if _same_float(left[1], right[1], float_tolerance) else None
    if tag == "complex":
        same = (_same_float(x, y, float_tolerance) for x, y in zip(left[1:], right[1:], strict=True))
        return [] if all(same) else None
    if tag in _SEQUENCES:
        return list(zip(left[1], right[1], strict=True)) if len(left[1]) == len(right[1]) else None
    if tag in _SETS:
        ours, theirs = ([[item, None] for item in node[1]] for node in (left, right))
        return [] if _match(ours, theirs, float_tolerance, pairwise) is not None else None
    if tag == "dict":
        return _match(left[1], right[1], float_tolerance, pairwise)
    if tag == "object":
        if left[1] != right[1]:
            return None
        attributes = _match(left[2], right[2], float_tolerance, pairwise)
        return None if attributes is None else [*attributes, (left[3], right[3])]
    if tag == "iterator":
        if left[1] != right[1] or len(left[2]) != len(right[2]):
            return None
        return [*zip(left[2], right[2], strict=True), (left[3], right[3])]
    if tag == "cut" and not left[3]:
        return None  # too large even for a digest: nothing is known of it
    return [] if left == right else None  # flat: texts and numbers only


def _match(
    left: list[Any], right: list[Any], float_tolerance: float, pairwise: bool
) -> list[tuple[Json, Json]] | None:
    """Pair the values of two lists of [key, value] by their keys, or None if the keys differ.

    Keys that are equal only within the tolerance are looked for pairwise at one level, not within keys: what
    is hostile must not make this exponential.
    """
    if len(left) != len(right):
        return None
    if all(
        isinstance(ours[0], str) and ours[0] == theirs[0] for ours, theirs in zip(left, right, strict=True)
    ):
        return [(ours[1], theirs[1]) for ours, theirs in zip(left, right, strict=True)]
    by_key = {_key_text(key): value for key, value in right}
    found: list[tuple[Json, Json]] = []
    unmatched: list[Any] = []
    for key, value in left:
        text = _key_text(key)
        if text in by_key:
            found.append((value, by_key.pop(text)))
        else:
            unmatched.append([key, value])
    if len(unmatched) != len(by_key) or len(unmatched) > (_PAIRWISE_LIMIT if pairwise else 0):
        return None
    rest = [(json.loads(text), value) for text, value in by_key.items()]
    for key, value in unmatched:
        for place, (other, counterpart) in enumerate(rest):
            if _same(key, other, float_tolerance, pairwise=False):
                found.append((value, counterpart))
                del rest[place]
                break
        else:
            return None
    return found


def _key_text(key: Json) -> str:
    return json.dumps(key, separators=(",", ":"))


def _same_float(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or (math.isfinite(x) and math.isfinite(y) and abs(x - y) <= tolerance * max(abs(x), abs(y)))


def _root(value: Json) -> tuple[Json, list[Json]]:
    if isinstance(value, list) and value and value[0] == "graph":
        return value[1], value[2]
    return value, []


def _is_ref(node: Json) -> bool:
    return isinstance(node, list) and node[0] == "ref"


def _resolve(node: Json, table: list[Json]) -> Json:
    # An entry may itself be a reference; a chain longer than the table goes in circles.
    for _ in range(len(table) + 1):
        if not _is_ref(node):
            return node
        if node[1] >= len(table):
            break
        node = table[node[1]]
    return ["opaque", "a reference to itself"]


def canonical_value(value: Json) -> Json:
    """The same encoding with the pairs of every dictionary sorted, so that equal mappings read the same.

    Args:
        value: An encoding, checked by ``is_encoding``.
    """
    if not isinstance(value, list) or value[0] in _TEXT_TAGS or value[0] in ("ref", "cycle", "cut"):
        return value
    tag, *rest = value
    if tag == "dict":
        pairs = [[canonical_value(key), canonical_value(item)] for key, item in rest[0]]
        return [tag, sorted(pairs, key=lambda pair: _key_text(pair[0]))]
    if tag == "object":
        return [
            tag,
            rest[0],
            [[name, canonical_value(item)] for name, item in rest[1]],
            canonical_value(rest[2]),
        ]
    if tag == "iterator":
        return [tag, rest[0], [canonical_value(item) for item in rest[1]], canonical_value(rest[2])]
    if tag == "graph":
        return [tag, canonical_value(rest[0]), [canonical_value(item) for item in rest[1]]]
    return [tag, [canonical_value(item) for item in rest[0]]]


_SHOWN_DEPTH = 8
_BRACKETS = {"list": "[]", "tuple": "()", "set": "{}", "frozenset": "{}"}


def show_value(encoded: Json, limit: int = 120) -> str:
    """Render an encoding much as Python would print the value, for reports.

    Args:
        encoded: An encoding, checked by ``is_encoding``.
        limit: Most characters; a longer rendering is shortened in the middle.
    """
    root, table = _root(encoded)
    text = "".join(_shown(root, table, 0, [4 * limit]))
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def _shown(node: Json, table: list[Json], depth: int, room: list[int]) -> Iterable[str]:
    """Pieces of the rendering; ``room`` holds the number of characters still worth rendering."""
    if _is_ref(node):
        node = _resolve(node, table)
    if not isinstance(node, list):
        text = repr(node)
        room[0] -= len(text)
        return [text]
    if depth > _SHOWN_DEPTH or room[0] <= 0:
        return ["…"]
    match node:
        case ["int", digits]:
            text = _shown_int(digits)
        case ["float" | "value", *_, last]:
            text = last if node[0] == "float" else f"{_short(node[1])}({last})"
        case ["complex", real, imaginary]:
            text = f"complex({real}, {imaginary})"
        case ["str", digits]:
            text = repr(_unhex(digits).decode("utf-8", "backslashreplace"))
        case ["bytes" | "bytearray", content]:
            text = repr(content.encode("latin-1", "replace"))
            text = text if node[0] == "bytes" else f"bytearray({text})"
        case ["type" | "function" | "module" | "opaque", name]:
            text = f"<{node[0]} {name}>" if node[0] != "opaque" else f"<{name}>"
        case ["unchanged" | "deleted" | "directory"]:
            text = f"<{node[0]}>"
        case ["cut", name, length, _, preview]:
            text = f"<{name} of {length}: {preview}…>"
        case ["cycle", _]:
            text = "…"
        case _:
            return _shown_container(node, table, depth, room)
    room[0] -= len(text)
    return [text]


def _shown_container(node: list[Any], table: list[Json], depth: int, room: list[int]) -> list[str]:
    def several(items: Iterable[Json], names: Iterable[list[str]] = ()) -> list[str]:
        pieces: list[str] = []
        labels = list(names)
        for place, item in enumerate(items):
            if place:
                pieces.append(", ")
            if room[0] <= 0:
                pieces.append("…")
                break
            if labels:
                pieces.extend(labels[place])
            pieces.extend(_shown(item, table, depth + 1, room))
        return pieces

    match node:
        case ["list" | "tuple" | "set" | "frozenset", items]:
            bracket = _BRACKETS[node[0]]
            opening, closing = bracket[0], bracket[1]
            inner = several(items)
            if node[0] == "tuple" and len(items) == 1:
                inner.append(",")
            if node[0] == "frozenset" or (node[0] == "set" and not items):
                return [node[0], "(", *([opening, *inner, closing] if items else []), ")"]
            return [opening, *inner, closing]
        case ["dict", pairs]:
            keys = [[*_shown(key, table, depth + 1, room), ": "] for key, _ in pairs[: max(1, room[0])]]
            return ["{", *several([item for _, item in pairs[: len(keys)]], keys), "}"]
        case ["object", name, pairs, contents]:
            inner = [] if contents is None else several([contents])
            if inner and pairs:
                inner.append(", ")
            return [
                _short(name),
                "(",
                *inner,
                *several([v for _, v in pairs], [[f"{k}="] for k, _ in pairs]),
                ")",
            ]
        case ["iterator", name, items, final]:
            end = [] if final is None else [" → ", *several([final])]
            return [f"<{name} ", *several(items), *end, ">"]
    return ["<?>"]


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _shown_int(digits: str) -> str:
    # Python refuses to print integers of thousands of digits in decimal.
    try:
        return str(int(digits, 16)) if len(digits) < 1000 else f"0x{digits}"
    except ValueError:
        return f"0x{digits}"


def _unhex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b"?"
