"""Runs a builder in a process of its own, one for each thread that builds.

Reading hostile source can bring an interpreter down (a parser that runs out of stack), changes warning
filters that belong to the whole process, holds the interpreter lock for long, and on some releases of CPython
breaks syntax trees that other threads work on. None of that may reach the process of pytest and the models.

The child has no sandbox: it asks the parent to run a task, and the parent does so in the real one. Both ends
are this package and exchange its own records, over a socket that only the two hold.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from pytest_funcmem.core.errors import AuditError, FuncmemError, SandboxError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Harness, Inconclusive, Json, SourceFunction
from pytest_funcmem.core.registry import load

__all__ = ["ProcessBuilder"]

logger = logging.getLogger(__name__)


class ProcessBuilder:
    """A builder whose work is done in child processes.

    Children start when they are first needed and serve until ``close``.

    Args:
        entry: Name of the builder in the registry, such as ``local/python``.
        settings: Of the audit.
    """

    def __init__(self, entry: str, settings: Settings) -> None:
        kind = load("builder", entry)
        self.name: str = kind.name
        self.version: str = kind.version
        self._entry = entry
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._children: set[_Child] = set()
        self._closed = False

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int) -> Harness | Inconclusive:
        """Build in a child; see ``Builder.build``."""
        harness: Harness | Inconclusive = self.call(function, sandbox, seed=seed)
        return harness

    def call(self, function: SourceFunction, sandbox: Sandbox, *, seed: int, **more: Any) -> Any:
        """Have the child's builder build with further arguments.

        Returns:
            What it gives; an ``Inconclusive`` where the child died of it.
        """
        child = self._take()
        try:
            harness = child.build(function, sandbox, seed, more)
        except _ChildDied as died:
            self._drop(child)
            if self._closed:
                raise SandboxError("The builder was closed while it worked.") from died
            return Inconclusive(
                reason="load_failed", detail=f"reading the function's file ended the builder: {died}"
            )
        except BaseException:
            self._drop(child)
            raise
        with self._lock:
            self._idle.append(child)
        return harness

    def close(self) -> None:
        """End the children, whatever they are doing. May be called twice."""
        with self._lock:
            self._closed = True
            children = list(self._children)
            self._children.clear()
            self._idle.clear()
        for child in children:
            child.kill()

    def _take(self) -> _Child:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        child = _Child(self._entry, self._settings)
        with self._lock:
            self._children.add(child)
        return child

    def _drop(self, child: _Child) -> None:
        with self._lock:
            self._children.discard(child)
        child.kill()


class _ChildDied(Exception):  # noqa: N818  (an event between the two classes here)
    """The child ended in the middle of its work; the message says how."""


class _Child:
    """The parent's end of one child process."""

    def __init__(self, entry: str, settings: Settings) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",  # the working directory may be the audited tree: nothing is imported from it
                    "-W",
                    "ignore",
                    "-m",
                    "pytest_funcmem.harness.builder_process",
                    str(theirs.fileno()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent, which then closes this one
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        self._send(("open", entry, settings))

    def build(self, function: SourceFunction, sandbox: Sandbox, seed: int, more: Mapping[str, Any]) -> Any:
        self._send(("build", function, seed, sandbox.name, sandbox.workers, dict(more)))
        while True:
            kind, content = self._receive()
            if kind == "built":
                return content
            if kind == "run":
                try:
                    answer: tuple[str, Any] = ("result", sandbox.run(content))
                except FuncmemError as error:
                    self._send(("failed", error))
                    self._receive()  # what the builder made of it
                    raise
                self._send(answer)
            elif kind == "failed":
                raise content if isinstance(content, FuncmemError) else AuditError(str(content))

    def kill(self) -> None:
        """End the process and wait for it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._connection.close()

    def _send(self, message: object) -> None:
        try:
            self._connection.send(message)
        except (OSError, ValueError) as exc:
            raise _ChildDied(self._how()) from exc

    def _receive(self) -> tuple[str, Any]:
        try:
            message: tuple[str, Any] = self._connection.recv()
        except (EOFError, OSError) as exc:
            raise _ChildDied(self._how()) from exc
        return message

    def _how(self) -> str:
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


# ------------------------------------------------------------------------------------------ in the child


class _ParentsSandbox:
    """The parent's sandbox, as the child sees it."""

    def __init__(self, connection: Connection[Any, Any], name: str, workers: int) -> None:
        self.name = name
        self.workers = workers
        self._connection = connection

    def run(self, task: SandboxTask) -> SandboxResult:
        """Have the parent run a task."""
        self._connection.send(("run", task))
        kind, content = self._connection.recv()
        if kind == "failed":
            raise content
        result: SandboxResult = content
        return result

    def identity(self) -> Mapping[str, Json]:
        """Not known here; nothing that is built may depend on it."""
        return {}

    def open(self) -> None:
        """The parent opened it."""

    def close(self) -> None:
        """The parent closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The parent closes it."""


def serve(connection: Connection[Any, Any]) -> None:
    """Answer the parent until it closes the connection."""
    _, entry, settings = connection.recv()
    builder = load("builder", entry).from_settings(settings)
    while True:
        _, function, seed, name, workers, more = connection.recv()
        try:
            lent = _ParentsSandbox(connection, name, workers)
            built = builder.build(function, lent, seed=seed, **more)
        except EOFError:
            raise
        except FuncmemError as error:
            connection.send(("failed", error))
        except Exception as error:
            logger.exception("building a harness failed")
            connection.send(("failed", f"internal error in the builder: {type(error).__name__}: {error}"))
        else:
            connection.send(("built", built))


def main() -> None:
    """Serve over the descriptor that is named on the command line."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    # The parent is gone, and with it any use of going on.
    with contextlib.suppress(EOFError, ConnectionError, KeyboardInterrupt):
        serve(connection)


if __name__ == "__main__":
    main()
