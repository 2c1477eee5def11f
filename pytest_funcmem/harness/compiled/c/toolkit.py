"""The toolkit of C: prepares scaffolds, runs programs, and writes what proves a harness."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType

from pytest_funcmem.core.protocols import Sandbox, SandboxTask
from pytest_funcmem.core.records import (
    Inconclusive,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.compiled.c.chunks import identifiers
from pytest_funcmem.harness.compiled.c.compiling import Compiled, compile_around
from pytest_funcmem.harness.compiled.c.conditionals import condition_lines, inactive_lines, static_lines
from pytest_funcmem.harness.compiled.c.description import CFunction, UnspeakableTypeError
from pytest_funcmem.harness.compiled.c.native import FILES_MIB, PROGRAM, native_files
from pytest_funcmem.harness.compiled.c.objects import keep_object, kept_object, object_key
from pytest_funcmem.harness.compiled.c.parameters import buffer_room, flags_of, uses_of
from pytest_funcmem.harness.compiled.c.pools import number_pools, pool_for, texts
from pytest_funcmem.harness.compiled.c.renaming import renamed_code
from pytest_funcmem.harness.compiled.c.scaffold import HOLE, assembled
from pytest_funcmem.harness.compiled.c.slicing import SourceFile
from pytest_funcmem.harness.compiled.c.stubs import stub_codes
from pytest_funcmem.harness.compiled.c.table import (
    KEEP,
    SHOWN,
    SMALL,
    STARTS,
    Place,
    StubEntry,
    Table,
    member_flags,
)
from pytest_funcmem.harness.compiled.limits import task_limits
from pytest_funcmem.harness.compiled.mutants import tree_mutants
from pytest_funcmem.harness.compiled.toolkit import Prepared, StandIn
from pytest_funcmem.harness.execution import Program
from pytest_funcmem.harness.execution_records import RECORD_BYTES, Execution, read_execution

__all__ = ["CToolkit"]

_PROGRAM_FILE, _TABLE_FILE, _FIRST_LINE_FILE = "program.c", "table", "first_line"
_COMPILE_S = 6.0
_STATE_BYTES = 256 * 1024
_MOST_BYTES = 256 * 1024 * 1024
_ANSWERS = 24
"""Choices that a usual state has for what stand-ins answer, beside those of its arguments."""
_ENOUGH = 40
"""Distinct outputs that suffice where every line is reached; with fewer, fewer mutants are told apart."""

_RUNNER = Path(__file__).parents[2] / "runner" / "c"


class CToolkit:
    """See ``Toolkit``."""

    language: Language = "c"
    version = "3"
    programs: Mapping[str, Path] = MappingProxyType({PROGRAM: _RUNNER})

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """See ``Toolkit.prepare``."""
        source = SourceFile(function)
        compiled = compile_around(source, sandbox, check_time=check_time)
        if isinstance(compiled, Inconclusive):
            return compiled
        problem = _uncallable(compiled, function)
        if problem is not None:
            return problem
        scaffold = Scaffold(
            mocks=tuple(
                sorted(
                    {
                        item.label
                        for item in compiled.tail.definitions
                        if not item.label.startswith("callback ")
                    }
                )
            ),
            files=(
                (_PROGRAM_FILE, assembled({**compiled.parts, "function.c": HOLE})),
                (_TABLE_FILE, _table(source, compiled).text()),
                (_FIRST_LINE_FILE, str(_first_line(function))),
            ),
        )
        check_time()
        tried = self.execute(
            sandbox,
            [_program(function, scaffold)],
            [[InputState(seed=seed) for seed in range(1, 4)]],
            coverage=True,
            state_timeout_s=2.0,
        )[0]
        if not tried.loaded:
            return Inconclusive(reason="load_failed", detail=f"it does not load: {tried.load_detail}")
        used = max(tried.choices_used, default=0) or 16
        return Prepared(
            scaffold=scaffold,
            choices=min(used, 400) + _ANSWERS,
            special=tuple(range(48)),
            enough=_ENOUGH,
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
        """See ``Toolkit.execute``."""
        files = dict(programs[0].files)
        count = sum(map(len, states))
        key = object_key(files[_PROGRAM_FILE], programs[0].code, coverage=coverage)
        made = kept_object(sandbox, key) if len(programs) == 1 else None
        payload = {
            "task": "run",
            "runtime": native_files(sandbox),
            "around": files[_PROGRAM_FILE],
            "hole": HOLE,
            "function": programs[0].qualname,
            "codes": [program.code for program in programs],
            "made": made,
            "give": len(programs) == 1 and made is None,
            "table": files[_TABLE_FILE],
            "first_line": int(files[_FIRST_LINE_FILE]),
            "states": [
                [{"seed": state.seed, "choices": list(state.choices)} for state in group] for group in states
            ],
            "coverage": coverage,
            "timeout_ms": int(state_timeout_s * 1000),
        }
        limits = task_limits(
            10.0 + _COMPILE_S * len(programs) + count * (state_timeout_s + 0.6),
            memory_mib=768,
            processes=32,
            files_mib=FILES_MIB,
            output_bytes=min(_MOST_BYTES, RECORD_BYTES + (count + len(programs)) * _STATE_BYTES),
        )
        result = sandbox.run(
            SandboxTask(
                program=PROGRAM, payload=json.dumps(payload).encode("ascii"), limits=limits, language="c"
            )
        )
        if payload["give"]:
            result = replace(result, records=keep_object(sandbox, key, result.records))
        return tuple(
            read_execution(result, len(group), program=number) for number, group in enumerate(states)
        )

    def renamed(self, function: SourceFunction) -> str | None:
        """See ``Toolkit.renamed``."""
        return renamed_code(function)

    def stand_ins(
        self, function: SourceFunction, scaffold: Scaffold, expected: Sequence[OutputState]
    ) -> tuple[StandIn, ...]:
        """See ``Toolkit.stand_ins``."""
        return stub_codes(function, expected)

    def mutants(self, function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
        """See ``Toolkit.mutants``."""
        first = function.line - 1
        left_out = inactive_lines(function.text, first, first + function.code.count("\n"))
        left_out |= condition_lines(function.code)
        data = static_lines(function.code)
        if not left_out | data:
            return tree_mutants(function, limit=limit)
        # What no compiler sees cannot be told apart: mutants are taken from the rest. And no state is known
        # to reach static data, though any may depend on it.
        lines = function.code.split("\n")
        seen = []
        for mutant in tree_mutants(function, limit=4 * limit if left_out else limit):
            changed = {
                number
                for number, (old, new) in enumerate(zip_longest(lines, mutant.code.split("\n"), fillvalue=""))
                if old != new
            }
            if changed - left_out:
                seen.append(replace(mutant, lines=None) if changed & data else mutant)
        if len(seen) > limit:
            seen = [seen[place * len(seen) // limit] for place in range(limit)]
        return tuple(seen)


def _program(function: SourceFunction, scaffold: Scaffold) -> Program:
    return Program(
        text=function.text,
        qualname=function.qualname,
        line=function.line,
        language=function.language,
        code=function.code,
        files=scaffold.files,
    )


def _first_line(function: SourceFunction) -> int:
    """The first line of the body, relative to the signature's line."""
    blank = len(function.body) - len(function.body.lstrip(" \t\n{"))
    line = function.code.count("\n", 0, len(function.signature) + blank)
    return max(line, 0 if "\n" not in function.code else 1)


def _uncallable(compiled: Compiled, function: SourceFunction) -> Inconclusive | None:
    """Why the runtime cannot make arguments for the function, if it cannot."""
    description = compiled.description
    target = description.function_names[function.qualname]
    for name, number in target.parameters:
        kind = description.types[description.plain(number)]
        below = description.types[description.plain(kind.target)] if kind.kind == "pointer" else kind
        if below.name == "__va_list_tag" or kind.name == "__va_list_tag":
            return Inconclusive(
                reason="unsupported_signature", detail=f"{name or 'a parameter'} is a list of arguments"
            )
    if len(target.parameters) > 60:
        return Inconclusive(reason="unsupported_signature", detail="it has more than 60 parameters")
    return None


def _table(source: SourceFile, compiled: Compiled) -> Table:
    function = source.function
    description = compiled.description
    target = description.function_names[function.qualname]
    uses = uses_of(function, [name for name, _kind in target.parameters])
    given = source.initialised()
    codes = [function.code, compiled.parts["helpers.c"], *source.macro_texts(compiled.slice.names)]
    used = flags_of(codes)
    parameters = []
    for place, (name, number) in enumerate(target.parameters):
        kind = description.types[description.plain(number)].kind
        parameters.append(
            Place(
                name=name or f"argument {place}",
                type=number,
                flags=member_flags(name) | uses.get(name, 0) | used.get(name, 0) & SMALL,
                pool=pool_for(name, kind),
            )
        )
    variables = []
    near = source.reached_names(compiled.slice.included)
    for name in compiled.tail.globals:
        variable = description.variable_names[name]
        flags = member_flags(name) | used.get(name, 0)
        if description.is_constant(variable.type):
            flags |= KEEP
        if name in given:
            flags |= STARTS
        if name in near and not flags & KEEP:
            flags |= SHOWN
        kind = description.types[description.plain(variable.type)].kind
        variables.append(Place(name=name, type=variable.type, flags=flags, pool=pool_for(name, kind)))
    keys: dict[str, list[int]] = {}
    for number, kind_of in enumerate(description.types):
        if kind_of.kind == "function":
            keys.setdefault(_key(compiled, number), []).append(number)
    words = source.code_tokens
    around = [token for chunk in source.chunks for token in chunk.tokens]
    return Table(
        description=description,
        result=target.result,
        uses_errno="errno" in function.code,
        uses_stdin="stdin" in compiled.slice.names or bool(_READERS & compiled.slice.names),
        parameters=parameters,
        globals=variables,
        # By place, as in the program: one whose type is in use nowhere serves as none.
        callbacks=[
            Place(name=name, type=next(iter(keys.get(key, ())), 0)) for name, key in compiled.tail.callbacks
        ],
        stubs=[
            StubEntry(
                name=item.label,
                result=_same(compiled, item.name).result,
                parameters=tuple(kind for _name, kind in _same(compiled, item.name).parameters),
                variadic=item.variadic,
                asks_system=item.asks_system,
            )
            for item in compiled.tail.definitions
        ],
        functions=compiled.tail.functions,
        pools=number_pools(words, _constants(source, compiled)),
        texts=texts([*words, *source.macro_tokens(identifiers(words))], around),
        room=buffer_room(codes),
        flags=used,
        views={
            name: description.variable_names[variable].type
            for name, variable in compiled.tail.views
            if variable in description.variable_names
        },
    )


_READERS = frozenset(
    ["getchar", "gets", "scanf", "read", "getc", "fgetc", "fgets", "fread", "fscanf", "getline", "getch"]
)


def _constants(source: SourceFile, compiled: Compiled) -> list[int]:
    """Values of the names in the function that stand for numbers: macros, enumerators, what is made up."""
    known = dict(compiled.standins.constants)
    for kind in compiled.description.types:
        if kind.kind == "enum":
            known.update(kind.parts)
    names = sorted(identifiers(source.code_tokens))
    found = [source.macro_value(name, known) for name in names]
    return list(dict.fromkeys(value for value in found if value is not None))


def _same(compiled: Compiled, name: str) -> CFunction:
    return compiled.description.function_names[name]


def _key(compiled: Compiled, number: int) -> str:
    try:
        return compiled.description.declared(number)
    except UnspeakableTypeError:
        return ""
