"""A sandbox that is opened once, functions out of small texts, and a model that says what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from small_functions import ReadFunction, read_function, sandbox

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

__all__ = ["ReadFunction", "ScriptedModel", "read_function", "sandbox", "scripted"]


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
