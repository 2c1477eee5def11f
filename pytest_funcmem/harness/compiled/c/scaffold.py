"""What is compiled around a function, put together: parts with names, and a tail that calls it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_funcmem.harness.compiled.c.allocators import library_call
from pytest_funcmem.harness.compiled.c.description import Description, UnspeakableTypeError
from pytest_funcmem.harness.compiled.c.standins import StandIns

__all__ = ["HOLE", "Definition", "Tail", "assembled", "parts_of", "peeks", "tail_of"]

HOLE = "/*@ the function under test @*/"

_MOST_CALLBACKS = 24


def parts_of(
    *, standins: StandIns, headers: Iterable[str], declarations: str, prototypes: str, helpers: str, code: str
) -> dict[str, str]:
    """The parts of a program by name, in the order in which they are compiled."""
    includes = "".join(f"#include <{name}>\n" for name in headers)
    late = "\n".join(line for _name, line in standins.late())
    return {
        "top.c": f"{includes}{standins.early()}",
        "decl.c": declarations,
        "late.c": f"{late}\n",
        "proto.c": f"{prototypes}\n",
        "function.c": code,
        "helpers.c": helpers,
    }


def assembled(parts: Mapping[str, str]) -> str:
    """One text in which every part keeps its own name and lines."""
    return "".join(f'# 1 "{name}"\n{text}\n' for name, text in parts.items())


def peeks(names: Sequence[str]) -> str:
    """Variables whose types tell what names stand for that nothing defines."""
    return "".join(f"__typeof__(&{name}) fm_peek_{name};\n" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function that is made up in full.

    Attributes:
        name: As the program calls it.
        label: As logs call it.
        result: Type of its answer.
        parameters: Their types.
        variadic: Whether it takes more.
        returns: Whether it comes back.
        asks_system: Whether it stands for a function of the library that asks the system.
    """

    name: str
    label: str
    result: int
    parameters: tuple[int, ...]
    variadic: bool = False
    returns: bool = True
    asks_system: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What stands behind everything.

    Attributes:
        text: C text.
        definitions: Stand-ins in the order of their numbers.
        globals: Names of the variables in the order of the program's table.
        functions: Names of the functions in the order of the program's table.
        callbacks: Names of the callbacks, and as what type each serves.
        views: Names that point to anything, and the variables that have the types which they are taken for.
    """

    text: str
    definitions: tuple[Definition, ...]
    globals: tuple[str, ...]
    functions: tuple[str, ...]
    callbacks: tuple[tuple[str, str], ...]
    views: tuple[tuple[str, str], ...] = ()


def tail_of(
    description: Description,
    *,
    function: str,
    missing: Sequence[str],
    never_return: frozenset[str],
    functions: Sequence[str],
    system: frozenset[str] = frozenset(),
    views: Sequence[tuple[str, str]] = (),
) -> Tail:
    """Write definitions for what is missing, and what calls the function.

    Args:
        description: Of the program with ``peeks`` for what is missing.
        function: Name of the function under test.
        missing: Names that nothing defines.
        never_return: Of those, the functions that are said not to come back.
        functions: Names of the functions that the program defines.
        system: Of what is missing, the functions of the library that stand-ins take the place of.
        views: Names that point to anything, and as what each is taken.

    Raises:
        UnspeakableTypeError: The function's own types cannot be written down.
    """
    lines = ["extern void fm_stub(int, void **, void *, void *); extern void fm_no_return(const char *);"]
    definitions: list[Definition] = []
    extra_globals = []
    served: list[str] = []  # what is not made up after all
    for name in missing:
        peek = description.variable_names.get(f"fm_peek_{name}")
        if peek is None:
            continue
        number = description.types[description.plain(peek.type)].target
        kind = description.types[number]
        try:
            if description.types[description.plain(number)].kind != "function":
                lines.append(f"{_with_length(description, number, name)};")
                extra_globals.append(name)
                continue
            kind = description.types[description.plain(number)]
            definition = Definition(
                name=name,
                label=name,
                result=kind.target,
                parameters=kind.parts,
                variadic=kind.size == -1 and bool(kind.parts),
                returns=name not in never_return,
                asks_system=name in system,
            )
            real = library_call(
                name,
                description.types[description.plain(kind.target)].kind,
                [description.types[description.plain(part)].kind for part in kind.parts],
            )
            if real is not None:
                lines.append(f"{_head(description, definition)} {{ {real} }}")
                served.append(name)
                continue
            lines.append(_defined(description, definition, len(definitions)))
        except UnspeakableTypeError:
            continue
        definitions.append(definition)
    callbacks: list[tuple[str, str]] = []
    for number, kind in enumerate(description.types):
        if kind.kind != "function" or len(callbacks) >= _MOST_CALLBACKS:
            continue
        try:
            key = description.declared(number)
            if any(key == known for _name, known in callbacks):
                continue
            definition = Definition(
                name=f"fm_callback_{len(callbacks)}",
                label=f"callback {len(callbacks)}",
                result=kind.target,
                parameters=kind.parts,
                variadic=kind.size == -1 and bool(kind.parts),
            )
            lines.append("static " + _defined(description, definition, len(definitions)))
        except UnspeakableTypeError:
            continue
        callbacks.append((definition.name, key))
        definitions.append(definition)
    lines.append(_call(description, function))
    lines += [f"{written} *fm_view_{number};" for number, (_name, written) in enumerate(views)]
    variables = [
        item.name
        for item in description.variables
        if item.defined and not item.name.startswith(("fm_", "__"))
    ]
    variables = list(dict.fromkeys([*variables, *extra_globals]))
    defined = list(dict.fromkeys([*functions, *served, *(item.name for item in definitions)]))
    lines.append(_addresses("fm_globals", variables))
    lines.append(_addresses("fm_functions", defined))
    lines.append(_addresses("fm_callbacks", [name for name, _key in callbacks]))
    return Tail(
        text="\n".join([*lines, ""]),
        definitions=tuple(definitions),
        globals=tuple(variables),
        functions=tuple(defined),
        callbacks=tuple(callbacks),
        views=tuple((name, f"fm_view_{number}") for number, (name, _written) in enumerate(views)),
    )


def _with_length(description: Description, number: int, name: str) -> str:
    """A definition of a variable; an array whose length is unknown gets one."""
    text = description.declared(description.unqualified(number), name)
    return re.sub(rf"\b{re.escape(name)}\[\]", f"{name}[16]", text)


def _names(definition: Definition) -> list[str]:
    return [f"a{place}" for place in range(len(definition.parameters))]


def _head(description: Description, definition: Definition) -> str:
    parameters = [
        description.declared(kind, name)
        for kind, name in zip(definition.parameters, _names(definition), strict=True)
    ]
    if definition.variadic:
        parameters.append("...")
    return description.declared(definition.result, f"{definition.name}({', '.join(parameters) or 'void'})")


def _defined(description: Description, definition: Definition, number: int) -> str:
    names = _names(definition)
    head = _head(description, definition)
    pointers = ", ".join([*(f"(void *)&{name}" for name in names), "0"])
    body = f"void *fm_a[] = {{{pointers}}};"
    answer, more = "0", "0"
    if description.types[description.plain(definition.result)].kind != "void":
        body += f" {description.declared(description.unqualified(definition.result), 'fm_r')};"
        answer = "(void *)&fm_r"
    if definition.variadic:
        body += f" __builtin_va_list fm_l; __builtin_va_start(fm_l, {names[-1]});"
        more = "(void *)&fm_l"
    body += f" fm_stub({number}, fm_a, {answer}, {more});"
    if not definition.returns:
        body += f' fm_no_return("{definition.label}");'
    if answer != "0":
        body += " return fm_r;"
    return f"{head} {{ {body} }}"


def _call(description: Description, name: str) -> str:
    function = description.function_names.get(name)
    if function is None:
        raise UnspeakableTypeError("the function is not in what was compiled")
    arguments = []
    for place, (_name, kind) in enumerate(function.parameters):
        pointer = description.declared(description.unqualified(kind), "*")
        if description.types[description.unqualified(kind)].kind in ("array", "function"):
            raise UnspeakableTypeError("an array by value")
        arguments.append(f"*({pointer})fm_a[{place}]")
    call = f"{name}({', '.join(arguments)})"
    if description.types[description.plain(function.result)].kind != "void":
        pointer = description.declared(description.unqualified(function.result), "*")
        call = f"*({pointer})fm_r = {call}"
    return f"void fm_call(void **fm_a, void *fm_r) {{ {call}; }}"


def _addresses(name: str, of: Sequence[str]) -> str:
    items = ", ".join([*(f"(void *)&{item}" for item in of), "(void *)0"])
    return f"void *{name}[] = {{{items}}};"
