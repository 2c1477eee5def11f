"""Asks an engine within a budget, keeps what it answers, and counts what became of each question.

Answers are stored as they came, so a better reading of them costs nothing. Under a cost cap nothing is asked
that might exceed it. Knows neither what is asked nor what an answer means.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.records import Json
from pytest_funcmem.models.prices import BATCH_SHARE, Price, Purse, price_of

if TYPE_CHECKING:
    # Engines load an HTTP client: not when the command line only lists what metrics there are.
    from pytest_funcmem.metrics.judging.engines import ChatEngine, Question, Reply

__all__ = ["ANSWER_TOKENS", "Asker", "AskerSettings", "JudgeTally"]

ANSWER_TOKENS = 2048
"""Most tokens of an answer; models that think before they answer count that too."""

_CHARACTERS_PER_TOKEN = 2.0  # few, so that a cost is rather thought too high


@dataclass(slots=True, kw_only=True)
class JudgeTally:
    """What a judge did so far.

    Attributes:
        asked: Questions that went to the model.
        stored: Questions whose answer was in the store.
        failed: Questions without a figure because the model did not answer, or not in form.
        capped: Questions that were not asked because of the cost cap.
        dollars: What the questions cost; None where the price is not known.
    """

    asked: int = 0
    stored: int = 0
    failed: int = 0
    capped: int = 0
    dollars: float | None = None

    @property
    def text(self) -> str:
        """All of it, for people."""
        cost = "at a price that is not known" if self.dollars is None else f"${self.dollars:.4f}"
        return (
            f"{self.asked} asked, {self.stored} from the store, {self.failed} failed,"
            f" {self.capped} not asked for cost, {cost}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskerSettings:
    """How a model is asked.

    Attributes:
        max_cost: Dollars that may be spent; None for no cap.
        price: What the model costs, before any table.
        prices: The user's table of prices by model, before this package's.
        batch: Whether questions go to the batch endpoint (anthropic only).
        device: Torch device of a model on this machine.
    """

    max_cost: float | None = None
    price: Price | None = None
    prices: Mapping[str, Price] | None = None
    batch: bool = False
    device: str = "auto"


class Asker:
    """One model with a purse and a store. May be used from several threads at once.

    Args:
        spec: ``anthropic:MODEL``, ``openai:BASE_URL#MODEL`` or ``hf:PATH_OR_ID``.
        where: What asks, for messages.
        store: Keeps answers; None to ask each time.
        settings: How it is asked.
        engine: Answers in place of what SPEC names.

    Raises:
        UsageError: There is a cost cap and no price.
        ModelSpecError: SPEC names nothing that answers.
        MissingExtraError: A package that it needs is not installed.
    """

    def __init__(
        self,
        spec: str,
        *,
        where: str,
        store: Store | None,
        settings: AskerSettings,
        engine: ChatEngine | None = None,
    ) -> None:
        self._store = store
        from pytest_funcmem.metrics.judging.engines import open_engine

        self._engine = engine or open_engine(spec, batch=settings.batch, device=settings.device, store=store)
        self._price = settings.price or _from_table(spec, settings) or self._engine.price
        if settings.max_cost is not None and self._price is None:
            self._engine.close()
            raise UsageError(
                f"What {spec} costs is not known, so a cost cap cannot be kept.",
                where=where,
                remedy="Give its price in dollars for a million tokens: --prices FILE with"
                ' {"MODEL": [INPUT, OUTPUT]}, or --price INPUT,OUTPUT of funcmem score.',
            )
        self.limit = settings.max_cost
        self._purse = Purse(settings.max_cost)
        self._lock = threading.Lock()
        self._own = threading.local()  # what the calling thread's last questions cost
        self.tally = JudgeTally(dollars=None if self._price is None else 0.0)

    @property
    def identity(self) -> str:
        """Which model answers."""
        return self._engine.identity

    @property
    def last_cost(self) -> float | None:
        """Dollars of what this thread asked last; None where nothing was asked, or at a price not known."""
        return getattr(self._own, "dollars", None)

    def key(self, question: Question) -> str:
        """What the answer to a question is stored under."""
        return digest(["judge", self._engine.identity, ANSWER_TOKENS, question.system, question.user])

    def close(self) -> None:
        """Free the engine."""
        self._engine.close()

    def count_failure(self) -> None:
        """Count an answer that gave no figure."""
        with self._lock:
            self.tally.failed += 1

    def replies(self, questions: Mapping[str, Question]) -> dict[str, Reply | None]:
        """Replies by key, from the store or the engine; None where the cost cap left no room.

        Raises:
            ModelSpecError: The address, the model's name or the key is wrong.
            EngineError: The engine failed, and went on failing.
        """
        replies: dict[str, Reply | None] = {}
        held: dict[str, float] = {}
        for key, question in questions.items():
            kept = _from_store(self._store.get("judge", key)) if self._store is not None else None
            if kept is not None:
                with self._lock:
                    self.tally.stored += 1
                replies[key] = kept
                continue
            most = self._most(question)
            if self._purse.hold(most):
                held[key] = most
            else:
                replies[key] = None
                with self._lock:
                    self.tally.capped += 1
        asked = list(held)
        self._own.dollars = None

        def answered(number: int, reply: Reply) -> None:
            # At once, from whatever thread: should a later question break the run, this one stays answered.
            key = asked[number]
            replies[key] = reply
            self._purse.settle(held[key], self._cost(reply))
            if self._store is not None and reply.is_final:
                self._store.put("judge", key, _for_store(reply))

        if asked:
            try:
                self._engine.ask([questions[key] for key in asked], ANSWER_TOKENS, answered)
            finally:
                with self._lock:
                    self.tally.asked += sum(key in replies for key in asked)
                    self.tally.dollars = None if self._price is None else self._purse.spent
            if self._price is not None:
                answers = (replies[key] for key in asked)
                self._own.dollars = sum(self._cost(reply) for reply in answers if reply is not None)
        return replies

    def _most(self, question: Question) -> float:
        if self._price is None:
            return 0.0
        tokens = int((len(question.system) + len(question.user)) / _CHARACTERS_PER_TOKEN) + 50
        return self._price.of(tokens, ANSWER_TOKENS)

    def _cost(self, reply: Reply) -> float:
        return self._price.of(reply.input_tokens, reply.output_tokens) if self._price is not None else 0.0


def _from_table(spec: str, settings: AskerSettings) -> Price | None:
    """The user's own price of a model; batches cost their share of it."""
    kind, _, rest = spec.partition(":")
    price = price_of(rest.partition("#")[2] if kind == "openai" else rest, settings.prices or {})
    if price is None or not settings.batch:
        return price
    return price.times(BATCH_SHARE)


def _for_store(reply: Reply) -> Json:
    return {
        "text": reply.text,
        "failure": reply.failure,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
    }


def _from_store(value: Json | None) -> Reply | None:
    """A stored reply; None where it is not one, which is then asked for again."""
    if not isinstance(value, dict):
        return None
    text, failure = value.get("text"), value.get("failure")
    tokens = [value.get(name) for name in ("input_tokens", "output_tokens")]
    if not (text is None or isinstance(text, str)) or not isinstance(failure, str):
        return None
    if not all(isinstance(count, int) for count in tokens):
        return None
    from pytest_funcmem.metrics.judging.engines import Reply

    return Reply(
        text=text, failure=failure, input_tokens=int(tokens[0] or 0), output_tokens=int(tokens[1] or 0)
    )
