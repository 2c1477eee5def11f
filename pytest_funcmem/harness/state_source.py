"""Writes an input state down as a Python program that a person can read and run."""

from __future__ import annotations

from pytest_funcmem.core.records import InputState, Scaffold, SourceFunction

__all__ = ["state_source"]


def state_source(function: SourceFunction, scaffold: Scaffold, state: InputState, *, path: str = "") -> str:
    """A program that runs a Python function on an input state, outside any sandbox.

    It prints what comes back. What is made up answers as it does in the sandbox; the clock, random sources,
    files and the network are the real ones.

    Args:
        function: The original.
        scaffold: What surrounds it in the harness.
        state: The input state.
        path: Where its file lies for whoever runs the program; by default its path in the source.
    """
    qualname = function.qualname
    options = "".join(
        f"    {name}={value!r},\n"
        for name, value, usual in (
            ("prelude", scaffold.prelude, ""),
            ("mocks", scaffold.mocks, ()),
            ("seed", state.seed, 0),
            ("answers", state.answers, ()),
        )
        if value != usual
    )
    head = f"    {path or function.path!r},\n"
    lines = [
        "from pytest_funcmem.harness.runner.python.by_hand import beside",
        "",
        f"names = beside(\n{head}    {qualname!r},\n    {function.line},\n{options})",
        "globals().update(names)",
    ]
    for name, value in state.environment:
        lines.append(f"__import__('os').environ[{name!r}] = {value!r}")
    for name, content in state.files:
        lines.append(f"__import__('pathlib').Path({name!r}).parent.mkdir(parents=True, exist_ok=True)")
        lines.append(f"__import__('pathlib').Path({name!r}).write_text({content!r}, encoding='utf-8')")
    if state.stdin:
        lines.append(f"__import__('sys').stdin = __import__('io').StringIO({state.stdin!r})")
    lines.extend(state.setup)
    given = [*state.arguments, *(f"{name}={value}" for name, value in state.keywords)]
    call = f"{qualname}({', '.join(given)})"
    if state.receiver is not None:
        lines.append(f"receiver = {state.receiver}")
        owner, _, method = qualname.rpartition(".")
        if "fabricated(" in state.receiver and not state.receiver.startswith("stand_in("):
            call = f"{owner}.{method}({', '.join(['receiver', *given])})"
        else:
            call = f"receiver.{method}({', '.join(given)})"
        if "property" in function.text[function.definition_start : function.signature_start]:
            call = f"receiver.{method}"
    if function.signature.startswith("async "):
        call = f"__import__('asyncio').run({call})"
    lines.append(f"result = {call}")
    lines.append("print(repr(result))")
    return "\n".join(lines) + "\n"
