"""A connection to a worker that is a child process, over a socket pair."""

from __future__ import annotations

import socket
import time
from typing import IO

__all__ = ["SocketStream"]

_DIAGNOSIS_BYTES = 4000


class SocketStream:
    """Sends and receives on a socket, with deadlines.

    Args:
        connection: This side of the socket pair.
        complaints: File that the worker's standard error goes to.
    """

    def __init__(self, connection: socket.socket, complaints: IO[bytes]) -> None:
        self._connection = connection
        self._complaints = complaints

    def send(self, data: bytes, *, deadline: float) -> None:
        """Send all bytes."""
        self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
        self._connection.sendall(data)

    def receive(self, limit: int, *, deadline: float) -> bytes:
        """Receive some bytes."""
        self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
        return self._connection.recv(limit)

    def diagnosis(self) -> str:
        """The end of what the worker wrote to standard error."""
        size = self._complaints.seek(0, 2)
        self._complaints.seek(max(size - _DIAGNOSIS_BYTES, 0))
        return self._complaints.read(_DIAGNOSIS_BYTES).decode("utf-8", "replace")

    def close(self) -> None:
        """Close both."""
        self._connection.close()
        self._complaints.close()
