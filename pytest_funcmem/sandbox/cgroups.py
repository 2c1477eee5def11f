"""A memory limit for a worker and its tasks together, where this user may make control groups (v1 or v2)."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MemoryGroup", "find_parent", "new_group", "remove_left"]

_ROOT = Path("/sys/fs/cgroup")
_STALE_S = 600.0  # a group has its first member long before


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGroup:
    """One control group.

    Attributes:
        path: Its directory.
        unified: Whether it is of version 2.
    """

    path: Path
    unified: bool

    @property
    def members(self) -> Path:
        """File that a process writes its number to in order to join."""
        return self.path / "cgroup.procs"

    def limit(self, memory_bytes: int) -> None:
        """Set the limit, swap included.

        Raises:
            OSError: More than that is in use and cannot be freed.
        """
        if self.unified:
            _write(self.path / "memory.max", memory_bytes)
            _write_if_there(self.path / "memory.swap.max", 0)
            return
        with_swap = self.path / "memory.memsw.limit_in_bytes"
        try:
            _write(self.path / "memory.limit_in_bytes", memory_bytes)
        except OSError:  # it may not be above the one with swap: raise that first
            _write_if_there(with_swap, memory_bytes)
            _write(self.path / "memory.limit_in_bytes", memory_bytes)
        _write_if_there(with_swap, memory_bytes)

    def oom_kills(self) -> int:
        """Processes of the group that were killed for memory so far."""
        name = "memory.events" if self.unified else "memory.oom_control"
        for line in (self.path / name).read_text(encoding="ascii").splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return 0

    def remove(self) -> None:
        """Remove it; it must be empty. One that is not is left to a later run."""
        try:
            self.path.rmdir()
        except OSError:
            return


def find_parent() -> Path | None:
    """Find a directory in which this user may make groups that limit memory, and fill them; None if none.

    What killed runs have left there is removed.
    """
    for parent in _own_and_above():
        group = _make(parent)
        if group is None:
            continue
        # A shell moves itself: moving is what delegation may forbid although making the group was allowed.
        join = subprocess.run(
            ["/bin/sh", "-c", 'echo $$ > "$0"', str(group.members)], capture_output=True, check=False
        )
        try:
            group.limit(64 * 1024 * 1024)
            limited = join.returncode == 0
        except OSError:
            limited = False
        group.remove()
        if limited:
            remove_left(parent)
            return parent
    return None


def remove_left(parent: Path) -> None:
    """Remove the groups in a directory that have no members any more; the kernel keeps those that have."""
    for group in parent.glob("funcmem-*"):
        # Another run may be faster, and one whose group is about to get its first member needs it.
        with contextlib.suppress(OSError):
            if time.time() - group.stat().st_mtime > _STALE_S:
                group.rmdir()


def new_group(parent: Path) -> MemoryGroup:
    """Make a group.

    Raises:
        OSError: It is no longer possible.
    """
    group = _make(parent)
    if group is None:
        raise OSError(f"no control group can be made in {parent}")
    return group


def _own_and_above() -> list[Path]:
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _number, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    if "memory" in own:
        base, path = _ROOT / "memory", own["memory"]
    elif "" in own:
        base, path = _ROOT, own[""]
    else:
        return []
    here = base / path.lstrip("/")
    return [level for level in (here, *here.parents) if level.is_relative_to(base) and level.is_dir()]


def _make(parent: Path) -> MemoryGroup | None:
    # Containers that share this directory count their processes each for itself: an id alone is not enough.
    path = parent / f"funcmem-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        path.mkdir()
    except OSError:
        return None
    for name, unified in (("memory.max", True), ("memory.limit_in_bytes", False)):
        if (path / name).exists():
            return MemoryGroup(path=path, unified=unified)
    path.rmdir()
    return None


def _write(path: Path, number: int) -> None:
    path.write_text(str(number), encoding="ascii")


def _write_if_there(path: Path, number: int) -> None:
    if path.exists():
        _write(path, number)
