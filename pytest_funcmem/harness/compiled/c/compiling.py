"""Makes the program around a function compile: asks the compiler, makes up, leaves out, asks again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_funcmem.core.protocols import Sandbox, SandboxTask
from pytest_funcmem.core.records import Inconclusive
from pytest_funcmem.harness.compiled.c.complaints import Complaint, read_complaints
from pytest_funcmem.harness.compiled.c.description import (
    Description,
    UnspeakableTypeError,
    read_description,
)
from pytest_funcmem.harness.compiled.c.mending import Mender
from pytest_funcmem.harness.compiled.c.native import PROGRAM, build_limits, native_files
from pytest_funcmem.harness.compiled.c.parameters import views_of
from pytest_funcmem.harness.compiled.c.scaffold import Tail, assembled, parts_of, peeks, tail_of
from pytest_funcmem.harness.compiled.c.slicing import Slice, SourceFile
from pytest_funcmem.harness.compiled.c.standins import StandIns
from pytest_funcmem.harness.compiled.c.system import system_calls

__all__ = ["Compiled", "compile_around"]

_ROUNDS = 60
_NAME = re.compile(r"[A-Za-z_]\w{0,200}")
_RECORD_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A program that compiles around the original.

    Attributes:
        parts: Its parts by name; ``function.c`` holds the original.
        description: What the compiler made of it.
        tail: Its last part.
        standins: What is made up.
        slice: What of the file is in it.
    """

    parts: Mapping[str, str]
    description: Description
    tail: Tail
    standins: StandIns
    slice: Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    complaints: tuple[Complaint, ...]
    complaint: str
    missing: tuple[str, ...]
    borrowed: tuple[str, ...]
    description: Description | None
    headers: frozenset[str]


def compile_around(
    source: SourceFile, sandbox: Sandbox, *, check_time: Callable[[], None]
) -> Compiled | Inconclusive:
    """Find what compiles around the original.

    Args:
        source: The original's file.
        sandbox: Where the compiler runs.
        check_time: Called before each task.

    Raises:
        SandboxError: The sandbox failed.
    """
    return _Compilation(source, sandbox, check_time).run()


class _Compilation:
    def __init__(self, source: SourceFile, sandbox: Sandbox, check_time: Callable[[], None]) -> None:
        self._source = source
        self._function = source.function
        self._sandbox = sandbox
        self._check_time = check_time
        self._standins = StandIns()
        self._mender = Mender(self._standins)
        self._stubbed: set[str] = set()
        self._dropped: set[int] = set()
        self._loose: set[str] = set()
        self._headers: tuple[str, ...] = ()
        self._slice = source.slice(stubbed=frozenset(), dropped=frozenset())

    def run(self) -> Compiled | Inconclusive:
        if self._source.headers:
            there = self._ask("").headers
            self._headers = tuple(name for name in self._source.headers if name in there)
        problem = self._mend()
        if problem is not None:
            return problem
        return self._finish()

    # --------------------------------------------------------------------------------------- mending

    def _mend(self) -> Inconclusive | None:
        complaints: Sequence[Complaint] = ()
        for _round in range(_ROUNDS):
            parts = self._parts()
            complaints = self._ask(assembled(parts), check_only=True).complaints
            errors = [item for item in complaints if item.is_error]
            # What stands behind an error of syntax may be said only because of it.
            torn = next((place for place, item in enumerate(complaints) if _is_torn(item)), None)
            changed = False
            for guessing in (False, True):
                for complaint in complaints if torn is None else complaints[: torn + 1]:
                    changed = self._mender.mend(complaint, parts, guessing=guessing) or changed
                if changed:
                    break
            if not changed and torn is not None:
                changed = self._leave_out([complaints[torn]])
                for complaint in () if changed else complaints:
                    changed = self._mender.mend(complaint, parts) or changed
            if not changed and errors:
                changed = self._leave_out(errors)
            if not changed and not errors:
                return None
            if not changed:
                break
        first = next((item for item in complaints if item.is_error), None)
        said = first.message if first is not None else "it never came to an end"
        where = f" at line {self._line_of(first)}" if first is not None and self._line_of(first) else ""
        lacking = first is not None and re.search(
            r"unknown type|undeclared|incomplete|undefined|no member", said
        )
        return Inconclusive(
            reason="missing_dependency" if lacking else "load_failed",
            detail=f"it does not compile{where}: {said}",
        )

    def _line_of(self, complaint: Complaint) -> int:
        if complaint.file == "function.c":
            return self._function.line + complaint.line - 1
        return complaint.line if complaint.file in ("decl.c", "helpers.c") else 0

    def _leave_out(self, errors: Sequence[Complaint]) -> bool:
        """Leave out declarations, and bodies of helpers, that nothing can be made up for."""
        changed = False
        for error in errors:
            called = re.match(r"too (?:many|few) arguments to function '(\w+)'", error.message)
            if called is not None and called[1] not in self._loose:
                self._loose.add(called[1])
                changed = True
                continue
            if error.file not in ("decl.c", "helpers.c", "proto.c"):
                continue
            chunk = self._source.chunk_at(error.line) if error.file != "proto.c" else None
            if error.file == "proto.c":
                names = re.findall(
                    r"[A-Za-z_]\w*(?=\s*\()", self._slice.prototypes.split("\n")[error.line - 1]
                )
                starts = {c.start for name in names for c in self._source.defining(name)}
                changed = changed or not starts <= self._dropped
                self._dropped |= starts
            elif chunk is None:
                continue
            elif error.file == "decl.c":
                if chunk.start not in self._dropped:
                    changed = True
                    self._dropped.add(chunk.start)
                    self._mender.forget(chunk.declared())
            else:
                names = sorted(chunk.declared() & set(self._slice.included))
                changed = changed or not set(names) <= self._stubbed
                self._stubbed.update(names)
        if changed:
            self._slice = self._source.slice(
                stubbed=frozenset(self._stubbed),
                dropped=frozenset(self._dropped),
                loose=frozenset(self._loose),
            )
        return changed

    def _parts(self) -> dict[str, str]:
        return parts_of(
            standins=self._standins,
            headers=[*self._headers, *(name for name in self._standins.headers if name not in self._headers)],
            declarations=self._slice.declarations,
            prototypes=self._slice.prototypes,
            helpers=self._slice.helpers,
            code=self._function.code,
        )

    # -------------------------------------------------------------------------------------- finishing

    def _finish(self) -> Compiled | Inconclusive:
        parts = self._parts()
        name = self._function.qualname
        keep = f"void *fm_keep = (void *){name};\n"  # or a static function that nothing calls is left out
        answer = self._ask(assembled({**parts, "peeks.c": keep}))
        if answer.description is None:
            return self._failed(answer)
        system = system_calls(answer.borrowed)
        missing = [name for name in answer.missing if _NAME.fullmatch(name)] + system
        if missing:
            answer = self._ask(assembled({**parts, "peeks.c": keep + peeks(missing)}))
        description = answer.description
        if description is None:
            return self._failed(answer)
        functions = [item for item in (name, *self._slice.included) if item in description.function_names]
        views = self._views(description)
        # What a name is taken for may be no type where everything is called: then it stays what it is.
        for some in (views, ()) if views else ((),):
            try:
                tail = tail_of(
                    description,
                    function=name,
                    missing=missing,
                    never_return=frozenset(item for item in missing if self._source.never_returns(item)),
                    functions=functions,
                    system=frozenset(system),
                    views=some,
                )
            except UnspeakableTypeError as exc:
                return Inconclusive(reason="unsupported_signature", detail=f"it cannot be called: {exc}")
            parts["tail.c"] = tail.text
            answer = self._ask(assembled(parts))
            if answer.description is not None and not answer.missing:
                break
        if answer.description is None or answer.missing:
            return self._failed(answer)
        return Compiled(
            parts=parts,
            description=answer.description,
            tail=tail,
            standins=self._standins,
            slice=self._slice,
        )

    def _views(self, description: Description) -> list[tuple[str, str]]:
        """Parameters and members that point to anything, and as what the code takes them."""
        places = list(description.function_names[self._function.qualname].parameters)
        for kind in description.types:
            if kind.kind in ("struct", "union"):
                places += [(name, number) for name, number, *_where in kind.parts]
        loose = {name for name, number in places if description.points_to_anything(number)}
        views = views_of([self._function.code, self._slice.helpers])
        return [(name, views[name]) for name in sorted(loose & views.keys())]

    def _failed(self, answer: _Answer) -> Inconclusive:
        first = next((item.message for item in answer.complaints if item.is_error), "")
        said = first or answer.complaint or ", ".join(answer.missing) or "the compiler was stopped"
        reason = "missing_dependency" if answer.missing else "load_failed"
        return Inconclusive(reason=reason, detail=f"it does not compile: {said}"[:500])  # type: ignore[arg-type]  # one of two

    def _ask(self, text: str, *, check_only: bool = False) -> _Answer:
        self._check_time()
        payload = {
            "task": "build",
            "runtime": native_files(self._sandbox),
            "text": text,
            "check_only": check_only,
            "headers": list(self._source.headers) if not text else [],
        }
        result = self._sandbox.run(
            SandboxTask(
                program=PROGRAM,
                payload=json.dumps(payload).encode("ascii"),
                limits=build_limits(),
                language="c",
            )
        )
        return _read(result.records, result.outcome)


def _is_torn(complaint: Complaint) -> bool:
    return complaint.is_error and complaint.message.startswith(
        (
            "expected ",
            "declaration for parameter",
            "old-style parameter",
            "stray ",
            "unterminated ",
            "missing ",
        )
    )


def _read(records: Sequence[bytes], outcome: str) -> _Answer:
    try:
        value = json.loads(records[0]) if records and len(records[0]) <= _RECORD_BYTES else {}
    except (ValueError, RecursionError):
        value = {}
    value = value if isinstance(value, dict) else {}
    missing, borrowed = value.get("missing"), value.get("borrowed")
    complaint = value.get("complaint")
    headers = value.get("headers")
    stopped = () if value else (_stopped(outcome),)
    return _Answer(
        complaints=(*read_complaints(value.get("diagnostics")), *stopped),
        complaint=complaint[:500] if isinstance(complaint, str) else "",
        missing=_names(missing),
        borrowed=_names(borrowed),
        description=read_description(value.get("description")),
        headers=frozenset(name for name, there in headers.items() if there is True)
        if isinstance(headers, dict)
        else frozenset(),
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def _stopped(outcome: str) -> Complaint:
    return Complaint(
        is_error=True,
        message=f"the compiler was stopped ({outcome})",
        notes=(),
        file="",
        line=0,
        column=0,
        first=0,
        last=0,
    )
