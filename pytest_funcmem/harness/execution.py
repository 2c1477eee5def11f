"""Run a program on input states inside a sandbox and read back what it did.

A program is a whole source file with one function in it: the original's file, or the same file with a
candidate in the original's place. Everything that comes back from a sandbox is hostile data: it is bounded,
checked by hand and never trusted further than a record's own fields. This module does not know how input
states are found, nor what is expected of them; expected outputs never pass through it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_funcmem.core.protocols import Limits, Sandbox
from pytest_funcmem.core.records import InputState, Language, Scaffold, SourceFunction
from pytest_funcmem.harness.compiled.toolkit import toolkit_for
from pytest_funcmem.harness.execution_records import (
    Execution,
    Question,
    SkippedStatement,
)
from pytest_funcmem.harness.python_runs import Run, run_together

__all__ = [
    "PROGRAMS",
    "Execution",
    "Program",
    "Question",
    "SkippedStatement",
    "execute",
    "original_program",
    "spliced_program",
]

PROGRAMS: Mapping[str, Path] = MappingProxyType({"python": Path(__file__).parent / "runner" / "python"})
"""Programs that a sandbox must be made with, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A source file with the function to call.

    Attributes:
        text: The whole file.
        qualname: ``Type.method`` or ``function``.
        line: Line of the function's signature in ``text``, counted from 1.
        language: Language of the file.
        prelude: Source executed in the module's namespace before the file.
        mocks: What may be made up where it is not there, as in ``Scaffold``.
        code: The function alone, from its signature to its end, as it stands in ``text``.
        files: What is compiled around it, as in ``Scaffold``.
    """

    text: str
    qualname: str
    line: int
    language: Language
    prelude: str = ""
    mocks: tuple[str, ...] = ()
    code: str = ""
    files: tuple[tuple[str, str], ...] = ()


def original_program(function: SourceFunction, scaffold: Scaffold) -> Program:
    """The original in its own file."""
    return Program(
        text=function.text,
        qualname=function.qualname,
        line=function.line,
        language=function.language,
        prelude=scaffold.prelude,
        mocks=scaffold.mocks,
        code=function.text[function.signature_start : function.end],
        files=scaffold.files,
    )


def spliced_program(function: SourceFunction, scaffold: Scaffold, code: str) -> Program:
    """The original's file with other code from its signature to its end; decorators stay.

    Args:
        function: The original.
        scaffold: The same as for the original.
        code: Signature and body, indented as the original is (its first line without the indentation that
            stands before the original's signature).
    """
    return Program(
        text=function.text[: function.signature_start] + code + function.text[function.end :],
        qualname=function.qualname,
        line=function.line,
        language=function.language,
        prelude=scaffold.prelude,
        mocks=scaffold.mocks,
        code=code,
        files=scaffold.files,
    )


def execute(
    sandbox: Sandbox,
    program: Program,
    states: Sequence[InputState],
    *,
    coverage: bool,
    state_timeout_s: float,
    limits: Limits | None = None,
) -> Execution:
    """Run a program on input states, each in a fresh process that has just loaded the file.

    Args:
        sandbox: An open sandbox that was made with ``PROGRAMS``.
        program: What to run.
        states: Input states, in order.
        coverage: Whether to record the executed lines of the function.
        state_timeout_s: Seconds for one state: of the processor for compiled languages, else on the clock.
        limits: Limits of the whole task; by default wide enough for every state to run out of its time.
            Compiled languages set their own.

    Raises:
        UsageError: There is no toolkit for the language.
        SandboxError: The sandbox failed; nothing is known about the program.
    """
    if program.language != "python":
        toolkit = toolkit_for(program.language)
        return toolkit.execute(
            sandbox, [program], [states], coverage=coverage, state_timeout_s=state_timeout_s
        )[0]
    run = Run(program=program, states=states, coverage=coverage, state_timeout_s=state_timeout_s)
    return run_together(sandbox, [run], limits=limits)[0]
