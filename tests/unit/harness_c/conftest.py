"""A C sandbox that the tests of this room share, and functions to run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Inconclusive, InputState
from pytest_funcmem.harness.compiled.c.toolkit import CToolkit
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.languages.c import CFrontend
from pytest_funcmem.sandbox.choice import open_sandbox

Ran = Callable[..., Execution]


@pytest.fixture(scope="session")
def sandbox(docker_engine: None) -> Iterator[Sandbox]:
    """One worker on the image for C."""
    with open_sandbox("docker", programs=CToolkit.programs, workers=1, language="c") as opened:
        yield opened


@pytest.fixture
def ran(sandbox: Sandbox) -> Ran:
    """Prepare a function of a text, and run it on states made of so many seeds."""

    def run(text: str, name: str, count: int = 60) -> Execution:
        toolkit = CToolkit()
        function = next(
            item for item in CFrontend().scan(text, path="a.c").functions if item.qualname == name
        )
        made = toolkit.prepare(function, sandbox, check_time=lambda: None)
        assert not isinstance(made, Inconclusive), made
        return toolkit.execute(
            sandbox,
            [original_program(function, made.scaffold)],
            [[InputState(seed=seed) for seed in range(count)]],
            coverage=True,
            state_timeout_s=1.0,
        )[0]

    return run
