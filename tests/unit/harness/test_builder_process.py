"""A builder in a process of its own: same harness, contained crashes, errors that get through."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import SandboxResult, SandboxTask
from pytest_funcmem.core.records import Harness, Inconclusive, SourceFunction
from pytest_funcmem.core.registry import load
from pytest_funcmem.harness.builder_process import ProcessBuilder
from pytest_funcmem.harness.execution import PROGRAMS
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox

TEXT = '''def toll(axles: int) -> float:
    """Toll of a vehicle."""
    if axles > 4:
        return 12.5
    if axles > 2:
        return 7.0
    return 3.0
'''


@pytest.fixture
def toll() -> SourceFunction:
    return load("language", "python")().scan(TEXT, path="toll.py").functions[0]


@pytest.fixture
def builder() -> Iterator[ProcessBuilder]:
    made = ProcessBuilder("local/python", Settings())
    yield made
    made.close()


class Interrupted:
    """A sandbox that does something when it is asked to run a task."""

    name = "namespace"
    workers = 1

    def __init__(self, deed) -> None:
        self.deed = deed

    def run(self, task: SandboxTask) -> SandboxResult:
        return self.deed(task)


def pids(builder: ProcessBuilder) -> list[int]:
    return [child._process.pid for child in builder._children]


def test_same_harness_as_in_this_process(toll: SourceFunction, builder: ProcessBuilder) -> None:
    with NamespaceSandbox(programs=PROGRAMS, workers=1) as sandbox:
        far = builder.build(toll, sandbox, seed=0)
        near = load("builder", "local/python").from_settings(Settings()).build(toll, sandbox, seed=0)
    assert isinstance(far, Harness)
    assert far == near
    assert len(pids(builder)) == 1


def test_a_child_that_dies_is_an_inconclusive_function(toll: SourceFunction, builder: ProcessBuilder) -> None:
    def kill(task: SandboxTask) -> SandboxResult:
        os.kill(pids(builder)[0], signal.SIGSEGV)
        return SandboxResult(
            outcome="ended", records=(), stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
        )

    found = builder.build(toll, Interrupted(kill), seed=0)
    assert isinstance(found, Inconclusive)
    assert found.reason == "load_failed"
    assert "SIGSEGV" in found.detail
    assert pids(builder) == []


def test_sandbox_errors_get_through(toll: SourceFunction, builder: ProcessBuilder) -> None:
    def fail(task: SandboxTask) -> SandboxResult:
        raise SandboxError("The engine is gone.", where="here")

    with pytest.raises(SandboxError, match="engine is gone"):
        builder.build(toll, Interrupted(fail), seed=0)


def test_closing_ends_the_children(toll: SourceFunction, builder: ProcessBuilder) -> None:
    def close(task: SandboxTask) -> SandboxResult:
        builder.close()
        return SandboxResult(
            outcome="ended", records=(), stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
        )

    with pytest.raises(SandboxError):
        builder.build(toll, Interrupted(close), seed=0)
    assert pids(builder) == []
