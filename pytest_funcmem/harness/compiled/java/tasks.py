"""Tasks for the Java harness in a sandbox: their limits, and what is read out of their records.

Preparing and compiling run nothing of what they read; a workshop that stays warm does them. Compiled programs
then run in a virtual machine that is started for the task.

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

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Inconclusive, InconclusiveReason, InputState, Scaffold, SourceFunction
from pytest_funcmem.harness.compiled.java.wire import (
    BuiltProgram,
    DamagedAnswerError,
    build_request,
    prepare_request,
    read_built,
    run_request,
)
from pytest_funcmem.harness.compiled.limits import task_limits
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.values import is_text

if TYPE_CHECKING:
    from pytest_funcmem.harness.execution import Program

__all__ = ["PROGRAMS", "build_task", "prepare_task", "read_builds", "read_prepared", "run_task"]

_PROGRAM = "java"
_WORKSHOP = "java-workshop"

PROGRAMS: Mapping[str, Path] = MappingProxyType(
    {_PROGRAM: Path(__file__).parents[2] / "runner" / "java" / "program.py"}
)
"""Programs that a sandbox must be made with to run Java functions; the image has the workshop."""

_HEAP_MIB = 320
_MEMORY_MIB = 1024
_PREPARE_S = 120.0
_COMPILE_S = 90.0
_START_S = 30.0
_ENOUGH = 24
"""Distinct outputs that suffice: what these states do not tell apart is looked for one by one afterwards."""
_RECORD_BYTES = 4 * 1024 * 1024
_USUAL_RECORD_BYTES = 64 * 1024
_CLASS_BYTES = 32 * 1024 * 1024
_FILES_MIB = 48
"""Room for the classes, and for what the code writes."""
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

    return SandboxTask(
        program=_WORKSHOP,
        payload=prepare_request(
            function.path.rpartition("/")[2] or "File.java",
            function.text,
            place(function.definition_start),
            place(function.signature_start),
            place(function.end),
            function.qualname.rpartition(".")[2],
        ),
        limits=_limits(_PREPARE_S, 2 * _RECORD_BYTES),
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
        enough=_ENOUGH,
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


def build_task(programs: Sequence[Program]) -> SandboxTask:
    """The task that compiles programs with one scaffold."""
    return SandboxTask(
        program=_WORKSHOP,
        payload=build_request(programs[0].files, [program.code for program in programs]),
        limits=_limits(_COMPILE_S + 10.0 * len(programs), _CLASS_BYTES),
        language="java",
    )


def read_builds(result: SandboxResult, count: int) -> list[BuiltProgram]:
    """The compiled programs that a task gave: all of them, or those up to the one over which it ended."""
    try:
        built = read_built(result.records[:count])
    except DamagedAnswerError as exc:
        return [BuiltProgram(problem=f"the compiler failed: {exc}")]
    if len(built) < count:
        built.append(BuiltProgram(problem=f"the compiler failed: {result.outcome}"))
    return built


def run_task(
    files: Sequence[tuple[str, str]],
    programs: Mapping[int, BuiltProgram],
    states: Sequence[Sequence[InputState]],
    *,
    coverage: bool,
    state_timeout_s: float,
) -> SandboxTask:
    """The task that runs compiled programs, by number, each on its states."""
    counts = [[number, len(states[number])] for number in programs]
    count = sum(states for _, states in counts)
    timeout_ms = int(1000 * state_timeout_s)
    head = {"programs": counts, "timeout_ms": timeout_ms, "heap_mib": _HEAP_MIB}
    body = run_request(
        dict(files).get("plan", ""),
        programs,
        {number: [(state.seed, state.choices) for state in states[number]] for number in programs},
        coverage=coverage,
        timeout_ms=timeout_ms,
    )
    return SandboxTask(
        program=_PROGRAM,
        payload=json.dumps(head).encode("ascii") + b"\n" + body,
        limits=_limits(
            _START_S + count * (2.0 * state_timeout_s + 0.2), _RECORD_BYTES + count * _USUAL_RECORD_BYTES
        ),
        language="java",
    )


def _limits(cpu_s: float, output_bytes: int) -> Limits:
    return task_limits(
        cpu_s, memory_mib=_MEMORY_MIB, processes=64, files_mib=_FILES_MIB, output_bytes=output_bytes
    )
