"""Reads from the debugging information of a shared object what its functions and variables are made of.

Knows DWARF 4 as gcc writes it into little-endian 64-bit ELF files, and nothing of what the types are for.
"""

from __future__ import annotations

import struct
from typing import Any

_TYPES = {
    0x01: "array",
    0x04: "enum",
    0x0F: "pointer",
    0x13: "struct",
    0x15: "function",
    0x16: "typedef",
    0x17: "union",
    0x24: "base",
    0x26: "const",
    0x35: "volatile",
    0x37: "restrict",
    0x47: "atomic",
}
_PARAMETER, _MEMBER, _UNSPECIFIED, _SUBRANGE, _ENUMERATOR = 0x05, 0x0D, 0x18, 0x21, 0x28
_SUBPROGRAM, _VARIABLE = 0x2E, 0x34
_LOCATION, _NAME, _BYTE_SIZE, _BIT_SIZE, _CONST_VALUE, _UPPER_BOUND = 0x02, 0x03, 0x0B, 0x0D, 0x1C, 0x2F
_COUNT, _MEMBER_AT, _DECLARATION, _ENCODING, _SPECIFICATION, _TYPE = 0x37, 0x38, 0x3C, 0x3E, 0x47, 0x49
_DATA_BIT_OFFSET, _DECL_FILE, _DECL_LINE = 0x6B, 0x3A, 0x3B

Entry = dict[Any, Any]


def sections(data: bytes) -> dict[str, bytes]:
    """Contents of the sections of an ELF file by name."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", data, table + size * number) for number in range(count)]
    texts = heads[names][4]
    found = {}
    for name, _kind, _flags, _address, offset, length in heads:
        start = texts + name
        found[data[start : data.index(b"\0", start)].decode("ascii", "replace")] = data[
            offset : offset + length
        ]
    return found


def borrowed(data: bytes) -> list[str]:
    """Names that a shared object takes from others, sorted."""
    found = sections(data)
    table, texts = found.get(".dynsym", b""), found.get(".dynstr", b"")
    names = set()
    for at in range(24, len(table) - 23, 24):
        name, _info, _other, where = struct.unpack_from("<IBBH", table, at)
        if where == 0:
            names.add(texts[name : texts.index(b"\0", name)].decode("ascii", "replace"))
    return sorted(names)


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def number(self, size: int, signed: bool = False) -> int:
        value = int.from_bytes(self.data[self.at : self.at + size], "little", signed=signed)
        self.at += size
        return value

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return value

    def block(self, length: int) -> bytes:
        value = self.data[self.at : self.at + length]
        self.at += length
        return value


def _abbreviations(data: bytes, at: int) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
    reader = _Reader(data, at)
    found: dict[int, tuple[int, bool, list[tuple[int, int]]]] = {}
    while True:
        code = reader.uleb()
        if code == 0:
            return found
        tag = reader.uleb()
        has_children = reader.number(1) != 0
        attributes = []
        while True:
            name, form = reader.uleb(), reader.uleb()
            if (name, form) == (0, 0):
                break
            attributes.append((name, form))
        found[code] = (tag, has_children, attributes)


def _value(reader: _Reader, form: int, texts: bytes, unit: int) -> Any:
    if form in (0x0B, 0x05, 0x06, 0x07):
        return reader.number({0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8}[form])
    if form == 0x0E:
        return _Reader(texts, reader.number(4)).text()
    if form == 0x08:
        return reader.text()
    if form == 0x13:
        return unit + reader.number(4)
    if form == 0x0D:
        return reader.sleb()
    if form == 0x0F:
        return reader.uleb()
    if form == 0x17:
        return reader.number(4)
    if form == 0x18 or form == 0x09:
        return reader.block(reader.uleb())
    if form == 0x0A:
        return reader.block(reader.number(1))
    if form == 0x03:
        return reader.block(reader.number(2))
    if form == 0x04:
        return reader.block(reader.number(4))
    if form == 0x19:
        return 1
    if form == 0x0C:
        return reader.number(1)
    if form == 0x01:
        return reader.number(8)
    if form in (0x11, 0x12, 0x14):
        return unit + reader.number({0x11: 1, 0x12: 2, 0x14: 8}[form])
    if form == 0x10:
        return reader.number(4)
    if form == 0x15:
        return unit + reader.uleb()
    raise ValueError(f"an unknown form {form:#x}")


def _entries(found: dict[str, bytes]) -> tuple[dict[int, Entry], list[Entry]]:
    """Every entry by its offset, and those right below a unit."""
    data, texts = found[".debug_info"], found.get(".debug_str", b"")
    by_offset: dict[int, Entry] = {}
    tops: list[Entry] = []
    at = 0
    while at + 11 <= len(data):
        unit = at
        length, version, abbreviations, _size = struct.unpack_from("<IHIB", data, at)
        if version != 4:
            raise ValueError(f"DWARF version {version}")
        known = _abbreviations(found[".debug_abbrev"], abbreviations)
        reader = _Reader(data, at + 11)
        at = unit + 4 + length
        stack: list[list[Entry]] = [[]]
        while reader.at < at and stack:
            offset = reader.at
            code = reader.uleb()
            if code == 0:
                stack.pop()
                continue
            tag, has_children, attributes = known[code]
            entry: Entry = {"tag": tag, "children": [], "offset": offset}
            for name, form in attributes:
                entry[name] = _value(reader, form, texts, unit)
            by_offset[offset] = entry
            stack[-1].append(entry)
            if len(stack) == 2:
                tops.append(entry)
            if has_children:
                stack.append(entry["children"])
    return by_offset, tops


def describe(data: bytes) -> dict[str, Any]:
    """Types, functions and variables of a shared object, as plain values.

    Types are lists ``[kind, name, size, target, parts]`` that refer to each other by number; 0 is void.
    """
    by_offset, tops = _entries(sections(data))
    types: list[list[Any]] = [["void", "", 0, 0, []]]
    numbers: dict[int, int] = {}

    def number_of(offset: int | None) -> int:
        if offset is None:
            return 0
        if offset not in numbers:
            numbers[offset] = len(types)
            types.append(["opaque", "", 0, 0, []])
            waiting.append(offset)
        return numbers[offset]

    waiting: list[int] = []
    functions, variables = [], []
    for entry in tops:
        origin = by_offset.get(entry.get(_SPECIFICATION, -1), {})
        name = entry.get(_NAME, origin.get(_NAME))
        if name is None:
            continue
        kind = entry.get(_TYPE, origin.get(_TYPE))
        if entry["tag"] == _SUBPROGRAM:
            parameters = [part for part in entry["children"] if part["tag"] == _PARAMETER]
            functions.append(
                {
                    "name": name,
                    "result": number_of(kind),
                    "parameters": [[part.get(_NAME, ""), number_of(part.get(_TYPE))] for part in parameters],
                    "variadic": any(part["tag"] == _UNSPECIFIED for part in entry["children"]),
                    "defined": _DECLARATION not in entry,
                }
            )
        elif entry["tag"] == _VARIABLE:
            variables.append(
                {
                    "name": name,
                    "type": number_of(kind),
                    "defined": _LOCATION in entry,
                    "line": entry.get(_DECL_LINE, origin.get(_DECL_LINE, 0)),
                }
            )
    while waiting:
        offset = waiting.pop()
        types[numbers[offset]] = _described(by_offset[offset], number_of)
    return {"types": types, "functions": functions, "variables": variables}


def _described(entry: Entry, number_of: Any) -> list[Any]:
    kind = _TYPES.get(entry["tag"], "opaque")
    size = entry.get(_BYTE_SIZE, 0)
    parts: list[Any] = []
    target = number_of(entry.get(_TYPE))
    children = entry["children"]
    if kind in ("struct", "union"):
        for part in children:
            if part["tag"] == _MEMBER:
                at = part.get(_MEMBER_AT, 0)
                parts.append(
                    [
                        part.get(_NAME, ""),
                        number_of(part.get(_TYPE)),
                        at if isinstance(at, int) else 0,
                        part.get(_DATA_BIT_OFFSET, 0),
                        part.get(_BIT_SIZE, 0),
                    ]
                )
        if entry.get(_DECLARATION):
            size = -1
    elif kind == "enum":
        parts = [
            [part.get(_NAME, ""), part.get(_CONST_VALUE, 0)]
            for part in children
            if part["tag"] == _ENUMERATOR
        ]
    elif kind == "array":
        for part in children:
            if part["tag"] == _SUBRANGE:
                bound, count = part.get(_UPPER_BOUND), part.get(_COUNT)
                if isinstance(count, int):
                    parts.append(count)
                else:
                    parts.append(bound + 1 if isinstance(bound, int) and bound < 1 << 31 else 0)
    elif kind == "function":
        parts = [number_of(part.get(_TYPE)) for part in children if part["tag"] == _PARAMETER]
        size = -1 if any(part["tag"] == _UNSPECIFIED for part in children) else 0
    elif kind == "base":
        parts = [entry.get(_ENCODING, 0)]
    return [kind, entry.get(_NAME, ""), size, target, parts]
