"""What played models are made of; see ``played_models``."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = [
    "Answer",
    "Asked",
    "Body",
    "Call",
    "PlayedServer",
    "Refuse",
    "Result",
    "Say",
    "Script",
    "Silence",
    "StreamError",
    "in_turn",
    "pieces_of",
    "rule",
    "tokens_of",
]

# ---------------------------------------------------------------------------------------------- what is said


@dataclass(frozen=True)
class Call:
    """A call of a tool; ``arguments`` as a text is sent as it stands, well-formed or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Say:
    """An answer of the model.

    Args:
        text: What it says; "" for nothing.
        calls: What it calls.
        stop: Why it stops, in the API's own words; what is usual by default.
        thinking: A thought before it (Messages API only), signed.
        redacted: A thought that is not shown (Messages API only).
        usage: The API's own object in place of the counted one; None to leave it out.
        cut_after: Events after which the connection breaks.
        pause_s: Seconds between two events.
        wait_s: Seconds before the first byte.
    """

    def __init__(
        self,
        text: str = "",
        *calls: Call,
        stop: str | None = None,
        thinking: str = "",
        redacted: str = "",
        usage: Mapping[str, Any] | str | None = "counted",
        cut_after: int | None = None,
        pause_s: float = 0.0,
        wait_s: float = 0.0,
    ) -> None:
        self.text = text
        self.calls = calls
        self.stop = stop
        self.thinking = thinking
        self.redacted = redacted
        self.usage = usage
        self.cut_after = cut_after
        self.pause_s = pause_s
        self.wait_s = wait_s


@dataclass(frozen=True)
class Refuse:
    """An answer with an error's status."""

    status: int
    message: str = "no"
    kind: str = "api_error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamError:
    """An error that comes inside the stream, after ``after``'s first events."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"
    after: Say = field(default_factory=lambda: Say("Half an"))


@dataclass(frozen=True)
class Silence:
    """Nothing, for so long; after the headers of a stream or before them."""

    seconds: float
    after_headers: bool = True


@dataclass(frozen=True)
class Body:
    """Whatever body, as it stands."""

    content: bytes | Iterator[bytes]
    kind: str = "text/html"
    status: int = 200


Answer = Say | Refuse | StreamError | Silence | Body
Script = Callable[["Asked"], Answer]


def in_turn(*answers: Answer) -> Script:
    """Answer requests with these, one after the other; the last for ever."""
    left = list(answers)
    lock = threading.Lock()

    def script(asked: Asked) -> Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return script


# ---------------------------------------------------------------------------------------------- what is asked


@dataclass(frozen=True)
class Result:
    """What a tool gave, as the model reads it."""

    call: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Asked:
    """A request, in the words of neither API.

    Attributes:
        body: As it was sent.
        headers: With names in lower case.
        number: How many requests the server had before.
        system: The system prompt.
        turn: How often the model has spoken in this dialogue.
        said: All that the user said in words, message by message.
        results: What the last calls gave, in order.
        called: Names of the tools that the model called in this dialogue, in order.
        tools: Names of the tools that it may call.
        max_tokens: Most tokens of the answer.
    """

    body: Any
    headers: Mapping[str, str]
    number: int
    system: str
    turn: int
    said: tuple[str, ...]
    results: tuple[Result, ...]
    called: tuple[str, ...]
    tools: tuple[str, ...]
    max_tokens: int


class BadRequestError(Exception):
    """The request breaks a rule of the API."""


def rule(holds: object, what: str) -> None:
    if not holds:
        raise BadRequestError(what)


def tokens_of(value: Any) -> int:
    """About how many tokens a part of a request takes; four characters are one."""
    return (len(json.dumps(value)) + 3) // 4


# ------------------------------------------------------------------------------------------------ the servers


class PlayedServer:
    """A server that plays a script. Use as a context manager, or call ``close``.

    Attributes:
        url: Its address, as the client wants it.
        requests: What it was asked, in order, refused requests included.
        broken: Rules of the API that requests broke.
        gone: How many clients hung up before their answer was whole.
    """

    path = ""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Asked] = []
        self.broken: list[str] = []
        self.gone = 0
        self._lock = threading.Lock()
        self._ending = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    owner._play(self, body)
                except (BrokenPipeError, ConnectionResetError):
                    with owner._lock:
                        owner.gone += 1
                    self.close_connection = True

            def log_message(self, *arguments: object) -> None:
                """Nothing on standard error."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Broken connections are meant."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bodies(self) -> list[Any]:
        """What it was sent."""
        return [asked.body for asked in self.requests]

    def asked(self, body: Any, headers: Mapping[str, str], number: int) -> Asked:
        """Read a request, and hold it to the rules."""
        raise NotImplementedError

    def answer(self, asked: Asked) -> Answer:
        """What the script answers."""
        return self.script(asked)

    def events(self, say: Say, asked: Asked) -> list[bytes]:
        """An answer as the events of a stream; the last three end it."""
        raise NotImplementedError

    def error_event(self, error: StreamError) -> bytes:
        raise NotImplementedError

    def error_body(self, refusal: Refuse) -> Any:
        raise NotImplementedError

    def _play(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            number = len(self.requests)
            refusal: Refuse | None = None
            try:
                rule(handler.path == self.path, f"nothing is served at {handler.path}")
                asked = self.asked(body, headers, number)
            except BadRequestError as exc:
                self.broken.append(str(exc))
                refusal = Refuse(400, str(exc), kind="invalid_request_error")
                asked = Asked(body, headers, number, "", 0, (), (), (), (), 0)
            self.requests.append(asked)
        answer = refusal or self.answer(asked)
        if isinstance(answer, Refuse):
            content = json.dumps(self.error_body(answer)).encode()
            self._head(handler, answer.status, "application/json", len(content), answer.headers)
            handler.wfile.write(content)
        elif isinstance(answer, Body):
            if isinstance(answer.content, bytes):
                self._head(handler, answer.status, answer.kind, len(answer.content))
                handler.wfile.write(answer.content)
            else:
                self._stream(handler, answer.content, kind=answer.kind)
        elif isinstance(answer, Silence):
            if answer.after_headers:
                self._head(handler, 200, "text/event-stream", None)
            self._wait(answer.seconds)
            handler.close_connection = True
        elif isinstance(answer, StreamError):
            events = self.events(answer.after, asked)[:-3]
            self._stream(handler, iter([*events, self.error_event(answer)]))
        else:
            self._wait(answer.wait_s)
            self._stream(handler, iter(self.events(answer, asked)), answer.pause_s, answer.cut_after)

    def _head(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        kind: str,
        size: int | None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        if size is None:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(size))
        handler.end_headers()
        handler.wfile.flush()

    def _stream(
        self,
        handler: BaseHTTPRequestHandler,
        events: Iterator[bytes],
        pause_s: float = 0.0,
        cut_after: int | None = None,
        kind: str = "text/event-stream",
    ) -> None:
        self._head(handler, 200, kind, None)
        for number, event in enumerate(events):
            if number == cut_after:
                handler.close_connection = True  # the last chunk never comes
                return
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            handler.wfile.flush()
            self._wait(pause_s)
        handler.wfile.write(b"0\r\n\r\n")

    def _wait(self, seconds: float) -> None:
        if seconds:
            self._ending.wait(seconds)


def pieces_of(text: str) -> list[str]:
    """A text as a model streams it, in 500 pieces at most."""
    size = max(7, len(text) // 500 + 1)
    return [text[start : start + size] for start in range(0, len(text), size)]
