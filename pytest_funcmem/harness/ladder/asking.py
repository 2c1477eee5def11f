"""Asks a model one question at a time, keeps every answer, and never passes a cost cap.

Knows neither what is asked nor what an answer means. Answers are stored as they came, so that a killed run
goes on where it was and a better reading of an answer costs nothing.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import get_args

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import StoreError, UsageError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.records import Json
from pytest_funcmem.harness.ladder.prompts import Question
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.records import DialogueModel, Stop, Usage, UserMessage
from pytest_funcmem.models.prices import Price, Purse

__all__ = ["ANSWER_TOKENS", "Answer", "Asker", "CapReachedError", "Cost", "RejectedQuestionError"]

ANSWER_TOKENS = 8192
"""Most tokens of an answer; models that think before they answer count that too."""

_KIND = "ladder"
_OVERHEAD_TOKENS = 200
_STOPS = get_args(Stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What answers took.

    Attributes:
        usage: Tokens.
        dollars: Of each answer at its price, added up; None at a price that is not known.
    """

    usage: Usage = field(default_factory=Usage)
    dollars: float | None = 0.0

    def __add__(self, other: Cost) -> Cost:
        known = self.dollars is not None and other.dollars is not None
        return Cost(
            usage=self.usage + other.usage,
            dollars=(self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
        )


class CapReachedError(Exception):
    """The cost cap leaves no room for a question."""


class RejectedQuestionError(Exception):
    """The engine takes no such question, for its length or for what stands in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model said.

    Attributes:
        text: All of it.
        stop: Why it ended.
        usage: Tokens that it took.
        stored: Whether it was taken out of the store, where it cost nothing again.
    """

    text: str
    stop: Stop
    usage: Usage
    stored: bool = False

    @property
    def problem(self) -> str:
        """Why it is no answer to read; "" where it is one."""
        match self.stop:
            case "refused":
                return "the model declined to answer"
            case "length":
                return f"the answer was cut off after {ANSWER_TOKENS} tokens"
            case _:
                return ""


class Asker:
    """One model with a purse and a store. May be used from several threads at once.

    Args:
        model: Who answers.
        store: Keeps the answers; None to ask each time.
        purse: What may be spent.
        price: What the model costs; None where that is not known.

    Raises:
        UsageError: There is a cap and no price.
    """

    def __init__(
        self, model: DialogueModel, *, store: Store | None, purse: Purse, price: Price | None
    ) -> None:
        if purse.limit is not None and price is None:
            raise UsageError(
                f"What {model.identity} costs is not known, so a cost cap cannot be kept.",
                where="--max-cost",
                remedy='Give its price in dollars for a million tokens: --prices FILE with {"MODEL": [INPUT,'
                " OUTPUT]}.",
            )
        self._model = model
        self._store = store
        self._purse = purse
        self.price = price
        self._lock = threading.Lock()
        self._at_it: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._stopped = threading.Event()
        self.asked = 0
        self.reused = 0

    @property
    def identity(self) -> str:
        """Which model answers."""
        return self._model.identity

    @property
    def spent(self) -> float | None:
        """Dollars that this run has spent; None at a price that is not known."""
        return None if self.price is None else self._purse.spent

    def stop(self) -> None:
        """Give up what is being asked."""
        self._stopped.set()

    def ask(self, question: Question) -> Answer:
        """Have a question answered, by the store or by the model.

        Raises:
            CapReachedError: The cap leaves no room for it, or for asking again where an attempt broke off.
            RejectedQuestionError: The engine takes no such question.
            ModelSpecError: The address, the model's name or the key is wrong.
            EngineError: The engine failed, and went on failing.
            StoreError: The answer could not be stored.
        """
        key = digest(["ladder", self.identity, ANSWER_TOKENS, question.system, question.user])
        with self._lock:
            at_it = self._at_it[key]
        with at_it:  # two functions may be the same: their question is paid once
            kept = _from_store(self._store.get(_KIND, key)) if self._store is not None else None
            if kept is not None:
                with self._lock:
                    self.reused += 1
                return kept
            answer = self._answered(question)
            if self._store is not None:
                self._store.put(_KIND, key, _for_store(answer))
            return answer

    def _answered(self, question: Question) -> Answer:
        most = self._most(question)
        if not self._purse.hold(most):
            raise CapReachedError
        held, spent = most, 0.0

        def may_repeat() -> bool:
            nonlocal held
            if not self._purse.hold(most):
                return False
            held += most
            return True

        try:
            turn = self._model.turn(
                question.system,
                [UserMessage(text=question.user)],
                max_tokens=ANSWER_TOKENS,
                cancelled=self._stopped.is_set,
                may_repeat=may_repeat,
            )
            # Where it is not told what was billed, it counts as all that a request may cost.
            untold = turn.untold + (not turn.usage_told)
            spent = (self.cost(turn.usage) or 0.0) + untold * most
        except FailedTurnError as error:
            spent = (self.cost(error.usage) or 0.0) + error.untold * most
            if error.kind == "unaffordable":
                raise CapReachedError from error
            if error.kind == "rejected":
                raise RejectedQuestionError(error.what) from error
            raise
        finally:
            self._purse.settle(held, spent)
        with self._lock:
            self.asked += 1
        return Answer(text=turn.message.text, stop=turn.stop, usage=turn.usage)

    def cost(self, usage: Usage) -> float | None:
        """Dollars for so many tokens; None at a price that is not known."""
        if self.price is None:
            return None
        return self.price.of(
            usage.input, usage.output, cache_read=usage.cache_read, cache_write=usage.cache_write
        )

    def _most(self, question: Question) -> float:
        if self.price is None:
            return 0.0
        # No token is shorter than a byte.
        read = len(question.system.encode()) + len(question.user.encode()) + _OVERHEAD_TOKENS
        return self.price.of(0, ANSWER_TOKENS, cache_write=read)


def _for_store(answer: Answer) -> Json:
    usage = answer.usage
    return {
        "text": answer.text.encode("utf-8", "backslashreplace").decode("utf-8"),
        "stop": answer.stop,
        "usage": [usage.input, usage.output, usage.cache_read, usage.cache_write],
    }


def _from_store(value: Json | None) -> Answer | None:
    """A stored answer; None where there is none.

    Raises:
        StoreError: There is something else: it was paid for, so it is not thrown away unasked.
    """
    if value is None:
        return None
    match value:
        case {"text": str(text), "stop": stop, "usage": [int(), int(), int(), int()] as usage} if (
            stop in _STOPS and all(type(count) is int and count >= 0 for count in usage)
        ):
            read, written, cache_read, cache_write = usage
            return Answer(
                text=text,
                stop=stop,
                usage=Usage(input=read, output=written, cache_read=cache_read, cache_write=cache_write),
                stored=True,
            )
    raise StoreError(
        "A stored answer of the ladder's model is of another form.",
        expected="text, stop and usage",
        remedy="Name another store with --store.",
    )
