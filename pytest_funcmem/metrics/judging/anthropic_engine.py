"""Judges of Anthropic's Messages API, one by one or by its batch endpoint, through its own client.

Knows the API and nothing of judges. The client reads the key from the environment and repeats what may pass;
what it still raises is translated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import anthropic

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.metrics.judging.engines import Answered, Question, Reply, in_parallel
from pytest_funcmem.models.anthropic_errors import (
    AnthropicWords,
    open_client,
    takes_temperature,
    unwarned,
)
from pytest_funcmem.models.http_answers import RetryPolicy, Shown
from pytest_funcmem.models.prices import BATCH_SHARE, Price, price_of

__all__ = ["AnthropicEngine"]

logger = logging.getLogger(__name__)


class AnthropicEngine:
    """See ``engines.ChatEngine``.

    Args:
        model: Name of the model.
        batch: Whether to use the batch endpoint.
        in_flight: Requests at one time, without it.
        timeout_s: Seconds for one answer.
        retry: How often a failure that may pass is repeated; how long to wait is the server's to say.
        poll_s: Seconds between two looks at a batch.
        store: Remembers batches that are under way.

    Raises:
        ModelSpecError: There is no key in the environment.
    """

    def __init__(
        self,
        *,
        model: str,
        batch: bool,
        in_flight: int,
        timeout_s: float,
        retry: RetryPolicy,
        poll_s: float = 20.0,
        store: Store | None = None,
    ) -> None:
        self._store = store
        self._model = model
        self._batch = batch
        self._in_flight = in_flight
        self._poll_s = poll_s
        # Newer models, and newer versions of the API, refuse to be given one.
        self._temperature: dict[str, Any] = {"temperature": 0} if takes_temperature() else {}
        self._words = AnthropicWords(self.identity)
        self._client = open_client(
            anthropic.Anthropic, self._words, timeout_s=timeout_s, retries=retry.attempts - 1
        )

    @property
    def identity(self) -> str:
        """The model's name. A name without a date may come to stand for other weights."""
        return f"anthropic:{self._model}"

    @property
    def price(self) -> Price | None:
        """The listed price, halved for batches."""
        price = price_of(self._model)
        if price is None or not self._batch:
            return price
        return price.times(BATCH_SHARE)

    def ask(self, questions: Sequence[Question], max_tokens: int, answered: Answered) -> None:
        """Ask one by one, several requests in flight, or as one batch; see ``ChatEngine.ask``."""
        if self._batch:
            for number, reply in enumerate(self._as_batch(questions, max_tokens)):
                answered(number, reply)
            return
        in_parallel(questions, self._in_flight, lambda question: self._one(question, max_tokens), answered)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _one(self, question: Question, max_tokens: int) -> Reply:
        temperature = self._temperature
        request = self._request(question, max_tokens)
        try:
            with self._words.translated():
                # Newer clients have no argument for what older models still need to answer greedily.
                return _read(self._client.messages.create(**unwarned(request, temperature)))
        except anthropic.BadRequestError as exc:
            if temperature and "temperature" in str(exc).lower():
                self._temperature = {}
                return self._one(question, max_tokens)
            failure = f"the API refused the question: {self._words.shown(str(exc.message))}"
            return Reply(text=None, failure=failure, is_final=False)

    def _request(self, question: Question, max_tokens: int) -> dict[str, Any]:
        return {
            "model": self._model,
            "max_tokens": max_tokens,
            "system": question.system,
            "messages": [{"role": "user", "content": question.user}],
        }

    # -------------------------------------------------------------------------------------------- batches

    def _as_batch(self, questions: Sequence[Question], max_tokens: int) -> tuple[Reply, ...]:
        requests: Any = [
            {
                "custom_id": f"q{number}",
                "params": {**self._request(question, max_tokens), **self._temperature},
            }
            for number, question in enumerate(questions)
        ]
        replies: dict[str, Reply] = {}
        with self._words.translated():
            batch = self._find_or_start(requests)
            logger.info("batch %s of %d questions is being answered", batch.id, len(requests))
            while batch.processing_status != "ended":
                time.sleep(self._poll_s)
                batch = self._client.messages.batches.retrieve(batch.id)
            for item in self._client.messages.batches.results(batch.id):
                replies[item.custom_id] = _read_result(item.result, self._words.shown)
        refused = [
            number
            for number in range(len(questions))
            if self._temperature and "temperature" in replies.get(f"q{number}", _MISSING).failure
        ]
        if refused:
            self._temperature = {}
            again = self._as_batch([questions[number] for number in refused], max_tokens)
            replies.update((f"q{number}", reply) for number, reply in zip(refused, again, strict=True))
        return tuple(replies.get(f"q{number}", _MISSING) for number in range(len(questions)))

    def _find_or_start(self, requests: Any) -> Any:
        """The batch of these requests, which an earlier run may have started and not seen the end of."""
        batches = self._client.messages.batches
        key = digest(requests)
        kept = self._store.get("judge-batch", key) if self._store is not None else None
        if isinstance(kept, str):
            try:
                return batches.retrieve(kept)
            except (anthropic.NotFoundError, anthropic.BadRequestError):
                logger.info("batch %s is gone; its questions are asked again", kept)
        try:
            batch = batches.create(requests=requests)
        except anthropic.BadRequestError as exc:
            said = self._words.shown(str(exc.message))
            raise EngineError(
                f"The API refused a batch of {len(requests)} questions: {said}",
                where=self.identity,
                remedy="Leave --batch out to see which question it refuses.",
            ) from exc
        if self._store is not None:
            self._store.put("judge-batch", key, batch.id)
        return batch


_MISSING = Reply(text=None, failure="the batch holds no answer to the question", is_final=False)


def _read(message: Any) -> Reply:
    text = "".join(block.text for block in message.content if block.type == "text")
    usage = message.usage
    failure = "" if text else f"the model wrote no text (it stopped for {message.stop_reason})"
    return Reply(
        text=text or None,
        failure=failure,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
    )


def _read_result(result: Any, shown: Shown) -> Reply:
    match result.type:
        case "succeeded":
            return _read(result.message)
        case "errored":
            error = getattr(result.error, "error", result.error)
            message = shown(str(getattr(error, "message", error)))
            return Reply(text=None, failure=f"the API refused the question: {message}", is_final=False)
        case kind:
            return Reply(text=None, failure=f"the batch was {kind}", is_final=False)
