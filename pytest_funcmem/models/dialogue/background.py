"""Runs requests in the background, so that the thread that waits for one can give it up at once.

A read that blocks can be ended by nobody; a task of an event loop can. All requests of a model share one
loop, in one thread, and thereby its connections. Knows no API.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["Background", "GivenUpError"]

T = TypeVar("T")

_LOOK_S = 0.05
_END_S = 10.0


class GivenUpError(Exception):
    """The caller gave the request up."""


class Background:
    """An event loop in a thread of its own, begun with the first request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, work: Callable[[], Coroutine[Any, Any, T]], cancelled: Callable[[], bool]) -> T:
        """Do the work and wait for it.

        Args:
            work: Begins it; called in the background.
            cancelled: Asked every now and then; once true, the work is given up.

        Raises:
            GivenUpError: It was given up.
            Exception: What the work raised.
        """
        if cancelled():
            raise GivenUpError
        loop = self._running()
        future = asyncio.run_coroutine_threadsafe(_begun(work), loop)
        try:
            while not concurrent.futures.wait([future], timeout=_LOOK_S).done:
                if cancelled():
                    raise GivenUpError
        finally:
            future.cancel()  # does nothing to what is done
        try:
            return future.result()
        except concurrent.futures.CancelledError as exc:  # by ``close``
            raise GivenUpError from exc

    def pause(self, seconds: float, cancelled: Callable[[], bool]) -> None:
        """Wait in the calling thread.

        Raises:
            GivenUpError: It was given up.
        """
        end = time.monotonic() + seconds
        while not cancelled():
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _LOOK_S))
        raise GivenUpError

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Give up what is under way, do the last work, and end the thread. May be called twice."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(_wound_up(last), loop).result(timeout=_END_S)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=_END_S)
            if not thread.is_alive():
                loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise ValueError("the model was closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="funcmem-dialogue", daemon=True
                )
                self._thread.start()
            return self._loop


async def _begun(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await work()


async def _wound_up(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await last()
    await asyncio.get_running_loop().shutdown_asyncgens()
