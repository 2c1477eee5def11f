"""A container with a program that stays warm: started, and read from by numbers and blocks of bytes.

Knows nothing of what the program is asked. Imports the Docker client, so it is imported only where Docker is
used.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

from pytest_funcmem.core.protocols import Limits
from pytest_funcmem.sandbox.container import (
    ENGINE_FAILURES,
    AttachedStream,
    create_container,
    engine_failed,
    remove_container,
)

__all__ = ["AS_NOBODY", "NUMBER", "ServiceLostError", "WarmContainer"]

NUMBER = struct.Struct(">i")
"""How numbers are sent, in both directions."""

AS_NOBODY = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all",
    "--no-new-privs",
)
"""What stands before the argument list of a program that is to run without any privilege."""


class ServiceLostError(Exception):
    """The program ended, or does not keep to the protocol."""


class WarmContainer:
    """A started program.

    Args:
        client: A ``docker.DockerClient``; stays the caller's.
        image: Id or name of the image that has the program.
        command: Its argument list, ``AS_NOBODY`` included.
        limits: Of the container; of these only memory and space count.
        runtime: Container runtime of the engine; None takes its default.
        remapped: Whether the engine maps the users of containers.
        greeting: The numbers that say that it is ready.
        start_s: Seconds that it may take to say so.
        where: What the container is for, for messages.

    Raises:
        SandboxError: The engine failed.
        ServiceLostError: The program does not start.
        TimeoutError: It does not say in time that it is ready.
    """

    def __init__(
        self,
        client: Any,
        image: str,
        command: Sequence[str],
        limits: Limits,
        *,
        runtime: str | None,
        remapped: bool,
        greeting: Sequence[int],
        start_s: float,
        where: str,
    ) -> None:
        self._stream: AttachedStream | None = None
        try:
            self._container, _uids = create_container(
                client, image, limits, runtime=runtime, remapped=remapped, entrypoint=command
            )
        except ENGINE_FAILURES as exc:
            raise engine_failed(exc, where) from exc
        try:
            attached = self._container.attach_socket(
                params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            self._stream = AttachedStream(attached)
            self._container.start()
            ready = time.monotonic() + start_s
            if any(self.number(ready) != wanted for wanted in greeting):
                raise ServiceLostError("it did not say that it is ready")
        except ENGINE_FAILURES as exc:
            self.stop()
            if isinstance(exc, TimeoutError):
                raise
            raise engine_failed(exc, where) from exc
        except BaseException:
            self.stop()
            raise

    def send(self, data: bytes, *, deadline: float) -> None:
        """Send all bytes.

        Raises:
            TimeoutError: It did not take them in time.
            ServiceLostError: It ended.
        """
        try:
            self._open_stream().send(data, deadline=deadline)
        except TimeoutError:
            raise
        except OSError as exc:
            raise ServiceLostError(f"it cannot be reached: {exc}") from exc

    def number(self, deadline: float) -> int:
        """The next number; fails as ``exactly`` does."""
        number: int = NUMBER.unpack(self.exactly(NUMBER.size, deadline))[0]
        return number

    def exactly(self, count: int, deadline: float) -> bytes:
        """The next so many bytes.

        Raises:
            TimeoutError: They did not come in time.
            ServiceLostError: It ended before them.
        """
        data = bytearray()
        stream = self._open_stream()
        while len(data) < count:
            try:
                piece = stream.receive(count - len(data), deadline=deadline)
            except TimeoutError:
                raise
            except OSError as exc:
                raise ServiceLostError(f"it does not answer: {exc}") from exc
            if not piece:
                raise ServiceLostError(("it ended. " + stream.diagnosis().strip())[:500])
            data += piece
        return bytes(data)

    def stop(self) -> None:
        """Close the connection and remove the container."""
        if self._stream is not None:
            self._stream.close()
        remove_container(self._container)

    def _open_stream(self) -> AttachedStream:
        if self._stream is None:
            raise ServiceLostError("it was stopped")
        return self._stream
