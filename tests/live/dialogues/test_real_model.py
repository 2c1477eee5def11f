"""One short conversation with a real model, for who has a key: FUNCMEM_LIVE_MODEL=SPEC pytest -m live."""

from __future__ import annotations

import os

import pytest

from pytest_funcmem.models.dialogue.opening import open_dialogue
from pytest_funcmem.models.dialogue.records import Message, Tool, ToolResult, UserMessage

SPEC = os.environ.get("FUNCMEM_LIVE_MODEL", "")
LOOK_UP = Tool(
    name="look_up",
    description="Look up the number that belongs to a name.",
    parameters={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)


@pytest.mark.live
@pytest.mark.skipif(not SPEC, reason="FUNCMEM_LIVE_MODEL names no model; it would cost money")
def test_a_real_model_calls_a_tool_and_reads_its_result() -> None:
    model = open_dialogue(SPEC)
    system = "Answer with what the tool says, and nothing else. Never answer without having called the tool."
    dialogue: list[Message] = [UserMessage(text="Which number belongs to the name Ada?")]
    try:
        first = model.turn(system, dialogue, [LOOK_UP], max_tokens=4000)
        assert first.stop == "tools", first
        assert first.message.calls[0].name == "look_up"
        assert first.message.calls[0].arguments == {"name": "Ada"}
        results = tuple(ToolResult(call=call.id, text="7341") for call in first.message.calls)
        dialogue += [first.message, UserMessage(results=results)]
        second = model.turn(system, dialogue, [LOOK_UP], max_tokens=4000)
    finally:
        model.close()
    assert second.stop == "ended", second
    assert "7341" in second.message.text
    assert first.untold == second.untold == 0
    assert first.usage_told
    assert second.usage.total > first.usage.output > 0
