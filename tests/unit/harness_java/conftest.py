"""Functions, an open sandbox and runs of Java, for all tests beside this file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, SourceFunction
from pytest_funcmem.harness.compiled.java.toolkit import JavaToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.languages import frontend


def function_of(text: str, name: str) -> SourceFunction:
    """The function of a text whose qualified name ends so."""
    return next(
        function
        for function in frontend("java").scan(text, path="src/File.java").functions
        if function.qualname.endswith(name)
    )


@pytest.fixture(scope="session")
def java_sandbox(docker_engine: None) -> Iterator[Sandbox]:
    """A sandbox on the image for Java."""
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

    with DockerSandbox(programs=JavaToolkit.programs, language="java", workers=1) as sandbox:
        yield sandbox


Runner = Callable[..., Execution]


@pytest.fixture
def run_java(java_sandbox: Sandbox) -> Runner:
    """Prepare a function of a text, and run it on so many drawn states."""

    def run(text: str, name: str, states: int = 12, timeout_s: float = 5.0) -> Execution:
        toolkit = JavaToolkit()
        function = function_of(text, name)
        prepared = toolkit.prepare(function, java_sandbox, check_time=lambda: None)
        assert isinstance(prepared, Prepared), prepared
        generator = random.Random(0)
        drawn = [
            InputState(seed=number, choices=tuple(generator.randrange(40) for _ in range(number % 9)))
            for number in range(states)
        ]
        program = original_program(function, prepared.scaffold)
        return toolkit.execute(java_sandbox, [program], [drawn], coverage=True, state_timeout_s=timeout_s)[0]

    return run
