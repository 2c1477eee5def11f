"""Several sandboxes as one: each task goes to the one whose image has its language's toolchain."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Json, Language

__all__ = ["SandboxByLanguage"]


class SandboxByLanguage:
    """Routes tasks by their language.

    Args:
        sandboxes: One open sandbox for each language that is needed, all of one kind. Closing this one closes
            them.

    Raises:
        ValueError: There is none.
    """

    def __init__(self, sandboxes: Mapping[Language, Sandbox]) -> None:
        if not sandboxes:
            raise ValueError("no sandbox to route to")
        self._sandboxes = dict(sandboxes)
        first = next(iter(self._sandboxes.values()))
        self.name = first.name
        self.workers = max(sandbox.workers for sandbox in self._sandboxes.values())

    def identity(self) -> Mapping[str, Json]:
        """What the first says of itself; the others stand under ``languages``, with what differs."""
        (first, one), *rest = self._sandboxes.items()
        about: dict[str, Json] = {**one.identity(), "language": first}
        others = {language: sandbox.identity() for language, sandbox in rest}
        if others:
            about["languages"] = {
                language: {name: value for name, value in said.items() if about.get(name) != value}
                for language, said in others.items()
            }
        return about

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run one task in the sandbox of its language.

        Raises:
            SandboxError: There is none for it, or it failed.
        """
        sandbox = self._sandboxes.get(task.language)
        if sandbox is None:
            raise SandboxError(
                f"No sandbox was opened for {task.language}.", expected="one of " + ", ".join(self._sandboxes)
            )
        return sandbox.run(task)

    def open(self) -> None:
        """They are open already."""

    def close(self) -> None:
        """Close them all. May be called twice."""
        with contextlib.ExitStack() as stack:
            for sandbox in self._sandboxes.values():
                stack.callback(sandbox.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
