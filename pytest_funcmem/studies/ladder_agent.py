"""The agent's level of the ladder: harnesses that an agent builds from nothing, and what each has cost.

An agent is hired for a function as in an audit without the local builder. Its harness is kept under the key
that such an audit uses, and what it used beside it, so that a later run tells the same figures and pays
nothing.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

from pytest_funcmem.audit.keys import harness_key
from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox, Store
from pytest_funcmem.core.records import AgentUse, Harness, Inconclusive, Json, SourceFunction
from pytest_funcmem.harness.ladder.asking import CapReachedError, Cost
from pytest_funcmem.harness.ladder.levels import LevelResult, result_of
from pytest_funcmem.models.dialogue.records import Usage
from pytest_funcmem.store.codec import encode

if TYPE_CHECKING:
    from pytest_funcmem.harness.agent.builder import AgentBuilder

__all__ = ["AgentLevel"]

_KIND = "ladder"
_RUN_LIMIT = "the limit of the run"


class AgentLevel:
    """Measures what an agent makes of functions. May be used from several threads at once.

    Args:
        agent: Hires agents; whoever made it closes it.
        sandbox: Open, made with what agents need.
        world: What of the sandbox can change an output, for keys.
        store: Keeps harnesses and what they cost.
        settings: Those that the agent was made with.
    """

    def __init__(
        self, agent: AgentBuilder, *, sandbox: Sandbox, world: Json, store: Store, settings: Settings
    ) -> None:
        self._agent = agent
        self._sandbox = sandbox
        self._world = world
        self._store = store
        self._settings = settings
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Give up what is under way."""
        self._stopped.set()

    def measure(self, function: SourceFunction) -> LevelResult:
        """What an agent makes of a function, out of the store where it was asked before.

        Raises:
            CapReachedError: What the run may cost leaves no room for this function.
            EngineError: The agent's model failed.
            SandboxError: The sandbox failed.
            StoreError: A result could not be stored.
        """
        hired = self._agent.hired(None, cancelled=self._stopped.is_set)
        key = harness_key(function, f"{hired.name}/{hired.version}", self._settings, world=self._world)
        paid = digest(["agent", key])
        kept: Any = reuse(self._store, "harness", key, Harness | Inconclusive)
        if kept is not None:
            return self._result(kept, reuse(self._store, _KIND, paid, AgentUse))
        built = hired.build(function, self._sandbox, seed=self._settings.seed)
        if isinstance(built, Inconclusive) and built.reason == "budget" and _RUN_LIMIT in built.detail:
            raise CapReachedError
        if hired.use is not None:
            self._store.put(_KIND, paid, dataclasses.asdict(hired.use))
        if not (isinstance(built, Inconclusive) and built.reason == "budget"):
            self._store.put("harness", key, encode(built))
        return self._result(built, hired.use)

    def _result(self, built: Harness | Inconclusive, use: AgentUse | None) -> LevelResult:
        cost = Cost(dollars=None)  # an audit has paid for it, and what is not known here
        if use is not None:
            usage = Usage(
                input=use.input_tokens,
                output=use.output_tokens,
                cache_read=use.cache_read_tokens,
                cache_write=use.cache_write_tokens,
            )
            cost = Cost(usage=usage, dollars=use.cost_usd)
        return dataclasses.replace(result_of(built), cost=cost)
