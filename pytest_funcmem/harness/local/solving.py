"""Turns what a run asked of the mocked world into answers that lead it elsewhere.

A question tells which made-up value a branch hangs on and how it is looked at: that is enough to answer it
the other way, or to put a plain value in the place of something made up. This module runs nothing.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import Question
from pytest_funcmem.harness.local.strategies import dates_in, near_numbers
from pytest_funcmem.harness.local.vocabulary import FLAVOURED, FLAVOURS, WORDS

__all__ = [
    "FILES",
    "MAX_ANSWERS",
    "WRONG_KIND",
    "answered",
    "bad_value",
    "is_guarding",
    "misfit",
    "plain_value",
    "solution",
    "suspect",
    "varied",
    "wanted_value",
]

_SHOWN_PATH = 45

MAX_ANSWERS = 14
"""Answers of one state; beyond, nobody would read them."""

_GUARDING = ("truth", "eq", "order", "contains", "iterate", "length", "instance", "number")
_TEXTS = ("'alpha'", "''", "'a,b'", "'12'", "'x=1'", "'Hello World'", "'a/b.txt'", "'True'", "'2024-03-01'")
_DATES = (
    "__import__('datetime').datetime(2024, 3, 1, 12, 30)",
    "__import__('datetime').datetime(2023, 12, 31)",
)
FILES = (
    '{"a": 1, "b": [2, 3]}',
    "a,b\n1,2\n3,4\n",
    "one\ntwo three\n\nfour\n",
    "",
    "key = value\n# note\n",
    "[a]\nb = 1\n",
)


def answered(state: InputState, key: str, text: str) -> InputState:
    """The same state with one answer more, or another one."""
    kept = [(name, value) for name, value in state.answers if name != key]
    return replace(state, answers=tuple([*kept, (key, text)][-MAX_ANSWERS:]))


def is_guarding(question: Question) -> bool:
    """Whether a branch can hang on a question."""
    return question.kind in _GUARDING


def solution(
    state: InputState, question: Question, asked: Sequence[Question], texts: Sequence[str],
    numbers: Sequence[str], generator: random.Random, raises: Sequence[str] = (), none: bool = False,
    kinds: Sequence[str] = (),
) -> InputState:  # fmt: skip
    """A state in which one question is answered otherwise.

    Args:
        state: Where it was asked.
        question: The question.
        asked: All questions of that run.
        texts: Source of texts worth trying.
        numbers: Source of numbers worth trying.
        generator: Source of choices.
        raises: Expressions of exceptions that a call may raise.
        none: Whether the branch hangs on what is None.
        kinds: Source of values of the types that the branch hangs on.
        kinds: Source of values of the types that the branch hangs on.
    """
    path, operand = question.path, question.operand
    choice = generator.randrange(4)
    if (none or kinds) and not raises and question.kind in ("call", "attribute", "item", "outside", "local"):
        suffix = {"attribute": f".{operand}", "item": f"[{operand}]", "local": ""}.get(question.kind, "()")
        given = [key for key, _ in state.answers if key == path + suffix]
        if given and choice < 2:
            return replace(state, answers=tuple(item for item in state.answers if item[0] != given[0]))
        return answered(state, path + suffix, generator.choice(kinds) if kinds else "None")
    match question.kind:
        case "error" | "helper":
            return replace(state, seed=generator.randrange(1000))
        case "key":
            return answered(state, path, operand) if path else state
        case "call" | "outside":
            if raises:
                return answered(state, f"{path}()", f"raising({generator.choice(raises)})")
            if question.kind == "outside":
                name = path.rsplit(".", 1)[-1]
                options = [f"fabricated({name + '_answer'!r})", "None", *_TEXTS[:3], "0"]
                return answered(state, f"{path}()", options[0] if choice else generator.choice(options))
            return answered(
                state, f"{path}()", generator.choice(["None", "True", "False", *_TEXTS[:2], "[]", "{}"])
            )
        case "truth":
            if choice < 2:
                return answered(state, f"bool({path})", str(choice == 0))
            plain = plain_value(path, asked, texts, numbers, generator)
            return answered(state, path, generator.choice(["None", "''", "[]", "True", plain, plain]))
        case "eq":
            if _is_plain(operand):
                if choice == 3:
                    return answered(state, f"{path} == {operand}", str(generator.random() < 0.5))
                return answered(state, path, operand)
            return answered(state, f"{path} == {operand}", str(generator.random() < 0.6))
        case "order":
            symbol, _, other = operand.partition(" ")
            near = near_numbers([other], whole="." not in other) if _is_plain(other) else ()
            if near and choice:
                text = generator.choice([*near, "0", "1000000", "-5"])
                return answered(state, path if choice == 1 else f"int({path})", text)
            return answered(state, f"{path} {symbol} {other}", str(generator.random() < 0.5))
        case "contains":
            if choice < 3 or not _is_plain(operand):
                return answered(state, f"{operand} in {path}", str(choice % 2 == 0))
            return answered(state, path, generator.choice([f"[{operand}]", "[]", f"{{{operand}: 1}}"]))
        case "iterate" | "length":
            if choice < 3:
                return answered(state, f"len({path})", str(generator.choice((0, 1, 2, 3, 5))))
            item = plain_value(path + "[]", asked, texts, numbers, generator)
            return answered(
                state, path, generator.choice(["[]", f"[{item}]", f"[{item}, {item}, 'b']", "{'a': 1}"])
            )
        case "instance":
            return answered(state, f"isinstance({path}, {operand})", str(generator.random() < 0.5))
        case "number":
            value = generator.choice([*near_numbers(numbers, whole=True), "0", "1", "3", "-1", "25"])
            return answered(state, f"int({path})" if choice < 2 else path, value)
        case "file" | "directory":
            name = (
                path
                if question.kind == "file"
                else f"{path}/{generator.choice(('a.txt', 'b.py', 'c.json', 'sub/d.txt'))}"
            )
            return with_file(state, name, generator.choice(FILES))
        case "attribute":
            return answered(
                state, f"{path}.{operand}", plain_value(f"{path}.{operand}", asked, texts, numbers, generator)
            )
        case _:
            return answered(state, path, plain_value(path, asked, texts, numbers, generator))


_BAD_TEXTS = {
    "error": ("'('", "'['"),
    "JSONDecodeError": ("'{bad'", "''"),
    "UnicodeDecodeError": ("b'\\xff\\xfe'",),
    "KeyError": ("{}", "'no such key'"),
    "IndexError": ("[]", "''", "99"),
    "TypeError": ("None", "[]", "3"),
    "AttributeError": ("None", "3"),
    "ZeroDivisionError": ("0",),
    "OverflowError": ("10**400",),
}
_BAD_ANYWAY = ("'not a number'", "''", "None", "'('", "'{bad'", "-1")


def bad_value(raises: Sequence[str], generator: random.Random) -> str:
    """Source of a value on which code is likely to raise one of some exceptions, given as source."""
    names = [text.partition("(")[0].rsplit(".", 1)[-1] for text in raises]
    known = [value for name in names for value in _BAD_TEXTS.get(name, ())]
    return generator.choice(known if known and generator.random() < 0.7 else _BAD_ANYWAY)


def varied(state: InputState, key: str, generator: random.Random) -> InputState:
    """The same state with an answer that is not the same everywhere."""
    old = next((text for name, text in state.answers if name == key), "fabricated('other')")
    other = generator.choice(("None", "fabricated('another')", "''", "0", "1", "True", "'other'"))
    return answered(state, key, f"either({old}, {other})") if "either" not in old else state


def with_file(state: InputState, name: str, content: str) -> InputState:
    """The same state with one file more, or with other content in it."""
    if (
        not re.fullmatch(r"[\w./ -]{1,80}", name)
        or name.startswith("/")
        or ".." in name
        or name.endswith("/")
    ):
        return state
    kept = [item for item in state.files if item[0] != name]
    if any(item[0].startswith(name + "/") or name.startswith(item[0] + "/") for item in kept):
        return state
    return replace(state, files=tuple([*kept, (name, content)][-5:]))


def plain_value(
    path: str,
    asked: Sequence[Question],
    texts: Sequence[str],
    numbers: Sequence[str],
    generator: random.Random,
) -> str:
    """Source of a plain value that has what was asked of a path: its kind by its uses, else by its name."""
    own = [question for question in asked if question.path == path]
    kinds = {question.kind for question in own}
    keys = list(dict.fromkeys(q.operand for q in own if q.kind == "item" and q.operand[:1] in "'\""))
    known = [q.operand for q in own if q.kind == "eq" and _is_plain(q.operand)]
    if known and generator.random() < 0.6:
        return generator.choice(known)
    if keys:
        values = [plain_value(f"{path}[{key}]", asked, texts, numbers, generator) for key in keys[:6]]
        return "{" + ", ".join(f"{key}: {value}" for key, value in zip(keys[:6], values, strict=True)) + "}"
    if "number" in kinds or "order" in kinds:
        return generator.choice([*near_numbers(numbers, whole=True), "0", "1", "3", "-1", "25", "2.5"])
    if "text" in kinds or "path" in kinds:
        return _text(path, texts, generator)
    if "list" in kinds:
        return generator.choice(["[]", "[1, 2]", "['a']"])
    name = re.sub(r"\W+$", "", path).rsplit(".", 1)[-1].lower()
    if re.search(
        r"(^|_)(n|num|count|size|len|length|index|idx|id|port|width|height|year|month|day|age|total)$", name
    ):
        return generator.choice([*near_numbers(numbers, whole=True)[:8], "0", "1", "7"])
    if re.match(r"(is|has|use|should|enable|can)_", name) or name in ("debug", "verbose", "quiet", "force"):
        return generator.choice(("True", "False"))
    if re.search(r"(date|time|created|updated|timestamp|_at)$", name):
        return generator.choice(_DATES)
    options = [_text(path, texts, generator)] * 3 + [
        "None",
        "[]",
        "{}",
        "0",
        "1",
        "True",
        "['a', 'b']",
        "{'a': 1}",
    ]
    return generator.choice(options)


def _text(path: str, texts: Sequence[str], generator: random.Random) -> str:
    name = re.sub(r"\W+$", "", path).rsplit(".", 1)[-1].lower()
    flavour = next((found for pattern, found in FLAVOURS if re.search(pattern, name)), "")
    if flavour in FLAVOURED and generator.random() < 0.5:
        return repr(generator.choice(FLAVOURED[flavour]))
    options = [*texts, *_TEXTS] if generator.random() < 0.8 else [repr(word) for word in WORDS]
    return generator.choice(options)


def suspect(problem: str, state: InputState, asked: Sequence[Question]) -> str | None:
    """The made-up value that an error message names, by its path; None if it names none."""
    paths: dict[str, None] = {}
    for question in asked:
        paths[question.path] = None
        if question.kind == "attribute":
            paths[f"{question.path}.{question.operand}"] = None
        elif question.kind in ("call", "outside"):
            paths[f"{question.path}()"] = None
        elif question.kind == "iterate":
            paths[f"{question.path}[]"] = None
        elif question.kind == "item":
            paths[f"{question.path}[{question.operand}]"] = None
    for text in (state.receiver or "", *state.arguments, *(text for _, text in state.keywords), *state.setup):
        for name in re.findall(r"fabricated\('([^']*)'\)", text):
            paths[name] = None
    for path in sorted(paths, key=lambda item: (-len(item), item)):
        shown = path if len(path) <= _SHOWN_PATH else "…" + path[1 - _SHOWN_PATH :]
        if path and re.search(rf"(?<![\w.]){re.escape(shown)}(?![\w.(\[])", problem):
            return path
    # A global that was made up while the file was loaded has not been asked before.
    found = re.search(r"(?:not|got|is|instance,|type) '?((?:\w+\.)+\w+)'?", problem)
    if found and found.group(1).partition(".")[0] not in sys.stdlib_module_names:
        return found.group(1)
    return None


WRONG_KIND = re.compile(
    r"has no attribute|not callable|not iterable|not subscriptable|unsupported operand"
    r"|context manager protocol|unhashable|cannot unpack|KeyError|indices must be|can only concatenate"
    r"|not supported between"
)
"""Messages that tell of a plain value of the wrong kind, which something made up might serve better."""

_MISFIT = re.compile(
    r"(?:time data|invalid literal for int\(\) with base \d+:|could not convert string to float:"
    r"|Invalid isoformat string:|does not match format|unknown encoding:) '(.*?)'"
)


def misfit(problem: str) -> str | None:
    """The text that an error message says is not as it should be; None if it tells of none."""
    found = _MISFIT.search(problem)
    return None if found is None else found.group(1)


def wanted_value(problem: str, path: str, asked: Sequence[Question], texts: Sequence[str],
                 numbers: Sequence[str], generator: random.Random) -> str:  # fmt: skip
    """Source of a value of the kind that an error message asks for in the place of a made-up one."""
    if (form := re.search(r"time data .* does not match format '(.+?)'", problem)) is not None:
        return repr(generator.choice(dates_in(form.group(1))))
    if re.search(r"strftime|strptime\(\) argument 2", problem) and re.search(r"\bstr\b", problem):
        return generator.choice(("'%Y-%m-%d'", "'%Y-%m-%d %H:%M:%S'"))
    if re.search(r"isoformat", problem):
        return "'2024-03-01'"
    if re.search(r"invalid literal|could not convert|ConversionSyntax|to Decimal", problem):
        return generator.choice(("'12'", "'7'", "3", "'2.5'", "0"))
    if re.search(r"\bbytes\b|bytes-like", problem) and not re.search(r"\bstr\b|string", problem):
        return generator.choice(("b'abc'", "b''", "b'a,b'"))
    if re.search(r"\bdatetime|\bdate\b|timedelta|tzinfo", problem):
        return generator.choice(_DATES)
    if re.search(r"\bdict\b|mapping", problem):
        return generator.choice(("{}", "{'a': 1}", "{'name': 'x', 'id': 2}"))
    if re.search(r"\bstr\b|string|path|text|PathLike", problem, re.IGNORECASE):
        return _text(path, texts, generator)
    if re.search(r"integer|number|float|\bint\b|numeric", problem):
        return generator.choice([*near_numbers(numbers, whole=True), "0", "1", "3", "12"])
    if re.search(r"\blist\b|\btuple\b|iterable|sequence", problem):
        return generator.choice(("[]", "['a']", "[1, 2, 3]"))
    return plain_value(path, asked, texts, numbers, generator)


def _is_plain(text: str) -> bool:
    """Whether an operand is a constant as source (and not the path of something made up)."""
    return bool(re.fullmatch(r"-?\d[\d.e+-]*|'.*'|\".*\"|b'.*'|None|True|False", text, re.DOTALL))
