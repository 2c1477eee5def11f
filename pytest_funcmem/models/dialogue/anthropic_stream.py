"""Reads one streamed answer of Anthropic's Messages API, event by event, by hand.

Knows the API's events and nothing of connections. What is no such stream becomes an error; blocks of kinds
that are not known here are carried along as they came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.core.records import Json
from pytest_funcmem.models.dialogue.events import ServerEvent
from pytest_funcmem.models.dialogue.exchange import MalformedAnswerError, Meter, RejectedError
from pytest_funcmem.models.dialogue.hostile import (
    CallIds,
    arguments_of,
    count_of,
    given_back,
    known_name,
    read_json,
    sendable,
)
from pytest_funcmem.models.dialogue.records import ToolCall, Usage
from pytest_funcmem.models.http_answers import PassingError, Shown

__all__ = ["AnswerReader"]

_MOST_BLOCKS = 256
_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_WRONG = frozenset({"authentication_error", "permission_error", "not_found_error", "billing_error"})
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnswerReader:
    """Gathers an answer.

    Args:
        meter: Told what the answer costs as soon as the stream tells.
        shown: Makes what the API sent fit for a message.
        where: The model, for messages.
    """

    def __init__(self, *, meter: Meter, shown: Shown, where: str) -> None:
        self._meter = meter
        self._shown = shown
        self._where = where
        self._blocks: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []
        self._counts: dict[str, int] = {}
        self._begun = False
        self.stop_reason: str | None = None
        self.model = ""
        self.explanation = ""

    @property
    def usage_told(self) -> bool:
        """Whether the API told how many tokens were read and how many written."""
        return "input_tokens" in self._counts and "output_tokens" in self._counts

    def see(self, event: ServerEvent) -> None:
        """Take an event in.

        Raises:
            PassingError: It tells of a failure that may pass, or cannot be read.
            RejectedError: It tells that the request is refused.
            MalformedAnswerError: It is no event of the API.
            ModelSpecError: It tells that the key or the model is wrong.
        """
        try:
            body = read_json(event.data)
        except ValueError as exc:
            raise PassingError(f"an event of its stream is no JSON: {self._shown(event.data)}") from exc
        if not isinstance(body, dict) or not isinstance(body.get("type"), str):
            raise self._malformed("an event that is no object with a type", event.data)
        kind = body["type"]
        if kind == "error":
            raise self._error(body)
        if kind == "message_start":
            self._start(_object(body.get("message")))
        elif not self._begun and kind != "ping":
            raise self._malformed("a stream that does not start with message_start", event.data)
        elif kind == "content_block_start":
            self._block(body, event)
        elif kind == "content_block_delta":
            self._delta(body, event)
        elif kind == "message_delta":
            delta = _object(body.get("delta"))
            reason, details = delta.get("stop_reason"), _object(delta.get("stop_details"))
            self.stop_reason = reason if isinstance(reason, str) else self.stop_reason
            self.explanation = sendable(str(details.get("explanation") or self.explanation))
            self._count(_object(body.get("usage")))
        # ping, content_block_stop and message_stop tell nothing; kinds to come are to be passed over.

    def blocks(self, ids: CallIds) -> tuple[list[dict[str, Json]], tuple[ToolCall, ...]]:
        """The answer's blocks as the API takes them back, and the calls in them.

        Args:
            ids: Gives every call an id of its own.
        """
        blocks: list[dict[str, Json]] = []
        calls: list[ToolCall] = []
        last = len(self._blocks) - 1
        for number, (start, pieces) in enumerate(zip(self._blocks, self._pieces, strict=True)):
            block = {key: sendable(value) for key, value in start.items()}
            for name in ("text", "thinking", "signature"):
                if name in pieces:
                    block[name] = sendable(str(block.get(name) or "") + "".join(pieces[name]))
            if "citations" in pieces:
                block["citations"] = [sendable(read_json(piece)) for piece in pieces["citations"]]
            if "input" in pieces or block["type"] == "tool_use":
                text = "".join(pieces.get("input", ()))
                cut_off = number == last and self.stop_reason == "max_tokens"
                given = block.get("input")
                if text or not isinstance(given, dict) or not given:
                    arguments, malformed = arguments_of(text, cut_off=cut_off)
                else:
                    arguments, malformed = given, ""
                block["input"] = given_back(arguments, malformed, text)
                if block["type"] == "tool_use":
                    name = str(block.get("name") or "")
                    block["id"], block["name"] = ids.of(block.get("id")), known_name(name)
                    calls.append(
                        ToolCall(id=block["id"], name=name[:200], arguments=arguments, malformed=malformed)
                    )
            blocks.append(block)
        return blocks, tuple(calls)

    # ------------------------------------------------------------------------------------------- events

    def _start(self, message: Mapping[str, Any]) -> None:
        self._begun = True
        model = message.get("model")
        self.model = sendable(model)[:200] if isinstance(model, str) else ""
        self._count(_object(message.get("usage")))

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Counts are of the whole answer so far: later ones replace earlier ones."""
        counts = {name: count_of(usage.get(name)) for name in _COUNTS}
        self._counts.update((name, count) for name, count in counts.items() if count is not None)
        read, written, cached, kept = (self._counts.get(name, 0) for name in _COUNTS)
        self._meter.told(Usage(input=read, output=written, cache_read=cached, cache_write=kept))

    def _block(self, body: Mapping[str, Any], event: ServerEvent) -> None:
        block = body.get("content_block")
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise self._malformed("a block that is no object with a type", event.data)
        if body.get("index") != len(self._blocks) or len(self._blocks) == _MOST_BLOCKS:
            raise self._malformed("blocks out of order, or too many", event.data)
        self._blocks.append(block)
        self._pieces.append({})

    def _delta(self, body: Mapping[str, Any], event: ServerEvent) -> None:
        index, delta = body.get("index"), _object(body.get("delta"))
        if not self._blocks or index != len(self._blocks) - 1:
            raise self._malformed("a piece of a block that is not open", event.data)
        kind = delta.get("type")
        pieces = self._pieces[-1]
        if kind == "input_json_delta":
            name, piece = "input", delta.get("partial_json")
        elif kind == "citations_delta":
            name, piece = "citations", _as_json(delta.get("citation"))
        elif kind in _DELTAS:
            name = _DELTAS[kind]
            piece = delta.get(name)
        else:
            raise self._malformed(f"a piece of an unknown kind, {self._shown(str(kind))}", event.data)
        if not isinstance(piece, str):
            raise self._malformed("a piece without its text", event.data)
        pieces.setdefault(name, []).append(piece)

    def _error(self, body: Mapping[str, Any]) -> Exception:
        error = _object(body.get("error"))
        kind, message = str(error.get("type")), self._shown(str(error.get("message") or error))
        said = f"{self._shown(kind)}: {message}"
        if kind in _PASSING:
            return PassingError(f"its stream ends with {said}")
        if kind in _WRONG:
            return ModelSpecError(
                f"The API refuses: {said}",
                where=self._where,
                expected="a key in ANTHROPIC_API_KEY, and the name of a model that it may use",
                remedy="Set the key, or mend the model's name, or the address in ANTHROPIC_BASE_URL.",
            )
        return RejectedError(said)

    def _malformed(self, what: str, data: str) -> MalformedAnswerError:
        return MalformedAnswerError(f"The API sent {what}: {self._shown(data)}")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_json(value: Any) -> str | None:
    return json.dumps(value) if isinstance(value, dict) else None
