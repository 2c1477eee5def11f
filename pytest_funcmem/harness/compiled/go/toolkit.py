"""The Go toolkit: asks the sandbox for scaffolds and for runs, and writes stubs and twins of a function.

Everything that reads Go in earnest runs inside the sandbox (the image's tool); here a syntax tree suffices.
It knows nothing of searching, and what comes back from the sandbox is taken for hostile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.core.records import (
    Inconclusive,
    InconclusiveReason,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled.go.renaming import renamed_code
from pytest_funcmem.harness.compiled.go.stubs import make_stubs
from pytest_funcmem.harness.compiled.limits import task_limits
from pytest_funcmem.harness.compiled.mutants import tree_mutants
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn
from pytest_funcmem.harness.execution_records import RECORD_BYTES, Execution, read_execution
from pytest_funcmem.harness.values import is_text

if TYPE_CHECKING:
    from pytest_funcmem.core.protocols import Sandbox
    from pytest_funcmem.harness.execution import Program

__all__ = ["GoToolkit"]

_PROGRAM = "go"
_SCAFFOLD_FILES = ("file.go", "stubs.go", "driver.go", "outline.json", "dispatch.go")
_NEEDED_FILES = frozenset(_SCAFFOLD_FILES[:4])
_MOST_REPLY_BYTES = 4 * 1024 * 1024
_PREPARE_S = 30.0
_COMPILE_S = 20.0
_PROGRAM_S = 2.0
_STATE_S = 0.3
_MOST_TASK_S = 400.0
_STATE_BYTES = 64 * 1024
_ROOM: Mapping[str, Any] = MappingProxyType({"memory_mib": 1024, "processes": 64, "files_mib": 96})
_CHOICES = 24
_MOST_MOCKS = 200
_MOST_SPECIAL = 64
_REASONS: Mapping[str, InconclusiveReason] = MappingProxyType(
    {
        "load_failed": "load_failed",
        "missing_dependency": "missing_dependency",
        "unsupported_signature": "unsupported_signature",
    }
)


class GoToolkit:
    """Go's part of the local builder."""

    language: Language = "go"
    version: str = "4"
    programs: Mapping[str, Path] = MappingProxyType({_PROGRAM: Path(__file__).parents[2] / "runner" / "go"})

    def __init__(self) -> None:
        # A search runs one program many times over, with probes and without; what was built is sent in again.
        self._built: dict[bool, _Built] = {}

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """Have the image's tool write what has to be compiled around a function; see ``Toolkit.prepare``."""
        check_time()
        text = function.text
        request = {
            "request": "prepare",
            "text": _plain(text),
            "start": len(_plain(text[: function.signature_start]).encode("utf-8")),
            "end": len(_plain(text[: function.end]).encode("utf-8")),
        }
        limits = task_limits(_PREPARE_S, output_bytes=2 * _MOST_REPLY_BYTES, **_ROOM)
        result = sandbox.run(_task(request, limits))
        reply = _reply(result)
        if reply is None:
            said = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            return Inconclusive(
                reason="load_failed",
                detail=f"no scaffold could be written ({result.outcome}){': ' + said[:500] if said else ''}",
            )
        if reply.get("ok") is not True:
            reason = _REASONS.get(str(reply.get("reason")), "load_failed")
            return Inconclusive(
                reason=reason, detail=_text(reply.get("detail"))[:1000] or "it does not compile"
            )
        files = _files(reply.get("files"))
        if files is None:
            return Inconclusive(reason="load_failed", detail="the scaffold that came back is damaged")
        return Prepared(
            scaffold=Scaffold(mocks=tuple(_texts(reply.get("mocks"))[:_MOST_MOCKS]), files=files),
            choices=_CHOICES,
            special=tuple(_numbers(reply.get("special"))[:_MOST_SPECIAL]),
        )

    def execute(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        states: Sequence[Sequence[InputState]],
        *,
        coverage: bool,
        state_timeout_s: float,
    ) -> tuple[Execution, ...]:
        """Compile programs around one scaffold and run them; see ``Toolkit.execute``."""
        count = sum(len(some) for some in states)
        key = (programs[0].files, programs[0].code)
        # What runs with probes is the original, of which more runs will follow.
        searched = coverage or (True in self._built and self._built[True].key == key)
        keep = searched and len(programs) == 1
        built = self._built.get(coverage) if keep else None
        if built is not None and built.key != key:
            built = None
        request = {
            "request": "run",
            "files": [list(file) for file in programs[0].files],
            "codes": [_plain(program.code) for program in programs],
            "states": [
                [{"seed": state.seed, "choices": list(state.choices)} for state in some] for some in states
            ],
            "coverage": coverage,
            "state_timeout_s": state_timeout_s,
            "record_bytes": RECORD_BYTES,
            "keep": keep and built is None,
            "built": None if built is None else {"lines": built.lines, "probes": built.probes},
        }
        cpu_s = _COMPILE_S + _PROGRAM_S * len(programs) + count * (state_timeout_s + _STATE_S)
        limits = task_limits(
            min(cpu_s, _MOST_TASK_S), output_bytes=2 * RECORD_BYTES + count * _STATE_BYTES, **_ROOM
        )
        files = {} if built is None else {"program": built.binary}
        result = sandbox.run(_task(request, limits, files))
        if keep and built is None:
            made = _built(key, result)
            if made is not None:
                self._built[coverage] = made
        return tuple(read_execution(result, len(some), program=place) for place, some in enumerate(states))

    def renamed(self, function: SourceFunction) -> str | None:
        """The original with other names for its parameters and variables; see ``Toolkit.renamed``."""
        return renamed_code(function)

    def stand_ins(
        self, function: SourceFunction, scaffold: Scaffold, expected: Sequence[OutputState]
    ) -> tuple[StandIn, ...]:
        """Stubs that no harness may take for the original; see ``Toolkit.stand_ins``."""
        return make_stubs(function, expected)

    def mutants(self, function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
        """Small mutants of the original; see ``Toolkit.mutants``."""
        return tree_mutants(function, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """A program that was built in a sandbox and came back: it is only ever sent in again."""

    key: tuple[object, ...]
    binary: bytes
    lines: list[int]
    probes: list[int]


def _built(key: tuple[object, ...], result: SandboxResult) -> _Built | None:
    for record in result.records[:2]:
        head, _, binary = record.partition(b"\n")
        header = _object(head)
        if header is not None and header.get("kind") == "binary" and binary:
            return _Built(
                key=key,
                binary=binary,
                lines=_numbers(header.get("lines")),
                probes=_numbers(header.get("probes")),
            )
    return None


def _task(
    request: Mapping[str, Any], limits: Limits, files: Mapping[str, bytes] | None = None
) -> SandboxTask:
    return SandboxTask(
        program=_PROGRAM,
        payload=json.dumps(request).encode("ascii"),
        files={} if files is None else files,
        limits=limits,
        language="go",
    )


def _plain(text: str) -> str:
    """The text without lone surrogates, which are no part of any Go, and of the same length."""
    return text.encode("utf-8", "replace").decode("utf-8") if not is_text(text) else text


def _reply(result: SandboxResult) -> Mapping[str, Any] | None:
    return _object(result.records[0]) if result.records else None


def _object(data: bytes) -> Mapping[str, Any] | None:
    if len(data) > _MOST_REPLY_BYTES:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _files(value: object) -> tuple[tuple[str, str], ...] | None:
    """The scaffold's files, if they are all that a scaffold has and nothing else."""
    found: dict[str, str] = {}
    for item in value if isinstance(value, list) else []:
        if not isinstance(item, list) or len(item) != 2:
            return None
        name, text = item
        if name not in _SCAFFOLD_FILES or not is_text(text):
            return None
        found[name] = text
    if not found.keys() >= _NEEDED_FILES:
        return None
    return tuple((name, found[name]) for name in _SCAFFOLD_FILES if name in found)


def _text(value: object) -> str:
    return value if isinstance(value, str) and is_text(value) else ""


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list) else []
    return [item for item in found if isinstance(item, str) and is_text(item)]


def _numbers(value: object) -> list[int]:
    found = value if isinstance(value, list) else []
    return [item for item in found if type(item) is int and 0 <= item < 2**31]
