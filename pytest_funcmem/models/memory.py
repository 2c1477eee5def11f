"""Whether another model finds room in memory beside what is there already; knows nothing of audits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_funcmem.core.options import Settings
from pytest_funcmem.models.checkpoint import Checkpoint, find_checkpoint, weight_files
from pytest_funcmem.models.spec import ModelSpec

__all__ = ["weights_fit"]

_SHARE = 0.5
"""Of the free memory: the rest is for what generating needs."""

_STORED_BYTES, _QUANTIZED_BYTES = 2.0, 0.5
"""Bytes that a weight usually takes on disk; fewer in a GGUF file, which is unpacked as it is loaded."""

_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def weights_fit(specs: Sequence[ModelSpec], settings: Settings) -> bool:
    """Whether the weights of these models take at most half of what is free on the device.

    Args:
        specs: Those that are not in memory; servers and replay files take none.
        settings: ``dtype`` and ``device`` are used.

    Returns:
        False too where free memory is not known.

    Raises:
        ModelSpecError: A checkpoint is not there.
    """
    checkpoints = [find_checkpoint(spec, hashed=False) for spec in specs if spec.kind == "hf"]
    if not checkpoints:
        return True
    free = _free_bytes(settings.device)
    return (
        free is not None
        and sum(_loaded_bytes(found, settings.dtype) for found in checkpoints) <= _SHARE * free
    )


def _loaded_bytes(checkpoint: Checkpoint, dtype: str) -> float:
    on_disk = sum(file.stat().st_size for file in weight_files(checkpoint))
    width = 4.0 if dtype == "float32" else 2.0
    return on_disk * width / (_STORED_BYTES if checkpoint.gguf is None else _QUANTIZED_BYTES)


def _free_bytes(device: str) -> int | None:
    import torch

    from pytest_funcmem.models.loading import pick_device

    chosen = pick_device(device)
    if chosen.type == "cuda":
        return torch.cuda.mem_get_info(chosen)[0]
    return _free_host_bytes()


def _free_host_bytes() -> int | None:
    """What the system says is free, or what a limit on this process's group leaves, if that is less."""
    found = None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            found = int(line.split()[1]) * 1024
    for limit, used in _LIMITS:
        try:
            left = int(limit.read_text(encoding="ascii")) - int(used.read_text(encoding="ascii"))
        except (OSError, ValueError):  # no such file, or "max"
            continue
        found = left if found is None else min(found, left)
    return found
