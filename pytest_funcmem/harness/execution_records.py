"""Reads what a runner emitted back into an execution: hostile data, bounded and checked field by field.

A runner emits records. Each is one line of JSON, the header, and for a recorded state a second line, its
fields. ``{"kind": "load", …}`` comes once for a program, ``{"kind": "state", "index": n, …}`` once for a
state; where a task runs several programs, ``"program": n`` says whose record it is (0 if absent).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from pytest_funcmem.core.protocols import SandboxResult
from pytest_funcmem.core.records import ExecutionOutcome, OutputState
from pytest_funcmem.harness.values import is_encoding, is_text

__all__ = ["ENDLESS", "RECORD_BYTES", "Execution", "Question", "SkippedStatement", "read_execution"]

RECORD_BYTES = 8 * 1024 * 1024
"""Size from which on a record is not read."""

ENDLESS = "it went on without end"
"""Detail of a state that ended because it did too many things, which takes no time worth speaking of."""

_MAX_QUESTIONS = 400
_MAX_SHOWN = 64
_MAX_FEATURES = 4096
_TASK_OUTCOMES: Mapping[str, ExecutionOutcome] = MappingProxyType(
    {"timeout": "timeout", "memory": "memory", "signal": "signal", "refused": "refused", "ended": "missing"}
)
_STATE_OUTCOMES = frozenset({"timeout", "memory", "signal", "refused", "missing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedStatement:
    """A top-level statement of the file that could not be executed.

    Attributes:
        index: Position among the file's top-level statements; -1 for text that does not parse.
        line: First line of the statement, counted from 1.
        names: Names that it would have bound.
        error: Type of the exception.
        message: Its message.
    """

    index: int
    line: int
    names: tuple[str, ...]
    error: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that a run asked of the mocked world, or of the files.

    Attributes:
        path: What was asked: a fabricated object without the arguments of calls, or a file's path.
        kind: How: ``truth``, ``eq``, ``order``, ``contains``, ``iterate``, ``length``, ``number``, ``text``,
            ``attribute``, ``item``, ``call``, ``instance``, ``list``, ``path``, ``file``, ``directory``.
        operand: What it was compared with, as source.
        line: Line of the function that asked, relative to its signature; -1 if none did.
    """

    path: str
    kind: str
    operand: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What became of a program on a sequence of input states.

    Attributes:
        outputs: One output state per input state, in order.
        loaded: Whether the function could be loaded. If not, every outcome is ``unloadable``.
        load_detail: For people: why it could not be loaded, or what was left out to load it.
        skipped: Top-level statements that failed.
        executable_lines: Lines of the function that can be executed, relative to its signature's line;
            without the signature and the docstring.
        state_seconds: Processor seconds of each state, which the load of the machine hardly changes; 0 where
            it did not run.
        sandbox_seconds: Wall-clock seconds of the whole task in the sandbox.
        questions: What each state asked of the mocked world, in order.
        fabricated: Modules that were made up.
        shown: Compiled languages: for each state, what its choices made, as source for people: the receiver
            where there is one, then the arguments.
        features: Compiled languages: for each state, numbers that tell its path finer than lines do, such as
            pairs of lines, to steer a search.
        choices_used: Compiled languages: for each state, how many choices it asked for.
        made_up: Compiled languages: for each state, whether something made up was asked for an answer.
    """

    outputs: tuple[OutputState, ...]
    loaded: bool
    load_detail: str
    skipped: tuple[SkippedStatement, ...]
    executable_lines: tuple[int, ...]
    state_seconds: tuple[float, ...]
    sandbox_seconds: float
    questions: tuple[tuple[Question, ...], ...] = ()
    fabricated: tuple[str, ...] = ()
    shown: tuple[tuple[str, ...], ...] = ()
    features: tuple[tuple[int, ...], ...] = ()
    choices_used: tuple[int, ...] = ()
    made_up: tuple[bool, ...] = ()


def read_execution(result: SandboxResult, count: int, *, program: int = 0) -> Execution:
    """Turn the records of a task into an execution; whatever is not as it should be counts as missing.

    Args:
        result: What came back of the task.
        count: Input states that the program was to be run on.
        program: Which of the task's programs.
    """
    load: Mapping[str, Any] | None = None
    outputs: dict[int, OutputState] = {}
    seconds: dict[int, float] = {}
    questions: dict[int, tuple[Question, ...]] = {}
    details: dict[int, Mapping[str, Any]] = {}
    for record in result.records:
        head, _, body = record.partition(b"\n")
        header = _json_object(head)
        if header is None or header.get("program", 0) != program:
            continue
        kind, index = header.get("kind"), header.get("index")
        if kind == "load" and load is None:
            load = header
        elif kind == "state" and type(index) is int and 0 <= index < count and index not in outputs:
            fields = _json_object(body) if body else None
            outputs[index] = _state_output(header, fields)
            questions[index] = _questions(fields.get("asked")) if fields is not None else ()
            details[index] = fields or {}
            spent = header.get("seconds")
            if isinstance(spent, float) and math.isfinite(spent) and spent >= 0:
                seconds[index] = spent
    loaded = load is not None and load.get("loaded") is True
    detail = _why_not_loaded(result) if load is None else _short_text(load.get("detail"))
    rest = OutputState(
        outcome=_TASK_OUTCOMES[result.outcome] if loaded else "unloadable",
        detail="" if loaded else detail,
    )
    return Execution(
        outputs=tuple(outputs.get(index, rest) if loaded else rest for index in range(count)),
        loaded=loaded,
        load_detail=detail,
        skipped=_skipped(load.get("skipped")) if load is not None else (),
        executable_lines=_lines(load.get("executable_lines")) or () if load is not None else (),
        state_seconds=tuple(seconds.get(index, 0.0) for index in range(count)),
        sandbox_seconds=result.seconds,
        questions=tuple(questions.get(index, ()) for index in range(count)),
        fabricated=_texts(load.get("fabricated")) if load is not None else (),
        **_of_choices([details.get(index, {}) for index in range(count)]),
    )


def _of_choices(details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the runners of compiled languages tell of each state; nothing where none tells anything."""
    if not any("choices_used" in fields for fields in details):
        return {}
    return {
        "shown": tuple(_texts(fields.get("shown"))[:_MAX_SHOWN] for fields in details),
        "features": tuple(_numbers(fields.get("features")) for fields in details),
        "choices_used": tuple(next(iter(_numbers([fields.get("choices_used")])), 0) for fields in details),
        "made_up": tuple(fields.get("made_up") is True for fields in details),
    }


def _numbers(value: object) -> tuple[int, ...]:
    found = value[:_MAX_FEATURES] if isinstance(value, list) else []
    return tuple(item for item in found if type(item) is int and 0 <= item < 2**53)


def _why_not_loaded(result: SandboxResult) -> str:
    said = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f"loading did not end ({result.outcome}){': ' + _short_text(said) if said else ''}"


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value[:1000] if is_text(item)) if isinstance(value, list) else ()


def _questions(value: object) -> tuple[Question, ...]:
    found = []
    for item in value[:_MAX_QUESTIONS] if isinstance(value, list) else []:
        if isinstance(item, list) and len(item) == 4 and all(is_text(text) for text in item[:3]):
            path, kind, operand, line = item
            if type(line) is int and -1 <= line < 1_000_000:
                found.append(Question(path=path, kind=kind, operand=operand, line=line))
    return tuple(found)


def _state_output(header: Mapping[str, Any], fields: Mapping[str, Any] | None) -> OutputState:
    outcome = header.get("outcome")
    detail = _short_text(header.get("detail"))
    way = (_lines(fields.get("lines")) or ()) if fields is not None else ()
    if outcome in _STATE_OUTCOMES:
        return OutputState(outcome=outcome, detail=detail, lines=way)
    if outcome == "recorded" and fields is not None and fields.get("outcome") == "endless":
        return OutputState(outcome="timeout", detail=ENDLESS, lines=way)
    output = None if fields is None or outcome != "recorded" else _checked_output(fields)
    return output or OutputState(outcome="missing", detail="the record that came back is damaged")


def _checked_output(fields: Mapping[str, Any]) -> OutputState | None:
    """The output state that a record describes, or None if anything in it is not as the runner writes it."""
    outcome, exception = fields.get("outcome"), fields.get("exception")
    calls, lines = fields.get("calls"), _lines(fields.get("lines"))
    texts = [fields.get(name) for name in ("stdout", "stderr", "detail")]
    mappings = [fields.get(name) for name in ("arguments", "module_globals", "files")]
    if outcome not in ("returned", "raised") or (outcome == "raised") != (exception is not None):
        return None
    if exception is not None and not _is_exception(exception):
        return None
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls) or lines is None:
        return None
    if not all(is_text(text) for text in texts) or not all(_is_encoding_mapping(item) for item in mappings):
        return None
    if not is_encoding(fields.get("value")) or not is_encoding(fields.get("receiver")):
        return None
    stdout, stderr, detail = cast("list[str]", texts)
    arguments, module_globals, files = cast("list[dict[str, Any]]", mappings)
    return OutputState(
        outcome=outcome,
        value=fields.get("value"),
        exception=exception,
        calls=tuple(calls),
        receiver=fields.get("receiver"),
        arguments=arguments,
        module_globals=module_globals,
        stdout=stdout,
        stderr=stderr,
        files=files,
        lines=lines,
        detail=detail,
    )


def _is_exception(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"type", "message", "own", "authored", "origin"}
        and is_text(value["type"])
        and is_text(value["message"])
        and isinstance(value["own"], bool)
        and isinstance(value["authored"], bool)
        and value["origin"] in ("function", "file", "library", "scaffold")
    )


def _is_call(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"path", "arguments", "keywords", "answer"}
        and is_text(value["path"])
        and isinstance(value["arguments"], list)
        and all(is_encoding(item) for item in value["arguments"])
        and _is_encoding_mapping(value["keywords"])
        and is_encoding(value["answer"])
    )


def _is_encoding_mapping(value: object) -> bool:
    return isinstance(value, dict) and all(is_text(key) and is_encoding(item) for key, item in value.items())


def _json_object(data: bytes) -> dict[str, Any] | None:
    if len(data) > RECORD_BYTES:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _lines(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item < 1_000_000 for item in value):
        return None
    return tuple(sorted(set(value)))


def _skipped(value: object) -> tuple[SkippedStatement, ...]:
    found: list[SkippedStatement] = []
    for item in value if isinstance(value, list) else []:
        if (
            not isinstance(item, dict)
            or type(item.get("index")) is not int
            or type(item.get("line")) is not int
        ):
            continue
        names = item.get("names")
        found.append(
            SkippedStatement(
                index=item["index"],
                line=item["line"],
                names=tuple(name for name in names if is_text(name)) if isinstance(names, list) else (),
                error=_short_text(item.get("error")),
                message=_short_text(item.get("message")),
            )
        )
    return tuple(found)


def _short_text(value: object) -> str:
    return value[:2000] if isinstance(value, str) and is_text(value) else ""
