"""Reads one answer of an OpenAI-compatible chat endpoint, streamed or whole, by hand.

Knows the wire format and nothing of connections. Servers differ in what they leave out: ids, indices, usage,
the last event. What is left out is made up for where that changes nothing that the model said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_funcmem.core.records import Json
from pytest_funcmem.models.dialogue.exchange import MalformedAnswerError, Meter
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
from pytest_funcmem.models.http_answers import PassingError, Shown, error_message

__all__ = ["ChatReader"]

_MOST_CALLS = 128


class _Call:
    """A call as its pieces come in."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class ChatReader:
    """Gathers an answer.

    Args:
        meter: Told what the answer costs as soon as the server tells.
        shown: Makes what the server sent fit for a message.
    """

    def __init__(self, *, meter: Meter, shown: Shown) -> None:
        self._meter = meter
        self._shown = shown
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self.finish_reason: str | None = None
        self.usage_told = False
        self.model = ""

    @property
    def refused(self) -> bool:
        """Whether the model declined in the field that is made for it."""
        return bool(self._refusal)

    @property
    def thoughts(self) -> dict[str, Json]:
        """Fields in which the server gave thoughts, to be given back with the calls that came of them."""
        return {name: sendable("".join(pieces)) for name, pieces in self._thoughts.items()}

    @property
    def text(self) -> str:
        """All that the model said."""
        return str(sendable("".join(self._text or self._refusal)))

    def see(self, text: str, *, whole: bool) -> None:
        """Take a piece of a stream in, or a whole answer.

        Raises:
            PassingError: It tells of a failure, or cannot be read.
            MalformedAnswerError: It is no answer of the API.
        """
        try:
            body = read_json(text)
        except ValueError as exc:
            raise PassingError(f"its answer is no JSON: {self._shown(text)}") from exc
        if not isinstance(body, dict):
            raise self._malformed("JSON that is no object", text)
        if body.get("error"):
            raise PassingError(f"its answer is an error: {self._shown(error_message(text))}")
        model = body.get("model")
        self.model = sendable(model)[:200] if isinstance(model, str) and model else self.model
        self._count(body.get("usage"))
        choices = body.get("choices")
        if not isinstance(choices, list) or (whole and not choices):
            raise self._malformed("an answer without choices", text)
        if not choices:
            return  # the piece that tells the usage
        choice = choices[0]
        part = choice.get("message" if whole else "delta") if isinstance(choice, dict) else None
        if not isinstance(part, dict):
            if whole or not isinstance(choice, dict) or part is not None:
                raise self._malformed("a choice without a message", text)
            part = {}
        self._part(part, text)
        reason = choice.get("finish_reason")
        self.finish_reason = reason if isinstance(reason, str) and reason else self.finish_reason

    def calls(self, ids: CallIds) -> tuple[list[dict[str, Json]], tuple[ToolCall, ...]]:
        """The calls as the API takes them back, and as they are to be judged.

        Args:
            ids: Gives every call an id of its own.
        """
        written: list[dict[str, Json]] = []
        calls: list[ToolCall] = []
        for number, call in enumerate(self._calls):
            cut_off = number == len(self._calls) - 1 and self.finish_reason == "length"
            text = "".join(call.arguments)
            arguments, malformed = arguments_of(text, cut_off=cut_off)
            name, own = str(sendable(call.name)), ids.of(call.id)
            # Servers parse what they are given back: malformed arguments would break all later turns.
            back = json.dumps(given_back(arguments, malformed, text))
            function: dict[str, Json] = {"name": known_name(name), "arguments": back}
            written.append({"id": own, "type": "function", "function": function})
            calls.append(ToolCall(id=own, name=name[:200], arguments=arguments, malformed=malformed))
        return written, tuple(calls)

    # -------------------------------------------------------------------------------------------- pieces

    def _part(self, part: Mapping[str, Any], text: str) -> None:
        content = part.get("content")
        if isinstance(content, list):  # pieces of several kinds
            texts = [item.get("text") for item in content if isinstance(item, dict)]
            content = "".join(item for item in texts if isinstance(item, str))
        if isinstance(content, str):
            self._text.append(content)
        elif content is not None:
            raise self._malformed("a message whose content is no text", text)
        refusal = part.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
        for name in ("reasoning_content", "reasoning"):  # by server
            thought = part.get(name)
            if isinstance(thought, str) and thought:
                self._thoughts.setdefault(name, []).append(thought)
        asked = part.get("tool_calls")
        if asked is None:
            return
        if not isinstance(asked, list):
            raise self._malformed("calls that are no list", text)
        for item in asked:
            self._call(item, text)

    def _call(self, item: Any, text: str) -> None:
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise self._malformed("a call without a function", text)
        name, given = function.get("name"), item.get("id")
        call = self._open_call(item.get("index"), given, name)
        if isinstance(given, str) and given and not call.id:
            call.id = given
        if isinstance(name, str):
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some servers parse them
            call.arguments.append(json.dumps(arguments))
        elif isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            raise self._malformed("a call whose arguments are no text", text)

    def _open_call(self, index: object, given: object, name: object) -> _Call:
        """The call that a piece belongs to: by its index, else by whether it brings an id or a name."""
        if isinstance(index, int) and index in self._by_index:
            known = self._by_index[index]
            # Servers that count wrongly give several calls one index; their ids tell them apart.
            if not (isinstance(given, str) and given and known.id and given != known.id):
                return known
        elif not isinstance(index, int) and self._calls and not given and not name:
            return self._calls[-1]
        if len(self._calls) == _MOST_CALLS:
            raise MalformedAnswerError(f"The model asks for more than {_MOST_CALLS} calls at once.")
        call = _Call()
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _count(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        read, written = (count_of(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        if read is None or written is None:
            return
        # What a cached token costs differs from provider to provider: it counts as one that was read anew.
        self.usage_told = True
        self._meter.told(Usage(input=read, output=written))

    def _malformed(self, what: str, text: str) -> MalformedAnswerError:
        return MalformedAnswerError(f"The server sent {what}: {self._shown(text)}")
