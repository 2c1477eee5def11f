"""A server on loopback that answers as it is told, for the APIs that judges and endpoints speak."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = tuple[int, dict[str, str], Any]


class ScriptedServer:
    """Answers each request with what ``script`` says, and remembers what it was asked.

    A script takes method, path and body, and gives back status, headers and body: an object is sent as JSON,
    bytes as they are; the header ``X-Cut: 1`` breaks the connection after half of the body.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: Callable[[str, str, Any], Answer] = lambda method, path, body: (404, {}, {})
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(size)
                body = json.loads(raw) if raw else None
                owner.requests.append((self.command, self.path, body))
                owner.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, headers, content = owner.script(self.command, self.path, body)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if "X-Cut" in headers:
                    self.wfile.write(data[: len(data) // 2])
                    self.wfile.flush()
                    self.connection.close()
                    return
                self.wfile.write(data)

            do_GET = do_POST = answer  # noqa: N815 - the names are the base class's

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
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def in_turn(self, *answers: Answer) -> None:
        """Answer with these, one after the other; the last for ever."""
        left = list(answers)

        def script(method: str, path: str, body: Any) -> Answer:
            return left.pop(0) if len(left) > 1 else left[0]

        self.script = script


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", scripted.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    yield scripted
    scripted.close()
