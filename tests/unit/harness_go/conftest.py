"""A Go sandbox that the tests of this room share, and functions to run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Inconclusive, InputState, SourceFunction
from pytest_funcmem.harness.compiled.go.toolkit import GoToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.languages.go import GoFrontend


def find(text: str, qualname: str) -> SourceFunction:
    """A function of a Go file."""
    functions = GoFrontend().scan(text, path="file.go").functions
    return next(function for function in functions if function.qualname == qualname)


@dataclass(frozen=True)
class Case:
    """A function with its scaffold, ready to run."""

    function: SourceFunction
    prepared: Prepared
    sandbox: Sandbox

    def run(self, states: Sequence[InputState], *codes: str, coverage: bool = False) -> tuple[Execution, ...]:
        """Run the original, or code in its place, on states."""
        scaffold = self.prepared.scaffold
        programs = [spliced_program(self.function, scaffold, code) for code in codes]
        return GoToolkit().execute(
            self.sandbox,
            programs or [original_program(self.function, scaffold)],
            [states] * max(1, len(programs)),
            coverage=coverage,
            state_timeout_s=2.0,
        )


@pytest.fixture(scope="session")
def go_sandbox() -> Iterator[Sandbox]:
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

    with DockerSandbox(programs=GoToolkit().programs, language="go") as sandbox:
        yield sandbox


@pytest.fixture
def prepare(go_sandbox: Sandbox) -> Callable[[str, str], Case]:
    def prepared(text: str, qualname: str) -> Case:
        function = find(text, qualname)
        found = GoToolkit().prepare(function, go_sandbox, check_time=lambda: None)
        assert not isinstance(found, Inconclusive), found.detail
        return Case(function, found, go_sandbox)

    return prepared


@pytest.fixture
def go_function() -> Callable[[str, str], SourceFunction]:
    return find


@pytest.fixture
def some_states() -> Callable[[int], list[InputState]]:
    """States whose choices are spread over what choices can be."""

    def states(count: int) -> list[InputState]:
        return [
            InputState(seed=n, choices=tuple((n * 7919 + place * 104_729) % 4096 for place in range(24)))
            for n in range(count)
        ]

    return states
