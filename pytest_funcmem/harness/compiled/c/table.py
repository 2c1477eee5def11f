"""Writes the table of types that drives the runtime: what to fill, what to dump, and from which pools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_funcmem.harness.compiled.c.description import Description
from pytest_funcmem.harness.compiled.c.pools import pool_for

__all__ = [
    "FOLLOWED",
    "INDEXED",
    "KEEP",
    "LENGTH",
    "OUT",
    "SHOWN",
    "SMALL",
    "STARTS",
    "Place",
    "StubEntry",
    "Table",
    "member_flags",
]

# As in the runtime's header.
_KINDS = {
    name: number
    for number, name in enumerate(
        [
            "void",
            "signed",
            "unsigned",
            "char",
            "bool",
            "float",
            "enum",
            "pointer",
            "struct",
            "union",
            "array",
            "function",
            "opaque",
            "stream",
        ]
    )
}
LENGTH, INDEXED, KEEP, STARTS, OUT, SMALL, SHOWN, FOLLOWED, POOL = 1, 2, 4, 8, 32, 64, 128, 256, 1 << 16

_LENGTH_NAME = re.compile(
    r"(?:n|nn|argc|len|length|size|siz|sz|count|cnt|num|nr|max|limit|.*(?:_|[a-z])(?:len|length|size|count|cnt|num)|"
    r"(?:n|num|nr|cnt)_?[a-z]+s|.*(?:Len|Length|Size|Count|Num))"
)
_MOST_ENUMERATORS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A parameter, global or callback: name, type in the description, flags and pool of numbers."""

    name: str
    type: int
    flags: int = 0
    pool: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StubEntry:
    """A stand-in: its name in logs, the types of its answer and parameters, and whom it stands for."""

    name: str
    result: int
    parameters: tuple[int, ...]
    variadic: bool
    asks_system: bool = False


@dataclass(kw_only=True)
class Table:
    """All that the runtime is told of a program.

    Attributes:
        description: Where the numbers of types come from.
        result: Type of what the function returns.
        room: Bytes of a buffer of which nothing says how long it is.
        flags: What uses of names say of them, members among them.
        views: Types in the description as which names are taken that point to anything.
    """

    description: Description
    result: int
    uses_errno: bool
    uses_stdin: bool
    parameters: Sequence[Place]
    globals: Sequence[Place]
    callbacks: Sequence[Place]
    stubs: Sequence[StubEntry]
    functions: Sequence[str]
    pools: Sequence[Sequence[int]]
    texts: Sequence[bytes]
    room: int
    flags: Mapping[str, int]
    views: Mapping[str, int]
    _numbers: dict[int, int] = field(default_factory=dict)
    _waiting: list[int] = field(default_factory=list)

    def text(self) -> str:
        """The table as the runtime reads it, without the lines of blocks."""
        head = [self._number(self.result), int(self.uses_errno), int(self.uses_stdin), self.room]
        tail: list[object] = []
        for places in (self.parameters, self.globals, self.callbacks):
            tail.append(len(places))
            for place in places:
                tail += [
                    self._number(self.view(place.name, place.type)),
                    place.flags,
                    place.pool,
                    _word(place.name),
                ]
        tail += [len(self.stubs), sum(len(stub.parameters) for stub in self.stubs)]
        for stub in self.stubs:
            kind = int(stub.variadic) + 2 * stub.asks_system
            tail += [_word(stub.name), self._number(stub.result), kind, len(stub.parameters)]
            tail += [self._number(parameter) for parameter in stub.parameters]
        tail += [len(self.functions), *map(_word, self.functions)]
        tail += [len(self.pools), sum(map(len, self.pools))]
        for pool in self.pools:
            tail += [len(pool), *pool]
        tail += [len(self.texts), *map(_word, self.texts)]
        types, members, enumerators = self._types()
        words = [
            *head,
            len(types),
            *_flat(types),
            len(members),
            *_flat(members),
            len(enumerators),
            *enumerators,
        ]
        return "\n".join(" ".join(map(str, part)) for part in _lines([*words, *tail]))

    def view(self, name: str, number: int) -> int:
        """The type as which something of a name is filled and dumped."""
        return self.views.get(name, number) if self.description.points_to_anything(number) else number

    def _number(self, number: int) -> int:
        number = self.description.plain(number)
        if number not in self._numbers:
            self._numbers[number] = len(self._numbers)
            self._waiting.append(number)
        return self._numbers[number]

    def _types(self) -> tuple[list[list[object]], list[list[object]], list[int]]:
        members: list[list[object]] = []
        enumerators: list[int] = []
        extra: list[list[object]] = []  # inner arrays of arrays, which the description does not number
        rows: dict[int, list[object]] = {}
        while self._waiting:
            number = self._waiting.pop(0)
            rows[self._numbers[number]] = self._row(number, members, enumerators, extra)
        # Rows of inner arrays come after all others; their numbers were handed out as negative ones.
        types = [rows[place] for place in range(len(rows))]
        base = len(types)
        for row in [*types, *extra]:
            if isinstance(row[2], int) and row[2] < 0:
                row[2] = base - row[2] - 1
        return [*types, *extra], members, enumerators

    def _row(
        self, number: int, members: list[list[object]], enumerators: list[int], extra: list[list[object]]
    ) -> list[object]:
        description = self.description
        kind = description.types[number]
        size = max(kind.size, 0)
        name = _word(kind.name)
        match kind.kind:
            case "base":
                binary = int(kind.parts[:1] == (8,))  # bytes rather than letters
                return [_KINDS[_base_kind(kind.parts[:1], size)], size, binary, 0, name]
            case "pointer":
                constant = int(description.is_constant(kind.target))
                return [_KINDS["pointer"], 8, self._number(kind.target), constant, name]
            case "struct" | "union" if kind.name == "_IO_FILE":
                return [_KINDS["stream"], size, 0, 0, name]
            case "struct" | "union":
                first = len(members)
                for member, declared, offset, bit, bits in kind.parts:
                    target = self.view(member, declared)
                    where = offset * 8 if bits and not bit else bit
                    flags = member_flags(member) | self.flags.get(member, 0)
                    flags |= POOL * pool_for(member, description.types[description.plain(target)].kind)
                    members.append([self._number(target), offset, where, bits, flags, _word(member)])
                return [_KINDS[kind.kind], size, first, len(kind.parts), name]
            case "enum" if any(name.startswith("fm_") for name, _value in kind.parts):
                return [_KINDS["signed"], size or 4, 0, 0, name]  # what its values are is not known
            case "enum":
                first = len(enumerators)
                values = [value for _name, value in kind.parts[:_MOST_ENUMERATORS]]
                enumerators.extend(max(-(1 << 62), min(1 << 62, value)) for value in values)
                return [_KINDS["enum"], size or 4, first, len(values), name]
            case "array":
                return self._array(kind.target, kind.parts or (0,), extra)
            case "function":
                return [_KINDS["function"], 0, 0, 0, name]
            case "void":
                return [_KINDS["void"], 0, 0, 0, name]
        return [_KINDS["opaque"], size, 0, 0, name]

    def _array(self, target: int, lengths: Sequence[int], extra: list[list[object]]) -> list[object]:
        element = self._number(target)
        size = self._size(target)
        row: list[object] = []
        for place, length in enumerate(reversed(lengths)):
            if place:
                extra.append(row)
                element = -len(extra)
            size *= length
            row = [_KINDS["array"], min(size, 1 << 30), element, min(length, 1 << 24), "-"]
        return row

    def _size(self, number: int) -> int:
        kind = self.description.types[self.description.plain(number)]
        if kind.kind == "array":
            size = self._size(kind.target)
            for length in kind.parts or (0,):
                size *= length
            return size
        return 8 if kind.kind == "pointer" else max(kind.size, 0)


def _base_kind(encoding: Sequence[int], size: int) -> str:
    match encoding[0] if encoding else 0:
        case 2:
            return "bool"
        case 4:
            return "float"
        case 5:
            return "signed"
        case 6 | 8:
            return "char" if size == 1 else "signed"
        case 7 | 0x10:
            return "unsigned"
    return "opaque"


def member_flags(name: str) -> int:
    """What the name of a member or parameter says of it."""
    return LENGTH if _LENGTH_NAME.fullmatch(name) else 0


def _word(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    return data.hex() or "-"


def _flat(rows: Iterable[Iterable[object]]) -> list[object]:
    return [word for row in rows for word in row]


def _lines(words: Sequence[object]) -> list[Sequence[object]]:
    return [words[start : start + 40] for start in range(0, len(words), 40)]
