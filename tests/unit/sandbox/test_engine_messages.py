"""What is said of a Docker engine that does not answer: its own words or the system's, no library's."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("docker")

from pytest_funcmem.sandbox import docker_sandbox


@contextlib.contextmanager
def engine(path: Path, *, closes: bool) -> Iterator[None]:
    """Something that takes connections and says nothing, or hangs up."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        kept: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    link, _ = server.accept()
                    if closes:
                        link.recv(65536)
                        link.close()
                    else:
                        kept.append(link)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            for link in kept:
                link.close()


@pytest.mark.parametrize(
    ("closes", "said"),
    [(True, "it closed the connection without an answer"), (False, "it gave no answer in time")],
)
def test_an_engine_that_is_deaf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closes: bool, said: str
) -> None:
    path = tmp_path / "engine.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    monkeypatch.setattr(docker_sandbox, "_PING_S", 1)
    with engine(path, closes=closes):
        # The knock at the door is a connection of its own, so the engine is heard to hang up by the client.
        assert docker_sandbox.docker_answers() == said


def test_an_engine_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert docker_sandbox.docker_answers() == f"No such file or directory ({tmp_path}/none.sock)"
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert docker_sandbox.docker_answers() == "Connection refused"
