"""Asks a server that speaks JSON over HTTP, again where a failure may pass, and says what went wrong.

Knows no one API. Every answer is suspect, and neither a key nor a request is logged.
"""

from __future__ import annotations

import email.utils
import json
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

from pytest_funcmem.core.errors import EngineError, FuncmemError, ModelSpecError
from pytest_funcmem.models.completions_api import RetryPolicy

__all__ = ["JsonClient", "RefusedRequestError"]

logger = logging.getLogger(__name__)

_LARGEST_BODY = 64 * 1024 * 1024
_SHOWN = 300
_PASSING = frozenset({408, 409, 425, 429})


class RefusedRequestError(Exception):
    """The server refused one request for what stands in it; others may go well."""


class _PassingError(Exception):
    def __init__(self, what: str, *, wait_s: float | None = None) -> None:
        super().__init__(what)
        self.wait_s = wait_s


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
        self._key = key
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
        for attempt in range(1, self._retry.attempts + 1):
            try:
                return self._ask(url, body)
            except _PassingError as failure:
                if attempt == self._retry.attempts:
                    raise EngineError(
                        f"The server did not answer {attempt} times; the last time: {failure}.",
                        where=url,
                        expected="an answer in JSON",
                        remedy="See whether the server is up and what its log says, then start again:"
                        " what was answered is not asked for again.",
                    ) from failure
                wait_s = self._retry.first_wait_s * 2 ** (attempt - 1)
                if failure.wait_s is not None:
                    wait_s = failure.wait_s
                logger.info("%s: %s; asking again", url, failure)
                time.sleep(min(wait_s, self._retry.longest_wait_s))
        raise AssertionError("a retry policy has at least one attempt")

    def _ask(self, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # Lone surrogates have no form in UTF-8; as JSON escapes they pass.
            content = json.dumps(body, ensure_ascii=True).encode("ascii")
            with self._http.stream(
                "POST", url, content=content, headers={"Content-Type": "application/json"}
            ) as response:
                text = self._read(response)
                status = response.status_code
                wait_s = _retry_after(response)
        except (httpx.TransportError, httpx.DecodingError) as exc:
            raise _PassingError(f"{type(exc).__name__}: {self._shown(str(exc))}") from exc
        if status == 200:
            try:
                answer = json.loads(text)
            except (ValueError, RecursionError) as exc:
                raise _PassingError(f"its answer is no JSON: {self._shown(text)}") from exc
            if isinstance(answer, dict):
                return answer
            raise _PassingError(f"its answer is no JSON object: {self._shown(text)}")
        message = f"status {status}: {self._shown(_message(text))}"
        if status in _PASSING or status >= 500:
            raise _PassingError(message, wait_s=wait_s)
        if status in (400, 413, 422):
            raise RefusedRequestError(message)
        raise self._wrong(url, status, message)

    def _wrong(self, url: str, status: int, message: str) -> FuncmemError:
        remedy = {
            401: "Set the key of this server in the environment (OPENAI_API_KEY).",
            403: "See whether the key may use this model.",
            404: "Check the address, which ends before the endpoint's name (…/v1), and the model's name.",
        }.get(status, "Check the address and what the server's log says.")
        return ModelSpecError(
            f"The server refuses: {message}", where=url, expected="status 200", remedy=remedy
        )

    def _read(self, response: httpx.Response) -> str:
        parts, size = [], 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > _LARGEST_BODY:
                raise EngineError(
                    f"The server's answer is larger than {_LARGEST_BODY >> 20} MiB.",
                    where=str(response.url),
                    remedy="Check that the address is that of a model server.",
                )
            parts.append(chunk)
        return b"".join(parts).decode("utf-8", "replace")

    def _shown(self, text: str) -> str:
        # Servers echo keys, and what they send may hold the codes that steer a terminal.
        if self._key:
            text = text.replace(self._key, "***")
        text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return (text[:_SHOWN] + "…" if len(text) > _SHOWN else text) or "empty answer"


def _message(text: str) -> str:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or json.dumps(error)
    return str(error)


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait; None where it does not say."""
    value = response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
