"""Values worth trying: numbers and texts, the function's own and those that are always telling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from pytest_funcmem.harness.compiled.c.chunks import Token
from pytest_funcmem.harness.compiled.c.constants import number

_T = TypeVar("_T")

__all__ = ["CARD_NUMBERS", "number_pools", "pool_for", "texts"]

_USUAL = (0, 1, 2, -1, 3, 5, 4, 7, 8, 10, 12, 16, 31, 32, 60, 64, 100, 255, 256, 1000, 1024, 65535, -2, -100)
_EXTREMES = (2147483647, -2147483648, 4294967295, 1 << 40)
_LETTERS = "aA0b z9\n\0-+_./:,;\"'\\%Z(){}[]<>=#@!?*&|^~$x\t\r1"
_TEXTS = (
    "abc",
    "",
    "a",
    "hello world",
    "42",
    "-7",
    "a,b;c",
    "/tmp/x.txt",
    "A1b2",
    "key=value",
    "  two  ",
    "0x1F",
    "3.14",
)
_OPTIONS = frozenset({"argv", "getopt", "getopt_long", "getopt_long_only", "optarg"})
_MOST_TEXTS = 60
_MOST_NUMBERS = 160

CARD_NUMBERS = (
    378282246310005,
    5555555555554444,
    4222222222222,
    6011111111111117,
    371449635398431,
    5105105105105100,
    30569309025904,
    340000000000009,
    5431111111111111,
    4111111111111111,
    38520000023237,
    5610591081018250,
    342793631858781,
    5200828282828210,
    6762695039614,
    4917610000000,
    2223003122003222,
    5019717010103742,
    379999999999998,
    5588320123456783,
)
"""Numbers of the kinds that payment cards have; the published ones for tests, and their like."""

_BY_NAME: tuple[tuple[re.Pattern[str], Sequence[int]], ...] = (
    (re.compile(r"(?i).*(?:card|credit).*(?:num|no|number|nr)\w*|cc_?num\w*|pan"), CARD_NUMBERS),
    (re.compile(r"(?i).*year.*|yr"), (2024, 2000, 1900, 1999, 2023, 1970, 2100, 1600, 4, 100)),
    (re.compile(r"(?i)mon|month|mm"), (1, 2, 12, 3, 4, 6, 0, 7, 8, 9, 11, 13)),
    (re.compile(r"(?i)m?day|mday|dd|dom"), (1, 15, 28, 29, 30, 31, 0, 7, 32)),
    (re.compile(r"st_mode"), (0o100644, 0o40755, 0o120777, 0o100755, 0o20620, 0o60660, 0o10644, 0o140755)),
)


def number_pools(words: Iterable[Token], constants: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """Pools by number: 0 for numbers, 1 for characters, then those that go with names.

    Args:
        words: Tokens of the function.
        constants: Values of the names in it that stand for numbers.
    """
    literals: dict[int, None] = {}
    letters: dict[int, None] = {}
    literals.update(dict.fromkeys(constants))
    for token in words:
        if token.kind == "number":
            value = number(token.text)
            if value is not None and abs(value) < 1 << 62:
                for near in (value, value - 1, value + 1):
                    literals.setdefault(near)
        elif token.kind == "text":
            content = _unquoted(token.text)
            if token.text.startswith("'") and content:
                letters.setdefault(content[0])
            else:
                for letter in content[:12]:
                    letters.setdefault(letter)
    numbers = _interleaved(list(literals), [*_USUAL, *letters, *_EXTREMES])[:_MOST_NUMBERS]
    usual = [ord(letter) for letter in _LETTERS]
    bytes_of = [value for value in literals if 0 < value < 256]
    characters = _interleaved(_interleaved(list(letters), bytes_of), [*usual, 200, 255, 1, 2, 3])
    named = [
        tuple(values) if values is CARD_NUMBERS else tuple(_interleaved(list(values), numbers))
        for _name, values in _BY_NAME
    ]
    return (tuple(numbers), tuple(characters), *named)


def pool_for(name: str, kind: str) -> int:
    """Which pool a parameter of a name draws its numbers from.

    Args:
        name: Of the parameter.
        kind: ``base`` where it is a number.
    """
    if kind == "base":
        for place, (pattern, _values) in enumerate(_BY_NAME):
            if pattern.fullmatch(name):
                return 2 + place
    return 0


def texts(words: Iterable[Token], others: Iterable[Token]) -> tuple[bytes, ...]:
    """Texts: the function's own and pieces of them, then those of the code around it, then usual ones."""
    own: dict[bytes, None] = {}
    words = tuple(words)
    letters = [token.text for token in words if token.kind == "text" and token.text.startswith("'")]
    if any(token.text in _OPTIONS for token in words):
        for letter in [_unquoted(text)[:1] for text in dict.fromkeys(letters)][:12]:
            own.setdefault(b"-" + letter)
    for token in words:
        if token.kind == "text" and '"' in token.text:
            content = _unquoted(token.text)
            for text in (
                content,
                content.replace(b"%s", b"x").replace(b"%d", b"5"),
                content[:1],
                content[:-1],
            ):
                own.setdefault(text)
    for letter in [_unquoted(text)[:1] for text in dict.fromkeys(letters)][:5]:
        # Conditions on letters one by one are met by texts made of them.
        for text in (letter, letter * 2, letter * 2 + b"12", letter + b"a", b"a" + letter + b"b"):
            own.setdefault(text)
    around: dict[bytes, None] = {}
    for token in others:
        if token.kind == "text" and token.text.startswith('"') and len(around) < 12:
            around.setdefault(_unquoted(token.text))
    usual = [text.encode("ascii") for text in _TEXTS]
    merged = [*_interleaved(list(own)[: _MOST_TEXTS - 20], usual), *around]
    plain = [
        text for text in dict.fromkeys(merged) if b"\0" not in text and len(text) < 200 and b"%" not in text
    ]
    return tuple(plain[:_MOST_TEXTS])


def _interleaved(first: Sequence[_T], second: Sequence[_T]) -> list[_T]:
    found: dict[_T, None] = {}
    for place in range(max(len(first), len(second))):
        for part in (first, second):
            if place < len(part):
                found.setdefault(part[place])
    return list(found)


def _unquoted(text: str) -> bytes:
    """The bytes of a text or character literal; what cannot be read as in Python is taken as it stands."""
    body = text.lstrip("LuU8")[1:-1]
    try:
        value = ast.literal_eval(f'"{body}"' if '"' not in body else f"'''{body}'''")
        return str(value).encode("utf-8")[:250]
    except (ValueError, SyntaxError, UnicodeEncodeError, MemoryError):
        return body.encode("utf-8", "replace")[:250]
