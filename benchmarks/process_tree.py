"""What the processes of a benchmark use together: processor seconds and memory, its children included.

Read from ``/proc``, where a process counts the ended children that it has waited for. Containers are no
children: under Docker only this side is seen.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["MemoryWatch", "processor_seconds", "tree"]

_PERIOD_S = 1.0


def _stat(pid: int) -> list[str] | None:
    """Fields of ``/proc/PID/stat`` from the third on; None if the process is gone."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return None


def tree() -> dict[int, list[str]]:
    """This process and all below it, with their fields."""
    fields = {
        int(path.name): _stat(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()
    }
    children: dict[int, list[int]] = defaultdict(list)
    for pid, found in fields.items():
        if found is not None:
            children[int(found[1])].append(pid)
    kept: dict[int, list[str]] = {}
    pending = [os.getpid()]
    while pending:
        pid = pending.pop()
        found = fields.get(pid)
        if found is not None:
            kept[pid] = found
        pending.extend(children[pid])
    return kept


def processor_seconds() -> float:
    """Processor seconds that this process, those below it and those they waited for have used."""
    ticks = sum(int(value) for found in tree().values() for value in found[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _proportional_mb(pid: int) -> float:
    """Memory of a process in MB, with pages that several share divided among them."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)


class MemoryWatch:
    """Looks every second at the memory of this process and all below it; ``peak_mb`` is the most it saw."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._over.wait(_PERIOD_S):
            self.peak_mb = max(self.peak_mb, sum(_proportional_mb(pid) for pid in tree()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self.peak_mb = max(self.peak_mb, sum(_proportional_mb(pid) for pid in tree()))
