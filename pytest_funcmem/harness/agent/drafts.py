"""Drafts of harnesses, as an agent writes them into files, and how they are read.

A draft is two files. ``states.json`` holds input states. The other surrounds the function: in Python
``prelude.py``, executed in the module's namespace before the file; in a compiled language a copy of the
function's file, ``surroundings`` with the language's suffix, in which all but the function may be changed.
Whatever is read here is hostile.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_funcmem.core.protocols import LanguageFrontend
from pytest_funcmem.core.records import InputState, Json, Language, SourceFunction
from pytest_funcmem.core.registry import load

__all__ = [
    "MOST_STATES",
    "STATES_FILE",
    "Draft",
    "DraftError",
    "original_file",
    "read_draft",
    "starting_states",
    "surrounded",
    "surroundings_file",
    "unused_names",
]

STATES_FILE = "states.json"
MOST_STATES = 60
OWN_PREFIX = "harness_"
"""How names begin that a prelude may bind although the function's file does not mention them."""

_SUFFIXES: Mapping[Language, str] = {"python": "py", "java": "java", "c": "c", "rust": "rs", "go": "go"}
_C_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "if else for while do switch case default break continue return goto sizeof struct union enum "
        "typedef static extern auto void char short int long float double signed unsigned",
    )
)
_MOST_TEXT = 200_000
_MOST_STATES_TEXT = 1_000_000
_MOST_CHOICES = 400
_LARGEST_CHOICE = 2**31


class DraftError(Exception):
    """A draft cannot be read; the message says what to mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft of a harness.

    Attributes:
        surroundings: The prelude, or the changed file.
        states: Input states, best first.
        search: Compiled languages: whether more states are to be searched for.
    """

    surroundings: str
    states: tuple[InputState, ...]
    search: bool = False


def original_file(language: Language) -> str:
    """Name of the file that holds the function's file as it is."""
    return f"original.{_SUFFIXES[language]}"


def surroundings_file(language: Language) -> str:
    """Name of the file that surrounds the function."""
    return "prelude.py" if language == "python" else f"surroundings.{_SUFFIXES[language]}"


def read_draft(language: Language, read: Callable[[str], str]) -> Draft:
    """Read a draft.

    Args:
        language: Of the function.
        read: Gives the text of a file.

    Raises:
        DraftError: Something in it is not as it should be.
    """
    surroundings = read(surroundings_file(language))
    if len(surroundings) > _MOST_TEXT:
        raise DraftError(f"{surroundings_file(language)} is larger than {_MOST_TEXT} characters")
    text = read(STATES_FILE)
    if len(text) > _MOST_STATES_TEXT:
        raise DraftError(f"{STATES_FILE} is larger than {_MOST_STATES_TEXT} characters")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise DraftError(f"{STATES_FILE} is no JSON: {exc}") from exc
    if not isinstance(content, dict) or not isinstance(content.get("states"), list):
        raise DraftError(f'{STATES_FILE} is no object with a list "states"')
    _no_others(content, {"states", "search"}, STATES_FILE)
    if len(content["states"]) > MOST_STATES:
        raise DraftError(f"{STATES_FILE} holds more than {MOST_STATES} states")
    search = content.get("search", False)
    if not isinstance(search, bool):
        raise DraftError('"search" is neither true nor false')
    if search and language == "python":
        raise DraftError('"search" is for compiled languages; write the states of a Python function out')
    read_state = _python_state if language == "python" else _compiled_state
    states = tuple(
        read_state(_Fields(f"state {number}", state))
        for number, state in enumerate(content["states"], start=1)
    )
    return Draft(surroundings=surroundings, states=states, search=search)


def starting_states(language: Language, states: Sequence[InputState]) -> str:
    """The text of ``STATES_FILE`` to begin with.

    Args:
        language: Of the function.
        states: What there is already.
    """
    written: list[Json] = []
    for state in states:
        if language == "python":
            fields: dict[str, Json] = {
                "setup": list(state.setup),
                "receiver": state.receiver,
                "arguments": list(state.arguments),
                "keywords": dict(state.keywords),
                "seed": state.seed,
                "stdin": state.stdin,
                "files": dict(state.files),
                "environment": dict(state.environment),
                "answers": dict(state.answers),
            }
            written.append({name: value for name, value in fields.items() if value or name == "arguments"})
        else:
            written.append({"choices": list(state.choices), "seed": state.seed})
    content: dict[str, Json] = {"states": written}
    if language != "python":
        content["search"] = True
    return json.dumps(content, indent=1) + "\n"


def surrounded(function: SourceFunction, text: str) -> SourceFunction:
    """The same function in a changed file.

    Raises:
        DraftError: It is not in the file, or not as it was.
    """
    frontend: LanguageFrontend = load("language", function.language)()
    name = surroundings_file(function.language)
    found = [
        other
        for other in frontend.scan(text, path=function.path).functions
        if other.qualname == function.qualname
    ]
    if not found:
        raise DraftError(f"{name} does not define {function.qualname}, or does not parse around it")
    wanted = function.text[function.signature_start : function.end]
    same = [other for other in found if other.text[other.signature_start : other.end] == wanted]
    if len(same) != 1:
        raise DraftError(
            f"{name} must hold {function.qualname} once, unchanged to the last character: "
            f"change what stands around it"
        )
    if function.language == "c":
        _keep_keywords(function.text, text, name)
    return same[0]


def _keep_keywords(original: str, text: str, name: str) -> None:
    """Refuse macros that give C's own words another meaning: they would act in candidates alone.

    A loop that the original does not have could then do the original's work.
    """
    others = sorted((_macros(text) & _C_KEYWORDS) - _macros(original))
    if others:
        raise DraftError(f"{name} gives C's own words another meaning by macros: {', '.join(others)}")


def _macros(text: str) -> set[str]:
    plain = re.sub(r"\\[ \t]*\r?\n", "", text.replace("??/", "\\").replace("??=", "#"))
    plain = re.sub(r"/\*.*?\*/", " ", plain, flags=re.DOTALL)
    return set(re.findall(r"(?:#|%:)[ \t\f\v]*define[ \t\f\v]+(\w+)", plain))


def unused_names(prelude: str, text: str) -> tuple[str, ...]:
    """Names that a prelude binds although the function's file does not mention them, in order.

    Names that the original does not use stay undefined, so that a candidate which invents them fails as it
    would in the file. Call only where a parser that breaks does no harm.

    Raises:
        DraftError: The prelude does not parse.
    """
    try:
        module = ast.parse(prelude)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise DraftError(f"prelude.py does not parse: {exc}") from exc
    mentioned = set(re.findall(r"\w+", text))
    bound: dict[str, None] = {}
    for statement in module.body:
        bound.update(dict.fromkeys(_bound(statement)))
    return tuple(name for name in bound if name not in mentioned and not name.startswith((OWN_PREFIX, "__")))


def _bound(node: ast.AST) -> list[str]:
    """Names that a statement binds in the namespace that it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return []
    return [name for child in ast.iter_child_nodes(node) for name in _bound(child)]


# --------------------------------------------------------------------------------------------- states


class _Fields:
    """One object of ``states.json``, read field by field."""

    def __init__(self, where: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise DraftError(f"{where} is no object")
        self.where = where
        self.value = value

    def only(self, *names: str) -> None:
        _no_others(self.value, set(names), self.where)

    def text(self, name: str, default: str = "") -> str:
        value = self.value.get(name, default)
        if not isinstance(value, str):
            raise DraftError(f"{self.where}: {name!r} is no string")
        return _sound(value, f"{self.where}: {name!r}")

    def maybe(self, name: str) -> str | None:
        return None if self.value.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.value.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise DraftError(f"{self.where}: {name!r} is no list of strings")
        return tuple(_sound(item, f"{self.where}: {name!r}") for item in value)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        value = self.value.get(name, {})
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise DraftError(f"{self.where}: {name!r} is no object of strings")
        return tuple(
            (_sound(key, f"{self.where}: {name!r}"), _sound(item, f"{self.where}: {name!r}"))
            for key, item in value.items()
        )

    def number(self, name: str) -> int:
        value = self.value.get(name, 0)
        if not _is_choice(value):
            raise DraftError(f"{self.where}: {name!r} is no whole number from 0 below {_LARGEST_CHOICE}")
        return int(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.value.get(name, [])
        if not isinstance(value, list) or len(value) > _MOST_CHOICES or not all(map(_is_choice, value)):
            raise DraftError(
                f"{self.where}: {name!r} is no list of at most {_MOST_CHOICES} whole numbers from 0 "
                f"below {_LARGEST_CHOICE}"
            )
        return tuple(value)


def _python_state(fields: _Fields) -> InputState:
    fields.only(
        "setup",
        "receiver",
        "arguments",
        "keywords",
        "seed",
        "stdin",
        "files",
        "environment",
        "answers",
    )
    return InputState(
        setup=fields.texts("setup"),
        receiver=fields.maybe("receiver"),
        arguments=fields.texts("arguments"),
        keywords=fields.pairs("keywords"),
        seed=fields.number("seed"),
        stdin=fields.text("stdin"),
        files=fields.pairs("files"),
        environment=fields.pairs("environment"),
        answers=fields.pairs("answers"),
    )


def _compiled_state(fields: _Fields) -> InputState:
    fields.only("choices", "seed")
    return InputState(choices=fields.numbers("choices"), seed=fields.number("seed"))


def _is_choice(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_CHOICE


def _sound(text: str, where: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise DraftError(f"{where} holds halves of characters, which UTF-8 does not have") from exc
    return text


def _no_others(value: Mapping[str, object], known: set[str], where: str) -> None:
    others = sorted(str(name) for name in value if name not in known)
    if others:
        raise DraftError(
            f"{where} has {', '.join(map(repr, others[:5]))}; it may have {', '.join(sorted(known))}"
        )
