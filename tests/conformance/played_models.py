"""Models that are played: real HTTP servers on loopback that speak the APIs of models which call tools.

A conversation is a function from a request to an answer, and plays over either API::

    def script(asked: Asked) -> Answer:
        if asked.turn == 0:
            return Say("I will look.", Call("run", {"command": "ls"}))
        return Say(f"It said: {asked.results[-1].text}")

    with PlayedAnthropic(script) as server: ...      # server.url, server.requests
    with PlayedOpenAi(script) as server: ...

Faults are answers, too: ``Refuse``, ``Say(..., cut_after=)``, ``Say(..., pause_s=)``, ``Silence``, ``Body``,
``StreamError``; a list of answers is played one after the other by ``in_turn``. Requests are held to the
rules of the real APIs: one that breaks them is answered with status 400, as there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from played_server import (
    Answer,
    Asked,
    Body,
    Call,
    PlayedServer,
    Refuse,
    Result,
    Say,
    Script,
    Silence,
    StreamError,
    in_turn,
    pieces_of,
    rule,
    tokens_of,
)

__all__ = [
    "Answer",
    "Asked",
    "Body",
    "Call",
    "PlayedAnthropic",
    "PlayedOpenAi",
    "PlayedServer",
    "Refuse",
    "Result",
    "Say",
    "Script",
    "Silence",
    "StreamError",
    "in_turn",
    "signature",
]


class PlayedAnthropic(PlayedServer):
    """The Messages API, its prompt cache included."""

    path = "/v1/messages"

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self._cached: dict[str, int] = {}

    def asked(self, body: Any, headers: Mapping[str, str], number: int) -> Asked:
        rule(headers.get("x-api-key") or headers.get("authorization"), "no key")
        rule(headers.get("anthropic-version"), "no version")
        rule(body.get("stream") is True, "this server streams")
        rule(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens")
        marks = json.dumps(body).count('"cache_control"')
        rule(marks <= 4, f"at most 4 blocks may have cache_control, not {marks}")
        system = body.get("system", [])
        blocks = system if isinstance(system, list) else [{"type": "text", "text": system}]
        _texts_are_some(blocks)
        messages = body["messages"]
        rule(messages and messages[0]["role"] == "user", "the first message is the user's")
        said: list[str] = []
        results: list[Result] = []
        called: list[str] = []
        open_calls: list[str] = []
        seen: set[str] = set()
        for place, message in enumerate(messages):
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            rule(content, f"messages.{place}: content must not be empty")
            _texts_are_some(content)
            if message["role"] == "assistant":
                rule(not open_calls, f"messages.{place}: tool_use without tool_result")
                for block in content:
                    if block["type"] == "tool_use":
                        rule(isinstance(block["input"], dict), "tool_use.input: should be an object")
                        rule(block["id"] not in seen, "tool_use ids must be unique")
                        rule(body.get("tools"), "tool_use without tools")
                        seen.add(block["id"])
                        open_calls.append(block["id"])
                        called.append(block["name"])
                    elif block["type"] == "thinking":
                        rule(block.get("signature") == signature(block["thinking"]), "thinking: signature")
                continue
            results = []
            for block in content:
                if block["type"] == "tool_result":
                    rule(block["tool_use_id"] in open_calls, f"messages.{place}: unexpected tool_result")
                    open_calls.remove(block["tool_use_id"])
                    text = block.get("content", "")
                    results.append(Result(block["tool_use_id"], text, bool(block.get("is_error"))))
                else:
                    said.append(block["text"])
            rule(not open_calls, f"messages.{place}: tool_use ids without tool_result: {open_calls}")
        return Asked(
            body=body,
            headers=headers,
            number=number,
            system="".join(block["text"] for block in blocks),
            turn=sum(message["role"] == "assistant" for message in messages),
            said=tuple(said),
            results=tuple(results),
            called=tuple(called),
            tools=tuple(tool["name"] for tool in body.get("tools", ())),
            max_tokens=body["max_tokens"],
        )

    def events(self, say: Say, asked: Asked) -> list[bytes]:
        usage: dict[str, Any] | None
        if say.usage == "counted":
            usage = self._count(asked.body)
            written = (len(say.text + say.thinking) + sum(len(call.text) for call in say.calls)) // 4 + 20
        else:
            usage = dict(say.usage) if isinstance(say.usage, Mapping) else None
            written = int((usage or {}).get("output_tokens", 0))
        message: dict[str, Any] = {
            "id": f"msg_{asked.number}",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }
        if usage is not None:
            message["usage"] = {**usage, "output_tokens": 1}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if say.thinking:
            blocks.append(
                (
                    {"type": "thinking", "thinking": "", "signature": ""},
                    [
                        *({"type": "thinking_delta", "thinking": piece} for piece in pieces_of(say.thinking)),
                        {"type": "signature_delta", "signature": signature(say.thinking)},
                    ],
                )
            )
        if say.redacted:
            blocks.append(({"type": "redacted_thinking", "data": say.redacted}, []))
        if say.text:
            pieces = [{"type": "text_delta", "text": piece} for piece in pieces_of(say.text)]
            blocks.append(({"type": "text", "text": ""}, pieces))
        for place, call in enumerate(say.calls):
            name = call.id if call.id is not None else f"toolu_{asked.number}_{place}"
            text = call.text if call.arguments != {} else ""
            blocks.append(
                (
                    {"type": "tool_use", "id": name, "name": call.name, "input": {}},
                    [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces_of(text)]],
                )
            )
        for index, (start, deltas) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        stop = say.stop or ("tool_use" if say.calls else "end_turn")
        last: dict[str, Any] = {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
        }
        if usage is not None:
            last["usage"] = {"output_tokens": written}
        events += [last, {"type": "message_stop"}]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]

    def error_event(self, error: StreamError) -> bytes:
        body = {"type": "error", "error": {"type": error.kind, "message": error.message}}
        return f"event: error\ndata: {json.dumps(body)}\n\n".encode()

    def error_body(self, refusal: Refuse) -> Any:
        return {"type": "error", "error": {"type": refusal.kind, "message": refusal.message}}

    def _count(self, body: Any) -> dict[str, Any]:
        """Tokens, with those up to a mark kept and found again, as long as all before it stays as it was."""
        parts: list[Any] = [*body.get("tools", ()), *body.get("system", ())]
        for message in body["messages"]:
            content = message["content"]
            parts += content if isinstance(content, list) else [content]
        read = kept = total = 0
        seen = hashlib.sha256()
        new: dict[str, int] = {}
        for part in parts:
            marked = isinstance(part, dict) and "cache_control" in part
            bare = {key: part[key] for key in part if key != "cache_control"} if marked else part
            total += tokens_of(bare)
            seen.update(json.dumps(bare, sort_keys=True).encode())
            name = seen.hexdigest()
            if name in self._cached:
                read = total
            if marked:
                new[name] = total
                kept = total
        self._cached.update(new)
        return {
            "input_tokens": total - max(kept, read),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(0, kept - read),
        }


class PlayedOpenAi(PlayedServer):
    """An OpenAI-compatible chat endpoint. ``url`` ends in ``/v1``.

    Args:
        script: What is played.
        streams: Whether it streams what is asked for as a stream; many servers do not.
        ids: Whether calls have ids and indices; some servers leave them out.
    """

    path = "/v1/chat/completions"

    def __init__(self, script: Script, *, streams: bool = True, ids: bool = True) -> None:
        self.streams = streams
        self.ids = ids
        super().__init__(script)
        self.url += "/v1"

    def asked(self, body: Any, headers: Mapping[str, str], number: int) -> Asked:
        rule(isinstance(body.get("model"), str), "model")
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        rule(isinstance(limit, int) and limit > 0, "max_tokens")
        messages = body["messages"]
        said: list[str] = []
        results: list[Result] = []
        called: list[str] = []
        open_calls: list[str] = []
        for place, message in enumerate(messages):
            role, content = message["role"], message.get("content")
            if role == "tool":
                rule(message["tool_call_id"] in open_calls, f"messages.{place}: unexpected tool_call_id")
                open_calls.remove(message["tool_call_id"])
                failed = content.startswith("[failed] ")
                results.append(Result(message["tool_call_id"], content.removeprefix("[failed] "), failed))
                continue
            rule(not open_calls, f"messages.{place}: tool_calls without results: {open_calls}")
            if role == "assistant":
                results = []
                rule(content or message.get("tool_calls"), f"messages.{place}: says nothing")
                for call in message.get("tool_calls", ()):
                    parsed = json.loads(call["function"]["arguments"])
                    rule(isinstance(parsed, dict), "arguments: should be an object")
                    rule(call["id"] not in open_calls, "ids must be unique")
                    open_calls.append(call["id"])
                    called.append(call["function"]["name"])
            elif role == "user":
                said.append(content)
            else:
                rule(role == "system" and place == 0, f"messages.{place}: role {role}")
        rule(not open_calls, f"tool_calls without results: {open_calls}")
        return Asked(
            body=body,
            headers=headers,
            number=number,
            system=messages[0]["content"] if messages[0]["role"] == "system" else "",
            turn=sum(message["role"] == "assistant" for message in messages),
            said=tuple(said),
            results=tuple(results),
            called=tuple(called),
            tools=tuple(tool["function"]["name"] for tool in body.get("tools", ())),
            max_tokens=limit,
        )

    def events(self, say: Say, asked: Asked) -> list[bytes]:
        stop = say.stop or ("tool_calls" if say.calls else "stop")
        usage = self._usage(say, asked)
        frame = {"id": f"chatcmpl-{asked.number}", "model": asked.body["model"]}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if say.calls else ""}]
        deltas += [{"content": piece} for piece in pieces_of(say.text)]
        for place, call in enumerate(say.calls):
            name = call.id if call.id is not None else f"call_{asked.number}_{place}"
            own: dict[str, Any] = {"index": place, "id": name} if self.ids else {}
            first = {**own, "type": "function", "function": {"name": call.name, "arguments": ""}}
            deltas.append({"tool_calls": [first]})
            number = {"index": place} if self.ids else {}
            deltas += [
                {"tool_calls": [{**number, "function": {"arguments": piece}}]}
                for piece in pieces_of(call.text)
            ]
        chunks = [
            {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
        if usage is not None and asked.body.get("stream_options", {}).get("include_usage"):
            chunks.append({**frame, "choices": [], "usage": usage})
        return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]

    def whole(self, say: Say, asked: Asked) -> Any:
        """An answer in one piece."""
        calls = []
        for place, call in enumerate(say.calls):
            name = call.id if call.id is not None else f"call_{asked.number}_{place}"
            own = {"id": name} if self.ids else {}
            calls.append({**own, "type": "function", "function": {"name": call.name, "arguments": call.text}})
        message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
        if calls:
            message["tool_calls"] = calls
        reason = say.stop or ("tool_calls" if say.calls else "stop")
        body: dict[str, Any] = {
            "id": f"chatcmpl-{asked.number}",
            "model": asked.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        }
        usage = self._usage(say, asked)
        return body if usage is None else {**body, "usage": usage}

    def error_event(self, error: StreamError) -> bytes:
        return f"data: {json.dumps({'error': {'type': error.kind, 'message': error.message}})}\n\n".encode()

    def error_body(self, refusal: Refuse) -> Any:
        return {"error": {"type": refusal.kind, "message": refusal.message}}

    def answer(self, asked: Asked) -> Answer:
        answer = super().answer(asked)
        if self.streams or not isinstance(answer, Say):
            return answer
        self._wait(answer.wait_s)
        return Body(json.dumps(self.whole(answer, asked)).encode(), kind="application/json")

    def _usage(self, say: Say, asked: Asked) -> dict[str, Any] | None:
        if say.usage != "counted":
            return dict(say.usage) if isinstance(say.usage, Mapping) else None
        written = (len(say.text) + sum(len(call.text) for call in say.calls)) // 4 + 20
        read = tokens_of(asked.body["messages"]) + tokens_of(asked.body.get("tools", []))
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def signature(thought: str) -> str:
    """What the played model signs a thought with; a thought that comes back must bear it."""
    return hashlib.sha256(b"played:" + thought.encode()).hexdigest()


def _texts_are_some(blocks: Sequence[Mapping[str, Any]]) -> None:
    for block in blocks:
        rule(block["type"] != "text" or block["text"].strip(), "text content blocks must be non-empty")
