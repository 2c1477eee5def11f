"""One turn from request to answer: attempts, what each has cost, and what ends in which error.

What both APIs share and neither says; knows no API.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.models.dialogue.background import Background, GivenUpError
from pytest_funcmem.models.dialogue.failures import FailedTurnError, FailureKind
from pytest_funcmem.models.dialogue.records import Message, ModelMessage, Usage, UserMessage
from pytest_funcmem.models.http_answers import RetryPolicy, retried

__all__ = ["MalformedAnswerError", "Meter", "RejectedError", "attempted", "check_dialogue", "failed"]

T = TypeVar("T")


class RejectedError(Exception):
    """The engine refuses this request for what stands in it."""


class MalformedAnswerError(Exception):
    """What came is no answer of the API; asking again would give the like."""


class _UnaffordableError(Exception):
    """Another attempt may not be paid for."""


class Meter:
    """What a turn's attempts have cost. Each attempt begins, and ends well, unbilled, or not at all."""

    def __init__(self) -> None:
        self._usage = Usage()
        self._untold = 0
        self._current: Usage | None = None

    def begin(self) -> None:
        """A request goes out."""
        self._close_current()
        self._current = Usage()

    @property
    def broke_off(self) -> bool:
        """Whether the last attempt neither ended well nor unbilled."""
        return self._current is not None

    def told(self, usage: Usage) -> None:
        """What the attempt has cost so far, as the API tells."""
        self._current = usage

    def unbilled(self) -> None:
        """The attempt came to nothing that anyone is billed for."""
        self._current = None

    def end(self) -> None:
        """The attempt ended, and the API told all that it will tell of its cost."""
        if self._current is not None:
            self._usage += self._current
        self._current = None

    def totals(self) -> tuple[Usage, int]:
        """Usage, and the number of attempts that broke off before all of theirs was told."""
        self._close_current()
        return self._usage, self._untold

    def _close_current(self) -> None:
        # What was told of it is left out: who pays counts all that it may have cost, and none of it twice.
        self._untold += self._current is not None
        self._current = None


def attempted(
    attempt: Callable[[], Coroutine[Any, Any, T]],
    *,
    background: Background,
    policy: RetryPolicy,
    meter: Meter,
    where: str,
    cancelled: Callable[[], bool],
    may_repeat: Callable[[], bool],
) -> T:
    """Make a request, again while its failure may pass.

    Args:
        attempt: One request; raises ``PassingError``, ``RejectedError`` or ``MalformedAnswerError``.
        background: Where it runs.
        policy: How often and how patiently it is repeated.
        meter: Counts what it costs; the attempt tells it.
        where: The model, for messages.
        cancelled: Once true, the request is given up.
        may_repeat: Asked before an attempt that follows one whose cost was not told.

    Raises:
        ModelSpecError: As the attempt raised it.
        FailedTurnError: There is no answer.
    """

    def once() -> T:
        if meter.broke_off and not may_repeat():
            raise _UnaffordableError
        return background.run(attempt, cancelled)

    try:
        return retried(
            policy,
            once,
            where=where,
            expected="an answer of the model",
            kept="what was answered is not asked for again",
            pause=lambda seconds: background.pause(seconds, cancelled),
        )
    except GivenUpError as exc:
        raise failed("cancelled", "The request was given up.", meter, where) from exc
    except _UnaffordableError as exc:
        what = "An attempt broke off, and what may be spent leaves no room for another."
        raise failed("unaffordable", what, meter, where) from exc
    except RejectedError as exc:
        what = f"The engine refuses the request: {exc}."
        raise failed(
            "rejected", what, meter, where, remedy="Shorten the dialogue if it is too long."
        ) from exc
    except MalformedAnswerError as exc:
        remedy = "Check that the address is that of a server which speaks this API."
        raise failed("malformed", str(exc), meter, where, remedy=remedy) from exc
    except EngineError as exc:
        failure = failed("failed", exc.what, meter, where, remedy=exc.remedy)
        failure.expected = exc.expected
        raise failure from exc


def failed(
    kind: FailureKind, what: str, meter: Meter, where: str, *, remedy: str | None = None
) -> FailedTurnError:
    """The error of a turn without an answer, with what its attempts cost."""
    usage, untold = meter.totals()
    return FailedTurnError(what, kind=kind, usage=usage, untold=untold, where=where, remedy=remedy)


def check_dialogue(messages: Sequence[Message]) -> None:
    """See that a dialogue is one that every API takes.

    Raises:
        ValueError: It does not end with a ``UserMessage``, one says nothing, or its results do not answer the
            calls before it.
    """
    if not messages or not isinstance(messages[-1], UserMessage):
        raise ValueError("a dialogue ends with what is said to the model")
    asked: list[str] = []
    for number, message in enumerate(messages):
        if isinstance(message, ModelMessage):
            if asked:
                raise ValueError(f"message {number}: the calls before it have no results")
            asked = [call.id for call in message.calls]
            continue
        given = [result.call for result in message.results]
        if given != asked:
            raise ValueError(f"message {number}: it answers the calls {given}, and {asked} were asked for")
        if not given and not message.text.strip():
            raise ValueError(f"message {number}: it says nothing")
        asked = []
