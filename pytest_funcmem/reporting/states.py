"""Input and output states as short texts, part by part, so that only what differs need be shown.

Values arrive encoded and leave as one visible line each. This module knows nothing of tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_funcmem.core.digests import canonical_json
from pytest_funcmem.core.records import InputState, Json, OutputState, StateComparison
from pytest_funcmem.harness.values import UNCHANGED, show_value
from pytest_funcmem.reporting.plain_text import around, shorten, visible

__all__ = ["OUTCOMES", "ShownState", "differing", "input_lines", "show_state"]

_VALUE = 4_000  # characters of a rendered value before it is made to fit
_PARTS = 4  # parts of one output that are shown
OUTCOMES: Mapping[str, str] = {
    "timeout": "ran out of time",
    "memory": "killed for memory",
    "signal": "died by a signal",
    "refused": "stopped by the sandbox",
    "unloadable": "could not be loaded",
    "missing": "gave no result",
}
"""What is said of a run that did not end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownState:
    """One input state on which something differs, as lines of text.

    Attributes:
        state: The input state.
        original: Result of the original, and what else differs in a candidate.
        target: The same of the target; None where it equals the original.
        reference: The same of the reference; None where it equals the original.
    """

    state: tuple[str, ...]
    original: tuple[str, ...]
    target: tuple[str, ...] | None
    reference: tuple[str, ...] | None


def differing(comparison: StateComparison) -> bool:
    """Whether a candidate's output differs from the original's on this state."""
    return not (comparison.target_matches and comparison.reference_matches)


def show_state(comparison: StateComparison, *, state_width: int, output_width: int) -> ShownState:
    """Show an input state and what differs on it.

    Args:
        comparison: The state with its outputs.
        state_width: Most cells of a line of the input state.
        output_width: Most cells of a part of an output; about three lines of its column.
    """
    original = _parts(comparison.original)
    target = None if comparison.target_matches else _parts(comparison.target)
    reference = None if comparison.reference_matches else _parts(comparison.reference)
    names = ["result"]
    for other in (target, reference):
        if other is not None:
            names += _own(original, other)
    chosen = list(dict.fromkeys(names))
    place = {name: _first_difference(name, original, target, reference) for name in chosen}
    return ShownState(
        state=input_lines(comparison.state, width=state_width),
        original=_lines(original, chosen, place, output_width),
        target=None if target is None else _lines(target, _own(original, target), place, output_width),
        reference=None
        if reference is None
        else _lines(reference, _own(original, reference), place, output_width),
    )


def input_lines(state: InputState, *, width: int) -> tuple[str, ...]:
    """The input state as source text: arguments, then the receiver and what else it sets up.

    Args:
        state: The input state.
        width: Most cells of a line.
    """
    arguments = [*state.arguments, *(f"{name}={value}" for name, value in state.keywords)]
    texts = [f"({', '.join(arguments)})"]
    if state.receiver is not None:
        texts.insert(0, f"{state.receiver} .")
    texts += [f"setup {statement}" for statement in state.setup]
    if state.stdin:
        texts.append(f"stdin {state.stdin!r}")
    texts += [f"file {name} {content!r}" for name, content in state.files]
    texts += [f"env {name}={value}" for name, value in state.environment]
    texts += [f"{path} answers {value}" for path, value in state.answers]
    return tuple(shorten(visible(text), width) for text in _first(texts))


def _parts(output: OutputState | None) -> dict[str, tuple[str, str]]:
    """Parts of an output by name: what is compared, and what is shown."""
    if output is None:
        return {"result": ("not run", "was not run")}
    parts = {"result": (_identity(_result_of(output)), _result(output))}
    if output.outcome not in ("returned", "raised"):
        return parts
    for number, call in enumerate(output.calls, start=1):
        parts[f"call {number}"] = (_identity(call), _call(call))
    if output.receiver is not None:
        parts["self"] = (_identity(output.receiver), _value(output.receiver))
    for label, mapping in (
        ("argument", output.arguments),
        ("global", output.module_globals),
        ("file", output.files),
    ):
        for name, value in sorted(mapping.items()):
            parts[f"{label} {visible(name)}"] = (_identity(value), _value(value))
    for label, text in (("stdout", output.stdout), ("stderr", output.stderr)):
        if text:
            parts[label] = (text, repr(text[:_VALUE]))
    return parts


def _result_of(output: OutputState) -> Json:
    return [output.outcome, output.value, None if output.exception is None else dict(output.exception)]


def _result(output: OutputState) -> str:
    if output.outcome == "returned":
        return _value(output.value)
    if output.exception is not None:
        message = str(output.exception.get("message", ""))[:_VALUE]
        kind = str(output.exception.get("type", "exception")).rpartition(".")[2]
        return f"raises {kind}({message!r})" if message else f"raises {kind}"
    said = OUTCOMES.get(output.outcome, output.outcome)
    return f"{said}: {output.detail}" if output.detail else said


def _value(value: Json) -> str:
    return "unchanged" if value == UNCHANGED else show_value(value, _VALUE)


def _call(call: Json) -> str:
    arguments = [_value(item) for item in call["arguments"]]
    arguments += [f"{name}={_value(item)}" for name, item in call["keywords"].items()]
    return f"{call['path']}({', '.join(arguments)})"


def _identity(value: Json) -> str:
    return canonical_json(value)


def _names(one: Mapping[str, object], two: Mapping[str, object]) -> list[str]:
    return [*one, *(name for name in two if name not in one)]


def _differ(original: Mapping[str, tuple[str, str]], other: Mapping[str, tuple[str, str]], name: str) -> bool:
    absent = ("", "")
    return original.get(name, absent)[0] != other.get(name, absent)[0]


def _own(original: Mapping[str, tuple[str, str]], other: Mapping[str, tuple[str, str]]) -> list[str]:
    """Names of the parts in which a candidate differs; of one that did not end by itself, its end alone."""
    if other.keys() == {"result"} and _differ(original, other, "result"):
        return ["result"]
    return [name for name in _names(original, other) if _differ(original, other, name)] or ["result"]


def _first_difference(
    name: str,
    original: Mapping[str, tuple[str, str]],
    *others: Mapping[str, tuple[str, str]] | None,
) -> int:
    """Where the first candidate that differs in a part begins to."""
    text = visible(original.get(name, ("", ""))[1])
    for other in others:
        if other is None or not _differ(original, other, name):
            continue
        against = visible(other.get(name, ("", ""))[1])
        for place, (one, two) in enumerate(zip(text, against, strict=False)):
            if one != two:
                return place
        return min(len(text), len(against))
    return 0


def _lines(
    parts: Mapping[str, tuple[str, str]], names: list[str], place: Mapping[str, int], width: int
) -> tuple[str, ...]:
    texts = []
    for name in names:
        text = visible(parts[name][1]) if name in parts else "none"
        label = "" if name == "result" else f"{name}: "
        texts.append(label + around(text, place.get(name, 0), max(10, width - len(label))))
    return tuple(_first(texts))


def _first(texts: list[str]) -> list[str]:
    if len(texts) <= _PARTS:
        return texts
    return [*texts[: _PARTS - 1], f"and {len(texts) - _PARTS + 1} more"]
