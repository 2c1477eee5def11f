"""Asks a server that speaks JSON over HTTP, again where a failure may pass, and says what went wrong.

Knows no one API. Every answer is suspect, and neither a key nor a request is logged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.models.http_answers import (
    PassingError,
    RetryPolicy,
    Shown,
    body_chunks,
    error_message,
    may_pass,
    retried,
    retry_after,
)

__all__ = ["JsonClient", "RefusedRequestError", "refusal"]


class RefusedRequestError(Exception):
    """The server refused one request for what stands in it; others may go well."""


class JsonClient:
    """One server. May be used from several threads at once.

    Args:
        base_url: Address without a trailing slash.
        key: Sent as a bearer token; "" for none.
        timeout_s: Seconds for one answer.
        retry: How failures that may pass are repeated.
    """

    def __init__(self, *, base_url: str, key: str, timeout_s: float, retry: RetryPolicy) -> None:
        self._base_url = base_url
        self._shown = Shown(key)
        self._retry = retry
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            headers=headers, timeout=httpx.Timeout(timeout_s, connect=min(10.0, timeout_s))
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and give back the object that comes back.

        Raises:
            RefusedRequestError: Status 400, 413 or 422: this request cannot be answered.
            ModelSpecError: The address, the model's name or the key is wrong.
            EngineError: The server failed, and went on failing when asked again.
        """
        url = f"{self._base_url}/{path}"
        return retried(
            self._retry,
            lambda: self._ask(url, body),
            where=url,
            expected="an answer in JSON",
            kept="what was answered is not asked for again",
        )

    def _ask(self, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # Lone surrogates have no form in UTF-8; as JSON escapes they pass.
            content = json.dumps(body, ensure_ascii=True).encode("ascii")
            with self._http.stream(
                "POST", url, content=content, headers={"Content-Type": "application/json"}
            ) as response:
                text = b"".join(body_chunks(response, where=url)).decode("utf-8", "replace")
                status = response.status_code
                wait_s = retry_after(response.headers)
        except (httpx.TransportError, httpx.DecodingError) as exc:
            raise PassingError(f"{type(exc).__name__}: {self._shown(str(exc))}") from exc
        if status != 200:
            raise refusal(status, text, where=url, shown=self._shown, wait_s=wait_s)
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise PassingError(f"its answer is no JSON: {self._shown(text)}") from exc
        if isinstance(answer, dict):
            return answer
        raise PassingError(f"its answer is no JSON object: {self._shown(text)}")


def refusal(
    status: int, text: str, *, where: str, shown: Shown, wait_s: float | None
) -> PassingError | RefusedRequestError | ModelSpecError:
    """What an answer that is none means.

    Args:
        status: Its status, not 200.
        text: Its body.
        where: Address, for messages.
        shown: Makes what the server sent fit for a message.
        wait_s: Seconds that it asks to wait.
    """
    message = f"status {status}: {shown(error_message(text))}"
    if may_pass(status):
        return PassingError(message, wait_s=wait_s)
    if status in (400, 413, 422):
        return RefusedRequestError(message)
    remedy = {
        401: "Set the key of this server in the environment (OPENAI_API_KEY).",
        403: "See whether the key may use this model.",
        404: "Check the address, which ends before the endpoint's name (…/v1), and the model's name.",
    }.get(status, "Check the address and what the server's log says.")
    return ModelSpecError(f"The server refuses: {message}", where=where, expected="status 200", remedy=remedy)
