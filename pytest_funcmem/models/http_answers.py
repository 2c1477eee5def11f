"""What every client of a model server needs: patience, bounds, and words for what a server did.

Knows no one API and reads no answer but its errors. Neither a key nor a request is logged or shown.
"""

from __future__ import annotations

import email.utils
import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx

from pytest_funcmem.core.errors import EngineError, ModelSpecError

__all__ = [
    "LARGEST_BODY",
    "PassingError",
    "RetryPolicy",
    "Shown",
    "body_chunks",
    "error_message",
    "key_from",
    "may_pass",
    "retried",
    "retry_after",
]

logger = logging.getLogger(__name__)

T = TypeVar("T")

LARGEST_BODY = 64 * 1024 * 1024
"""Most bytes of an answer; no answer of a model is longer."""

_SHOWN = 300
_PASSING = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a request is repeated.

    Attributes:
        attempts: Requests in all, the first included.
        first_wait_s: Seconds before the second; doubled each time.
        longest_wait_s: Most seconds between two requests, whatever the server asks for.
    """

    attempts: int = 5
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0


class PassingError(Exception):
    """A failure that may be over when the request is repeated.

    Args:
        what: What the server did, in words.
        wait_s: Seconds that it asks to wait; None where it does not say.
    """

    def __init__(self, what: str, *, wait_s: float | None = None) -> None:
        super().__init__(what)
        self.wait_s = wait_s


def retried(
    policy: RetryPolicy,
    ask: Callable[[], T],
    *,
    where: str,
    expected: str,
    kept: str,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Ask, and again while what fails may pass.

    Args:
        policy: How often and how patiently.
        ask: Raises ``PassingError`` for what may pass.
        where: Address, for messages.
        expected: What would have been accepted.
        kept: What is not lost when the user starts again, to end a sentence.
        pause: Waits so many seconds; what it raises ends the asking.

    Raises:
        EngineError: It went on failing.
    """
    for attempt in range(1, policy.attempts + 1):
        try:
            return ask()
        except PassingError as failure:
            if attempt == policy.attempts:
                raise EngineError(
                    f"The server did not answer {attempt} times; the last time: {failure}.",
                    where=where,
                    expected=expected,
                    remedy=f"See whether the server is up and what its log says, then start again: {kept}.",
                ) from failure
            wait_s = policy.first_wait_s * 2 ** (attempt - 1)
            if failure.wait_s is not None:
                wait_s = failure.wait_s
            wait_s = min(wait_s, policy.longest_wait_s)
            logger.info("%s: %s; asking again in %.1f s", where, failure, wait_s)
            pause(wait_s)
    raise AssertionError("a retry policy has at least one attempt")


def key_from(variable: str) -> str:
    """The key that an environment variable holds; "" for none.

    Raises:
        ModelSpecError: It cannot be sent: an HTTP library's own message about it would show it.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelSpecError(
            f"The key in {variable} holds characters that no key has.",
            where=variable,
            expected="printable ASCII characters on one line",
            remedy="Set the key again; it is not shown here.",
        )
    return key


def may_pass(status: int) -> bool:
    """Whether a refusal with this status may be over when the request is repeated."""
    return status in _PASSING or (status >= 500 and status != 501)


def body_chunks(response: httpx.Response, *, where: str) -> Iterator[bytes]:
    """The body as it comes in.

    Raises:
        EngineError: It is larger than any answer of a model.
    """
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > LARGEST_BODY:
            raise EngineError(
                f"The server's answer is larger than {LARGEST_BODY >> 20} MiB.",
                where=where,
                remedy="Check that the address is that of a language model server.",
            )
        yield chunk


class Shown:
    """Makes what a server sent fit for a message.

    Args:
        key: The secret that must not stand in one; "" for none.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def clean(self, text: str) -> str:
        """The text without the key, and without codes that steer a terminal."""
        if self._key:
            text = text.replace(self._key, "***")  # servers echo keys
        return "".join(char if char.isprintable() or char.isspace() else "?" for char in text)

    def __call__(self, text: str) -> str:
        """The beginning of the text, on one line."""
        cleaned = " ".join(self.clean(text).split())
        return (cleaned[:_SHOWN] + "…" if len(cleaned) > _SHOWN else cleaned) or "empty answer"


def error_message(text: str) -> str:
    """What an error's body says, in whichever of the usual places; the text itself where it says nothing."""
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(body, dict):
        return text
    error = body.get("error") or body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or json.dumps(error)
    return str(error)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, by the headers of its answer; None where it does not say."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return None if math.isnan(seconds) else max(0.0, seconds)
    try:
        when = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
