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

__all__ = ["OUTCOMES", "Part", "ShownState", "differing", "input_lines", "output_parts", "show_state"]

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
class Part:
    """One part of an output: what is compared, and what is shown (not yet visible, not yet made to fit)."""

    value: Json
    text: str

    @property
    def identity(self) -> str:
        """The same for equal parts of two outputs."""
        return canonical_json(self.value)


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
    original = output_parts(comparison.original)
    target = None if comparison.target_matches else output_parts(comparison.target)
    reference = None if comparison.reference_matches else output_parts(comparison.reference)
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


def input_lines(state: InputState, *, width: int, most: int = _PARTS) -> tuple[str, ...]:
    """The input state as source text: arguments, then the receiver and what else it sets up.

    Args:
        state: The input state.
        width: Most cells of a line.
        most: Most lines.
    """
    arguments = [*state.arguments, *(f"{name}={value}" for name, value in state.keywords)]
    texts = [f"({', '.join(arguments)})"]
    if state.receiver is not None:
        texts.insert(0, f"on {state.receiver}")
    texts += [f"setup {statement}" for statement in state.setup]
    if state.stdin:
        texts.append(f"stdin {state.stdin!r}")
    texts += [f"file {name} {content!r}" for name, content in state.files]
    texts += [f"env {name}={value}" for name, value in state.environment]
    texts += [f"{path} answers {value}" for path, value in state.answers]
    return tuple(shorten(visible(text), width) for text in _first(texts, most))


def output_parts(output: OutputState | None) -> dict[str, Part]:
    """The parts of an output by name, in a fixed order: ``result``, then calls and what else was left behind.

    Args:
        output: None where the candidate could not be run.
    """
    if output is None:
        return {"result": Part(value="not run", text="was not run")}
    parts = {"result": Part(value=_result_of(output), text=_result(output))}
    if output.outcome not in ("returned", "raised"):
        return parts
    for number, call in enumerate(output.calls, start=1):
        parts[f"call {number}"] = Part(value=call, text=_call(call))
    if output.receiver is not None:
        parts["self"] = Part(value=output.receiver, text=_value(output.receiver))
    for label, mapping in (
        ("argument", output.arguments),
        ("global", output.module_globals),
        ("file", output.files),
    ):
        for name, value in sorted(mapping.items()):
            parts[f"{label} {visible(name)}"] = Part(value=value, text=_value(value))
    for label, text in (("stdout", output.stdout), ("stderr", output.stderr)):
        if text:
            parts[label] = Part(value=text, text=repr(text[:_VALUE]))
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


def _names(one: Mapping[str, object], two: Mapping[str, object]) -> list[str]:
    return [*one, *(name for name in two if name not in one)]


def _differ(original: Mapping[str, Part], other: Mapping[str, Part], name: str) -> bool:
    one, two = original.get(name), other.get(name)
    if one is None or two is None:
        return one is not two
    return one.identity != two.identity


def _own(original: Mapping[str, Part], other: Mapping[str, Part]) -> list[str]:
    """Names of the parts in which a candidate differs; of one that did not end by itself, its end alone."""
    if other.keys() == {"result"} and _differ(original, other, "result"):
        return ["result"]
    return [name for name in _names(original, other) if _differ(original, other, name)] or ["result"]


def _text(parts: Mapping[str, Part], name: str) -> str:
    return parts[name].text if name in parts else ""


def _first_difference(
    name: str,
    original: Mapping[str, Part],
    *others: Mapping[str, Part] | None,
) -> int:
    """Where the first candidate that differs in a part begins to."""
    text = visible(_text(original, name))
    for other in others:
        if other is None or not _differ(original, other, name):
            continue
        against = visible(_text(other, name))
        for place, (one, two) in enumerate(zip(text, against, strict=False)):
            if one != two:
                return place
        return min(len(text), len(against))
    return 0


def _lines(
    parts: Mapping[str, Part], names: list[str], place: Mapping[str, int], width: int
) -> tuple[str, ...]:
    texts = []
    for name in names:
        text = visible(parts[name].text) if name in parts else "none"
        label = "" if name == "result" else f"{name}: "
        texts.append(label + around(text, place.get(name, 0), max(10, width - len(label))))
    return tuple(_first(texts))


def _first(texts: list[str], most: int = _PARTS) -> list[str]:
    if len(texts) <= most:
        return texts
    return [*texts[: most - 1], f"and {len(texts) - most + 1} more"]
