"""Compare output states: what counts as the same behaviour, and which input states may be used at all.

Two output states match only if all their parts do (design: "Output state"). This module compares encodings;
it knows nothing of how they came to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.records import Json, OutputState
from pytest_funcmem.harness.values import UNCHANGED, canonical_value, same_value

__all__ = ["SLOW_OUTCOMES", "output_digest", "same_output", "similarity", "validity"]

SLOW_OUTCOMES = ("timeout", "memory")
"""Outcomes of what may have taken long."""

_PROBLEMS: Mapping[str, str] = {
    "timeout": "it ran out of time",
    "memory": "it was killed for memory",
    "signal": "it died by a signal",
    "refused": "it was stopped for what it did",
    "unloadable": "it could not be loaded",
    "missing": "no final record came back",
}


def same_output(a: OutputState, b: OutputState, *, float_tolerance: float) -> bool:
    """Whether two output states are the same in all their parts.

    Executed lines, details and times do not count. Two exceptions are the same if their types are and, where
    either message was written by the code itself, their messages are too. A run that did not end by itself
    (``timeout``, ``memory``, ``signal``, ``refused``, ``unloadable``, ``missing``) matches nothing.

    Args:
        a: One output state.
        b: The other.
        float_tolerance: Relative difference up to which floats are equal; 0 is strict.
    """
    if a.outcome != b.outcome or a.outcome not in ("returned", "raised"):
        return False
    if a.stdout != b.stdout or a.stderr != b.stderr or not _same_exception(a.exception, b.exception):
        return False
    if len(a.calls) != len(b.calls):
        return False
    pairs: list[tuple[Json, Json]] = [(a.value, b.value), (a.receiver, b.receiver)]
    mappings = [(a.arguments, b.arguments), (a.module_globals, b.module_globals), (a.files, b.files)]
    for call, other in zip(a.calls, b.calls, strict=True):
        if call["path"] != other["path"] or len(call["arguments"]) != len(other["arguments"]):
            return False
        pairs.extend(zip(call["arguments"], other["arguments"], strict=True))
        pairs.append((call["answer"], other["answer"]))
        mappings.append((call["keywords"], other["keywords"]))
    for mapping, counterpart in mappings:
        if mapping.keys() != counterpart.keys():
            return False
        pairs.extend((mapping[name], counterpart[name]) for name in mapping)
    return all(same_value(left, right, float_tolerance=float_tolerance) for left, right in pairs)


def _same_exception(a: Mapping[str, Json] | None, b: Mapping[str, Json] | None) -> bool:
    if a is None or b is None:
        return a is b
    if a["type"] != b["type"]:
        return False
    return not (a["authored"] or b["authored"]) or bool(a["message"] == b["message"])


def validity(output: OutputState, again: OutputState, *, float_tolerance: float = 0.0) -> tuple[bool, str]:
    """Whether an input state is valid, judged by two runs of the original on it.

    Design: the original behaves the same on it twice, and either returns or raises an exception that its own
    code means to raise; a state on which the scaffolding fails is not valid.

    Returns:
        Whether it is valid, and if not the reason: ``scaffold: …``, ``unmeant: …``, ``nondeterministic: …``
        or, for a run that did not end by itself, its outcome and what that means.
    """
    if output.outcome in _PROBLEMS:
        return False, f"{output.outcome}: {output.detail or _PROBLEMS[output.outcome]}"
    if output.exception is not None:
        said = f"{output.exception['type']}: {output.exception['message']}"
        if output.exception["origin"] == "scaffold":
            return False, f"scaffold: {said}"
        if not output.exception["own"]:
            return False, f"unmeant: {said}"
    if not same_output(output, again, float_tolerance=float_tolerance):
        return False, f"nondeterministic: {_first_difference(output, again, float_tolerance)}"
    return True, ""


def _first_difference(a: OutputState, b: OutputState, float_tolerance: float) -> str:
    if a.outcome != b.outcome:
        return f"{a.outcome} once and {b.outcome} once"
    if not same_value(a.value, b.value, float_tolerance=float_tolerance):
        return "the value differs between two runs"
    for name in (
        "exception",
        "calls",
        "receiver",
        "arguments",
        "module_globals",
        "stdout",
        "stderr",
        "files",
    ):
        if getattr(a, name) != getattr(b, name):
            return f"{name} differ between two runs"
    return "two runs differ"


def output_digest(output: OutputState) -> str:
    """Digest of the results and effects of a run, to count distinct outputs.

    What only echoes the input state is left out: arguments and a receiver that did not change, and what the
    mocked world answered.
    """
    exception = output.exception
    return digest(
        {
            "outcome": output.outcome,
            "value": canonical_value(output.value),
            "exception": None
            if exception is None
            else [exception["type"], exception["message"] if exception["authored"] else ""],
            "calls": [
                [
                    call["path"],
                    [canonical_value(item) for item in call["arguments"]],
                    _canonical_mapping(call["keywords"]),
                ]
                for call in output.calls
            ],
            "receiver": None if output.receiver == UNCHANGED else canonical_value(output.receiver),
            "arguments": _canonical_mapping(output.arguments),
            "module_globals": _canonical_mapping(output.module_globals),
            "stdout": output.stdout,
            "stderr": output.stderr,
            "files": _canonical_mapping(output.files),
        }
    )


def _canonical_mapping(mapping: Mapping[str, Json]) -> dict[str, Json]:
    return {name: canonical_value(value) for name, value in mapping.items() if value != UNCHANGED}


def similarity(
    expected: Sequence[OutputState], got: Sequence[OutputState], *, float_tolerance: float = 1e-9
) -> tuple[float, tuple[bool, ...]]:
    """SIM_func: the share of input states whose output states are the same (paper, section 3).

    Args:
        expected: Output states of the original.
        got: Output states of the other program on the same input states, in the same order.
        float_tolerance: Relative difference up to which floats are equal.

    Returns:
        The share in [0, 1] (0 without states), and for each state whether it matches.

    Raises:
        ValueError: The two differ in length.
    """
    matches = tuple(
        same_output(a, b, float_tolerance=float_tolerance) for a, b in zip(expected, got, strict=True)
    )
    return (sum(matches) / len(matches) if matches else 0.0), matches
