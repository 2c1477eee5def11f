"""``openai:`` models against a real HTTP server on loopback."""

from __future__ import annotations

import email.utils
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pytest_funcmem.core.errors import EngineError, FuncmemError, ModelSpecError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Prompt, SourceFunction
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.server_model import ServerModel
from pytest_funcmem.models.spec import parse_spec

QUICK = RetryPolicy(attempts=4, first_wait_s=0.01, longest_wait_s=2.0)
KEY = "sk-very-secret-0123456789"
BODY = "\n    total = 0\n    return total\n\n\nclass Next:\n    pass\n\n\nclass Other:\n    pass\n"


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the script of its server."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", "0"))
        body = json.loads(self.rfile.read(size))
        with self.server.lock:
            self.server.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})
            number = len(self.server.requests) - 1
        try:
            self.server.script(self, number, body)
        except (BrokenPipeError, ConnectionResetError):
            with self.server.lock:
                self.server.hung_up += 1
            self.close_connection = True

    def do_GET(self) -> None:
        if self.path == "/v1/models" and self.server.models is not None:
            self.answer({"data": [{"id": name} for name in self.server.models]})
        else:
            self.answer({"detail": "Not Found"}, status=404)

    def answer(self, body: Any, *, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def events(self, pieces: list[Any], *, pause_s: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            text = piece if isinstance(piece, str) else json.dumps(piece)
            data = f"data: {text}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
            time.sleep(pause_s)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *arguments: Any) -> None:
        """Keep standard error clean."""


Script = Callable[[Handler, int, dict[str, Any]], None]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script, models: list[str] | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.models = models
        self.requests: list[dict[str, Any]] = []
        self.hung_up = 0
        self.lock = threading.Lock()

    @property
    def spec(self) -> str:
        return f"openai:http://127.0.0.1:{self.server_address[1]}/v1#base"


@contextmanager
def serving(script: Script, models: list[str] | None = None) -> Iterator[Server]:
    server = Server(script, models)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def completion(text: str, reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": text, "finish_reason": reason}], **more}


def plain(handler: Handler, number: int, body: dict[str, Any]) -> None:
    handler.answer(completion(" return 1\n"))


def after_probe(script: Script) -> Script:
    """Answer the token that opening asks for, and leave the rest to a script counted from 0."""

    def scripted(handler: Handler, number: int, body: dict[str, Any]) -> None:
        if number == 0:
            plain(handler, number, body)
        else:
            script(handler, number - 1, body)

    return scripted


def function(name: str = "f") -> SourceFunction:
    text = f"def {name}(x):\n    return 1\n"
    end = text.index(":") + 1
    return SourceFunction(
        path="a.py",
        qualname=name,
        language="python",
        line=1,
        text=text,
        definition_start=0,
        signature_start=0,
        signature_end=end,
        end=len(text) - 1,
    )


def opened(server: Server, *, timeout_s: float = 5.0, in_flight: int = 4) -> ServerModel:
    settings = Settings(server_timeout=timeout_s, batch_size=in_flight)
    return ServerModel(parse_spec(server.spec), settings, retry=QUICK)


def ask(model: ServerModel, *functions: SourceFunction, tokens: int = 50) -> Any:
    asked = functions or (function(),)
    prompts: list[Prompt] = [model.cutter().cut(item, prefix_tokens=9) for item in asked]
    try:
        return model.complete(asked, prompts, max_new_tokens=tokens)
    finally:
        model.close()


def refused(script: Script, *, models: list[str] | None = None, **options: float) -> FuncmemError:
    """The error of one completion; opening must work."""
    with serving(after_probe(script), models) as server:
        model = opened(server, **options)  # type: ignore[arg-type]
        with pytest.raises(FuncmemError) as caught:
            ask(model)
        assert str(server.server_address[1]) in str(caught.value.where)
        assert caught.value.remedy
        assert len(str(caught.value)) < 1200
        return caught.value


# ------------------------------------------------------------------------------------------ what it asks


def test_it_asks_for_greedy_raw_completions() -> None:
    with serving(plain) as server:
        (answer,) = ask(opened(server), tokens=77)
        assert answer.text == " return 1\n"
        assert (answer.stop, answer.token_ids, answer.batch) == ("stop", None, None)
        probe, asked = server.requests
    assert asked["path"] == "/v1/completions"
    assert asked["body"]["model"] == "base"
    assert asked["body"]["prompt"] == "def f(x):"
    assert asked["body"]["max_tokens"] == 77
    assert asked["body"]["temperature"] == 0
    assert probe["body"]["max_tokens"] == 48
    assert "Authorization" not in {name.title() for name in asked["headers"]}


def test_results_are_in_order_with_several_requests_in_flight() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def slow_first(handler: Handler, number: int, body: dict[str, Any]) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.15 if "f0(" in body["prompt"] else 0.05)
        with lock:
            running -= 1
        handler.answer(completion(body["prompt"][4:6]))

    with serving(after_probe(slow_first)) as server:
        answers = ask(opened(server, in_flight=3), *(function(f"f{number}") for number in range(9)))
    assert [answer.text for answer in answers] == [f"f{number}" for number in range(9)]
    assert most == 3


def test_progress_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    with serving(plain) as server:
        model = opened(server)
        functions = [function(f"f{number}") for number in range(5)]
        prompts = [model.cutter().cut(item, prefix_tokens=9) for item in functions]
        model.complete(functions, prompts, max_new_tokens=5, progress=seen.append)
        model.close()
    assert sum(seen) == 5


def test_identity_is_the_name_and_the_fingerprint() -> None:
    with serving(
        lambda handler, number, body: handler.answer(completion("x", system_fingerprint="fp1"))
    ) as server:
        model = opened(server)
        assert model.identity.kind == "openai"
        assert model.identity.revision.startswith("base (fp1) probe:")
        assert model.identity.spec == server.spec
        model.close()
    with serving(plain) as server:
        model = opened(server)
        assert model.identity.revision.startswith("base probe:")
        model.close()


def test_other_weights_under_the_same_name_are_another_revision() -> None:
    revisions = []
    for text in ("    return 1", "    return 1", "    return 2"):

        def answer(handler: Handler, number: int, body: dict[str, Any], text: str = text) -> None:
            handler.answer(completion(text))

        with serving(answer) as server:
            model = opened(server)
            revisions.append(model.identity.revision)
            model.close()
    assert revisions[0] == revisions[1] != revisions[2]


def test_a_server_that_changes_is_an_error() -> None:
    error = refused(lambda handler, number, body: handler.answer(completion("x", system_fingerprint="fp2")))
    assert isinstance(error, EngineError)
    assert "changed" in error.what


# --------------------------------------------------------------------------------------------- streaming


def test_a_stream_is_closed_when_the_function_has_ended() -> None:
    pieces = [completion(line, None) for line in BODY.splitlines(keepends=True)]
    endless = pieces + [completion("    x = 1\n", None)] * 2000

    def stream(handler: Handler, number: int, body: dict[str, Any]) -> None:
        assert body["stream"] is True
        handler.events(endless, pause_s=0.005)

    with serving(after_probe(stream)) as server:
        started = time.monotonic()
        (answer,) = ask(opened(server))
        assert time.monotonic() - started < 3
    assert answer.stop == "function_end"
    assert answer.text.startswith("\n    total = 0\n    return total\n")
    assert BODY.startswith(answer.text)


@pytest.mark.parametrize(("reason", "stop"), [("stop", "stop"), ("length", "length")])
def test_a_stream_that_ends_tells_why(reason: str, stop: str) -> None:
    usage = {"choices": [], "usage": {"completion_tokens": 2}}
    pieces = [completion(" é", None), completion("\U0001f600", None), usage, completion("", reason), "[DONE]"]
    with serving(after_probe(lambda handler, number, body: handler.events(pieces))) as server:
        (answer,) = ask(opened(server))
    assert (answer.text, answer.stop) == (" é\U0001f600", stop)


def test_a_stream_that_breaks_off_is_asked_for_again() -> None:
    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        if number == 0:
            handler.events([completion(" half", None)])
        elif number == 1:
            handler.events([completion(" half", None), "[DONE]"])
        else:
            handler.events([completion(" whole", None), completion("", "stop"), "[DONE]"])

    with serving(after_probe(script)) as server:
        (answer,) = ask(opened(server))
        assert len(server.requests) == 4
    assert answer.text == " whole"


def test_an_error_within_a_stream_is_told() -> None:
    pieces = [completion(" a", None), {"error": {"message": "engine died"}}]
    assert "engine died" in refused(lambda handler, number, body: handler.events(pieces)).what


# ----------------------------------------------------------------------------------------------- retries


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_is_asked_again(status: int) -> None:
    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        if number < 2:
            handler.answer({"error": {"message": "busy"}}, status=status)
        else:
            plain(handler, number, body)

    with serving(after_probe(script)) as server:
        (answer,) = ask(opened(server))
        assert len(server.requests) == 4
    assert answer.text == " return 1\n"


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_the_wait_that_the_server_asks_for_is_kept(form: str) -> None:
    times: list[float] = []

    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        times.append(time.monotonic())
        if number == 0:
            when = datetime.now(UTC) + timedelta(seconds=2)
            value = "0.4" if form == "seconds" else email.utils.format_datetime(when, usegmt=True)
            handler.answer({}, status=429, retry_after=value)
        else:
            plain(handler, number, body)

    with serving(after_probe(script)) as server:
        ask(opened(server))
    assert 0.38 <= times[1] - times[0] < 3


def test_a_dropped_connection_is_asked_again() -> None:
    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        if number == 0:
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
        elif number == 1:
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"choices": [')
            handler.close_connection = True
        else:
            plain(handler, number, body)

    with serving(after_probe(script)) as server:
        (answer,) = ask(opened(server))
    assert answer.text == " return 1\n"


def test_a_server_that_stays_down_is_given_up() -> None:
    error = refused(lambda handler, number, body: handler.answer({"message": "no GPU"}, status=503))
    assert isinstance(error, EngineError)
    assert "did not answer 4 times" in error.what
    assert "no GPU" in error.what


def test_nobody_listening_is_told_on_opening() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spec = parse_spec(f"openai:http://127.0.0.1:{port}/v1#m")
    with pytest.raises(EngineError, match="connection failed"):
        ServerModel(spec, Settings(), retry=QUICK)


@pytest.mark.parametrize("drip", ["stall", "body", "stream"])
def test_a_slow_server_is_a_timeout_and_not_asked_again(drip: str) -> None:
    asked: list[int] = []
    over = threading.Event()

    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        asked.append(number)
        if drip == "stall":
            over.wait(5)
            return
        if drip == "stream":
            handler.events([completion(" a", None)] * 60, pause_s=0.05)
            return
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", "1000")
        handler.end_headers()
        for _ in range(60):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    started = time.monotonic()
    with serving(after_probe(script)) as server:
        model = opened(server, timeout_s=0.5)
        with pytest.raises(EngineError, match=r"within 0\.5 s") as caught:
            ask(model)
        assert time.monotonic() - started < 2.5
        over.set()
    assert asked == [0]
    assert "--funcmem-server-timeout" in str(caught.value.remedy)


def test_after_a_failure_the_rest_of_the_batch_is_not_asked_for() -> None:
    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        if "f0(" in body["prompt"]:
            handler.answer({"message": "bad"}, status=400)
        else:
            time.sleep(0.05)
            plain(handler, number, body)

    with serving(after_probe(script)) as server:
        model = opened(server, in_flight=2)
        with pytest.raises(EngineError, match="bad"):
            ask(model, *(function(f"f{number}") for number in range(40)))
        assert len(server.requests) < 20


# ---------------------------------------------------------------------------------------- wrong servers


def opening_fails(script: Script, models: list[str] | None = None) -> FuncmemError:
    """The error of opening."""
    with serving(script, models) as server, pytest.raises(FuncmemError) as caught:
        opened(server)
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("status", [404, 405])
def test_a_chat_only_server(status: int) -> None:
    error = opening_fails(lambda h, n, b: h.answer({"detail": "Not Found"}, status=status), ["base"])
    assert isinstance(error, ModelSpecError)
    assert "only chat" in error.what


def test_a_server_that_answers_completions_with_chat() -> None:
    chat = {"choices": [{"message": {"role": "assistant", "content": "Sure!"}, "finish_reason": "stop"}]}
    error = refused(lambda handler, number, body: handler.answer(chat))
    assert isinstance(error, ModelSpecError)
    assert "only chat" in error.what


def test_a_wrong_model_name_lists_the_right_ones() -> None:
    message = {"error": {"message": "The model `base` does not exist.", "code": 404}}
    error = opening_fails(lambda h, n, b: h.answer(message, status=404), ["olmo", "star"])
    assert isinstance(error, ModelSpecError)
    assert "no model named 'base'" in error.what
    assert error.expected == "olmo, star"


@pytest.mark.parametrize("status", [400, 404])
def test_a_wrong_model_name_on_a_server_without_a_list(status: int) -> None:
    message = {"message": "model 'base' not found"}
    error = opening_fails(lambda h, n, b: h.answer(message, status=status))
    assert "no model named 'base'" in error.what


def test_a_wrong_address() -> None:
    error = opening_fails(lambda h, n, b: h.answer(b"<h1>404</h1>", status=404, kind="text/html"))
    assert "no /completions" in error.what


def test_a_web_page() -> None:
    page = b"<!doctype html><title>Login</title>\x1b[31m"
    error = opening_fails(lambda h, n, b: h.answer(page, kind="text/html"))
    assert isinstance(error, ModelSpecError)
    assert "web page" in error.what
    assert "\x1b" not in str(error)


def test_a_redirect() -> None:
    error = opening_fails(lambda h, n, b: h.answer(b"", status=308, location="https://new/v1"))
    assert "https://new/v1" in error.what


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b'{"choices": [{"te', "not JSON"),
        (b"OK", "not JSON"),
        (b"", "not JSON"),
        (b"[1, 2]", "not an object"),
        (b"{}", "no list of choices"),
        (b'{"choices": []}', "empty list"),
        (b'{"choices": [{}]}', "without text"),
        (b'{"choices": [{"text": null}]}', "without text"),
        (b'{"choices": ["x"]}', "without text"),
        (b'{"choices": [{"text": "", "finish_reason": "content_filter"}]}', "withheld"),
        (b'{"error": {"message": "boom"}}', "boom"),
    ],
)
def test_answers_that_are_not_the_format(answer: bytes, what: str) -> None:
    error = refused(lambda handler, number, body: handler.answer(answer))
    assert isinstance(error, EngineError)
    assert what in error.what


def test_a_refused_request_shows_the_servers_words() -> None:
    message = {"error": {"message": "maximum context length is 64 tokens " + "x" * 5000}}
    error = refused(lambda handler, number, body: handler.answer(message, status=400))
    assert "maximum context length is 64" in error.what
    assert "--funcmem-prefix-tokens" in str(error.remedy)


# --------------------------------------------------------------------------------------------- secrets


def test_the_key_is_sent_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def script(handler: Handler, number: int, body: dict[str, Any]) -> None:
        message = {"error": {"message": f"key {handler.headers['authorization']} is out of money"}}
        handler.answer(message, status=429 if number < 2 else 400)

    with caplog.at_level(logging.DEBUG):
        error = refused(script)
        with serving(plain) as server:
            ask(opened(server))
            assert server.requests[1]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert "out of money" in error.what
    assert KEY not in str(error)
    assert KEY not in caplog.text
    assert "asking again" in caplog.text
    ours = [record for record in caplog.records if record.name.startswith("pytest_funcmem")]
    assert all("def f(x)" not in record.getMessage() for record in ours)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    error = opening_fails(lambda h, n, b: h.answer({"message": f"bad key {KEY}"}, status=status))
    assert isinstance(error, ModelSpecError)
    assert "OPENAI_API_KEY" in str(error)
    assert KEY not in str(error)
