"""Which sandbox is used: the one that was asked for, or for ``auto`` the best that answers. Never none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

__all__ = ["open_sandbox"]


def open_sandbox(
    name: str, *, programs: Mapping[str, Path], workers: int = 0, image: str | None = None
) -> WarmSandbox:
    """Make and open the sandbox of a name.

    Args:
        name: ``auto``, ``docker`` or ``namespace``.
        programs: Programs that tasks may name.
        workers: Tasks that may run at one time; 0 means one per core.
        image: Docker image to use instead of the one that this package builds.

    Raises:
        SandboxUnavailableError: The machine offers no such isolation.
        UsageError: There is no sandbox of that name.
    """
    if name not in ("auto", "namespace"):
        raise UsageError(f"There is no sandbox named {name!r}.", expected="auto, docker or namespace")
    sandbox = NamespaceSandbox(programs=programs, workers=workers)
    sandbox.open()
    return sandbox
