"""Who started a container, so that what a killed run left behind can be told from what is in use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["OWNER_LABEL", "is_orphan", "owner_labels"]

OWNER_LABEL = "org.pytest-funcmem.owner"
_START_LABEL = "org.pytest-funcmem.owner-start"
_BOOT_LABEL = "org.pytest-funcmem.boot"
_MACHINE_LABEL = "org.pytest-funcmem.machine"


def owner_labels() -> dict[str, str]:
    """Labels that name this process: its number, when it started, and on which boot of which machine."""
    pid = os.getpid()
    return {
        OWNER_LABEL: str(pid),
        _START_LABEL: _start_time(pid) or "",
        _BOOT_LABEL: _read("/proc/sys/kernel/random/boot_id"),
        _MACHINE_LABEL: _read("/etc/machine-id"),
    }


def is_orphan(labels: Mapping[str, str]) -> bool:
    """Whether the process that the labels name is certainly dead. Other machines' owners count as alive."""
    if labels.get(_BOOT_LABEL) != _read("/proc/sys/kernel/random/boot_id"):
        machine = _read("/etc/machine-id")
        return machine != "" and labels.get(_MACHINE_LABEL) == machine  # an earlier boot of this machine
    owner = labels.get(OWNER_LABEL, "")
    return not owner.isdigit() or _start_time(int(owner)) != labels.get(_START_LABEL)


def _start_time(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; None if there is no such live process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state in ("Z", "X") else fields[18]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""
