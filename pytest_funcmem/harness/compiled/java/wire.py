"""The form in which Java's workshop and its virtual machines are asked and answer.

Numbers have four bytes, highest first, and stand before every text and block as its length. Answers come
from programs that read hostile text: whatever is not as it should be gives ``DamagedAnswerError``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "BuiltProgram",
    "CompiledClass",
    "DamagedAnswerError",
    "build_request",
    "prepare_request",
    "read_built",
    "run_request",
]

_MOST_LINES = 100_000
_MOST_CLASSES = 10_000
_NUMBER = struct.Struct(">i")


class DamagedAnswerError(Exception):
    """An answer that is not in its form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledClass:
    """A class file.

    Attributes:
        name: Binary name.
        marks: What the machine that runs it is to be told of it; nothing on the host reads them.
        content: Its bytes, which nothing on the host reads.
    """

    name: bytes
    marks: bytes
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltProgram:
    """A compiled program, or why it did not compile.

    Attributes:
        problem: The compiler's first message; "" where it compiled.
        first_line: Line of the function's signature in the file.
        last_line: Line of its end.
        executable_lines: Lines that hold code, relative to the signature's.
        classes: All classes of the file and of what is made up.
    """

    problem: str = ""
    first_line: int = 0
    last_line: int = 0
    executable_lines: tuple[int, ...] = ()
    classes: tuple[CompiledClass, ...] = ()


def prepare_request(path: str, text: str, definition: int, start: int, end: int, name: str) -> bytes:
    """Ask for a scaffold around the function at these places of a text, counted in UTF-16 units."""
    places = struct.pack(">iii", definition, start, end)
    return b"".join([_text("prepare"), _text(path), _text(text), places, _text(name)])


def build_request(files: Sequence[tuple[str, str]], codes: Sequence[str]) -> bytes:
    """Ask for programs to be compiled into one scaffold."""
    parts = [_text("build"), _NUMBER.pack(len(files))]
    for name, text in files:
        parts += [_text(name), _text(text)]
    parts.append(_NUMBER.pack(len(codes)))
    parts += [_text(code) for code in codes]
    return b"".join(parts)


def read_built(blocks: Sequence[bytes]) -> list[BuiltProgram]:
    """Read the answer to a build, one block for each program.

    Raises:
        DamagedAnswerError: A block is not in its form.
    """
    contents: list[bytes] = []
    return [_read_block(_Reader(block), contents) for block in blocks]


def _read_block(block: _Reader, contents: list[bytes]) -> BuiltProgram:
    problem = block.piece().decode("utf-8", "replace")
    first, last = block.number(), block.number()
    lines = tuple(block.number() for _ in range(block.count(_MOST_LINES)))
    classes = []
    for _ in range(block.count(_MOST_CLASSES)):
        name, marks = block.piece(), block.exactly(1)
        length = block.number()
        if length >= 0:
            contents.append(block.exactly(length))
        place = len(contents) - 1 if length >= 0 else -1 - length
        if not 0 <= place < len(contents):
            raise DamagedAnswerError(f"there is no class {place}")
        classes.append(CompiledClass(name=name, marks=marks, content=contents[place]))
    return BuiltProgram(
        problem=problem,
        first_line=first,
        last_line=last,
        executable_lines=tuple(sorted({line for line in lines if 0 < line < _MOST_LINES})),
        classes=tuple(classes),
    )


def run_request(
    plan: str,
    programs: Mapping[int, BuiltProgram],
    states: Mapping[int, Sequence[tuple[int, Sequence[int]]]],
    *,
    coverage: bool,
    timeout_ms: int,
) -> bytes:
    """Ask a virtual machine to run programs, by number, each on its states: seeds and choices."""
    contents: dict[bytes, int] = {}
    for program in programs.values():
        for one in program.classes:
            contents.setdefault(one.content, len(contents))
    parts = [struct.pack(">?i", coverage, timeout_ms), _text(plan), _NUMBER.pack(len(contents))]
    for content in contents:
        parts += [_NUMBER.pack(len(content)), content]
    parts.append(_NUMBER.pack(len(programs)))
    for number, program in programs.items():
        parts.append(
            struct.pack(">iiii", number, program.first_line, program.last_line, len(program.classes))
        )
        for one in program.classes:
            parts += [_NUMBER.pack(len(one.name)), one.name]
            parts += [one.marks, _NUMBER.pack(contents[one.content])]
        parts.append(_NUMBER.pack(len(states[number])))
        for seed, choices in states[number]:
            parts.append(struct.pack(f">qi{len(choices)}i", _signed(seed), len(choices), *choices))
    return b"".join(parts)


def _signed(seed: int) -> int:
    """A seed as the 64 bits that the harness reads."""
    return ((seed + 2**63) % 2**64) - 2**63


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "replace")
    return _NUMBER.pack(len(data)) + data


class _Reader:
    """Reads a block from its beginning to its end."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._place = 0

    def exactly(self, length: int) -> bytes:
        if not 0 <= length <= len(self._block) - self._place:
            raise DamagedAnswerError(f"a piece of {length} bytes goes beyond its block")
        self._place += length
        return self._block[self._place - length : self._place]

    def number(self) -> int:
        number: int = _NUMBER.unpack(self.exactly(_NUMBER.size))[0]
        return number

    def count(self, most: int) -> int:
        count = self.number()
        if not 0 <= count <= most:
            raise DamagedAnswerError(f"{count} is not a count")
        return count

    def piece(self) -> bytes:
        return self.exactly(self.number())
