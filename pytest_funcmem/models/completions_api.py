"""Raw completions of an OpenAI-compatible server, over HTTP: one request, retried, read as it streams.

Knows the wire format and nothing of functions, batches or audits. Every answer of a server is suspect: what
is not the documented format becomes an error that says what the server did. Neither the key nor a prompt is
logged.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

from pytest_funcmem.core.errors import EngineError, FuncmemError, ModelSpecError
from pytest_funcmem.models.http_answers import (
    PassingError,
    RetryPolicy,
    Shown,
    body_chunks,
    error_message,
    key_from,
    may_pass,
    retried,
    retry_after,
)

__all__ = ["Answer", "CompletionsClient"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server gave back for one prompt.

    Attributes:
        text: Text after the prompt.
        finish_reason: As the server gave it; None where the stream was closed because enough had come.
        fingerprint: The server's ``system_fingerprint``, if it sends one.
    """

    text: str
    finish_reason: str | None
    fingerprint: str | None


class CompletionsClient:
    """Asks one server for completions of one model. May be used from several threads at once.

    Args:
        base_url: Address up to and including ``/v1``, without a trailing slash.
        model: Name of the model on the server.
        timeout_s: Seconds for one whole answer, from the request to its last byte.
        connections: Requests that may be in flight at one time.
        retry: How failures that may pass are repeated.
    """

    def __init__(
        self, *, base_url: str, model: str, timeout_s: float, connections: int, retry: RetryPolicy
    ) -> None:
        self._url = f"{base_url}/completions"
        self._models_url = f"{base_url}/models"
        self._model = model
        self._timeout_s = timeout_s
        self._retry = retry
        self._key = key_from("OPENAI_API_KEY")
        self._shown = Shown(self._key)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(10.0, timeout_s), pool=None),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def complete(self, prompt: str, *, max_tokens: int, enough: Callable[[str], bool]) -> Answer:
        """Ask for the greedy completion of a prompt.

        Args:
            prompt: Text to continue.
            max_tokens: Most tokens of the answer.
            enough: Called with the text so far after each newline that streams in; True closes the stream.

        Raises:
            ModelSpecError: The address, the model's name or the key is wrong, or the server only chats.
            EngineError: The server failed, and went on failing when asked again.
        """
        return retried(
            self._retry,
            lambda: self._ask(prompt, max_tokens, enough),
            where=self._url,
            expected="an answer to a completion request",
            kept="the audit goes on from what is finished",
        )

    def _ask(self, prompt: str, max_tokens: int, enough: Callable[[str], bool]) -> Answer:
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
        }
        deadline = time.monotonic() + self._timeout_s
        try:
            with self._http.stream("POST", self._url, json=body) as response:
                if response.status_code != 200:
                    raise self._refusal(response, self._read(response, deadline))
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind == "text/event-stream":
                    return self._follow(response, deadline, enough)
                # The server does not stream: it answers with the whole completion.
                return self._whole(self._read(response, deadline), kind)
        except httpx.TimeoutException as exc:
            if isinstance(exc, (httpx.ConnectTimeout, httpx.PoolTimeout)):
                raise PassingError("no connection within 10 s") from exc
            raise self._too_slow() from exc
        except (httpx.TransportError, httpx.DecodingError) as exc:
            raise PassingError(
                f"the connection failed ({type(exc).__name__}: {self._shown.clean(str(exc))})"
            ) from exc

    def _too_slow(self) -> EngineError:
        return EngineError(
            f"The server gave no whole answer within {self._timeout_s:g} s.",
            where=self._url,
            remedy="Raise --funcmem-server-timeout, or lower --funcmem-batch-size, the requests in flight.",
        )

    # ------------------------------------------------------------------------------------------- reading

    def _chunks(self, response: httpx.Response, deadline: float) -> Iterator[bytes]:
        for chunk in body_chunks(response, where=self._url):
            if time.monotonic() > deadline:  # a slow drip never trips the timeout of a single read
                raise self._too_slow()
            yield chunk

    def _read(self, response: httpx.Response, deadline: float) -> str:
        return b"".join(self._chunks(response, deadline)).decode("utf-8", "replace")

    def _follow(self, response: httpx.Response, deadline: float, enough: Callable[[str], bool]) -> Answer:
        """Read server-sent events until the answer ends or is enough."""
        text, fingerprint = "", None
        for event in self._events(response, deadline):
            if event == "[DONE]":
                raise PassingError("the stream ended without a finish_reason")
            piece = self._parse(event, partial=True)
            fingerprint = piece.fingerprint or fingerprint
            text += piece.text
            if piece.finish_reason is not None:
                return Answer(text=text, finish_reason=piece.finish_reason, fingerprint=fingerprint)
            if "\n" in piece.text and enough(text):
                return Answer(text=text, finish_reason=None, fingerprint=fingerprint)
        raise PassingError("the stream broke off")

    def _events(self, response: httpx.Response, deadline: float) -> Iterator[str]:
        pending = b""
        data: list[str] = []
        for chunk in self._chunks(response, deadline):
            pending += chunk
            *lines, pending = re.split(rb"\r\n|\n|\r(?!$)", pending)
            for line in lines:
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
                elif not line and data:
                    yield "\n".join(data)
                    data = []
        if pending.startswith(b"data:"):
            data.append(pending[5:].removeprefix(b" ").decode("utf-8", "replace"))
        if data:
            yield "\n".join(data)

    def _whole(self, text: str, kind: str) -> Answer:
        if kind == "text/html" or text.lstrip()[:1] == "<":
            raise ModelSpecError(
                f"The server answers with a web page: {self._shown(text)}",
                where=self._url,
                expected="JSON of an OpenAI-compatible server",
                remedy="Check the address; it usually ends in /v1.",
            )
        answer = self._parse(text, partial=False)
        if answer.finish_reason is None:
            return Answer(text=answer.text, finish_reason="stop", fingerprint=answer.fingerprint)
        return answer

    def _parse(self, text: str, *, partial: bool) -> Answer:
        """Read one JSON object of the wire format; a part of a stream may have no choice in it."""
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise PassingError(f"the answer is not JSON ({self._shown(text)})") from exc
        if not isinstance(body, dict):
            raise self._malformed("is JSON, but not an object", text)
        if body.get("error"):
            raise PassingError(f"the server reports an error ({self._shown(error_message(text))})")
        choices = body.get("choices")
        fingerprint = body.get("system_fingerprint")
        fingerprint = fingerprint if isinstance(fingerprint, str) else None
        if not isinstance(choices, list):
            raise self._malformed("has no list of choices", text)
        if not choices:
            if partial:  # the part of a stream that tells the usage
                return Answer(text="", finish_reason=None, fingerprint=fingerprint)
            raise self._malformed("has an empty list of choices", text)
        choice = choices[0]
        if isinstance(choice, dict) and "text" not in choice and ("message" in choice or "delta" in choice):
            raise self._only_chats("it answers with chat messages")
        if not isinstance(choice, dict) or not isinstance(choice.get("text"), str):
            raise self._malformed("has a choice without text", text)
        reason = choice.get("finish_reason")
        if reason == "content_filter":
            raise EngineError(
                "The server withheld a completion (finish_reason content_filter).",
                where=self._url,
                remedy="Switch the server's filter off, or use a server without one.",
            )
        return Answer(
            text=choice["text"],
            finish_reason=reason if isinstance(reason, str) else None,
            fingerprint=fingerprint,
        )

    # ------------------------------------------------------------------------------------------ refusals

    def _refusal(self, response: httpx.Response, text: str) -> FuncmemError | PassingError:
        status = response.status_code
        message = self._shown(error_message(text))
        match status:
            case _ if may_pass(status):
                return PassingError(f"status {status} ({message})", wait_s=retry_after(response.headers))
            case 401 | 403:
                given = "that OPENAI_API_KEY holds is refused" if self._key else "is missing"
                return ModelSpecError(
                    f"The server refuses access (status {status}): the key {given}. {message}",
                    where=self._url,
                    remedy="Put the server's key into the environment variable OPENAI_API_KEY.",
                )
            case 404 | 405 | 501:
                return self._not_there(status, message)
            case _ if 300 <= status < 400:
                place = self._shown.clean(response.headers.get("location", "nowhere"))
                return ModelSpecError(
                    f"The server redirects (status {status}) to {place}.",
                    where=self._url,
                    expected="a server that answers at the address itself",
                    remedy="Give the address that it redirects to.",
                )
            case _ if _speaks_of_model(message) and self._model in message:
                return self._unknown_model(message)
            case _:
                return EngineError(
                    f"The server refuses the request (status {status}): {message}",
                    where=self._url,
                    remedy="If the prompt is too long for the model, lower --funcmem-prefix-tokens or"
                    " --funcmem-max-new-tokens.",
                )

    def _not_there(self, status: int, message: str) -> ModelSpecError:
        names = self._names()
        if names is not None and self._model not in names:
            return self._unknown_model(message, names)
        if _speaks_of_model(message) and self._model in message:
            return self._unknown_model(message, names)
        if names is not None:
            return self._only_chats(f"status {status} for /completions, while /models answers")
        return ModelSpecError(
            f"The address has no /completions (status {status}): {message}",
            where=self._url,
            expected="the base address of an OpenAI-compatible server, such as http://localhost:8000/v1",
            remedy="Check the address; it usually ends in /v1.",
        )

    def _unknown_model(self, message: str, names: tuple[str, ...] | None = None) -> ModelSpecError:
        names = names if names is not None else self._names()
        listed = ", ".join(names[:10]) if names else "a name that the server knows"
        return ModelSpecError(
            f"The server has no model named {self._model!r}: {message}",
            where=self._url,
            expected=listed,
            remedy="Write the model's name behind '#' as the server lists it under /models.",
        )

    def _only_chats(self, sign: str) -> ModelSpecError:
        return ModelSpecError(
            f"The server offers no raw completions, only chat ({sign}).",
            where=self._url,
            expected="POST /completions, as 'vllm serve MODEL' offers it",
            remedy="Serve the base model with raw completions; a chat template would change every prompt.",
        )

    def _malformed(self, what: str, text: str) -> EngineError:
        return EngineError(
            f"The server's answer {what}: {self._shown(text)}",
            where=self._url,
            expected='{"choices": [{"text": "…", "finish_reason": "stop"}]}',
            remedy="Use a server whose /completions follow the OpenAI format.",
        )

    def _names(self) -> tuple[str, ...] | None:
        """Models that the server lists; None where it lists none."""
        try:
            body = self._http.get(self._models_url, timeout=min(10.0, self._timeout_s)).json()
            return tuple(str(item["id"]) for item in body["data"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return None


def _speaks_of_model(message: str) -> bool:
    return re.search(r"\bmodel\b", message, re.IGNORECASE) is not None
