"""The program behind an agent's commands. It lives inside the sandbox.

``main(payload, emit)`` runs one shell command in the working directory, where the sandbox has laid the files
of the agent, and gives back what it wrote and which files are others now. The command is up to hostile code,
so nothing here may be relied upon outside.
"""

# ruff: noqa: PTH101, PTH118, PTH123
# It runs on Python 3.9 too.
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

_PIECE = 65536


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Run a command.

    Args:
        payload: JSON: ``command``; ``timeout_s``; ``executable``, the files to be made so; ``known``, digests
            of the files by path; ``shown_bytes``, how much of the beginning and of the end of what it
            writes is kept; ``most_files`` and ``most_bytes``, what may be given back.
        emit: Called with the bytes of each record: first how the command ended, then for each file that is
            new or changed a line of JSON and its content, last the paths of all files.
    """
    task = json.loads(payload)
    for path in task["executable"]:
        os.chmod(path, 0o755)
    began = time.monotonic()
    process = subprocess.Popen(
        ["/bin/sh", "-c", task["command"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    kept = _Kept(task["shown_bytes"])
    reader = threading.Thread(target=kept.read, args=(process.stdout,), daemon=True)
    reader.start()
    timed_out = False
    try:
        process.wait(task["timeout_s"])
    except subprocess.TimeoutExpired:
        timed_out = True
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    reader.join(1.0)  # something that left the group may hold the pipe open
    emit(
        _line(
            {
                "kind": "ended",
                "exit": process.returncode,
                "timed_out": timed_out,
                "seconds": time.monotonic() - began,
                "output": kept.text(),
            }
        )
    )
    _give_back(task, emit)


class _Kept:
    """The beginning and the end of a stream."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def read(self, stream: Any) -> None:
        """Read to the end."""
        while True:
            piece = os.read(stream.fileno(), _PIECE)
            if not piece:
                return
            room = self._size - len(self._head)
            self._head += piece[:room]
            self._tail += piece[room:]
            if len(self._tail) > self._size:
                self._dropped += len(self._tail) - self._size
                del self._tail[: len(self._tail) - self._size]

    def text(self) -> str:
        """What was kept, with a line for what was not."""
        middle = b"\n[%d bytes left out]\n" % self._dropped if self._dropped else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode("utf-8", "replace")


def _give_back(task: dict[str, Any], emit: Callable[[bytes], None]) -> None:
    paths: list[list[Any]] = []
    left_out: list[str] = []
    room = task["most_bytes"]
    for path, status in _files():
        if len(paths) >= task["most_files"] or status.st_size > room:
            left_out.append(path)
            continue
        try:
            with open(path, "rb") as file:
                content = file.read(status.st_size)
        except OSError:
            left_out.append(path)
            continue
        room -= len(content)
        executable = bool(status.st_mode & stat.S_IXUSR)
        paths.append([path, executable])
        if hashlib.sha256(content).hexdigest() != task["known"].get(path):
            emit(_line({"kind": "file", "path": path}) + content)
    emit(_line({"kind": "files", "paths": paths, "left_out": left_out[:50]}))


def _files() -> Iterator[tuple[str, os.stat_result]]:
    """The plain files at or below the working directory, in order of their names."""
    for place, folders, names in os.walk("."):
        folders.sort()
        for name in sorted(names):
            path = os.path.normpath(os.path.join(place, name))
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                yield path, status


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"
