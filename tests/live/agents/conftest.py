"""What the tests of agents share: a played model, a sandbox, and a builder that joins them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from played_models import PlayedAnthropic, PlayedOpenAi, PlayedServer, Script

from pytest_funcmem.audit.world import programs_of
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox, Store
from pytest_funcmem.core.records import Language
from pytest_funcmem.harness.agent.builder import AGENT_PROGRAMS, AgentBuilder
from pytest_funcmem.sandbox.choice import open_sandbox

MODEL = "claude-sonnet-5"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox for Python and for an agent's commands."""
    opened = open_sandbox(
        "namespace", programs={**programs_of("python"), **AGENT_PROGRAMS}, workers=2, progress=lambda _: None
    )
    with opened:
        yield opened


@pytest.fixture(scope="module")
def docker_sandbox() -> Iterator[Callable[[Language], Sandbox]]:
    """A Docker sandbox of a language."""
    with ExitStack() as stack:

        def of(language: Language) -> Sandbox:
            programs = {**programs_of(language), **AGENT_PROGRAMS}
            return stack.enter_context(
                open_sandbox(
                    "docker", language=language, programs=programs, workers=1, progress=lambda _: None
                )
            )

        yield of


@pytest.fixture
def hire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[AgentBuilder, PlayedServer]]]:
    """Makes a builder whose agent's model is played by a script, over real HTTP and the real client."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with ExitStack() as stack:

        def start(
            script: Script, *, api: str = "anthropic", store: Store | None = None, **settings: Any
        ) -> tuple[AgentBuilder, PlayedServer]:
            if api == "anthropic":
                server: PlayedServer = stack.enter_context(PlayedAnthropic(script))
                monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
                spec = f"anthropic:{MODEL}"
            else:
                server = stack.enter_context(PlayedOpenAi(script))
                spec = f"openai:{server.url}#played"
            builder = AgentBuilder(Settings(builder="agent", agent=spec, **settings), store=store)
            stack.callback(builder.close)
            return builder, server

        yield start
