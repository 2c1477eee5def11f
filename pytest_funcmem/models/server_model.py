"""``openai:`` models: raw completions of an OpenAI-compatible server, such as ``vllm serve``.

Joins the HTTP client (``completions_api``) and the end of the function (``endings``). The server batches by
itself, so a completion's record names no batch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import GenerationProgress, PromptCutter
from pytest_funcmem.core.records import Completion, ModelIdentity, Prompt, SourceFunction, StopReason
from pytest_funcmem.models.completions_api import Answer, CompletionsClient
from pytest_funcmem.models.endings import FunctionEndings
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.prompts import FallbackCutter
from pytest_funcmem.models.spec import ModelSpec

__all__ = ["ServerModel"]

PROBE = 'import math\n\n\ndef monthly_payment(principal, rate, months):\n    """Payment of a loan."""\n'
PROBE_TOKENS = 48
"""Enough that two checkpoints of one training run hardly ever agree on all of them."""


class ServerModel:
    """A model behind an OpenAI-compatible server.

    Opening it asks for one short completion. It shows at once whether the address, the name and the key are
    right and whether the server completes raw text, and its text is part of the revision: a server's name of
    a model stays when other weights are served under it, whose results must not be taken for the old ones'.

    Args:
        spec: A parsed ``openai:`` SPEC.
        settings: ``server_timeout`` and ``batch_size``, the requests in flight, are used.
        retry: How failures that may pass are repeated.

    Raises:
        ModelSpecError: The address, the model's name or the key is wrong, or the server only chats.
        EngineError: The server cannot be reached, or fails.
    """

    def __init__(self, spec: ModelSpec, settings: Settings, *, retry: RetryPolicy | None = None) -> None:
        model = spec.model or ""
        self._spec = spec
        self._in_flight = settings.batch_size
        self._endings = FunctionEndings()
        self._client = CompletionsClient(
            base_url=spec.location,
            model=model,
            timeout_s=settings.server_timeout,
            connections=settings.batch_size,
            retry=retry if retry is not None else RetryPolicy(),
        )
        self._closed = False
        try:
            probe = self._client.complete(PROBE, max_tokens=PROBE_TOKENS, enough=lambda text: False)
        except BaseException:
            self.close()
            raise
        self._fingerprint = probe.fingerprint
        name = model if probe.fingerprint is None else f"{model} ({probe.fingerprint})"
        revision = f"{name} probe:{text_digest(probe.text)[:16]}"
        self._identity = ModelIdentity(spec=spec.text, kind="openai", revision=revision)

    @property
    def identity(self) -> ModelIdentity:
        """The server's name of the model, its fingerprint if it sends one, and the digest of a probe."""
        return self._identity

    @property
    def batch_size(self) -> int:
        """Requests in flight. The server batches by itself; more prompts at a time keep it busy."""
        return self._in_flight

    def cutter(self) -> PromptCutter:
        """The fallback: the server's tokenizer is out of reach."""
        return FallbackCutter()

    def complete(
        self,
        functions: Sequence[SourceFunction],
        prompts: Sequence[Prompt],
        *,
        max_new_tokens: int,
        progress: GenerationProgress | None = None,
    ) -> tuple[Completion, ...]:
        """Complete the prompts, several requests in flight, results in order; see ``Model.complete``."""
        if self._closed:
            raise EngineError("The model was closed.", where=self._spec.text, remedy="Open it again.")
        given_up = threading.Event()

        def one(function: SourceFunction, prompt: Prompt) -> Completion | None:
            if given_up.is_set():
                return None
            return self._one(function, prompt, max_new_tokens, given_up)

        pairs = list(zip(functions, prompts, strict=True))
        with ThreadPoolExecutor(max_workers=max(1, min(self._in_flight, len(pairs)))) as pool:
            futures = [pool.submit(one, function, prompt) for function, prompt in pairs]
            try:
                _report(futures, progress)
            finally:
                # After the first failure nothing of the batch is used, so nothing more is asked for.
                given_up.set()
        completions = [future.result() for future in futures]
        return tuple(completion for completion in completions if completion is not None)

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._client.close()

    def _one(
        self, function: SourceFunction, prompt: Prompt, max_new_tokens: int, given_up: threading.Event
    ) -> Completion:
        def enough(text: str) -> bool:
            return given_up.is_set() or self._endings.ended(function, text)

        answer = self._client.complete(prompt.text, max_tokens=max_new_tokens, enough=enough)
        if answer.fingerprint is not None and answer.fingerprint != self._fingerprint:
            raise EngineError(
                f"The server changed while the audit ran: its fingerprint was {self._fingerprint},"
                f" and is {answer.fingerprint}.",
                where=self._spec.text,
                expected="one model, the same for every prompt",
                remedy="Address one server rather than several behind one name, and start again.",
            )
        return Completion(text=answer.text, token_ids=None, stop=_stop(answer))


def _stop(answer: Answer) -> StopReason:
    match answer.finish_reason:
        case None:
            return "function_end"
        case "length":
            return "length"
        case _:
            return "stop"


def _report(futures: Sequence[Future[Completion | None]], progress: GenerationProgress | None) -> None:
    """Wait for all, telling how many are done; raise the first failure in the order of the prompts."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
        failed = [future for future in futures if future in done and future.exception() is not None]
        if failed:
            failed[0].result()
        if progress is not None and done:
            progress(len(done))
