"""A server on loopback that speaks both APIs and answers what the ladder asks, function by function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Replies = Mapping[str, Mapping[str, Any]]

READ, WRITTEN = 900, 120


class LadderServer:
    """Answers by the function that is asked about and by what is asked: ``inputs``, ``preamble``, ``retry``.

    A reply is a text; a number is a status that goes on for ever; a list is given one after the other.
    """

    def __init__(self) -> None:
        self.replies: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                owner.answer(self, json.loads(raw))

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

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        if body.get("tools"):
            self._answer_agent(handler, body)
            return
        content = body["messages"][-1]["content"]
        user = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
        step = "inputs"
        if "Your preamble, which failed" in user:
            step = "retry"
        elif '{"preamble"' in user:
            step = "preamble"
        function = user.partition("The function to run:")[2] if step != "inputs" else user
        name = next(name for name in self.replies if f"def {name}(" in function)
        with self._lock:
            self.asked.append((name, step))
            self.bodies.append(body)
            reply = self.replies[name][step]
            if isinstance(reply, list):
                reply = reply.pop(0) if len(reply) > 1 else reply[0]
        if isinstance(reply, int):
            self._send(handler, reply, "application/json", b'{"error": {"type": "x", "message": "no"}}')
        elif handler.path.endswith("/messages"):
            self._send(handler, 200, "text/event-stream", anthropic_stream(body["model"], reply))
        else:
            self._send(handler, 200, "text/event-stream", chat_stream(body["model"], reply))

    def _answer_agent(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        """The next call of the agent: one a turn, by how often it has spoken."""
        first = json.dumps(body["messages"][0]["content"])
        name = next(name for name in self.replies if f"def {name}(" in first)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        with self._lock:
            self.asked.append((name, f"agent {turn + 1}"))
            self.bodies.append(body)
        tool, given = self.replies[name]["agent"][turn]
        self._send(
            handler, 200, "text/event-stream", anthropic_stream(body["model"], "", (tool, given, turn))
        )

    def _send(self, handler: BaseHTTPRequestHandler, status: int, kind: str, data: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        if status == 429:
            handler.send_header("Retry-After", "0")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


def anthropic_stream(model: str, text: str, call: tuple[str, Any, int] | None = None) -> bytes:
    """A message of the Messages API, as it streams in: a text, or the call of a tool."""
    reason = "refusal" if text == "(refusal)" else "end_turn"
    block: dict[str, Any] = {"type": "text", "text": ""}
    deltas = [{"type": "text_delta", "text": text[start : start + 40]} for start in range(0, len(text), 40)]
    if call is not None:
        reason = "tool_use"
        block = {"type": "tool_use", "id": f"toolu_{call[2]}", "name": call[0], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(call[1])}]
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": READ, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": WRITTEN},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def chat_stream(model: str, text: str) -> bytes:
    """An answer of a chat endpoint, as it streams in."""

    def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
        body = {"id": "c1", "object": "chat.completion.chunk", "model": model, "choices": choices, **more}
        return f"data: {json.dumps(body)}\n\n"

    parts = [
        chunk([{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]),
        chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        chunk(
            [], usage={"prompt_tokens": READ, "completion_tokens": WRITTEN, "total_tokens": READ + WRITTEN}
        ),
        "data: [DONE]\n\n",
    ]
    return "".join(parts).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LadderServer]:
    scripted = LadderServer()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", scripted.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    yield scripted
    scripted.close()


@pytest.fixture
def dataset(tmp_path) -> Callable[[Mapping[str, str]], str]:
    """Writes files of source as a data set, one row each."""

    def write(files: Mapping[str, str]) -> str:
        path = tmp_path / "functions.jsonl"
        rows = [json.dumps({"path": name, "content": text}) for name, text in files.items()]
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return str(path)

    return write
