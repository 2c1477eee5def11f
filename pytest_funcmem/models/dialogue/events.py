"""Reads bodies that come in over time: server-sent events, or one text. Bounded; knows no API."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pytest_funcmem.models.dialogue.exchange import MalformedAnswerError
from pytest_funcmem.models.http_answers import LARGEST_BODY

__all__ = ["ServerEvent", "bounded", "server_events", "whole_body"]

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One event of a stream.

    Attributes:
        name: Its kind; "" where the stream gives none.
        data: What it holds.
    """

    name: str
    data: str


async def bounded(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks of a body.

    Raises:
        MalformedAnswerError: They are more than any answer of a model.
    """
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > LARGEST_BODY:
            raise MalformedAnswerError(f"The answer is larger than {LARGEST_BODY >> 20} MiB.")
        yield chunk


async def whole_body(chunks: AsyncIterator[bytes]) -> str:
    """A body as text.

    Raises:
        MalformedAnswerError: It is larger than any answer of a model.
    """
    return b"".join([chunk async for chunk in bounded(chunks)]).decode("utf-8", "replace")


async def server_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """The events of a stream; one that its end cuts off comes as far as it goes.

    Raises:
        MalformedAnswerError: The stream is larger than any answer of a model.
    """
    name, data = "", list[bytes]()
    async for line in _lines(chunks):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif not line:
            if data:
                yield ServerEvent(name=name, data=b"\n".join(data).decode("utf-8", "replace"))
            name, data = "", []


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    pending: list[bytes] = []  # pieces of one line; joined once, or a long line would take quadratic time
    async for chunk in bounded(chunks):
        pending.append(chunk)
        if not (b"\n" in chunk or b"\r" in chunk or (pending[-2:-1] and pending[-2].endswith(b"\r"))):
            continue
        *lines, rest = _LINE_END.split(b"".join(pending))
        pending = [rest] if rest else []
        for line in lines:
            yield line
    rest = b"".join(pending).rstrip(b"\r")
    if rest:
        yield rest
    yield b""
