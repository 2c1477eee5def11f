"""Whether what stands in the function's place decides what a draft's states observe.

A draft can hold code of its own that runs around the function, and so could, by mistake or on purpose, give
the original's outputs whatever is put in its place: every candidate would match. The stubs of the usual
proofs miss that where they cannot match the original anyway, or where they are told from it by their size. So
here other code is run on every state; one on which nothing makes a difference is no evidence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, Inconclusive, InputState, OutputState, SourceFunction
from pytest_funcmem.harness.local.analysis import Analysis
from pytest_funcmem.harness.local.rewriting import UnwritableCodeError, code_with_body
from pytest_funcmem.harness.mutant_runs import limited_run
from pytest_funcmem.harness.outputs import output_digest, same_output
from pytest_funcmem.harness.python_runs import run_together

__all__ = ["indifference", "told_apart", "without_repeats"]

_FEWEST_MUTANTS = 3
_MOST_NAMED = 12

Compared = Mapping[str, Mapping[InputState, bool]]
"""For code in the function's place and an input state, whether it does there what the original does."""


def told_apart(
    analysis: Analysis, harness: Harness, sandbox: Sandbox, *, float_tolerance: float
) -> dict[str, dict[InputState, bool]]:
    """Run other code in the place of a Python function, on all states of a harness.

    Args:
        analysis: The original and its file.
        harness: Proved otherwise.
        sandbox: Open.
        float_tolerance: Relative difference up to which two floats are equal.

    Raises:
        SandboxError: The sandbox failed; nothing is known about the harness.
    """
    codes = list(_others(analysis))
    runs = [limited_run(analysis.source, harness.scaffold, code, harness.states) for code in codes]
    return {
        code: {
            state: same_output(expected, output, float_tolerance=float_tolerance)
            for state, expected, output in zip(
                harness.states, harness.expected, execution.outputs, strict=True
            )
        }
        for code, execution in zip(codes, run_together(sandbox, runs), strict=True)
    }


def without_repeats(states: Sequence[InputState], outputs: Sequence[OutputState]) -> tuple[InputState, ...]:
    """The states of a Python draft that are not an earlier one again, written otherwise or with another seed.

    Args:
        states: As the agent wrote them.
        outputs: What the original did on each; where that differs, the states do.
    """
    found: dict[tuple[InputState, str], InputState] = {}
    for place, state in enumerate(states):
        output = output_digest(outputs[place]) if place < len(outputs) else str(place)
        same = replace(
            state,
            seed=0,
            setup=tuple(map(_plain, state.setup)),
            receiver=None if state.receiver is None else _plain(state.receiver),
            arguments=tuple(map(_plain, state.arguments)),
            keywords=tuple((name, _plain(text)) for name, text in state.keywords),
        )
        found.setdefault((same, output), state)
    return tuple(found.values())


def _plain(text: str) -> str:
    """Source without what does nothing: spaces, comments, parentheses."""
    try:
        return ast.unparse(ast.parse(text.strip()))
    except (SyntaxError, ValueError, MemoryError):
        return text


def indifference(harness: Harness, compared: Compared, *, given: Sequence[InputState]) -> Inconclusive | None:
    """Why a proved harness is none all the same; None where it is one.

    Args:
        harness: Proved otherwise.
        compared: What other code did in the function's place.
        given: The states of the draft, by which they are numbered.
    """
    evidence = harness.evidence
    if evidence.mutants >= _FEWEST_MUTANTS and evidence.mutants_killed == 0:
        detail = (
            f"none of {evidence.mutants} small changes of the function changes an output: what surrounds it "
            "hides what it does, or the states ask too little of it"
        )
        return Inconclusive(reason="weak_harness", detail=detail, evidence=evidence)
    dead = _indifferent(harness.states, compared)
    if not dead:
        return None
    numbers = {state: number for number, state in enumerate(given, start=1)}
    named = ", ".join(_shown([numbers[state] for state in dead if state in numbers]))
    numbered = f" ({named})" if named else ""
    detail = (
        f"{len(dead)} of {len(harness.states)} valid states{numbered} give the original's output whatever "
        "stands in the function's place: drop them, or let the function itself be run on them"
    )
    return Inconclusive(reason="weak_harness", detail=detail, evidence=evidence)


def _indifferent(states: Sequence[InputState], compared: Compared) -> list[InputState]:
    """The states on which nothing was told apart."""
    return [state for state in states if not any(alike.get(state) is False for alike in compared.values())]


def _shown(numbers: Sequence[int]) -> Iterator[str]:
    yield from map(str, numbers[:_MOST_NAMED])
    if len(numbers) > _MOST_NAMED:
        yield "…"


def _others(analysis: Analysis) -> Iterator[str]:
    """Code that ends at once in a way of its own, and is larger than the original."""
    function: SourceFunction = analysis.source
    marked = "'funcmem', 'another'"
    give = (f"yield {marked}", "return") if analysis.is_generator else (f"return {marked}",)
    for ending in (give, ("raise ArithmeticError('funcmem: another')",)):
        # A compiler would see through a plainer condition, and leave out what follows.
        lines = ["def other():", " if [] == []:", *(f"  {line}" for line in ending)]
        guard = ast.parse("\n".join(lines)).body[0]
        if not isinstance(guard, ast.FunctionDef):
            raise AssertionError("a definition was written")
        try:
            yield code_with_body(function, [*guard.body, *analysis.node.body])
        except UnwritableCodeError:
            continue
