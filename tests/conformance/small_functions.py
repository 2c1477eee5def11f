"""Fixtures of several unit suites: a sandbox that is opened once, and functions read from small texts."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator

import pytest

from pytest_funcmem.core.errors import SandboxUnavailableError
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.execution import PROGRAMS
from pytest_funcmem.languages.python import PythonFrontend
from pytest_funcmem.sandbox.choice import open_sandbox

__all__ = ["ReadFunction", "read_function", "sandbox"]

ReadFunction = Callable[..., SourceFunction]


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    try:
        opened = open_sandbox("namespace", programs=PROGRAMS, workers=1)
    except SandboxUnavailableError as exc:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(exc))
    with opened:
        yield opened


@pytest.fixture
def read_function() -> ReadFunction:
    def read(text: str, qualname: str | None = None) -> SourceFunction:
        scan = PythonFrontend().scan(textwrap.dedent(text), path="module.py")
        found = [item for item in scan.functions if qualname in (None, item.qualname)]
        assert found, f"no function {qualname} in the text"
        return found[-1]

    return read
