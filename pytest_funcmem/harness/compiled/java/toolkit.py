"""The toolkit of Java: scaffolds come from the harness in the image, edits of a function from its syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_funcmem.core.records import (
    Inconclusive,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled.java import edits, tasks
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
    version = "1"
    programs: Mapping[str, Path] = tasks.PROGRAMS

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """Write a scaffold: one task in which a virtual machine compiles, makes up and compiles again."""
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
        """Run programs in one virtual machine, each state with classes loaded afresh."""
        result = sandbox.run(
            tasks.run_task(programs, states, coverage=coverage, state_timeout_s=state_timeout_s)
        )
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
