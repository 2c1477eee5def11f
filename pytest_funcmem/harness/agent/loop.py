"""The loop: the model speaks, its calls are carried out, until it has finished or nothing more may be used.

Every answer of the model is stored under a digest of all that was said before it, and so are the results
of its calls with the files that they left. A run that was killed says again what it has said before, and
gets the rest from there: it goes on from the last finished turn at no cost.
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.records import Harness, Inconclusive, Json
from pytest_funcmem.harness.agent.limits import Allowance, LimitReachedError
from pytest_funcmem.harness.agent.prompts import NUDGE
from pytest_funcmem.harness.agent.tools import TOOLS, Toolbox
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.records import (
    DialogueModel,
    Message,
    ModelMessage,
    Tool,
    ToolResult,
    Turn,
    UserMessage,
)
from pytest_funcmem.models.dialogue.written import message_json, read_results, read_turn, turn_json

__all__ = ["MAX_ANSWER_TOKENS", "converse"]

MAX_ANSWER_TOKENS = 8_000
"""Most tokens of one answer, thoughts included."""

_MOST_IDLE = 3
_TURN_OVERHEAD = 200
_TURN = "agent-turn"
"""Kind of stored turns."""

_RESULTS = "agent-results"
"""Kind of the stored results of a turn's calls, with the files that they left."""


def converse(
    model: DialogueModel,
    system: str,
    first: str,
    toolbox: Toolbox,
    allowance: Allowance,
    *,
    store: Store | None,
    cancelled: Callable[[], bool],
) -> Harness | Inconclusive:
    """Let an agent work.

    Args:
        model: Speaks for the agent.
        system: The instructions.
        first: What is said first.
        toolbox: Carries out its calls.
        allowance: What may be used.
        store: Keeps the turns; None to keep none.
        cancelled: Asked between turns, and while an answer comes in.

    Returns:
        The harness that it handed in, or why there is none.

    Raises:
        EngineError: The model's engine failed, or the run was given up.
        SandboxError: The sandbox failed.
    """
    dialogue = _Dialogue(model, system, allowance, store, cancelled)
    message = UserMessage(text=first)
    idle = 0
    while True:
        try:
            turn = dialogue.say(message)
        except LimitReachedError as reached:
            if allowance.turns == 0:
                return Inconclusive(reason="budget", detail=f"no agent was started: {reached}")
            return Inconclusive(reason="budget", detail=_left(f"the agent was ended: {reached}", toolbox))
        if turn.stop == "refused":
            said = " ".join(turn.message.text.split())[:300] or "nothing"
            return Inconclusive(reason="gave_up", detail=f"the model declined to go on; it said: {said}")
        calls = turn.message.calls
        results = dialogue.results(toolbox)
        if toolbox.finished is not None:
            return toolbox.finished
        if toolbox.gave_up:
            return Inconclusive(reason="gave_up", detail=f"the agent gave up: {toolbox.gave_up}")
        idle = 0 if calls else idle + 1
        if idle == _MOST_IDLE:
            return Inconclusive(
                reason="gave_up", detail=_left(f"the agent called no tool {idle} times in a row", toolbox)
            )
        text = "" if calls else NUDGE
        if turn.stop == "length":
            text = "Your answer was cut off at its greatest length. Write less at a time, in smaller files."
        message = UserMessage(text=text, results=results)


def _left(what: str, toolbox: Toolbox) -> str:
    """What ended the work, and how far it had come."""
    if toolbox.last is None:
        return f"{what}; no draft had been evaluated"
    return f"{what}; the last draft: {toolbox.last.report.splitlines()[0][:300]}"


class _Dialogue:
    """All that was said, and what it costs to say more."""

    def __init__(
        self,
        model: DialogueModel,
        system: str,
        allowance: Allowance,
        store: Store | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self._model = model
        self._system = system
        self._allowance = allowance
        self._store = store
        self._cancelled = cancelled
        self._messages: list[Message] = []
        self._digest = digest([model.identity, system, [_tool_json(tool) for tool in TOOLS]])
        self._read = _tokens(system) + sum(_tokens(tool.description) + 200 for tool in TOOLS)

    def say(self, message: UserMessage) -> Turn:
        """Say something, and have the model answer.

        Raises:
            LimitReachedError: What may be used leaves no room for an answer.
            EngineError: The engine failed, or the run was given up.
        """
        if self._cancelled():
            raise EngineError("The agent was stopped with its run.", where=self._model.identity)
        self._messages.append(message)
        self._digest = digest([self._digest, message_json(message)])
        turn = self._stored()
        if turn is None:
            self._read += _tokens(message.text) + sum(_tokens(item.text) for item in message.results)
            turn = self._asked()
            if self._store is not None:
                self._store.put(_TURN, self._digest, turn_json(turn))
        else:
            # Paid for in an earlier run; it counts for this function, and is in the run's account already.
            self._allowance.count(turn.usage)
        self._messages.append(turn.message)
        self._digest = digest([self._digest, message_json(turn.message)])
        self._read = turn.usage.total + _TURN_OVERHEAD
        return turn

    def results(self, toolbox: Toolbox) -> tuple[ToolResult, ...]:
        """The results of the calls of the last answer, with the files in the workshop as they left them."""
        message = self._messages[-1]
        if not isinstance(message, ModelMessage) or not message.calls:
            return ()
        stored = self._store.get(_RESULTS, self._digest) if self._store is not None else None
        if isinstance(stored, dict):
            found = read_results(stored.get("results"), message)
            if found is not None and toolbox.workshop.take(stored.get("files")):
                return found
        results = tuple(toolbox.call(call) for call in message.calls)
        if self._store is not None and not toolbox.done:
            kept: dict[str, Json] = {
                "results": message_json(UserMessage(results=results))["results"],
                "files": toolbox.workshop.kept(),
            }
            self._store.put(_RESULTS, self._digest, kept)
        return results

    def _asked(self) -> Turn:
        held = self._allowance.hold(tokens=self._read, output=MAX_ANSWER_TOKENS)
        usage, failed = None, 0

        def may_repeat() -> bool:
            nonlocal held
            more = self._allowance.hold_again(held)
            held = held if more is None else more
            return more is not None

        try:
            turn = self._model.turn(
                self._system,
                self._messages,
                TOOLS,
                max_tokens=MAX_ANSWER_TOKENS,
                cancelled=self._out_of_time,
                may_repeat=may_repeat,
            )
            usage, failed = turn.usage, turn.untold
        except FailedTurnError as error:
            usage, failed = error.usage, error.untold
            if error.kind == "cancelled" and not self._cancelled():
                raise LimitReachedError("its time was over while the model answered") from error
            if error.kind == "unaffordable":
                raise LimitReachedError(f"the limit of cost: {error.what}") from error
            if error.kind == "rejected" and len(self._messages) > 1:
                # What the API took before it takes no longer: the dialogue has grown too long for it.
                raise LimitReachedError(f"the API takes no more: {error.what}") from error
            raise
        finally:
            self._allowance.settle(held, usage, failed=failed)
        if not turn.usage_told and self._allowance.limits_money:
            raise EngineError(
                "The server does not tell what an answer cost, so a limit of money cannot be kept.",
                where=self._model.identity,
                remedy="Have the server send usage, or set no limit of cost.",
            )
        return turn

    def _out_of_time(self) -> bool:
        left = self._allowance.seconds_left
        return self._cancelled() or (left is not None and left <= 0)

    def _stored(self) -> Turn | None:
        found = self._store.get(_TURN, self._digest) if self._store is not None else None
        return None if found is None else read_turn(found)


def _tool_json(tool: Tool) -> list[Json]:
    return [tool.name, tool.description, dict(tool.parameters)]


def _tokens(text: str) -> int:
    """Most tokens that a text can be: no tokenizer makes several of one byte."""
    return len(text.encode("utf-8", "replace")) + 1
