"""What the suites of models that are talked to share: a model, and the server that plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from played_models import (
    PlayedAnthropic,
    PlayedOpenAi,
    PlayedServer,
    Script,
)

from pytest_funcmem.models.dialogue.opening import open_dialogue
from pytest_funcmem.models.dialogue.records import (
    DialogueModel,
    Message,
    Tool,
    ToolResult,
    Turn,
    UserMessage,
)
from pytest_funcmem.models.http_answers import RetryPolicy

__all__ = ["KEY", "QUICK", "READ", "RUN", "Play", "answers", "ask", "play", "streamed"]

Play = Callable[..., tuple[DialogueModel, PlayedServer]]

RUN = Tool(
    name="run",
    description="Run a command.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
)
READ = Tool(name="read", description="Read a file.", parameters={"type": "object", "properties": {}})
KEY = "sk-very-secret"
QUICK = RetryPolicy(attempts=3, first_wait_s=0.01, longest_wait_s=0.3)


@pytest.fixture(params=("anthropic", "openai", "openai-whole"))
def play(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as stack:

        def start(script: Script, *, timeout_s: float = 10.0) -> tuple[DialogueModel, PlayedServer]:
            server: PlayedServer
            if request.param == "anthropic":
                server = stack.enter_context(PlayedAnthropic(script))
                monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
                spec = "anthropic:claude-sonnet-5"
            else:
                server = stack.enter_context(PlayedOpenAi(script, streams=request.param == "openai"))
                spec = f"openai:{server.url}#qwen"
            model = open_dialogue(spec, timeout_s=timeout_s, retry=QUICK)
            stack.callback(model.close)
            return model, server

        yield start


streamed = pytest.mark.parametrize("play", ["anthropic", "openai"], indirect=True)
"""For faults that do not depend on whether an answer comes in one piece."""


def ask(model: DialogueModel, *messages: Message, **settings: Any) -> Turn:
    settings = {"max_tokens": 500, **settings}
    return model.turn("You build harnesses.", messages or (UserMessage(text="Go."),), [RUN, READ], **settings)


def answers(turn: Turn, text: str = "done") -> UserMessage:
    results = tuple(
        ToolResult(call=call.id, text=call.malformed or text, is_error=bool(call.malformed))
        for call in turn.message.calls
    )
    return UserMessage(results=results)
