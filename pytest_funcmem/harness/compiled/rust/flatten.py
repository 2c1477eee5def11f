"""Rewrites paths so that all of a file can stand in one module, and takes off attributes that lead nowhere.

A path through modules that are not there keeps only its end: ``crate::a::Type::new`` becomes
``Type::new`` and ``util::read`` becomes ``util__read``. The same rewriting is applied to the original and to
whatever stands in its place. Line breaks stay where they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pytest_funcmem.languages.rust import RustFrontend

__all__ = ["PRIMITIVES", "Names", "flattened", "without_attributes"]

PRIMITIVES = frozenset(
    [
        "bool",
        "char",
        "str",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "f32",
        "f64",
    ]
)
_PRELUDE = frozenset({"Result", "Option", "Vec", "String", "Box"})
_NO_PATHS = frozenset(
    {
        "mut",
        "const",
        "dyn",
        "impl",
        "for",
        "in",
        "as",
        "return",
        "where",
        "ref",
        "move",
        "let",
        "if",
        "else",
        "match",
    }
)
"""Words that a path may follow and never begins with."""
_STANDARD = frozenset({"std", "core", "alloc"})
_KEPT_DERIVES = frozenset(
    {"Clone", "Copy", "Debug", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash", "Default"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What paths may begin with.

    Attributes:
        crates: Crates that are there, and may be used.
        modules: Local names of modules of those crates and of the standard library.
        own: Names that the file defines outside of impl blocks.
        inner: Modules that the file defines.
    """

    crates: frozenset[str]
    modules: frozenset[str]
    own: frozenset[str]
    inner: frozenset[str] = frozenset()


def flattened(text: str, names: Names) -> str:
    """Rewrite all paths of a text."""
    tokens = list(RustFrontend.lexicon.tokens(text))
    pieces: list[str] = []
    done = 0
    place = 0
    count = len(tokens)
    while place < count:
        token = tokens[place]
        is_rooted = place > 1 and _is_path_mark(text, tokens, place - 2)
        before_mark = tokens[place - 3] if place > 2 else None
        is_inside = before_mark is not None and (
            before_mark.text == ">" or (before_mark.kind == "word" and before_mark.text not in _NO_PATHS)
        )
        if token.kind != "word" or (is_rooted and is_inside):
            place += 1
            continue
        if token.text in _NO_PATHS:
            place += 1
            continue
        if token.text == "try" and place + 1 < count and tokens[place + 1].text == "!":
            # A macro of old, whose name is a word of the language by now.
            pieces.append(text[done : token.start] + "r#try")
            done = token.end
            place += 1
            continue
        end = _lost_import(tokens, place, names)
        if end:
            pieces.append(text[done : token.start] + "\n" * text[token.start : tokens[end].end].count("\n"))
            done = tokens[end].end
            place = end + 1
            continue
        if token.text == "use" and _begins_statement(tokens, place):
            names = _with_imported(tokens, place, names)
        # Words joined by "::"; comments within a path end it.
        words = [place]
        while (
            words[-1] + 3 < count
            and _is_path_mark(text, tokens, words[-1] + 1)
            and tokens[words[-1] + 3].kind == "word"
        ):
            words.append(words[-1] + 3)
        end = words[-1]
        is_followed = end + 2 < count and _is_path_mark(text, tokens, end + 1)
        path = [tokens[word].text for word in words]
        after = tokens[end + 1].text if end + 1 < count else ""
        before = tokens[place - 1].text if place else ""
        lead = place
        if is_rooted and path[0] not in (*_STANDARD, *names.crates, "funcmem"):
            # In the edition of 2015 such a path begins at the crate.
            lead, path = place - 2, ["crate", *path]
        if before != "." and (len(path) > 1 or (is_followed and path[0] in ("crate", "super", "self"))):
            new = _rewritten(path, names, is_macro=after == "!")
            if new is not None:
                start = tokens[lead].start
                pieces.append(text[done:start])
                pieces.append(new + "\n" * text[start : tokens[end].end].count("\n"))
                done = tokens[end].end
        place = end + 1
    pieces.append(text[done:])
    return "".join(pieces)


def _begins_statement(tokens: list, place: int) -> bool:  # type: ignore[type-arg]
    before = next((token for token in reversed(tokens[:place]) if token.kind != "comment"), None)
    return before is None or before.text in ("{", "}", ";", "]")


def _with_imported(tokens: list, place: int, names: Names) -> Names:  # type: ignore[type-arg]
    """Names with the modules that a ``use`` within a function brings in."""
    words = []
    for token in tokens[place + 1 : place + 200]:
        if token.text == ";":
            break
        if token.kind == "word":
            words.append(token.text)
    if not words or not (words[0] in _STANDARD or words[0] in names.crates):
        return names
    return replace(names, modules=names.modules | {word for word in words[1:] if word[:1].islower()})


def _lost_import(tokens: list, place: int, names: Names) -> int:  # type: ignore[type-arg]
    """Place of the last token of a ``use`` within a function that leads nowhere; 0 where there is none.

    What it would bring in is missing under its own name, as what the file imports is.
    """
    if tokens[place].text != "use" or not _begins_statement(tokens, place):
        return 0
    end = next((i for i in range(place, min(place + 200, len(tokens))) if tokens[i].text == ";"), 0)
    words = []
    for token in tokens[place + 1 : end]:
        if token.kind == "word":
            words.append(token.text)
        elif token.text != ":":
            break
    is_inner = bool(words) and words[0] in ("crate", "super", "self")
    while words and words[0] in ("crate", "super", "self"):
        words.pop(0)
    if not end or not words:
        return end if is_inner else 0
    is_whole = tokens[end - 1].text == words[-1]
    if not is_inner and (words[0] in _STANDARD or words[0] in names.crates or words[0] in names.modules):
        return 0
    parents = words[:-1] if is_whole else words
    return 0 if any(word[:1].isupper() or word in names.own for word in parents) else end


def _is_path_mark(text: str, tokens: list, place: int) -> bool:  # type: ignore[type-arg]
    return (
        place >= 0
        and place + 1 < len(tokens)
        and tokens[place].text == ":"
        and tokens[place + 1].text == ":"
        and tokens[place].end == tokens[place + 1].start
    )


def _rewritten(path: list[str], names: Names, *, is_macro: bool) -> str | None:
    """The path in one module; None where it can stay."""
    rest = list(path)
    is_inner = False
    while rest and rest[0] in ("crate", "super", "self", "$crate"):
        rest.pop(0)
        is_inner = True
    if not rest:
        return None
    first = rest[0]
    if not is_inner:
        # The standard library's crates have modules only at their roots: what else is there is another's.
        is_other = len(rest) > 1 and rest[1][:1].isupper()
        if first == "funcmem" or (first in ("std", "core") and not is_other):
            return None
        if first == "alloc" and not is_other:
            return "::".join(["std", *rest[1:]])
        if first in names.crates or first in names.modules or first in PRIMITIVES or first == "Self":
            return None
        if first[:1].isupper() or first in names.own:
            return None
    if is_macro:
        return rest[-1]
    is_foreign = not is_inner and first not in names.inner
    if rest[-1] in _PRELUDE and rest[-1] not in names.own:
        # Behind a path it is another than that which is known everywhere.
        return f"{rest[-2] if len(rest) > 1 else 'crate'}__{rest[-1]}"
    for place, word in enumerate(rest):
        if place and is_foreign and word[:1].isupper() and word in names.own:
            return "::".join([f"{rest[place - 1]}__{word}", *rest[place + 1 :]])
        if word[:1].isupper() and not (len(word) > 1 and word.isupper() and place + 1 < len(rest)):
            return "::".join(rest[place:])
        if word in names.own and place == len(rest) - 1:
            return word
    if len(rest) == 1:
        return rest[0]
    return f"{rest[-2]}__{rest[-1]}"


_CFG = re.compile(r"#\s*!?\s*\[\s*cfg\b")
_DERIVE = re.compile(r"#\s*\[\s*derive\s*\(([^)]*)\)\s*\]\Z", re.DOTALL)
_REPR = re.compile(r"#\s*\[\s*(?:repr|default|inline|non_exhaustive|allow)\b")


def attribute(text: str, *, derives: frozenset[str]) -> str:
    """What an attribute becomes: derives and layouts stay, conditions were decided, the rest goes.

    Args:
        text: The attribute.
        derives: Derives that may stay beside those of the standard library.
    """
    match = _DERIVE.match(text)
    if match:
        kept = []
        for name in match[1].replace("\n", " ").split(","):
            last = name.strip().rpartition("::")[2]
            if last in _KEPT_DERIVES or last in derives:
                kept.append(last)
        return f"#[derive({', '.join(kept)})]" if kept else ""
    match_repr = re.match(r"#\s*\[\s*(?:repr|default)\b", text)
    if match_repr:
        return text
    if derives and re.match(r"#\s*\[\s*(?:serde|error|source|from)\b", text):
        return text
    return ""


def without_attributes(text: str, *, derives: frozenset[str]) -> str:
    """A text in which only those attributes stand that can; line breaks stay."""
    pieces: list[str] = []
    done = 0
    tokens = list(RustFrontend.lexicon.tokens(text))
    place = 0
    while place < len(tokens):
        token = tokens[place]
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        bang = following == "!"
        opening = place + (2 if bang else 1)
        if token.text != "#" or opening >= len(tokens) or tokens[opening].text != "[":
            place += 1
            continue
        depth = 0
        end = opening
        while end < len(tokens):
            depth += (tokens[end].text == "[") - (tokens[end].text == "]")
            if not depth:
                break
            end += 1
        if end >= len(tokens):
            break
        whole = text[token.start : tokens[end].end]
        if not _CFG.match(whole):
            new = "" if bang else attribute(whole, derives=derives)
            pieces.append(text[done : token.start])
            pieces.append(new + "\n" * (whole.count("\n") - new.count("\n")))
            done = tokens[end].end
        place = end + 1
    pieces.append(text[done:])
    return "".join(pieces)
