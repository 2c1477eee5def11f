"""Runs that do not end by themselves, and code that works against the runner."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import Program, execute
from pytest_funcmem.harness.outputs import same_output, similarity, validity

ENDINGS = """
import os, ctypes, sys, time, threading
def end(how):
    if how == "loop":
        while True: pass
    if how == "stubborn":
        while True:
            try:
                time.sleep(0)
            except BaseException:
                pass
    if how == "exit":
        os._exit(0)
    if how == "crash":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()
    if how == "close":
        os.closerange(0, 200)
    if how == "deep":
        return end(how)
    if how == "hungry":
        return len(bytearray(10 ** 12))
    if how == "deadlock":
        lock = threading.Lock(); lock.acquire(); lock.acquire()
    if how == "loud":
        for _ in range(30):
            print("x" * 100_000)
        return 1
    if how == "wide":
        return [[i, str(i)] for i in range(10_000)]
    if how == "nested":
        value = []
        for _ in range(5_000):
            value = [value]
        return value
    if how == "limit":
        sys.setrecursionlimit(60)
        return 1
    if how == "stdout":
        sys.stdout.close()
        sys.stdout = None
        return 1
    return how
"""


@pytest.mark.parametrize(
    ("how", "outcome", "detail"),
    [
        ("loop", "timeout", "within 1 s"),
        ("stubborn", "timeout", "within 1 s"),
        ("deadlock", "timeout", "within 1 s"),
        ("exit", "missing", "status 0"),
        ("close", "missing", ""),
        ("crash", "signal", "SIGSEGV"),
        ("abort", "signal", "SIGABRT"),
        ("deep", "raised", ""),
        ("hungry", "raised", ""),
        ("loud", "returned", ""),
        ("wide", "returned", ""),
        ("nested", "returned", ""),
        ("limit", "returned", ""),
        ("stdout", "returned", ""),
        ("fine", "returned", ""),
    ],
)
def test_every_state_gives_one_record_whatever_ends_it(
    run_states: Any, how: str, outcome: str, detail: str
) -> None:
    states = [InputState(arguments=(repr(name),)) for name in (how, "fine")]
    execution = run_states(ENDINGS, "end", *states, state_timeout_s=1.0)
    first, second = execution.outputs
    assert first.outcome == outcome
    assert detail in first.detail
    assert second.value == "fine"
    assert same_output(first, first, float_tolerance=0) == (outcome in ("returned", "raised"))


def test_runtime_errors_are_data_but_not_meant(run_states: Any) -> None:
    states = [InputState(arguments=(repr(how),)) for how in ("deep", "hungry")]
    outputs = run_states(ENDINGS, "end", *states).outputs
    assert [output.exception["type"] for output in outputs] == ["RecursionError", "MemoryError"]
    assert [output.exception["own"] for output in outputs] == [False, False]


def test_floods_and_large_values_are_bounded_and_still_told_apart(run_states: Any) -> None:
    text = """
    def f(n, last):
        for _ in range(n):
            print("x" * 1000)
        print(last)
        return list(range(n * 100)) + [last]
    """
    states = [InputState(arguments=("1000", last)) for last in ("1", "2", "1")]
    a, b, c = run_states(text, "f", *states).outputs
    assert len(a.stdout) < 300_000
    assert a.value[:2] == ["cut", "list"]
    assert same_output(a, c, float_tolerance=0)
    assert a.stdout != b.stdout
    assert a.value != b.value


def test_the_time_of_a_task_bounds_the_states_that_are_left(run_states: Any) -> None:
    states = [InputState(arguments=(repr(how),)) for how in ("fine", "loop", "fine")]
    execution = run_states(ENDINGS, "end", *states, state_timeout_s=30.0, limits=Limits(wall_s=1.0))
    assert [output.outcome for output in execution.outputs] == ["returned", "timeout", "timeout"]


class Puppet:
    """A sandbox that gives back what it was told to."""

    name = "puppet"
    workers = 1

    def __init__(self, *records: bytes, outcome: Any = "ended") -> None:
        self.result = SandboxResult(
            outcome=outcome, records=records, stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.1
        )

    def run(self, task: SandboxTask) -> SandboxResult:
        return self.result


LOAD = b'{"kind": "load", "loaded": true, "detail": "", "skipped": [], "executable_lines": [1]}\n'
FIELDS = {
    "outcome": "returned", "value": 1, "exception": None, "calls": [], "receiver": None, "arguments": {},
    "module_globals": {}, "stdout": "", "stderr": "", "files": {}, "lines": [], "detail": "",
}  # fmt: skip


def state_record(index: Any = 0, **changes: Any) -> bytes:
    head = json.dumps({"kind": "state", "index": index, "outcome": "recorded", "detail": "", "seconds": 0.5})
    return head.encode() + b"\n" + json.dumps({**FIELDS, **changes}).encode()


def read(*records: bytes, outcome: str = "ended") -> Any:
    program = Program(text="", qualname="f", line=1, language="python")
    sandbox: Any = Puppet(*records, outcome=outcome)
    return execute(sandbox, program, [InputState(), InputState()], coverage=False, state_timeout_s=1.0)


def test_a_whole_record_is_read() -> None:
    execution = read(LOAD, state_record(0, value=["list", [1]]), state_record(1, stdout="x"))
    assert [output.outcome for output in execution.outputs] == ["returned", "returned"]
    assert execution.outputs[1].stdout == "x"
    assert execution.state_seconds == (0.5, 0.5)
    assert execution.executable_lines == (1,)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b"null\n",
        b"[" * 100_000,
        state_record(0)[:-5],
        state_record(-1),
        state_record(7),
        state_record("0"),
        state_record(True),
        state_record(0, outcome="timeout"),
        state_record(0, outcome="raised"),
        state_record(0, exception={"type": "ValueError"}),
        state_record(0, value=["unknown", 1]),
        state_record(0, value=1.5),
        state_record(0, value=2**60),
        state_record(0, value={"a": 1}),
        state_record(0, value=["ref", 0]),
        state_record(0, value=["graph", ["ref", 3], [1]]),
        state_record(0, value="\ud800"),
        state_record(0, calls=[{"path": "x"}]),
        state_record(0, lines=[-1]),
        state_record(0, stdout=3),
        state_record(0, arguments={"0": ["list"]}),
        state_record(0).replace(b'"value": 1', b'"value": NaN'),
        state_record(0).replace(b'"value": 1', b'"value": ' + b"9" * 5000),
        state_record(0).replace(b'"value": 1', b'"value": ' + b'["list",[' * 300 + b"]]" * 300),
    ],
)
def test_a_damaged_or_hostile_record_is_missing(record: bytes) -> None:
    execution = read(LOAD, record, state_record(1))
    assert [output.outcome for output in execution.outputs] == ["missing", "returned"]


def test_the_first_record_of_a_state_stands() -> None:
    execution = read(LOAD, state_record(0, value=1), state_record(0, value=2))
    assert execution.outputs[0].value == 1


@pytest.mark.parametrize("outcome", ["timeout", "memory", "signal", "refused"])
def test_how_the_task_ended_is_how_the_rest_of_its_states_ended(outcome: str) -> None:
    execution = read(LOAD, state_record(0), outcome=outcome)
    assert [output.outcome for output in execution.outputs] == ["returned", outcome]
    assert [output.outcome for output in read(outcome=outcome).outputs] == ["unloadable"] * 2


def test_runs_that_did_not_end_match_nothing_and_are_not_valid() -> None:
    outputs = read(LOAD, outcome="timeout").outputs
    assert similarity(outputs, outputs) == (0.0, (False, False))
    assert validity(outputs[0], outputs[0]) == (False, "timeout: it ran out of time")
