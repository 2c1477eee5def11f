"""A function without its file, the inputs that are given to it, and what the sandbox has to import.

Knows nothing of models: inputs are plain values by parameter, whoever thought of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, Json, Scaffold, SourceFunction
from pytest_funcmem.harness.execution import Execution, execute, original_program
from pytest_funcmem.harness.ladder.prompts import COMMON_IMPORTS
from pytest_funcmem.harness.local.analysis import analyse
from pytest_funcmem.harness.validate import ORIGINAL_TIMEOUT_S

__all__ = ["available_imports", "function_alone", "input_states", "prelude_of", "run_alone"]


def function_alone(function: SourceFunction) -> SourceFunction:
    """The function without its file: signature and body, no decorator, no class around it.

    Raises:
        UnreadableFunctionError: It does not parse by itself.
    """
    line_start = function.text.rfind("\n", 0, function.signature_start) + 1
    indent = function.text[line_start : function.signature_start]
    # Texts over several lines would change if the indentation were taken away: something is put around it.
    head = f"if True:\n{indent}" if indent and not indent.strip() else ""
    alone = replace(
        function,
        row=None,
        qualname=function.qualname.rpartition(".")[2],
        ambiguous=False,
        line=2 if head else 1,
        text=head + function.code + "\n",
        definition_start=len(head),
        signature_start=len(head),
        signature_end=len(head) + len(function.signature),
        end=len(head) + len(function.code),
    )
    analyse(alone)
    return alone


def available_imports(sandbox: Sandbox) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of the common imports live in a sandbox, and which do not.

    Raises:
        SandboxError: The sandbox failed.
    """
    probe = "def probe():\n    return 1\n"
    function = SourceFunction(
        path="probe.py",
        qualname="probe",
        language="python",
        line=1,
        text=probe,
        definition_start=0,
        signature_start=0,
        signature_end=len("def probe():"),
        end=len(probe) - 1,
    )
    scaffold = Scaffold(prelude=prelude_of(COMMON_IMPORTS))
    execution = run_alone(function, scaffold, [InputState()], sandbox)
    lost = {skipped.line for skipped in execution.skipped if skipped.index < 0}
    there = tuple(text for line, text in enumerate(COMMON_IMPORTS, start=1) if line not in lost)
    return there, tuple(text for text in COMMON_IMPORTS if text not in there)


def input_states(alone: SourceFunction, inputs: Sequence[Mapping[str, Json]]) -> tuple[InputState, ...]:
    """Inputs by parameter as input states.

    Args:
        alone: The function that takes them.
        inputs: Values by parameter; a name that is none is passed all the same, and the call fails on it.
    """
    arguments = analyse(alone).node.args
    leading = [item.arg for item in arguments.posonlyargs]
    named = [item.arg for item in arguments.args]
    rest = arguments.vararg.arg if arguments.vararg is not None else None
    further = arguments.kwarg.arg if arguments.kwarg is not None else None
    states = []
    for given in inputs:
        values = dict(given)
        extra = values.pop(rest, None) if rest is not None else None
        # What stands before *args has to be passed by place where something is given for it.
        by_place = [*leading, *(named if isinstance(extra, list) and extra else ())]
        positional: list[str] = []
        for name in by_place:
            if name not in values:
                break
            positional.append(repr(values.pop(name)))
        if isinstance(extra, list) and len(positional) == len(by_place):
            positional += [repr(item) for item in extra]
        if further is not None and isinstance(values.get(further), dict):
            values.update(values.pop(further))
        keywords = tuple((name, repr(value)) for name, value in values.items() if name.isidentifier())
        states.append(InputState(arguments=tuple(positional), keywords=keywords))
    return tuple(dict.fromkeys(states))


def run_alone(
    function: SourceFunction, scaffold: Scaffold, states: Sequence[InputState], sandbox: Sandbox
) -> Execution:
    """Run the function on input states once.

    Raises:
        SandboxError: The sandbox failed.
    """
    return execute(
        sandbox,
        original_program(function, scaffold),
        states,
        coverage=False,
        state_timeout_s=ORIGINAL_TIMEOUT_S,
    )


def prelude_of(statements: Sequence[str]) -> str:
    """Statements as a prelude, a line each."""
    return "".join(f"{statement}\n" for statement in statements)
