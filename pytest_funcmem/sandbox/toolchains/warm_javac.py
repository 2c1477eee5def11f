"""A Java compiler that stays warm, in a container of its own.

It gets sources and gives classes; it runs nothing of a candidate, and no program of a candidate can reach it.
So one compiler can serve all candidates: each compilation gets a compiler context of its own, in memory,
without annotation processors, plugins, class path or files. What it cannot exclude is a fault of the compiler
itself that a source text alone could use; one that ran out of time, stack or memory is thrown away.
Imports the Docker client, so it is imported only where Docker is used.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Limits
from pytest_funcmem.sandbox.toolchains.recipes import JAVA_FLAGS
from pytest_funcmem.sandbox.warm_container import AS_NOBODY, NUMBER, ServiceLostError, WarmContainer

__all__ = ["JavaCompilation", "WarmJavac"]

_log = logging.getLogger(__name__)

_LIMITS = Limits(memory_mib=512, processes=64, files_mib=1)
_START_S = 60.0
_COMPILATIONS = 1000
"""Compilations after which a compiler is replaced, so that nothing can build up in it unseen."""
_MESSAGE_BYTES = 64 * 1024
_MOST_CLASSES = 10_000
_COMPILED, _REFUSED = 0, 1
_COMMAND = (
    *AS_NOBODY,
    "java",
    *JAVA_FLAGS,
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:SharedArchiveFile=/opt/funcmem/compiler.jsa",
    "-cp",
    "/opt/funcmem/compiler.jar",
    "funcmem.CompilerService",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaCompilation:
    """What a compilation gave.

    Attributes:
        message: The first error, or what ended the compiler; "" where it compiled.
        classes: Class files by path.
        seconds: Wall-clock seconds, waiting for the compiler not included.
    """

    compiled: bool
    message: str = ""
    classes: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float


class WarmJavac:
    """One warm compiler; it is started when it is first needed and started again when it was lost.

    Safe for several threads; one compilation runs at a time.

    Args:
        client: A ``docker.DockerClient``; stays the caller's.
        image: The Java image of this package.
        runtime: Container runtime of the engine; None takes its default.
    """

    def __init__(self, client: Any, image: str, *, runtime: str | None = None) -> None:
        self._client = client
        self._image = image
        self._runtime = runtime
        self._lock = threading.Lock()
        self._service: _Service | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start it now, so that the first compilation need not wait.

        Raises:
            SandboxError: It does not start.
        """
        with self._lock:
            self._ready()

    def compile(
        self, sources: Mapping[str, str], *, timeout_s: float, most_bytes: int = 32 << 20
    ) -> JavaCompilation:
        """Compile sources together.

        Args:
            sources: Texts by relative path.
            timeout_s: Seconds that it may take.
            most_bytes: Most bytes that the classes may have together.

        Raises:
            SandboxError: The compiler does not start; nothing is known about the sources.
        """
        with self._lock:
            try:
                return self._attempt(sources, timeout_s, most_bytes)
            except ServiceLostError as lost:
                _log.warning("The Java compiler was lost and is started again: %s", lost)
            try:
                return self._attempt(sources, timeout_s, most_bytes)
            except ServiceLostError as lost:
                # A fresh compiler that ends over the same sources: that is the sources' doing.
                return JavaCompilation(compiled=False, message=f"the compiler failed: {lost}", seconds=0.0)

    def close(self) -> None:
        """Stop it. May be called twice."""
        with self._lock:
            self._closed = True
            self._drop()

    def _attempt(self, sources: Mapping[str, str], timeout_s: float, most_bytes: int) -> JavaCompilation:
        service = self._ready()
        start = time.monotonic()
        try:
            compilation = service.compile(sources, deadline=start + timeout_s, most_bytes=most_bytes)
        except TimeoutError:
            self._drop()
            return JavaCompilation(
                compiled=False, message="the compiler was stopped: timeout", seconds=time.monotonic() - start
            )
        except BaseException:
            self._drop()
            raise
        if service.is_spent:
            self._drop()
        return compilation

    def _ready(self) -> _Service:
        if self._closed:
            raise SandboxError("The Java compiler is closed.", where="warm javac")
        if self._service is None:
            try:
                self._service = _Service(self._client, self._image, self._runtime)
            except (ServiceLostError, TimeoutError) as exc:
                raise SandboxError(
                    f"The Java compiler does not start: {exc}",
                    where="warm javac",
                    remedy="funcmem images build --language java",
                ) from exc
        return self._service

    def _drop(self) -> None:
        service, self._service = self._service, None
        if service is not None:
            service.stop()


class _Service(WarmContainer):
    """A started compiler."""

    def __init__(self, client: Any, image: str, runtime: str | None) -> None:
        self._count = 0
        self._exhausted = False
        super().__init__(
            client,
            image,
            _COMMAND,
            _LIMITS,
            runtime=runtime,
            remapped=False,
            greeting=(_COMPILED,),
            start_s=_START_S,
            where="warm javac",
        )

    @property
    def is_spent(self) -> bool:
        """Whether it should not be used again."""
        return self._exhausted or self._count >= _COMPILATIONS

    def compile(self, sources: Mapping[str, str], *, deadline: float, most_bytes: int) -> JavaCompilation:
        """Compile; ``TimeoutError`` or ``ServiceLostError`` where it did not answer."""
        start = time.monotonic()
        self._count += 1
        blocks = [NUMBER.pack(len(sources))]
        for path, text in sources.items():
            for part in (path.encode("utf-8", "replace"), text.encode("utf-8", "replace")):
                blocks += [NUMBER.pack(len(part)), part]
        self.send(b"".join(blocks), deadline=deadline)
        status = self.number(deadline)
        message = self._block(deadline, _MESSAGE_BYTES).decode("utf-8", "replace")
        classes = self._classes(deadline, most_bytes)
        self._exhausted = status not in (_COMPILED, _REFUSED)
        return JavaCompilation(
            compiled=status == _COMPILED,
            message=" ".join(message.split()),
            classes=classes if status == _COMPILED else {},
            seconds=time.monotonic() - start,
        )

    def _classes(self, deadline: float, most_bytes: int) -> dict[str, bytes]:
        count = self.number(deadline)
        if not 0 <= count <= _MOST_CLASSES:
            raise ServiceLostError(f"it announced {count} classes")
        classes: dict[str, bytes] = {}
        for _ in range(count):
            name = self._block(deadline, 4096).decode("utf-8", "replace")
            content = self._block(deadline, most_bytes)
            most_bytes -= len(content)
            parts = name.split(".")
            if not all(part and "/" not in part and "\0" not in part for part in parts):
                raise ServiceLostError(f"it named a class {name[:80]!r}")
            classes["/".join(parts) + ".class"] = content
        return classes

    def _block(self, deadline: float, most: int) -> bytes:
        length = self.number(deadline)
        if not 0 <= length <= most:
            raise ServiceLostError(f"it announced a block of {length} bytes")
        return self.exactly(length, deadline)
