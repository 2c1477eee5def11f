"""A Rust sandbox, and functions to try in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, SourceFunction
from pytest_funcmem.harness.compiled.rust.toolkit import RustToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.languages.rust import RustFrontend

Find = Callable[[str, str], SourceFunction]


def find(text: str, qualname: str) -> SourceFunction:
    """A function of a text by its name."""
    scan = RustFrontend().scan(text, path="src/lib.rs")
    return next(function for function in scan.functions if function.qualname == qualname)


@pytest.fixture(scope="session")
def rust_sandbox(docker_engine: None) -> Iterator[Sandbox]:
    """One warm worker of the Rust image."""
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

    with DockerSandbox(programs=RustToolkit.programs, language="rust", workers=1) as sandbox:
        yield sandbox


class Workbench:
    """Prepares functions and runs code in their place."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.toolkit = RustToolkit()

    def prepare(self, function: SourceFunction) -> Prepared:
        """Write a scaffold that has to work."""
        prepared = self.toolkit.prepare(function, self.sandbox, check_time=lambda: None)
        assert isinstance(prepared, Prepared), prepared
        return prepared

    def run(
        self,
        text: str,
        qualname: str,
        *codes: str,
        states: Sequence[InputState] = (),
        count: int = 12,
        timeout_s: float = 2.0,
    ) -> tuple[Execution, ...]:
        """Run the original and codes in its place on states made of seeds."""
        function = find(text, qualname)
        prepared = self.prepare(function)
        chosen = tuple(states) or tuple(InputState(seed=seed) for seed in range(count))
        programs = [original_program(function, prepared.scaffold)]
        programs += [spliced_program(function, prepared.scaffold, code) for code in codes]
        return self.toolkit.execute(
            self.sandbox, programs, [chosen] * len(programs), coverage=True, state_timeout_s=timeout_s
        )


@pytest.fixture(scope="session")
def workbench(rust_sandbox: Sandbox) -> Workbench:
    """What the tests of running use."""
    return Workbench(rust_sandbox)
