"""A dialogue with a model that may call tools, in words that no one API owns.

A dialogue alternates: what is said to the model (text, and the results of the tools it called), and what the
model says (text, and calls). What an API needs back unchanged in later turns, such as signed thoughts, is
carried as ``raw`` and read by the client that wrote it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pytest_funcmem.core.records import Json
from pytest_funcmem.models.prices import Price

__all__ = [
    "DialogueModel",
    "Message",
    "ModelMessage",
    "Stop",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Turn",
    "Usage",
    "UserMessage",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the model may call.

    Attributes:
        name: Letters, digits and underscores.
        description: What it does, for the model.
        parameters: JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model asks for. All of it is hostile.

    Attributes:
        id: The API's name of the call, to which its result refers.
        name: Which tool; may be one that there is not.
        arguments: What the model gave, held to no schema yet; empty where it is no JSON object.
        malformed: Why the arguments are no JSON object; "" where they are one.
    """

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    malformed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call gave.

    Attributes:
        call: ``id`` of the call.
        text: For the model.
        is_error: Whether the call failed.
    """

    call: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What is said to the model: results of all calls of its last message, in their order, then text."""

    text: str = ""
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMessage:
    """What the model said.

    Attributes:
        text: All its text, joined.
        calls: The calls that it asks for, in order.
        raw: The message as its API writes it, to be given back as it is; read by no one else.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    raw: Json = None


Message = UserMessage | ModelMessage

Stop = Literal[
    "ended",  # the model has said what it wanted to say
    "tools",  # it waits for results of its calls
    "length",  # it ran into max_tokens; its last call may be cut off and is then malformed
    "refused",  # it, or its provider, declines
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one turn, as the API bills them; the four kinds do not overlap.

    Attributes:
        input: Read anew.
        output: Written, thoughts included.
        cache_read: Read from the provider's prompt cache.
        cache_write: Read anew and kept in that cache.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output + self.cache_read + self.cache_write

    def cost(self, price: Price) -> float:
        """Dollars for them, as those of one request."""
        return price.of(self.input, self.output, cache_read=self.cache_read, cache_write=self.cache_write)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model.

    Attributes:
        message: What it said.
        stop: Why it said no more.
        usage: What the turn cost, failed attempts included of which the API told all.
        usage_told: Whether the API told what the answer cost. Where it did not, ``usage`` lacks it, and no
            cost cap can be kept.
        untold: Attempts that broke off before the API told all that they cost. ``usage`` holds nothing of
            them; each may have cost as much as the request could.
        answered_by: The model's name as the answer gives it; "" where it gives none.
    """

    message: ModelMessage
    stop: Stop
    usage: Usage
    usage_told: bool = True
    untold: int = 0
    answered_by: str = ""


class DialogueModel(Protocol):
    """A model that can be talked to. May be used from several threads at once, one dialogue a thread."""

    @property
    def identity(self) -> str:
        """Which model answers, as exactly as the API can tell; part of what is stored."""
        ...

    @property
    def price(self) -> Price | None:
        """What it costs by list; None where that is not known."""
        ...

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
        """Have the model answer.

        Failures that may pass are repeated; what a failed attempt has cost is part of the turn's usage where
        the API tells all of it, and the attempt is counted as untold where it does not.

        Args:
            system: The system prompt.
            messages: The dialogue so far; the last one is a ``UserMessage``.
            tools: What may be called.
            max_tokens: Most tokens that the answer may have.
            cancelled: Asked now and then while the answer comes in; once true, the request is given up.
            may_repeat: Asked before an attempt that follows one which broke off before all of its cost was
                told, and which may have cost as much as the request can; false gives the turn up. Who keeps
                to a limit sets the most that another attempt may cost aside here.

        Raises:
            ModelSpecError: The address, the model's name or the key is wrong.
            FailedTurnError: An ``EngineError`` that knows what was spent: the engine failed and went on
                failing, refused the request as such, or sent what is no answer; or the request was given up.
            ValueError: The dialogue is none: it does not end with a ``UserMessage``, or results do not
                answer the calls before them.
        """
        ...

    def close(self) -> None:
        """Free the connections. May be called twice."""
        ...
