"""The toolkit of Java: scaffolds come from the harness in the image, edits of a function from its syntax."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_funcmem.core.protocols import SandboxResult
from pytest_funcmem.core.records import (
    Inconclusive,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled.java import edits, tasks
from pytest_funcmem.harness.compiled.java.wire import BuiltProgram
from pytest_funcmem.harness.compiled.mutants import tree_mutants
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn
from pytest_funcmem.harness.execution_records import Execution, read_execution

if TYPE_CHECKING:
    from pytest_funcmem.core.protocols import Sandbox
    from pytest_funcmem.harness.execution import Program

__all__ = ["JavaToolkit"]


class JavaToolkit:
    """Prepares and runs Java methods and constructors."""

    language: Language = "java"
    version = "7"
    programs: Mapping[str, Path] = tasks.PROGRAMS

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """Write a scaffold: the workshop compiles, makes up and compiles again."""
        check_time()
        return tasks.read_prepared(sandbox.run(tasks.prepare_task(function)))

    def execute(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        states: Sequence[Sequence[InputState]],
        *,
        coverage: bool,
        state_timeout_s: float,
    ) -> tuple[Execution, ...]:
        """Compile in the workshop and run in one virtual machine, each state with classes loaded afresh."""
        built: list[BuiltProgram] = []
        while len(built) < len(programs):
            left = programs[len(built) :]
            built += tasks.read_builds(sandbox.run(tasks.build_task(left)), len(left))
        loads = tuple(_load_record(number, program) for number, program in enumerate(built))
        runnable = {
            number: program
            for number, program in enumerate(built)
            if not program.problem and len(states[number])
        }
        result = SandboxResult(
            outcome="ended", records=loads, stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
        )
        if runnable:
            ran = sandbox.run(
                tasks.run_task(
                    programs[0].files, runnable, states, coverage=coverage, state_timeout_s=state_timeout_s
                )
            )
            # What the compiler says comes first, so that nothing that ran can say it in its place.
            result = replace(ran, records=loads + ran.records)
        return tuple(read_execution(result, len(some), program=place) for place, some in enumerate(states))

    def renamed(self, function: SourceFunction) -> str | None:
        """Parameters and local variables renamed: no caller can tell."""
        return edits.renamed_code(function)

    def stand_ins(
        self, function: SourceFunction, scaffold: Scaffold, expected: Sequence[OutputState]
    ) -> tuple[StandIn, ...]:
        """Stubs of the function."""
        return edits.stand_ins(function, expected)

    def mutants(self, function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
        """Small mutants of the function."""
        return tree_mutants(function, limit=limit)


def _load_record(number: int, program: BuiltProgram) -> bytes:
    header = {
        "kind": "load",
        "program": number,
        "loaded": not program.problem,
        "detail": program.problem,
        "executable_lines": list(program.executable_lines),
    }
    return json.dumps(header).encode("ascii") + b"\n"
