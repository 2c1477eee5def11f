"""The tools that are all an agent has: commands and files of its workshop, and the evaluation of its draft.

Whatever an agent asks for is hostile: arguments are held to their types here, and a call that makes no sense
gets an answer that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_funcmem.core.records import Harness, Json, Language
from pytest_funcmem.harness.agent.drafts import Draft, DraftError, read_draft
from pytest_funcmem.harness.agent.evaluation import Evaluation
from pytest_funcmem.harness.agent.workshop import Workshop, WorkshopError
from pytest_funcmem.models.dialogue.records import Tool, ToolCall, ToolResult

__all__ = ["TOOLS", "Toolbox"]

_MOST_ANSWER = 16_000
_COMMAND_S = 60.0
_MOST_REASON = 600


def _tool(name: str, description: str, required: tuple[str, ...] = (), **parameters: Json) -> Tool:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": dict(parameters),
        "required": list(required),
        "additionalProperties": False,
    }
    return Tool(name=name, description=description, parameters=schema)


_PATH: Mapping[str, Json] = {"type": "string", "description": "Relative path in your directory."}

TOOLS = (
    _tool(
        "run_command",
        f"Run a shell command in your directory, without network, for at most {_COMMAND_S:g} s. "
        "Gives its exit status and the beginning and end of what it wrote.",
        ("command",),
        command={"type": "string"},
    ),
    _tool(
        "read_file",
        "Read a file of your directory.",
        ("path",),
        path=_PATH,
        first_line={"type": "integer", "description": "Line to begin with, counted from 1."},
    ),
    _tool(
        "write_file",
        "Write a file, in the place of an earlier one.",
        ("path", "content"),
        path=_PATH,
        content={"type": "string"},
    ),
    _tool(
        "edit_file",
        "Replace the only place in a file where a text stands.",
        ("path", "old", "new"),
        path=_PATH,
        old={"type": "string"},
        new={"type": "string"},
    ),
    _tool(
        "try_harness",
        "Evaluate the draft: which states are valid and what the function did on them, which lines were not "
        "reached, which stubs passed, which changes of the function no state notices.",
    ),
    _tool("finish", "Hand in the draft. It is evaluated once more, and has to be valid."),
    _tool(
        "give_up",
        "Say that no harness can be made for this function.",
        ("reason",),
        reason={"type": "string", "description": "What would be needed."},
    ),
)
"""The same for every function, so that they stay in the prompt cache."""


class Toolbox:
    """Carries out the calls of one agent.

    Args:
        workshop: The agent's.
        language: Of the function.
        evaluate: Evaluates a draft.

    Attributes:
        finished: The harness, once the agent has handed in a valid one.
        gave_up: Why the agent gave up; "" while it has not.
        last: What the last evaluation gave.
        workshop: Where its files are.
    """

    def __init__(
        self, workshop: Workshop, language: Language, evaluate: Callable[[Draft], Evaluation]
    ) -> None:
        self.finished: Harness | None = None
        self.gave_up = ""
        self.last: Evaluation | None = None
        self._evaluated: Draft | None = None
        self.workshop = workshop
        self._language = language
        self._evaluate = evaluate
        self._known: Mapping[str, tuple[Tool, Callable[[Mapping[str, Any]], str]]] = {
            tool.name: (tool, getattr(self, f"_{tool.name}")) for tool in TOOLS
        }

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.finished is not None or bool(self.gave_up)

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out a call.

        Raises:
            SandboxError: The sandbox failed; nothing is known about the call.
        """
        if self.done:
            return self._error(call, "nothing is done any more: the work was ended before this call")
        if call.name not in self._known:
            return self._error(call, f"there is no tool {call.name!r}; there are {', '.join(self._known)}")
        if call.malformed:
            return self._error(call, f"the arguments cannot be read: {call.malformed}")
        tool, carry_out = self._known[call.name]
        problem = _problem(tool, call.arguments)
        if problem:
            return self._error(call, problem)
        try:
            text = carry_out(call.arguments)
        except (WorkshopError, DraftError) as error:
            return self._error(call, str(error))
        return ToolResult(call=call.id, text=_bounded(text))

    def _error(self, call: ToolCall, text: str) -> ToolResult:
        return ToolResult(call=call.id, text=_bounded(text), is_error=True)

    # --------------------------------------------------------------------------------------------- tools

    def _run_command(self, arguments: Mapping[str, Any]) -> str:
        end = self.workshop.run(arguments["command"], timeout_s=_COMMAND_S)
        status = "no exit status" if end.exit is None else f"exit status {end.exit}"
        note = f" ({end.note})" if end.note else ""
        return f"{status}{note}\n{end.output}"

    def _read_file(self, arguments: Mapping[str, Any]) -> str:
        first = max(1, arguments.get("first_line", 1))
        lines = self.workshop.read(arguments["path"]).splitlines(keepends=True)
        if first > 1 and first > len(lines):
            raise WorkshopError(f"the file has {len(lines)} lines")
        return "".join(lines[first - 1 :]) or "(the file is empty)"

    def _write_file(self, arguments: Mapping[str, Any]) -> str:
        self.workshop.write(arguments["path"], arguments["content"])
        return "written"

    def _edit_file(self, arguments: Mapping[str, Any]) -> str:
        path, old = arguments["path"], arguments["old"]
        text = self.workshop.read(path)
        count = text.count(old) if old else 0
        if count != 1:
            raise WorkshopError(f"the old text stands {count} times in {path}, and has to stand there once")
        self.workshop.write(path, text.replace(old, arguments["new"]))
        return "edited"

    def _try_harness(self, _: Mapping[str, Any]) -> str:
        draft = read_draft(self._language, self.workshop.read)
        if self.last is None or draft != self._evaluated:
            self._evaluated, self.last = draft, self._evaluate(draft)
        return self.last.report

    def _finish(self, arguments: Mapping[str, Any]) -> str:
        report = self._try_harness(arguments)
        if self.last is not None and isinstance(self.last.result, Harness):
            self.finished = self.last.result
            return "accepted"
        raise WorkshopError(f"the draft cannot be handed in.\n{report}")

    def _give_up(self, arguments: Mapping[str, Any]) -> str:
        self.gave_up = " ".join(arguments["reason"].split())[:_MOST_REASON] or "no reason given"
        return "noted"


def _problem(tool: Tool, arguments: Mapping[str, Json]) -> str:
    """What is wrong with the arguments of a call; "" for nothing."""
    properties: Any = tool.parameters["properties"]
    required: Any = tool.parameters["required"]
    lacking = [name for name in required if name not in arguments]
    if lacking:
        return f"{tool.name} needs {', '.join(lacking)}"
    others = [name for name in arguments if name not in properties]
    if others:
        return f"{tool.name} takes {', '.join(properties) or 'nothing'}, and not {', '.join(others)[:200]}"
    kinds = {"string": str, "integer": int}
    for name, value in arguments.items():
        kind = properties[name]["type"]
        if not isinstance(value, kinds[kind]) or isinstance(value, bool):
            return f"{name} has to be of type {kind}"
    return ""


def _bounded(text: str) -> str:
    if len(text) <= _MOST_ANSWER:
        return text
    half = _MOST_ANSWER // 2
    return f"{text[:half]}\n[{len(text) - _MOST_ANSWER} characters left out]\n{text[-half:]}"
