"""Tasks for the Java harness in a sandbox: their payloads, limits, and what is read out of their records.

Everything that comes back is hostile: it is bounded and checked field by field. A scaffold goes back into
sandboxes only, and nothing of it is used as a path on the host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_funcmem.core.protocols import SandboxResult, SandboxTask
from pytest_funcmem.core.records import Inconclusive, InconclusiveReason, InputState, Scaffold, SourceFunction
from pytest_funcmem.harness.budget import PATIENCE
from pytest_funcmem.harness.compiled.limits import task_limits
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.values import is_text

if TYPE_CHECKING:
    from pytest_funcmem.harness.execution import Program

__all__ = ["PROGRAMS", "prepare_task", "read_prepared", "run_task"]

_PROGRAM = "java"

PROGRAMS: Mapping[str, Path] = MappingProxyType(
    {_PROGRAM: Path(__file__).parents[2] / "runner" / "java" / "program.py"}
)
"""Programs that a sandbox must be made with to run Java functions."""

_HEAP_MIB = 320
_MEMORY_MIB = 1024
_PREPARE_S = 120.0
_COMPILE_S = 100.0
_RECORD_BYTES = 4 * 1024 * 1024
_USUAL_RECORD_BYTES = 64 * 1024
_MOST_FILES = 400
_MOST_TEXT = 2_000_000
_FILE_NAME = re.compile(r"before\.java|after\.java|plan|stubs/[\w$/]{1,300}\.java", re.ASCII)
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
_REASONS: Mapping[str, InconclusiveReason] = MappingProxyType(
    {"load_failed": "load_failed", "missing_dependency": "missing_dependency"}
)


def prepare_task(function: SourceFunction) -> SandboxTask:
    """The task that writes a scaffold around a function."""

    def place(offset: int) -> int:
        return len(function.text[:offset].encode("utf-16-le", "surrogatepass")) // 2

    payload = {
        "mode": "prepare",
        "path": function.path.rpartition("/")[2] or "File.java",
        "text": function.text,
        "definition": place(function.definition_start),
        "start": place(function.signature_start),
        "end": place(function.end),
        "name": function.qualname.rpartition(".")[2],
        "heap_mib": _HEAP_MIB,
        "timeout_s": PATIENCE * _PREPARE_S,
    }
    return SandboxTask(
        program=_PROGRAM,
        payload=json.dumps(payload).encode("ascii"),
        limits=task_limits(
            _PREPARE_S + 5.0,
            memory_mib=_MEMORY_MIB,
            processes=64,
            output_bytes=2 * _RECORD_BYTES,
            files_mib=16,
        ),
        language="java",
    )


def read_prepared(result: SandboxResult) -> Prepared | Inconclusive:
    """The scaffold that a task gave, or why it gave none."""
    if not result.records or len(result.records[0]) > _RECORD_BYTES:
        return Inconclusive(
            reason="load_failed", detail=f"no scaffold came back ({result.outcome}): the compiler did not end"
        )
    try:
        record = json.loads(result.records[0])
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return Inconclusive(reason="load_failed", detail="the record of the scaffold is damaged")
    if "files" not in record:
        reason, detail = record.get("reason"), record.get("detail")
        said = detail[:500] if isinstance(detail, str) and is_text(detail) else "no reason given"
        return Inconclusive(
            reason=_REASONS.get(reason, "load_failed") if isinstance(reason, str) else "load_failed",
            detail=said,
        )
    files = _files(record["files"])
    if files is None:
        return Inconclusive(reason="load_failed", detail="the files of the scaffold are damaged")
    mocks = record.get("mocks")
    names = [name for name in mocks if is_text(name)] if isinstance(mocks, list) else []
    specials = record.get("specials")
    count = specials if type(specials) is int and 0 <= specials <= 200 else 40
    return Prepared(
        scaffold=Scaffold(mocks=tuple(names[:_MOST_FILES]), files=files),
        choices=16,
        # Texts are drawn in steps of 16, so the multiples of 16 are the literals.
        special=(*range(min(count, 64)), *range(16, 16 * 24, 16)),
    )


def _files(value: Any) -> tuple[tuple[str, str], ...] | None:
    if not isinstance(value, list) or len(value) > _MOST_FILES:
        return None
    files: dict[str, str] = {}
    for item in value:
        if not isinstance(item, list) or len(item) != 2 or not all(is_text(part) for part in item):
            return None
        name, text = item
        if not _FILE_NAME.fullmatch(name) or name in files or len(text) > _MOST_TEXT:
            return None
        files[name] = text
    return tuple(sorted(files.items())) if files.keys() >= {"before.java", "after.java", "plan"} else None


def run_task(
    programs: Sequence[Program],
    states: Sequence[Sequence[InputState]],
    *,
    coverage: bool,
    state_timeout_s: float,
) -> SandboxTask:
    """The task that builds programs with one scaffold and runs each on its states."""
    count = sum(len(some) for some in states)
    payload = {
        "mode": "run",
        "files": [list(file) for file in programs[0].files],
        "programs": [
            {
                "code": program.code,
                "states": [[_signed(state.seed), list(state.choices)] for state in some],
            }
            for program, some in zip(programs, states, strict=True)
        ],
        "coverage": coverage,
        "timeout_ms": int(1000 * state_timeout_s),
        "heap_mib": _HEAP_MIB,
    }
    return SandboxTask(
        program=_PROGRAM,
        payload=json.dumps(payload).encode("ascii"),
        limits=task_limits(
            _COMPILE_S + len(programs) * 10.0 + count * (2.0 * state_timeout_s + 0.2),
            memory_mib=_MEMORY_MIB,
            processes=64,
            output_bytes=_RECORD_BYTES + count * _USUAL_RECORD_BYTES,
            files_mib=16,
        ),
        language="java",
    )


def _signed(seed: int) -> int:
    """A seed as the 64 bits that the harness reads."""
    return ((seed + 2**63) % 2**64) - 2**63
