"""The literals of a function, and their neighbours, as pools that its arguments are made from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["pools_text"]

_MOST = 48
_MOST_OTHERS = 16
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "'": "'", '"': '"'}


@dataclass
class _Literals:
    """Literals of a text, each once, in order."""

    ints: dict[int, None] = field(default_factory=dict)
    floats: dict[str, None] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    chars: dict[str, None] = field(default_factory=dict)


def pools_text(
    function: SourceFunction,
    helpers: Sequence[str] = (),
    *,
    numbers: Sequence[str] = (),
    names: Sequence[str] = (),
) -> str:
    """The pools as a static of a program.

    Args:
        function: The original, whose literals come first, with neighbours.
        helpers: Texts of what it reaches: some of their literals follow.
        numbers: Constants that it names and that are whole numbers.
        names: Constants that it names and that are texts.
    """
    own, others = _literals(function.code), _Literals()
    for helper in helpers:
        found = _literals(helper)
        others.ints.update(found.ints)
        others.texts.update(found.texts)
        others.chars.update(found.chars)
    ints = list(dict.fromkeys([*list(own.ints)[:_MOST], *list(others.ints)[:_MOST_OTHERS]]))
    texts = list(dict.fromkeys([*list(own.texts)[:_MOST], *list(others.texts)[:_MOST_OTHERS]]))
    chars = list(dict.fromkeys([*list(own.chars)[:_MOST], *list(others.chars)[:_MOST_OTHERS]]))
    named = [f"{name} as i128" for name in numbers[:_MOST]]
    ints_text = ", ".join([*(str(number) for number in ints if -(2**127) <= number < 2**127), *named])
    texts_text = ", ".join([*map(quoted, texts), *names[:_MOST_OTHERS]])
    return (
        "pub static __FUNCMEM_POOLS: funcmem::Pools = funcmem::Pools { "
        f"ints: &[{ints_text}], floats: &[{', '.join(list(own.floats)[:_MOST])}], "
        f"texts: &[{texts_text}], "
        f"chars: &[{', '.join(map(_character, chars))}] }};"
    )


def _literals(code: str) -> _Literals:
    made = _Literals()
    ints, floats, texts, chars = made.ints, made.floats, made.texts, made.chars
    tree = SyntaxTree("rust", code)
    for node in inner_nodes(tree.root):
        text = tree.source(node)
        match node.type:
            case "integer_literal":
                number = _integer(text)
                if number is not None:
                    for near in (number, number + 1, number - 1):
                        ints.setdefault(near)
            case "float_literal":
                found = re.match(r"[\d_]+\.?[\d_]*(?:[eE][+-]?[\d_]+)?", text)
                if found:
                    number_text = found.group().replace("_", "")
                    floats.setdefault(number_text if re.search("[.eE]", number_text) else number_text + ".0")
                    if number_text.endswith("."):
                        floats.pop(number_text, None)
                        floats.setdefault(number_text + "0")
            case "char_literal":
                character = unescaped(text.removeprefix("b")[1:-1])
                if len(character) == 1:
                    chars.setdefault(character)
                    texts.setdefault(character)
                    if text.startswith("b"):
                        ints.setdefault(ord(character))
            case "string_literal" | "raw_string_literal":
                content = text[text.find('"') + 1 : text.rfind('"')]
                if node.type == "string_literal":
                    content = unescaped(content)
                for piece in [content, *re.split(r"\{[^{}]*\}", content)] if "{" in content else [content]:
                    if 0 < len(piece) <= 200:
                        texts.setdefault(piece)
    return made


def _integer(text: str) -> int | None:
    text = re.sub(r"(?:[iu](?:8|16|32|64|128|size)|f32|f64)\Z", "", text.replace("_", ""))
    try:
        return int(text, 0) if not re.fullmatch(r"0\d+", text) else int(text)
    except ValueError:
        return None


def unescaped(text: str) -> str:
    """What a literal's text stands for."""

    def one(match: re.Match[str]) -> str:
        body = match[1]
        if body.startswith("u{"):
            try:
                character = chr(int(body[2:-1].replace("_", ""), 16))
            except (ValueError, OverflowError):
                return ""
            return "" if "\ud800" <= character <= "\udfff" else character
        if body.startswith("x"):
            return chr(int(body[1:], 16))
        return "" if body.startswith("\n") else _ESCAPES.get(body, "")

    return re.sub(r"\\(u\{[0-9A-Fa-f_]{1,8}\}|x[0-9A-Fa-f]{2}|\n\s*|.)", one, text)


def quoted(text: str) -> str:
    """A text as a literal of Rust."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _character(character: str) -> str:
    return "'" + (_escaped(character) if character != "'" else "\\'") + "'"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if " " <= character <= "~":
        return character
    return "" if "\ud800" <= character <= "\udfff" else f"\\u{{{ord(character):x}}}"
