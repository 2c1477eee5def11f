"""Input states and output states: what a function is run on, and what it does there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_funcmem.core.records.functions import Json

__all__ = ["ExecutionOutcome", "InputState", "OutputState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputState:
    """Everything needed to run the function once, as source text in the function's own language.

    Attributes:
        setup: Statements executed in the module's namespace before anything else is evaluated.
        receiver: Expression that builds ``self`` or ``cls``; None for a plain function or static method.
        arguments: Positional arguments, as expressions.
        keywords: Keyword arguments, as (name, expression).
        seed: Seed of the random sources, the clock and the identifiers of this state.
        stdin: What standard input holds.
        files: Text files present in the working directory, as (relative path, content).
        environment: Environment variables, as (name, value).
        answers: What the mocked world says where the seed does not decide: (path or question, expression),
            such as ``("client.get().status", "404")`` or ``("bool(order.paid)", "False")``.
        choices: Compiled languages: the integers, each in [0, 2**31), from which the harness makes receiver,
            arguments and answers; where they are used up, the seed decides. ``receiver`` and ``arguments``
            then show what was made of them, and do not decide anything.
    """

    setup: tuple[str, ...] = ()
    receiver: str | None = None
    arguments: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    stdin: str = ""
    files: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    answers: tuple[tuple[str, str], ...] = ()
    choices: tuple[int, ...] = ()


ExecutionOutcome = Literal[
    "returned",  # the function came back
    "raised",  # it raised an exception
    "timeout",  # it ran out of time
    "memory",  # it was killed for memory
    "signal",  # it died by a signal
    "refused",  # it was stopped by a refused system call or a forbidden flood of output
    "unloadable",  # the code could not be compiled or loaded, or the function was not in it
    "missing",  # no final record came back for this state
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputState:
    """What running the function on one input state did (paper, section 3, "output state").

    Every ``Json`` is the canonical encoding that the runner made of a value; see ``harness.values``.

    Attributes:
        outcome: What became of the run.
        value: Returned (or yielded) value; None unless returned.
        exception: ``{"type", "message", "own", "authored", "origin"}``; None unless raised.
            ``authored`` tells whether a ``raise`` or ``assert`` of the function's file raised it, ``own``
            whether it did or the docstring announces it; ``origin`` is ``function``, ``file``,
            ``library`` or ``scaffold``.
        calls: External effects in order, each ``{"path", "arguments", "keywords", "answer"}``.
        receiver: State of ``self`` after the run; None where there is none.
        arguments: State of the mutable arguments after the run, by position or name.
        module_globals: Module globals whose value changed.
        stdout: Captured text.
        stderr: Captured text.
        files: Files of the working directory after the run that were not there, or were other, before.
        lines: Lines of the function's file that were executed, relative to the signature's line (0 is the
            signature); empty unless coverage was asked for.
        detail: For people: a signal's name, a compiler's first message.
    """

    outcome: ExecutionOutcome
    value: Json = None
    exception: Mapping[str, Json] | None = None
    calls: tuple[Json, ...] = ()
    receiver: Json = None
    arguments: Mapping[str, Json] = field(default_factory=dict)
    module_globals: Mapping[str, Json] = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, Json] = field(default_factory=dict)
    lines: tuple[int, ...] = ()
    detail: str = ""
