"""Programs that share a sandbox task do what they do alone, whatever becomes of one of them."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from pytest_funcmem.core.protocols import SandboxResult, SandboxTask
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import Program, execute
from pytest_funcmem.harness.python_runs import Run, run_together, was_run

HEAD = "import json\nSEEN = []\n"
BODIES = {
    "plain": "def f(x):\n    SEEN.append(x)\n    return [x + 1, len(SEEN)]\n",
    "raises": "def f(x):\n    raise ValueError(x)\n",
    "does not parse": "def f(x):\n    return (\n",
    "ends while loading": "import os\nos._exit(3)\ndef f(x):\n    return x\n",
    "never loads": "while True:\n    pass\ndef f(x):\n    return x\n",
    "twice": "def f(x):\n    return x * 2\n",
}
STATES = [InputState(arguments=(str(number),)) for number in (3, 4)]


def program(body: str) -> Program:
    text = HEAD + body + "LAST = 1\n"
    line = next(number for number, content in enumerate(text.split("\n"), 1) if content.startswith("def f"))
    return Program(text=text, qualname="f", line=line, language="python")


def test_programs_of_one_task_do_what_each_does_alone(runner_sandbox: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("pytest_funcmem.harness.python_runs.LOAD_TIMEOUT_S", 0.5)
    programs = [program(body) for body in BODIES.values()]
    together = run_together(
        runner_sandbox, [Run(program=item, states=STATES, coverage=True) for item in programs]
    )
    alone = [execute(runner_sandbox, item, STATES, coverage=True, state_timeout_s=1.0) for item in programs]
    assert [item.outputs for item in together] == [item.outputs for item in alone]
    assert [item.loaded for item in together] == [True, True, False, False, False, True]
    assert together[0].outputs[1].value == ["list", [5, 1]]


def test_states_that_never_end_are_cut_by_the_processor_and_soon_left_out(
    runner_sandbox: Any,
) -> None:
    body = "def f(x):\n    while x:\n        pass\n    return 'out'\n"
    states = [InputState(arguments=(text,)) for text in ("0", "1", "2", "3", "0")]
    run = Run(program=program(body), states=states, state_timeout_s=20.0, state_cpu_s=0.1, patience=2)
    (execution,) = run_together(runner_sandbox, [run])
    assert [output.outcome for output in execution.outputs[:3]] == ["returned", "timeout", "timeout"]
    assert [was_run(output) for output in execution.outputs] == [True, True, True, False, False]
    assert "of the processor" in execution.outputs[1].detail


class Failing:
    """A sandbox in which the second program of a task brings it down, and alone, too."""

    name = "failing"
    workers = 1

    def __init__(self) -> None:
        self.tasks: list[int] = []

    def run(self, task: SandboxTask) -> SandboxResult:
        payload = json.loads(task.payload)
        programs, base = payload["programs"], payload["text"]
        self.tasks.append(len(programs))
        records = []
        outcome = "ended"
        for number, item in enumerate(programs):
            head, middle, tail = item["text"]
            if "bomb" in base[:head] + middle + base[len(base) - tail :]:
                outcome = "memory"
                break
            records.append(json.dumps({"program": number, "kind": "load", "loaded": True}).encode() + b"\n")
            records += [
                json.dumps({"program": number, "kind": "state", "index": place, "outcome": "signal",
                            "detail": "SIGSEGV"}).encode() + b"\n"
                for place in range(len(item["states"]))
            ]  # fmt: skip
        return SandboxResult(
            outcome=cast("Any", outcome), records=tuple(records), stdout=b"", stderr=b"", exit_code=None,
            signal=None, seconds=0.1,
        )  # fmt: skip


def test_what_brings_a_task_down_is_run_alone_and_the_others_go_on() -> None:
    sandbox = Failing()
    bodies = ["def f(x): 1\n", "def f(x): 2\n", "def f(x): bomb\n", "def f(x): 4\n", "def f(x): 5\n"]
    found = run_together(cast("Any", sandbox), [Run(program=program(body), states=STATES) for body in bodies])
    assert [item.loaded for item in found] == [True, True, False, True, True]
    assert sandbox.tasks == [5, 1, 2]


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_executions_come_back_as_runs_were_asked_for(runner_sandbox: Any, count: int) -> None:
    runs = [Run(program=program(BODIES["twice"]), states=STATES[:count]) for _ in range(count)]
    assert [item.outputs[0].value for item in run_together(runner_sandbox, runs)] == [6] * count
    assert run_together(runner_sandbox, []) == []
