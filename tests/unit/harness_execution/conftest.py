from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, OutputState
from pytest_funcmem.harness.execution import PROGRAMS, Execution, Program, execute
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox


@pytest.fixture(scope="session")
def runner_sandbox() -> Iterator[Sandbox]:
    with NamespaceSandbox(programs=PROGRAMS, workers=1) as sandbox:
        yield sandbox


class RunStates(Protocol):
    def __call__(
        self, text: str, qualname: str, *states: InputState, line: int = 0, **options: Any
    ) -> Execution: ...


@pytest.fixture
def run_states(runner_sandbox: Sandbox) -> RunStates:
    """Run a function of a text on states; its line is looked up by its name unless given."""

    def run(text: str, qualname: str, *states: InputState, line: int = 0, **options: Any) -> Execution:
        text = textwrap.dedent(text)
        *classes, name = qualname.split(".")
        if not line:
            lines = text.split("\n")
            for starts in (*((f"class {kind}",) for kind in classes), (f"def {name}(", f"async def {name}(")):
                line = next(n for n in range(line, len(lines)) if lines[n].strip().startswith(starts))
            line += 1
        program = Program(
            text=text,
            qualname=qualname,
            line=line,
            language="python",
            prelude=options.pop("prelude", ""),
            mocks=options.pop("mocks", ()),
        )
        options.setdefault("coverage", False)
        options.setdefault("state_timeout_s", 5.0)
        return execute(runner_sandbox, program, states, **options)

    return run


class Call(Protocol):
    def __call__(self, text: str, qualname: str, *arguments: str, **fields: Any) -> OutputState: ...


@pytest.fixture
def call(run_states: RunStates) -> Call:
    """Run a function once, with its arguments as expressions."""

    def run(text: str, qualname: str, *arguments: str, **fields: Any) -> OutputState:
        execution = run_states(text, qualname, InputState(arguments=arguments, **fields))
        assert execution.loaded, execution.load_detail
        return execution.outputs[0]

    return run
