"""Dialogues over Anthropic's Messages API, through its own client.

Knows the API and nothing of what is talked about. Answers stream in, so that silence is told from work.
Everything up to the last two messages of the user is marked for the prompt cache: a turn reads from it all
that the turns before it have sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anthropic

from pytest_funcmem.models.anthropic_errors import AnthropicWords, open_client, unwarned
from pytest_funcmem.models.dialogue.anthropic_stream import AnswerReader
from pytest_funcmem.models.dialogue.background import Background
from pytest_funcmem.models.dialogue.events import server_events, whole_body
from pytest_funcmem.models.dialogue.exchange import (
    MalformedAnswerError,
    Meter,
    RejectedError,
    attempted,
    check_dialogue,
    failed,
)
from pytest_funcmem.models.dialogue.hostile import CallIds, known_name, sendable
from pytest_funcmem.models.dialogue.records import (
    Message,
    ModelMessage,
    Stop,
    Tool,
    ToolCall,
    Turn,
    UserMessage,
)
from pytest_funcmem.models.http_answers import PassingError, RetryPolicy, may_pass, retry_after
from pytest_funcmem.models.prices import Price, price_of

__all__ = ["AnthropicDialogue"]

_RAW = "anthropic"
_CACHED = {"cache_control": {"type": "ephemeral"}}
_MOST_PAUSES = 8
_STOPS: dict[str, Stop] = {
    "end_turn": "ended",
    "stop_sequence": "ended",
    "tool_use": "tools",
    "max_tokens": "length",
    "refusal": "refused",
}


class AnthropicDialogue:
    """See ``records.DialogueModel``.

    Args:
        model: Name of the model.
        timeout_s: Seconds of silence after which a request has failed.
        retry: How failures that may pass are repeated.

    Raises:
        ModelSpecError: The key in the environment cannot be used.
    """

    def __init__(self, *, model: str, timeout_s: float, retry: RetryPolicy) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._retry = retry
        self._words = AnthropicWords(self.identity)
        self._client = open_client(anthropic.AsyncAnthropic, self._words, timeout_s=timeout_s, retries=0)
        self._background = Background()

    @property
    def identity(self) -> str:
        """The model's name. A name without a date may come to stand for other weights."""
        return f"anthropic:{self._model}"

    @property
    def price(self) -> Price | None:
        """The listed price, if there is one."""
        return price_of(self._model)

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
        """Have the model answer; see ``DialogueModel.turn``."""
        check_dialogue(messages)
        request = self._request(system, messages, tools, max_tokens)
        ids, meter = CallIds(messages), Meter()
        blocks: list[Any] = []
        calls: tuple[ToolCall, ...] = ()
        told = True
        for _ in range(_MOST_PAUSES):
            answer = attempted(
                partial(self._ask, request, meter),
                background=self._background,
                policy=self._retry,
                meter=meter,
                where=self.identity,
                cancelled=cancelled,
                may_repeat=may_repeat,
            )
            more, asked = answer.blocks(ids)
            blocks, calls = blocks + more, calls + asked
            told = told and answer.usage_told
            if answer.stop_reason != "pause_turn":
                return self._turn(answer, blocks, calls, meter, usage_told=told)
            # Not done, only paused: the API goes on when it is given what it said.
            said = {"role": "assistant", "content": _sent_back(blocks)}
            request = {**request, "messages": [*self._messages(messages), said]}
        raise failed("malformed", f"The model paused {_MOST_PAUSES} times in one turn.", meter, self.identity)

    def close(self) -> None:
        """Close the connections. May be called twice."""
        self._background.close(self._client.close)

    # ------------------------------------------------------------------------------------------ requests

    def _request(
        self, system: str, messages: Sequence[Message], tools: Sequence[Tool], max_tokens: int
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": max_tokens,
            "messages": self._messages(messages),
        }
        if tools:
            request["tools"] = [
                {
                    "name": tool.name,
                    "description": sendable(tool.description),
                    "input_schema": dict(tool.parameters),
                }
                for tool in tools
            ]
        if system.strip():  # tools stand before it in the cache
            request["system"] = [{"type": "text", "text": sendable(system), **_CACHED}]
        elif tools:
            request["tools"][-1].update(_CACHED)
        return request

    def _messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        for message in messages:
            if isinstance(message, UserMessage):
                written.append({"role": "user", "content": _user_blocks(message)})
            elif blocks := _model_blocks(message):  # the API takes no message that says nothing
                written.append({"role": "assistant", "content": blocks})
        # The API looks for what was cached only a number of blocks back: with the mark of the turn before,
        # it is found however many results this turn brings.
        for said in [item for item in written if item["role"] == "user"][-2:]:
            said["content"][-1].update(_CACHED)
        return written

    # ------------------------------------------------------------------------------------------- answers

    async def _ask(self, request: dict[str, Any], meter: Meter) -> AnswerReader:
        meter.begin()
        try:
            with self._words.translated():
                return await self._read(request, meter)
        except anthropic.BadRequestError as exc:
            meter.unbilled()
            raise RejectedError(self._words.shown(str(exc.message))) from exc

    async def _read(self, request: dict[str, Any], meter: Meter) -> AnswerReader:
        reader = AnswerReader(meter=meter, shown=self._words.shown, where=self.identity)
        try:
            create = self._client.messages.with_streaming_response.create
            async with create(**unwarned(request), stream=True) as response:
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind != "text/event-stream":
                    text = await whole_body(response.iter_bytes())
                    raise MalformedAnswerError(
                        f"The API answers with {self._words.shown(kind)} in place of a stream of events:"
                        f" {self._words.shown(text)}"
                    )
                async for event in server_events(response.iter_bytes()):
                    reader.see(event)
        except anthropic.APIStatusError as exc:
            meter.unbilled()
            said = f"status {exc.status_code}: {self._words.shown(str(exc.message))}"
            if may_pass(exc.status_code):
                raise PassingError(said, wait_s=retry_after(exc.response.headers)) from exc
            if exc.status_code in (413, 422):
                raise RejectedError(said) from exc
            raise
        except anthropic.APIConnectionError as exc:
            raise self._broken(exc.__cause__ or exc, meter) from exc
        except Exception as exc:
            # While a body is read, the client's HTTP library speaks for itself; which one it is depends on
            # the client's version.
            if not type(exc).__module__.startswith("httpx"):
                raise
            raise self._broken(exc, meter) from exc
        if reader.stop_reason is None:
            raise PassingError("its stream broke off")
        meter.end()
        return reader

    def _broken(self, exc: BaseException, meter: Meter) -> PassingError:
        names = {kind.__name__ for kind in type(exc).__mro__}
        if names & {"ConnectError", "ConnectTimeout"}:
            meter.unbilled()
            return PassingError("no connection to the API")
        if "TimeoutException" in names:
            return PassingError(f"it was silent for {self._timeout_s:g} s")
        return PassingError(f"the connection broke ({type(exc).__name__})")

    def _turn(
        self,
        answer: AnswerReader,
        blocks: list[Any],
        calls: tuple[ToolCall, ...],
        meter: Meter,
        *,
        usage_told: bool,
    ) -> Turn:
        usage, untold = meter.totals()
        reason = str(answer.stop_reason)
        stop = _STOPS.get(reason)
        text = "".join(block["text"] for block in blocks if block["type"] == "text" and "text" in block)
        if reason == "model_context_window_exceeded":
            raise failed("rejected", "The dialogue is too long for the model.", meter, self.identity)
        if stop is None:
            what = f"The model stopped for a reason that is not known here: {self._words.shown(reason)}."
            raise failed("malformed", what, meter, self.identity)
        if stop == "tools" and not calls:
            raise failed("malformed", "The model waits for tools and calls none.", meter, self.identity)
        if stop == "refused":  # what it had begun is not gone on with
            message = ModelMessage(text=text or answer.explanation)
        else:
            message = ModelMessage(text=text, calls=calls, raw={_RAW: blocks})
        return Turn(
            message=message,
            stop="tools" if calls and stop == "ended" else stop,
            usage=usage,
            usage_told=usage_told,
            untold=untold,
            answered_by=answer.model,
        )


def _user_blocks(message: UserMessage) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": result.call,
            "content": sendable(result.text) if result.text.strip() else "(empty)",
            **({"is_error": True} if result.is_error else {}),
        }
        for result in message.results
    ]
    if message.text.strip():
        blocks.append({"type": "text", "text": sendable(message.text)})
    return blocks


def _model_blocks(message: ModelMessage) -> list[dict[str, Any]]:
    raw = message.raw.get(_RAW) if isinstance(message.raw, dict) else None
    if isinstance(raw, list):
        return _sent_back(raw)
    blocks: list[dict[str, Any]] = []
    if message.text.strip():
        blocks.append({"type": "text", "text": sendable(message.text)})
    blocks += [
        {
            "type": "tool_use",
            "id": call.id,
            "name": known_name(call.name),
            "input": sendable(dict(call.arguments)),
        }
        for call in message.calls
    ]
    return blocks


def _sent_back(blocks: list[Any]) -> list[dict[str, Any]]:
    """Blocks as they came, but for those that the API writes and does not take back."""
    return [dict(block) for block in blocks if isinstance(block, dict) and _is_taken_back(block)]


def _is_taken_back(block: dict[str, Any]) -> bool:
    match block.get("type"):
        case "text":
            return bool(str(block.get("text") or "").strip())
        case "thinking":  # one that was cut off has no signature yet
            return bool(block.get("signature"))
        case _:
            return True
