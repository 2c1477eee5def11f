"""The models behind judges: Anthropic's API, OpenAI-compatible chat, and checkpoints on this machine.

An engine answers questions. It does not know what they are about, reads no score out of an answer, and keeps
nothing. What goes wrong with one question is part of its reply; what goes wrong with the engine is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.registry import require
from pytest_funcmem.models.http_answers import RetryPolicy, key_from
from pytest_funcmem.models.json_http import JsonClient, RefusedRequestError
from pytest_funcmem.models.prices import Price, price_of
from pytest_funcmem.models.spec import parse_spec

__all__ = ["Answered", "ChatEngine", "OpenAiChat", "Question", "Reply", "in_parallel", "open_engine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: a system prompt and one message."""

    system: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one question.

    Attributes:
        text: All that the model wrote; None where it gave no answer.
        failure: Why there is none.
        is_final: Whether asking again would give the same; a reply that is not is never stored.
        input_tokens: Tokens read, as the engine counts; 0 where it does not tell.
        output_tokens: Tokens written.
    """

    text: str | None
    failure: str = ""
    is_final: bool = True
    input_tokens: int = 0
    output_tokens: int = 0


Answered = Callable[[int, Reply], None]
"""Told the number of a question and its reply."""


class ChatEngine(Protocol):
    """A model that answers questions."""

    @property
    def identity(self) -> str:
        """Which model answers, as exactly as the engine can tell; part of what answers are stored under."""
        ...

    @property
    def price(self) -> Price | None:
        """What it costs; None where that is not known."""
        ...

    def ask(self, questions: Sequence[Question], max_tokens: int, answered: Answered) -> None:
        """Answer questions greedily, each once.

        Args:
            questions: What is asked.
            max_tokens: Most tokens of an answer.
            answered: Called for each question as soon as it is answered, in any order, from any thread.

        Raises:
            ModelSpecError: The address, the model's name or the key is wrong.
            EngineError: The engine failed, and went on failing.
        """
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


def open_engine(
    spec: str,
    *,
    batch: bool = False,
    in_flight: int = 4,
    timeout_s: float = 300.0,
    retry: RetryPolicy | None = None,
    device: str = "auto",
    store: Store | None = None,
) -> ChatEngine:
    """Open the engine that a SPEC names.

    Args:
        spec: ``anthropic:MODEL``, ``openai:BASE_URL#MODEL`` or ``hf:PATH_OR_ID``.
        batch: Whether questions go to the batch endpoint, which is cheaper and slower (anthropic only).
        in_flight: Requests at one time.
        timeout_s: Seconds for one answer.
        retry: How failures that may pass are repeated.
        device: Torch device of a checkpoint.
        store: Remembers batches that are under way, so that none is paid for twice.

    Raises:
        ModelSpecError: The SPEC has none of these forms, or what it names is not there.
        MissingExtraError: The package that the engine needs is not installed.
    """
    kind, _, rest = spec.partition(":")
    if batch and kind != "anthropic":
        raise ModelSpecError(
            "Only anthropic: judges have a batch endpoint.", where=spec, remedy="Leave --batch out."
        )
    if kind == "anthropic":
        if not rest.strip():
            raise ModelSpecError(
                "The judge names no model.", where=spec, expected="anthropic:MODEL", remedy="Add the model."
            )
        require("anthropic", extra="judges", purpose=f"for {spec}")
        from pytest_funcmem.metrics.judging.anthropic_engine import AnthropicEngine

        return AnthropicEngine(
            model=rest.strip(),
            batch=batch,
            in_flight=in_flight,
            timeout_s=timeout_s,
            retry=retry or RetryPolicy(),
            store=store,
        )
    parsed = parse_spec(spec)
    if parsed.kind == "openai":
        return OpenAiChat(
            base_url=parsed.location,
            model=parsed.model or "",
            in_flight=in_flight,
            client=JsonClient(
                base_url=parsed.location,
                key=key_from("OPENAI_API_KEY"),
                timeout_s=timeout_s,
                retry=retry or RetryPolicy(),
            ),
        )
    if parsed.kind == "hf":
        for package in ("torch", "transformers"):
            require(package, extra="hf", purpose=f"for {spec}")
        from pytest_funcmem.metrics.judging.local_engine import LocalEngine

        return LocalEngine(parsed, device=device)
    raise ModelSpecError(
        f"A {parsed.kind}: model cannot judge.",
        where=spec,
        expected="anthropic:MODEL, openai:BASE_URL#MODEL or hf:PATH_OR_ID",
    )


def in_parallel(
    questions: Sequence[Question],
    in_flight: int,
    one: Callable[[Question], Reply],
    answered: Answered,
) -> None:
    """Ask several questions at a time; after the first that fails, none is begun.

    Raises:
        Exception: What ``one`` raised first, in the order of the questions.
    """
    given_up = threading.Event()

    def ask(number: int) -> None:
        if given_up.is_set():
            return
        try:
            answered(number, one(questions[number]))
        except BaseException:
            given_up.set()
            raise

    with ThreadPoolExecutor(max_workers=max(1, min(in_flight, len(questions)))) as pool:
        futures = [pool.submit(ask, number) for number in range(len(questions))]
    for future in futures:
        future.result()


class OpenAiChat:
    """An OpenAI-compatible chat endpoint.

    Args:
        base_url: Address up to and including ``/v1``.
        model: Name of the model on the server.
        in_flight: Requests at one time.
        client: Asks the server.
    """

    def __init__(self, *, base_url: str, model: str, in_flight: int, client: JsonClient) -> None:
        self._base_url = base_url
        self._model = model
        self._in_flight = in_flight
        self._client = client

    @property
    def identity(self) -> str:
        """The server's name of the model, and its address: two servers may name two models alike."""
        return f"openai:{self._base_url}#{self._model}"

    @property
    def price(self) -> Price | None:
        """The listed price, if there is one."""
        return price_of(self._model)

    def ask(self, questions: Sequence[Question], max_tokens: int, answered: Answered) -> None:
        """Ask, several requests in flight; see ``ChatEngine.ask``."""
        in_parallel(questions, self._in_flight, lambda question: self._one(question, max_tokens), answered)

    def _one(self, question: Question, max_tokens: int) -> Reply:
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
            "temperature": 0,
            "max_tokens": max_tokens,
        }
        try:
            answer = self._client.post("chat/completions", body)
        except RefusedRequestError as exc:
            return Reply(text=None, failure=f"the server refused the question: {exc}", is_final=False)
        return _read_chat(answer)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _read_chat(answer: dict[str, Any]) -> Reply:
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    tokens = [count if isinstance(count, int) else 0 for count in counts]
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        return Reply(
            text=None,
            failure="the server's answer holds no message",
            is_final=False,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
        )
    return Reply(text=text, input_tokens=tokens[0], output_tokens=tokens[1])
