"""What one task of a compiled language may cost, in seconds of the processor.

A busy machine takes longer on the clock and does the same work, so the clock only ends what waits.
"""

from __future__ import annotations

from pytest_funcmem.core.protocols import Limits
from pytest_funcmem.harness.budget import PATIENCE

__all__ = ["IDLE_S", "task_limits"]

IDLE_S = 2.0
"""Seconds on the clock after which a state that has used no processor meanwhile is taken to wait for ever.
The programs in the sandboxes have the same figure."""


def task_limits(
    cpu_s: float, *, memory_mib: int, processes: int, files_mib: int, output_bytes: int
) -> Limits:
    """Limits of a task that needs at most so many processor seconds; see ``Limits`` for the rest."""
    return Limits(
        wall_s=PATIENCE * cpu_s,
        cpu_s=cpu_s,
        memory_mib=memory_mib,
        processes=processes,
        files_mib=files_mib,
        output_bytes=output_bytes,
    )
