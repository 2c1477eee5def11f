"""A sandbox that is opened once, functions out of small texts, and a model that says what it is told."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

import pytest

from pytest_funcmem.core.errors import SandboxUnavailableError
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.execution import PROGRAMS
from pytest_funcmem.languages.python import PythonFrontend
from pytest_funcmem.models.dialogue.records import (
    Message,
    ModelMessage,
    Stop,
    Tool,
    Turn,
    Usage,
    UserMessage,
)
from pytest_funcmem.models.prices import Price
from pytest_funcmem.sandbox.choice import open_sandbox

ReadFunction = Callable[..., SourceFunction]


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    try:
        opened = open_sandbox("namespace", programs=PROGRAMS, workers=1)
    except SandboxUnavailableError as exc:
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


class ScriptedModel:
    """Answers with what it is given, in order, and remembers what it was asked."""

    identity = "scripted"

    def __init__(
        self, *answers: str | tuple[str, Stop], price: Price | None = None, written: int = 100
    ) -> None:
        self.answers = list(answers)
        self.price = price
        self.written = written
        self.asked: list[tuple[str, str]] = []

    def turn(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        may_repeat: Callable[[], bool] = lambda: True,
    ) -> Turn:
        """The next answer."""
        assert len(messages) == 1
        assert isinstance(messages[0], UserMessage)
        self.asked.append((system, messages[0].text))
        answer = self.answers.pop(0)
        text, stop = answer if isinstance(answer, tuple) else (answer, "ended")
        return Turn(message=ModelMessage(text=text), stop=stop, usage=Usage(input=1000, output=self.written))

    def close(self) -> None:
        """There is nothing to free."""


@pytest.fixture
def scripted() -> type[ScriptedModel]:
    return ScriptedModel
