"""Tasks go to the sandbox of their language."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import pytest

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import SandboxResult, SandboxTask
from pytest_funcmem.core.records import Json
from pytest_funcmem.sandbox.by_language import SandboxByLanguage


class Recorder:
    name = "docker"

    def __init__(self, image: str, workers: int = 1) -> None:
        self.image = image
        self.workers = workers
        self.tasks: list[SandboxTask] = []
        self.closed = 0

    def identity(self) -> Mapping[str, Json]:
        return {"engine": "docker 1", "image": self.image}

    def run(self, task: SandboxTask) -> SandboxResult:
        self.tasks.append(task)
        return SandboxResult(
            outcome="ended", records=(), stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
        )

    def open(self) -> None: ...

    def close(self) -> None:
        self.closed += 1
        if self.image == "stuck":
            raise SandboxError("it does not stop")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def test_a_task_goes_to_the_sandbox_of_its_language() -> None:
    python, c = Recorder("p"), Recorder("c", workers=3)
    with SandboxByLanguage({"python": python, "c": c}) as sandbox:
        sandbox.run(SandboxTask(program="python"))
        sandbox.run(SandboxTask(program="c", language="c"))
        assert sandbox.workers == 3
        assert sandbox.name == "docker"
    assert [task.program for task in python.tasks] == ["python"]
    assert [task.program for task in c.tasks] == ["c"]
    assert python.closed == c.closed == 1


def test_a_language_without_a_sandbox_is_an_error_and_nothing_is_run_elsewhere() -> None:
    python = Recorder("p")
    with pytest.raises(SandboxError, match="No sandbox was opened for rust"):
        SandboxByLanguage({"python": python}).run(SandboxTask(program="rust", language="rust"))
    assert not python.tasks


def test_the_identity_tells_what_differs_between_languages() -> None:
    sandbox = SandboxByLanguage({"python": Recorder("p"), "go": Recorder("g")})
    assert sandbox.identity() == {
        "engine": "docker 1",
        "image": "p",
        "language": "python",
        "languages": {"go": {"image": "g"}},
    }


def test_all_are_closed_even_where_one_fails_to() -> None:
    stuck, other = Recorder("stuck"), Recorder("p")
    with pytest.raises(SandboxError, match="does not stop"):
        SandboxByLanguage({"python": other, "c": stuck}).close()
    assert other.closed == 1
    with pytest.raises(ValueError, match="no sandbox"):
        SandboxByLanguage({})
