"""The Rust toolkit: scaffolds that the compiler has agreed to, and programs run with them in the sandbox."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_funcmem.core.protocols import Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.core.records import (
    Inconclusive,
    InconclusiveReason,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled.limits import task_limits
from pytest_funcmem.harness.compiled.mutants import tree_mutants
from pytest_funcmem.harness.compiled.rust.constants import pattern_constants
from pytest_funcmem.harness.compiled.rust.flatten import Names, flattened, without_attributes
from pytest_funcmem.harness.compiled.rust.items import RustFile, features_of
from pytest_funcmem.harness.compiled.rust.plan import (
    Plan,
    crates_in_use,
    make_helpers_up,
    new_plan,
    shadowing_names,
)
from pytest_funcmem.harness.compiled.rust.probes import executable_lines, with_probes
from pytest_funcmem.harness.compiled.rust.render import HOLE, Rendered, render
from pytest_funcmem.harness.compiled.rust.repair import Message, repair
from pytest_funcmem.harness.compiled.rust.rewriting import renamed_code, stubs
from pytest_funcmem.harness.compiled.rust.standins import add_type
from pytest_funcmem.harness.compiled.rust.uses import find_uses
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn
from pytest_funcmem.harness.execution import Program
from pytest_funcmem.harness.execution_records import RECORD_BYTES, Execution, read_execution

__all__ = ["RustToolkit"]

_RUNNER = Path(__file__).parents[2] / "runner" / "rust"
_PROGRAM = "rust"
_SCAFFOLD, _SETTINGS = "program.rs", "settings.json"
_ROUNDS = 40
_MOST_REPEATED = 3
"""How often the compiler may say the same before nothing more is expected of mending."""
_COMPILE_S = 30.0
_MOST_TEXT = 400_000
_KEPT_EXECUTABLES = 2
_MOST_EXECUTABLE = 2 * 1024 * 1024
_EARLY_RECORDS = 2
"""An executable is given back before anything hostile runs, behind one record about its program."""


class RustToolkit:
    """Builds and runs Rust harnesses.

    A search runs one program many times, so the last executable that was made of a single program is kept: it
    comes out of the sandbox, is nothing but bytes here, and goes nowhere but into the sandbox again.
    """

    language: Language = "rust"
    version = "5"
    programs: Mapping[str, Path] = MappingProxyType({_PROGRAM: _RUNNER})

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """Slice the file to what the function reaches, and mend it until it compiles."""
        file = RustFile.read(function)
        if file.target is None:
            return _inconclusive(
                "unsupported_signature", "the function stands where it cannot be called from"
            )
        found: Prepared | Inconclusive | None = None
        # The crates of the image may be older or newer than those that the file was written for.
        used, none = crates_in_use(file), frozenset[str]()
        for without, is_bare in [
            (none, False),
            (none, True),
            *([(used, False), (used, True)] if used else []),
        ]:
            plan = new_plan(function, file, without)
            # Helpers that are made up reach nothing, and so want nothing.
            if is_bare and not make_helpers_up(plan):
                continue
            again = self._mended(function, plan, sandbox, check_time)
            found = again if found is None or isinstance(again, Prepared) else found
            if isinstance(again, Prepared):
                if not is_bare:
                    # Helpers that only ever fail may keep every state from what comes behind them.
                    bare = partial(self._without_helpers, function, file, without, sandbox, check_time)
                    return replace(again, otherwise=bare)
                break
        if found is None:
            raise AssertionError("nothing was tried")
        return found

    def _without_helpers(
        self,
        function: SourceFunction,
        file: RustFile,
        without: frozenset[str],
        sandbox: Sandbox,
        check_time: Callable[[], None],
    ) -> Prepared | Inconclusive:
        """A scaffold in which all helpers are made up."""
        plan = new_plan(function, file, without)
        if not make_helpers_up(plan):
            return _inconclusive("load_failed", "there are no helpers")
        return self._mended(function, plan, sandbox, check_time)

    def _mended(
        self, function: SourceFunction, plan: Plan, sandbox: Sandbox, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """Mend a plan until it compiles."""
        shadowing = shadowing_names(plan)
        if shadowing:
            uses = find_uses("\n".join(plan.file.tree.source(item.node) for item, _ in plan.taken_items()))
            for name in shadowing:
                add_type(plan, name, uses)
        for name in pattern_constants(plan):
            plan.constants[name] = plan.fresh(name)
        said: Sequence[Message] = ()
        seen: Counter[frozenset[tuple[str, ...]]] = Counter()
        for _ in range(_ROUNDS):
            rendered = render(plan)
            if rendered is None:
                return _inconclusive("unsupported_signature", "nothing can call the function")
            if len(rendered.text) > _MOST_TEXT:
                return _inconclusive("load_failed", "the function reaches too much of its file")
            scaffold = _scaffold(plan, rendered)
            check_time()
            problem = self._check(sandbox, function, scaffold)
            if problem is None:
                return Prepared(scaffold=scaffold, choices=16, special=tuple(range(24)))
            said = problem
            shown = frozenset(map(_shown, said))
            seen[shown] += 1
            if seen[shown] > _MOST_REPEATED:
                break
            uses = find_uses(rendered.text.replace(HOLE, flattened(function.code, plan.names)))
            if not repair(plan, rendered, said, uses, code_lines=function.code.count("\n") + 1):
                break
        first = said[0] if said else {"code": "", "message": "the compiler was stopped"}
        return _inconclusive("load_failed", f"error[{first['code']}]: {first['message']}"[:500])

    def _check(self, sandbox: Sandbox, function: SourceFunction, scaffold: Scaffold) -> list[Message] | None:
        """What the compiler has against the original in its scaffold; None where nothing."""
        program = Program(
            text=function.text,
            qualname=function.qualname,
            line=function.line,
            language="rust",
            code=function.code,
            files=scaffold.files,
        )
        result = self._run(sandbox, [program], [()], coverage=True, state_timeout_s=1.0, check_only=True)
        load = next((item for item in map(_header, result.records) if item.get("kind") == "load"), None)
        if load is None:
            return [
                {
                    "code": "",
                    "message": f"the compiler was stopped ({result.outcome})",
                    "spans": [],
                    "children": [],
                }
            ]
        if load.get("loaded") is True:
            return None
        return [message for message in load.get("messages") or () if _is_message(message)]

    def execute(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        states: Sequence[Sequence[InputState]],
        *,
        coverage: bool,
        state_timeout_s: float,
    ) -> tuple[Execution, ...]:
        """Compile programs that share one scaffold, and run each on its own input states."""
        result = self._run(
            sandbox, programs, states, coverage=coverage, state_timeout_s=state_timeout_s, check_only=False
        )
        return tuple(read_execution(result, len(own), program=number) for number, own in enumerate(states))

    def _run(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        states: Sequence[Sequence[InputState]],
        *,
        coverage: bool,
        state_timeout_s: float,
        check_only: bool,
    ) -> SandboxResult:
        files = dict(programs[0].files)
        settings = json.loads(files[_SETTINGS])
        names = Names(
            crates=frozenset(settings["crates"]),
            modules=frozenset(settings["modules"]),
            own=frozenset(settings["own"]),
            inner=frozenset(settings["inner"]),
        )
        sent = []
        for number, program in enumerate(programs):
            sent.append(_sent(number, program, files[_SCAFFOLD], settings, names, coverage=coverage))
        count = sum(len(own) for own in states)
        compiled = {name: settings[name] for name in ("edition", "features", "externs")}
        wanted = json.dumps([compiled, sent], sort_keys=True).encode("ascii")
        key = hashlib.sha256(wanted).hexdigest() if len(programs) == 1 and not check_only else ""
        payload = {
            **compiled,
            "programs": sent,
            "executable": base64.b64encode(self._kept.get(key, b"")).decode("ascii"),
            "keep": bool(key) and key not in self._kept,
            "states": [
                [number, index, state.seed, list(state.choices)]
                for number, own in enumerate(states)
                for index, state in enumerate(own)
            ],
            "state_timeout_s": state_timeout_s,
            "check_only": check_only,
            "messages": check_only,
        }
        limits = task_limits(
            _COMPILE_S + len(programs) + count * (state_timeout_s + 0.1),
            memory_mib=1024,
            processes=64,
            files_mib=64,
            output_bytes=RECORD_BYTES + count * 256 * 1024,
        )
        result = sandbox.run(
            SandboxTask(
                program=_PROGRAM, payload=json.dumps(payload).encode("ascii"), limits=limits, language="rust"
            )
        )
        if payload["keep"]:
            parts = (record.partition(b"\n") for record in result.records[:_EARLY_RECORDS])
            made = next((body for head, _, body in parts if _header(head).get("kind") == "executable"), b"")
            if 0 < len(made) <= _MOST_EXECUTABLE:
                self._kept = dict([*self._kept.items(), (key, made)][-_KEPT_EXECUTABLES:])
        return result

    def renamed(self, function: SourceFunction) -> str | None:
        """The original with its local names changed, from signature to end."""
        return renamed_code(function)

    def stand_ins(
        self, function: SourceFunction, scaffold: Scaffold, expected: Sequence[OutputState]
    ) -> tuple[StandIn, ...]:
        """Stubs that no harness may take for the original."""
        return tuple(stubs(function, expected))

    def mutants(self, function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
        """Small mutants of the original that may compile."""
        return tree_mutants(function, limit=limit)


def _shown(message: Message) -> tuple[str, ...]:
    """What tells a message from others; names of what stands in are counted up where it is made anew."""
    primary = next((span for span in message["spans"] if span["is_primary"]), None)
    parts = [message["message"], *([primary["label"], primary["text"]] if primary is not None else [])]
    return (message["code"], *(re.sub(r"_\d+\b", "", str(part)) for part in parts))


def _inconclusive(reason: InconclusiveReason, detail: str) -> Inconclusive:
    return Inconclusive(reason=reason, detail=detail)


def _scaffold(plan: Plan, rendered: Rendered) -> Scaffold:
    everything = rendered.text + plan.function.code
    roots = set(re.findall(r"\b(\w+)\s*(?:::|!)|\b(?:use|crate)\s+(\w+)", everything))
    named = {name for pair in roots for name in pair}
    settings = {
        "edition": plan.edition,
        "features": features_of(plan.function.text),
        "crates": sorted(plan.names.crates),
        "modules": sorted(plan.names.modules),
        "own": sorted(plan.names.own),
        "inner": sorted(plan.names.inner),
        "externs": sorted(name for name in plan.names.crates if name in named),
        "hole": rendered.hole,
        "driver": rendered.driver,
    }
    return Scaffold(
        mocks=tuple(sorted({*plan.functions, *plan.methods, *plan.types, *plan.constants})),
        files=((_SCAFFOLD, rendered.text), (_SETTINGS, json.dumps(settings, sort_keys=True))),
    )


def _sent(
    number: int, program: Program, scaffold: str, settings: Mapping[str, Any], names: Names, *, coverage: bool
) -> dict[str, Any]:
    """A program as the runner gets it."""
    code = program.code
    lines = executable_lines(code)
    if coverage:
        code = with_probes(code)
    code = flattened(without_attributes(code, derives=frozenset()), names)
    last = settings["hole"] + code.count("\n")
    return {
        "number": number,
        "text": scaffold.replace(HOLE, code, 1),
        "first": settings["hole"],
        "last": last,
        "driver": settings["driver"] + code.count("\n"),
        "executable_lines": list(lines),
    }


def _header(record: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(record.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_message(value: object, depth: int = 0) -> bool:
    """Whether something has the shape of a message: what comes out of a sandbox is checked by hand."""
    if not isinstance(value, dict) or not isinstance(value.get("code"), str):
        return False
    if not isinstance(value.get("message"), str):
        return False
    spans, children = value.get("spans"), value.get("children")
    if not isinstance(spans, list) or not isinstance(children, list):
        return False
    for span in spans:
        if not isinstance(span, dict) or type(span.get("line_start")) is not int:
            return False
        if not all(isinstance(span.get(name), str) for name in ("label", "text", "file_name")):
            return False
        if not isinstance(span.get("is_primary"), bool):
            return False
    return depth > 1 or all(_is_message(child, depth + 1) for child in children)
