"""Dialogues over OpenAI-compatible chat endpoints, over plain HTTP.

Knows the API and nothing of what is talked about. Answers are asked for as a stream, so that silence is told
from work and a request can be given up; a server that answers in one piece is understood as well.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from pytest_funcmem.models.dialogue.background import Background
from pytest_funcmem.models.dialogue.chat_stream import ChatReader
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
    Turn,
    UserMessage,
)
from pytest_funcmem.models.http_answers import PassingError, RetryPolicy, Shown, key_from, retry_after
from pytest_funcmem.models.json_http import RefusedRequestError, refusal
from pytest_funcmem.models.prices import Price, price_of

__all__ = ["OpenAiDialogue"]

logger = logging.getLogger(__name__)

_RAW = "openai"
_CONNECT_S = 10.0
_STOPS: dict[str, Stop] = {
    "stop": "ended",
    "tool_calls": "tools",
    "length": "length",
    "content_filter": "refused",
}


class OpenAiDialogue:
    """See ``records.DialogueModel``.

    Args:
        base_url: Address up to and including ``/v1``, without a trailing slash.
        model: Name of the model on the server.
        timeout_s: Seconds of silence after which a request has failed.
        retry: How failures that may pass are repeated.

    Raises:
        ModelSpecError: The key in the environment cannot be used.
    """

    def __init__(self, *, base_url: str, model: str, timeout_s: float, retry: RetryPolicy) -> None:
        self._base_url = base_url
        self._url = f"{base_url}/chat/completions"
        self._model = model
        self._timeout_s = timeout_s
        self._retry = retry
        key = key_from("OPENAI_API_KEY")
        self._shown = Shown(key)
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s), pool=None),
        )
        self._background = Background()
        # Not every server takes what most take; it is left out or renamed once one has said so.
        self._limit = "max_tokens"
        self._asks_usage = True
        self._noticed = False

    @property
    def identity(self) -> str:
        """The server's name of the model, and its address: two servers may name two models alike."""
        return f"openai:{self._base_url}#{self._model}"

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
        meter = Meter()
        reader = attempted(
            lambda: self._ask(self._request(system, messages, tools, max_tokens), meter),
            background=self._background,
            policy=self._retry,
            meter=meter,
            where=self.identity,
            cancelled=cancelled,
            may_repeat=may_repeat,
        )
        return self._turn(reader, CallIds(messages), meter)

    def close(self) -> None:
        """Close the connections. May be called twice."""
        self._background.close(self._http.aclose)

    # ------------------------------------------------------------------------------------------ requests

    def _request(
        self, system: str, messages: Sequence[Message], tools: Sequence[Tool], max_tokens: int
    ) -> dict[str, Any]:
        written: list[dict[str, Any]] = []
        if system.strip():
            written.append({"role": "system", "content": sendable(system)})
        for message in messages:
            written += _written(message)
        request: dict[str, Any] = {
            "model": self._model,
            "messages": written,
            "stream": True,
            self._limit: max_tokens,
        }
        if self._asks_usage:
            request["stream_options"] = {"include_usage": True}
        if tools:
            request["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": sendable(tool.description),
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in tools
            ]
        return request

    # ------------------------------------------------------------------------------------------- answers

    async def _ask(self, request: dict[str, Any], meter: Meter) -> ChatReader:
        try:
            return await self._read(request, meter)
        except RefusedRequestError as exc:
            said = str(exc)
            if "max_completion_tokens" in said and "max_tokens" in request:
                self._limit = "max_completion_tokens"
                request = {**request, self._limit: request["max_tokens"]}
                del request["max_tokens"]
            elif "stream_options" in said and "stream_options" in request:
                self._asks_usage = False
                request = {name: value for name, value in request.items() if name != "stream_options"}
            else:
                raise RejectedError(said) from exc
        return await self._ask(request, meter)

    async def _read(self, request: dict[str, Any], meter: Meter) -> ChatReader:
        reader = ChatReader(meter=meter, shown=self._shown)
        content = json.dumps(request, ensure_ascii=True).encode("ascii")
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        meter.begin()
        try:
            async with self._http.stream("POST", self._url, content=content, headers=headers) as response:
                if response.status_code != 200:
                    meter.unbilled()
                    raise refusal(
                        response.status_code,
                        await whole_body(response.aiter_bytes()),
                        where=self._url,
                        shown=self._shown,
                        wait_s=retry_after(response.headers),
                    )
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind == "text/event-stream":
                    await self._follow(response, reader)
                else:
                    self._take(kind, await whole_body(response.aiter_bytes()), reader)
        except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
            meter.unbilled()
            raise PassingError(f"no connection ({type(exc).__name__})") from exc
        except httpx.TimeoutException as exc:
            raise PassingError(f"it was silent for {self._timeout_s:g} s") from exc
        except (httpx.TransportError, httpx.DecodingError) as exc:
            raise PassingError(f"the connection broke ({type(exc).__name__})") from exc
        meter.end()
        return reader

    async def _follow(self, response: httpx.Response, reader: ChatReader) -> None:
        async for event in server_events(response.aiter_bytes()):
            if event.data.strip() == "[DONE]":
                break
            reader.see(event.data, whole=False)
        if reader.finish_reason is None:
            raise PassingError("its stream broke off")

    def _take(self, kind: str, text: str, reader: ChatReader) -> None:
        if kind == "text/html" or text.lstrip()[:1] == "<":
            raise MalformedAnswerError(f"The server answers with a web page: {self._shown(text)}")
        if kind != "application/json":
            raise MalformedAnswerError(f"The server answers with {self._shown(kind)}: {self._shown(text)}")
        reader.see(text, whole=True)
        if reader.finish_reason is None:
            raise MalformedAnswerError(f"The server's answer has no finish_reason: {self._shown(text)}")

    def _turn(self, reader: ChatReader, ids: CallIds, meter: Meter) -> Turn:
        usage, untold = meter.totals()
        written, calls = reader.calls(ids)
        reason = str(reader.finish_reason)
        stop = "refused" if reader.refused else _STOPS.get(reason)
        if stop is None:
            what = f"The model stopped for a reason that is not known here: {self._shown(reason)}."
            raise failed("malformed", what, meter, self.identity)
        if stop == "tools" and not calls:
            raise failed("malformed", "The model waits for tools and calls none.", meter, self.identity)
        text = reader.text
        if stop == "refused":  # what it had begun is not gone on with
            message = ModelMessage(text=text)
        else:
            raw: dict[str, Any] = {"role": "assistant", "content": text or None}
            if written:
                # Some servers refuse calls without the thoughts that led to them; some, thoughts alone.
                raw |= {**reader.thoughts, "tool_calls": written}
            message = ModelMessage(text=text, calls=calls, raw={_RAW: raw})
        if not reader.usage_told and not self._noticed:
            self._noticed = True
            logger.warning(
                "%s does not tell how many tokens it takes: what it costs is not known", self.identity
            )
        return Turn(
            message=message,
            # Many servers say "stop" after calls, too.
            stop="tools" if calls and stop == "ended" else stop,
            usage=usage,
            usage_told=reader.usage_told,
            untold=untold,
            answered_by=reader.model,
        )


def _written(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, UserMessage):
        written: list[dict[str, Any]] = [
            {
                "role": "tool",
                "tool_call_id": result.call,
                # The API has no field for it.
                "content": sendable(f"[failed] {result.text}" if result.is_error else result.text),
            }
            for result in message.results
        ]
        if message.text.strip():
            written.append({"role": "user", "content": sendable(message.text)})
        return written
    raw = message.raw.get(_RAW) if isinstance(message.raw, dict) else None
    if isinstance(raw, dict):
        if not raw.get("content") and not raw.get("tool_calls"):
            return []
        return [dict(raw)]
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": known_name(call.name),
                "arguments": json.dumps(sendable(dict(call.arguments))),
            },
        }
        for call in message.calls
    ]
    if not message.text and not calls:
        return []
    said: dict[str, Any] = {"role": "assistant", "content": sendable(message.text) or None}
    if calls:
        said["tool_calls"] = calls
    return [said]
