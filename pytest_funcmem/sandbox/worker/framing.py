"""Frames on a file descriptor: one byte of kind, four bytes of length, then the body."""

from __future__ import annotations

import os
import struct

TASK = 1
RECORDS = 2
STDOUT = 3
STDERR = 4
END = 5
FAULT = 6
READY = 7

STARTED = b"+"
"""First byte of every record stream: the candidate is set up, what follows is its own."""

HEADER = struct.Struct(">BI")
LENGTH = struct.Struct(">I")


class ChannelClosedError(Exception):
    """The other side has gone."""


class Outbox:
    """Frames on their way out, handed over together: each write may wake several processes on the way."""

    _FULL = 64 * 1024

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._data = bytearray()

    def add(self, kind: int, body: bytes) -> None:
        """Add a frame; writes when there is much to write."""
        self._data += HEADER.pack(kind, len(body)) + body
        if len(self._data) >= self._FULL:
            self.flush()

    def flush(self) -> None:
        """Write all that was added."""
        data, self._data = self._data, bytearray()
        write_all(self._fd, data)


def read_exact(fd: int, count: int) -> bytes:
    """Read exactly ``count`` bytes.

    Raises:
        ChannelClosedError: The stream ended before.
    """
    pieces = []
    while count:
        piece = os.read(fd, min(count, 1 << 20))
        if not piece:
            raise ChannelClosedError
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def write_all(fd: int, data: bytes | bytearray) -> None:
    """Write every byte, however many calls it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> tuple[int, bytes]:
    """Read one frame as (kind, body)."""
    kind, length = HEADER.unpack(read_exact(fd, HEADER.size))
    return kind, read_exact(fd, length)


def write_frame(fd: int, kind: int, body: bytes) -> None:
    """Write one frame."""
    write_all(fd, HEADER.pack(kind, len(body)) + body)
