"""The ``agent`` builder: opens a workshop for a function and lets an agent work in it, within its limits.

The loop runs here, in the process of the audit; hostile source is read in a child process, and all code runs
in the sandbox. A draft that the agent hands in is evaluated in other processes than those it was made in.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox, Store
from pytest_funcmem.core.records import AgentUse, Harness, Inconclusive, InputState, SourceFunction
from pytest_funcmem.harness.agent.drafts import (
    STATES_FILE,
    Draft,
    original_file,
    starting_states,
    surroundings_file,
)
from pytest_funcmem.harness.agent.evaluation import AGENT_LABEL, Evaluation
from pytest_funcmem.harness.agent.limits import (
    FUNCTION_LIMITS,
    RUN_LIMITS,
    Allowance,
    RunAllowance,
    parse_limits,
)
from pytest_funcmem.harness.agent.loop import converse
from pytest_funcmem.harness.agent.prompts import first_message, system_prompt
from pytest_funcmem.harness.agent.tools import Toolbox
from pytest_funcmem.harness.agent.workshop import WORKSHOP_PROGRAM, Workshop
from pytest_funcmem.harness.builder_process import ProcessBuilder
from pytest_funcmem.harness.validate import HarnessConditions
from pytest_funcmem.models.dialogue.opening import check_spec, open_dialogue
from pytest_funcmem.models.dialogue.records import DialogueModel
from pytest_funcmem.models.prices import listed_price, read_prices

__all__ = ["AGENT_PROGRAMS", "AgentBuilder", "HiredAgent"]

_LOGGER = logging.getLogger(__name__)

AGENT_PROGRAMS = MappingProxyType({WORKSHOP_PROGRAM: Path(__file__).parent.parent / "runner" / "workshop.py"})
"""What a sandbox has to be made with beside the programs of its language."""


class AgentBuilder:
    """Makes harnesses with a language model. May be used from several threads, one function in each.

    Args:
        settings: Of the audit.
        store: Keeps turns and the run's account; None to keep nothing.
        model: Speaks for the agents in place of what the settings name.

    Raises:
        UsageError: A limit cannot be read, or there is a limit of money and no price.
        ModelSpecError: The settings name nothing that could be an agent's model.
    """

    name, version = AGENT_LABEL.split("/")
    programs = AGENT_PROGRAMS

    def __init__(
        self, settings: Settings, *, store: Store | None = None, model: DialogueModel | None = None
    ) -> None:
        self._settings = settings
        self._conditions = HarnessConditions.from_settings(settings)
        self._spec = settings.agent or ""
        if model is None:  # before anything is begun, and not once a function
            check_spec(self._spec)
        self._limits = parse_limits(
            settings.agent_limit, where="--funcmem-agent-limit", usual=FUNCTION_LIMITS
        )
        run_limits = parse_limits(
            settings.agent_run_limit, where="--funcmem-agent-run-limit", usual=RUN_LIMITS
        )
        prices = read_prices(Path(settings.prices)) if settings.prices is not None else {}
        self._price = listed_price(self._spec, prices) if model is None else model.price
        self.allowance = RunAllowance(
            run_limits,
            price=self._price,
            limits_of_function=self._limits,
            store=store,
            key=_run_key(settings),
        )
        self._store = store
        self._model = model
        self._lock = threading.Lock()
        self._drafts = ProcessBuilder("draft", settings)
        self._closed = threading.Event()

    def build(
        self,
        function: SourceFunction,
        sandbox: Sandbox,
        *,
        seed: int,
        problem: Inconclusive | None = None,
        used: Callable[[AgentUse], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Harness | Inconclusive:
        """Have an agent build a harness; see ``Builder.build``.

        The same conversation gives the same harness; a model need not give the same conversation.

        Args:
            function: The original.
            sandbox: Open, made with ``AGENT_PROGRAMS`` too.
            seed: Seed of searches for input states.
            problem: Why the local builder made none, where it was asked.
            used: Told what the agent used, whatever comes of it.
            cancelled: Asked now and then whether the run has been stopped.

        Raises:
            EngineError: The agent's model failed, or the run was stopped.
            ModelSpecError: The model's address, name or key is wrong.
            SandboxError: The sandbox failed; nothing is known about the function.
        """
        began = time.monotonic()
        allowance = Allowance(self._limits, self.allowance)
        states: tuple[InputState, ...] = () if problem is None else problem.states
        surroundings = "" if function.language == "python" else function.text
        files = {
            original_file(function.language): function.text,
            surroundings_file(function.language): surroundings,
            STATES_FILE: starting_states(function.language, states),
        }
        toolbox = Toolbox(
            Workshop(sandbox, function.language, files),
            function.language,
            partial(self._evaluate, function, sandbox, seed),
        )
        try:
            return converse(
                self._opened(),
                system_prompt(function.language, self._conditions),
                first_message(function, problem=problem, states=states),
                toolbox,
                allowance,
                store=self._store,
                cancelled=lambda: self._closed.is_set() or cancelled(),
            )
        finally:
            allowance.close()
            if allowance.turns:  # else none was started
                used(
                    AgentUse(
                        model=self._spec,
                        turns=allowance.turns,
                        input_tokens=allowance.usage.input,
                        output_tokens=allowance.usage.output,
                        cache_read_tokens=allowance.usage.cache_read,
                        cache_write_tokens=allowance.usage.cache_write,
                        cost_usd=None if self._price is None else allowance.cost,
                        seconds=time.monotonic() - began,
                    )
                )

    def hired(self, problem: Inconclusive | None, *, cancelled: Callable[[], bool]) -> HiredAgent:
        """The builder of one function, which remembers what its agent used.

        Args:
            problem: Why the local builder made no harness, where it was asked.
            cancelled: Asked whether the run has been stopped.
        """
        return HiredAgent(self, self._spec, problem, cancelled)

    def finish(self) -> None:
        """The run came to its end, so that the next one begins a new account."""
        self.allowance.close()

    def close(self) -> None:
        """Stop what is under way. May be called twice."""
        self._closed.set()
        self._drafts.close()
        with self._lock:
            if self._model is not None:
                self._model.close()

    def _opened(self) -> DialogueModel:
        with self._lock:
            if self._model is None:  # a run whose harnesses are all there needs no key
                self._model = open_dialogue(self._spec, timeout_s=self._settings.server_timeout)
            return self._model

    def _evaluate(self, function: SourceFunction, sandbox: Sandbox, seed: int, draft: Draft) -> Evaluation:
        found = self._drafts.call(function, sandbox, seed=seed, draft=draft)
        if isinstance(found, Inconclusive):  # the child died of it
            return Evaluation(result=found, report=f"NOT VALID YET ({found.reason}): {found.detail}")
        evaluation: Evaluation = found
        return evaluation


class HiredAgent:
    """An agent at work on one function; see ``Builder``.

    Attributes:
        use: What it used; None where it was not needed.
    """

    name = AgentBuilder.name

    def __init__(
        self,
        agents: AgentBuilder,
        spec: str,
        problem: Inconclusive | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self.version = f"{AgentBuilder.version} {spec}"
        self.use: AgentUse | None = None
        self._agents = agents
        self._problem = problem
        self._cancelled = cancelled

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int) -> Harness | Inconclusive:
        """Have the agent build; see ``AgentBuilder.build``."""

        def used(use: AgentUse) -> None:
            self.use = use

        return self._agents.build(
            function, sandbox, seed=seed, problem=self._problem, used=used, cancelled=self._cancelled
        )


def _run_key(settings: Settings) -> str:
    """Names a run, so that one that was killed goes on with its account."""
    return digest(
        [
            settings.agent,
            settings.agent_limit,
            settings.agent_run_limit,
            settings.builder,
            list(settings.model),
            settings.reference,
            list(settings.source),
            settings.seed,
        ]
    )
