"""Opens clients of Anthropic's API, and puts what they raise into this package's words.

The client reads key and address from the environment. Neither a key nor a request is logged or shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import anthropic

from pytest_funcmem.core.errors import EngineError, FuncmemError, ModelSpecError
from pytest_funcmem.models.http_answers import Shown, key_from, may_pass

__all__ = ["AnthropicWords", "open_client", "takes_temperature", "unwarned"]

C = TypeVar("C", anthropic.Anthropic, anthropic.AsyncAnthropic)

_CONNECT_S = 10.0


class AnthropicWords:
    """Translates what a client raises.

    Args:
        where: The model, for messages.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self.shown = Shown("")

    def hide(self, client: anthropic.Anthropic | anthropic.AsyncAnthropic) -> None:
        """Keep this client's key out of messages: servers echo keys."""
        self.shown = Shown(client.api_key or client.auth_token or "")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Translate all but ``BadRequestError``, which concerns one request.

        Raises:
            ModelSpecError: The address, the model's name or the key is wrong.
            EngineError: The API failed, or its answer cannot be read.
        """
        try:
            yield
        except (FuncmemError, anthropic.BadRequestError):
            raise
        except (anthropic.AuthenticationError, anthropic.PermissionDeniedError) as exc:
            raise self._wrong(f"The API refuses the key: {self.shown(exc.message)}") from exc
        except anthropic.NotFoundError as exc:
            raise self._wrong(f"The API knows no such model: {self.shown(exc.message)}") from exc
        except anthropic.APIError as exc:
            status = exc.status_code if isinstance(exc, anthropic.APIStatusError) else 500
            if not may_pass(status):
                raise self._wrong(f"The API refuses: status {status}: {self.shown(str(exc))}") from exc
            kind = type(exc).__name__
            raise EngineError(
                f"The API did not answer, and went on failing: {kind}: {self.shown(str(exc))}",
                where=self._where,
                remedy="Start again later: what was answered is not asked for again.",
            ) from exc
        except anthropic.AnthropicError as exc:
            raise self._wrong(f"The API cannot be used: {self.shown(str(exc))}") from exc
        except (TypeError, ValueError) as exc:
            # The client says so only when it builds the first request.
            if "authentication" in str(exc).lower() or "api_key" in str(exc).lower():
                raise self._wrong("There is no key for the API.") from exc
            raise EngineError(
                f"The API's answer cannot be read: {type(exc).__name__}: {self.shown(str(exc))}",
                where=self._where,
                remedy="Start again: what was answered is not asked for again.",
            ) from exc

    def _wrong(self, what: str) -> ModelSpecError:
        return ModelSpecError(
            what,
            where=self._where,
            expected="a key in ANTHROPIC_API_KEY, and the name of a model that it may use",
            remedy="Set the key, or mend the model's name, or the address in ANTHROPIC_BASE_URL.",
        )


def open_client(kind: type[C], words: AnthropicWords, *, timeout_s: float, retries: int) -> C:
    """Open a client.

    Args:
        kind: ``anthropic.Anthropic`` or ``anthropic.AsyncAnthropic``.
        words: Translates what it raises, and learns which key not to show.
        timeout_s: Seconds without a sign of life after which a request has failed.
        retries: How often the client itself repeats a request.

    Raises:
        ModelSpecError: The key in the environment cannot be sent.
        EngineError: The client cannot be built.
    """
    # Read here: the client would send a key with the end of a line behind it, and show it when that fails.
    key, token = key_from("ANTHROPIC_API_KEY"), key_from("ANTHROPIC_AUTH_TOKEN")
    given = {"api_key": key} if key else {"auth_token": token} if token else {}
    _keep_requests_out_of_logs()
    make: Callable[..., C] = kind
    http: Callable[..., Any] = (
        anthropic.DefaultAsyncHttpxClient
        if issubclass(kind, anthropic.AsyncAnthropic)
        else anthropic.DefaultHttpxClient
    )
    timeout = anthropic.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))
    with words.translated():
        # A redirect to another host would take the key along.
        client = make(
            **given,
            max_retries=retries,
            timeout=timeout,
            http_client=http(follow_redirects=False, timeout=timeout),
        )
    words.hide(client)
    return client


def takes_temperature() -> bool:
    """Whether the client speaks a version of the API that knows temperatures; those from 2.0 on do not."""
    return int(anthropic.__version__.partition(".")[0]) < 2


def unwarned(request: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Arguments for a request that the client does not warn about.

    It warns of models that will be gone some day, and a warning is an error where the user's pytest says so.

    Args:
        request: Its fields.
        more: Fields that the client has no arguments for.
    """
    return {**request, "model": "", "extra_body": {"model": request["model"], **(more or {})}}


def _keep_requests_out_of_logs() -> None:
    """The client writes whole requests into its log at DEBUG, and pytest can be told to show all of that."""
    logger = logging.getLogger("anthropic")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
