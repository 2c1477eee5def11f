"""The C toolkit against a real compiler: what it observes, what is no state, what it survives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Inconclusive, InputState, OutputState, SourceFunction
from pytest_funcmem.harness.compiled.c.toolkit import CToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.languages.c import CFrontend

pytestmark = pytest.mark.docker

KIT = CToolkit()
FILE = """\
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "missing.h"

struct counter { int hits; const char *label; };
static int total;

int observed(struct counter *c, int step, char *out)
{
    if (step < 0)
        exit(3);
    c->hits += step;
    total += 1;
    out[0] = 'Z';
    printf("step %d\\n", step);
    if (step > 3) {
        FILE *f = fopen("note", "w");
        fputs("long", f);
        fclose(f);
    }
    return (int)(time(NULL) % 7) + rand() % 5;
}

int beyond(int n)
{
    int cells[4] = {1, 2, 3, 4};
    int *heap = malloc(4 * sizeof *heap);
    heap[0] = 9;
    return n % 2 ? cells[n & 7] : heap[n & 7];
}

int hostile(int n)
{
    if (n % 3 == 0)
        for (;;)
            n *= 1;
    if (n % 3 == 1)
        abort();
    return n;
}

int made_up(widget_t *w, int n)
{
    if (LIMIT < n)
        return remote_call(w->name, n) + 1;
    return w->size + remote_call("none", n);
}
"""


def function_named(name: str) -> SourceFunction:
    found = CFrontend().scan(FILE, path="a.c").functions
    return next(item for item in found if item.qualname == name)


def prepared(name: str, sandbox: Sandbox) -> tuple[SourceFunction, Prepared]:
    function = function_named(name)
    made = KIT.prepare(function, sandbox, check_time=lambda: None)
    assert not isinstance(made, Inconclusive), made
    return function, made


def run(
    function: SourceFunction,
    made: Prepared,
    sandbox: Sandbox,
    states: list[InputState],
    timeout_s: float = 1.0,
) -> Execution:
    return KIT.execute(
        sandbox,
        [original_program(function, made.scaffold)],
        [states],
        coverage=True,
        state_timeout_s=timeout_s,
    )[0]


def drawn(count: int) -> list[InputState]:
    return [InputState(seed=seed) for seed in range(count)]


def test_a_state_is_observed_in_all_its_parts(sandbox: Sandbox) -> None:
    function, made = prepared("observed", sandbox)
    execution = run(function, made, sandbox, drawn(24))
    by_outcome: dict[str, list[OutputState]] = {}
    for output in execution.outputs:
        by_outcome.setdefault(output.outcome, []).append(output)
    returned = [item for item in by_outcome["returned"] if item.module_globals]
    assert returned
    one = returned[0]
    assert one.arguments["c"][0] == "list" or one.arguments["c"][0] == "object"
    assert str(one.arguments["out"]).startswith("Z")
    assert "total" in one.module_globals
    assert one.stdout.startswith("step ")
    assert isinstance(one.value, int)
    assert any(item.files == {"note": ["bytes", "long"]} for item in returned)
    ended = by_outcome["raised"][0]
    assert ended.exception is not None
    assert (ended.exception["type"], ended.exception["message"], ended.exception["own"]) == (
        "exit",
        "3",
        True,
    )
    assert execution.executable_lines[0] == 2
    assert {line for item in execution.outputs for line in item.lines} >= {2, 3, 4, 8}
    assert any(shown[1].lstrip("-").isdigit() for shown in execution.shown if shown)
    again = run(function, made, sandbox, drawn(24))
    assert again.outputs == execution.outputs


def test_reading_out_of_bounds_is_no_state(sandbox: Sandbox) -> None:
    function, made = prepared("beyond", sandbox)
    states = [InputState(seed=seed, choices=(seed * 65536 * 4 + 3,)) for seed in range(40)]
    execution = run(function, made, sandbox, states)
    for output, shown in zip(execution.outputs, execution.shown, strict=True):
        if output.outcome == "signal":
            continue
        n = int(shown[0])
        assert (n & 7) < 4
    outcomes = {item.outcome for item in execution.outputs}
    assert outcomes == {"signal", "returned"}


def test_one_state_does_not_spoil_the_next(sandbox: Sandbox) -> None:
    function, made = prepared("hostile", sandbox)
    execution = run(function, made, sandbox, drawn(12), timeout_s=0.2)
    assert {item.outcome for item in execution.outputs} == {"timeout", "signal", "returned"}


def test_what_is_missing_is_made_up_and_logged(sandbox: Sandbox) -> None:
    function, made = prepared("made_up", sandbox)
    assert made.scaffold.mocks == ("remote_call",)
    execution = run(function, made, sandbox, drawn(30))
    called = [item for item in execution.outputs if item.outcome == "returned" and item.calls]
    assert called
    call = called[0].calls[0]
    assert call["path"] == "remote_call"
    assert len(call["arguments"]) == 2
    assert isinstance(call["answer"], int)
    assert any(execution.made_up)


def test_programs_of_one_task_do_not_harm_each_other(sandbox: Sandbox) -> None:
    function, made = prepared("hostile", sandbox)
    codes = [
        "int hostile(int n)\n{\n    return n + ;\n}",
        "int hostile(int n)\n{\n    return unheard_of(n);\n}",
        "int hostile(int n)\n{\n    return 5;\n}",
    ]
    programs = [spliced_program(function, made.scaffold, code) for code in codes]
    states = drawn(3)
    broken, unknown, fine = KIT.execute(sandbox, programs, [states] * 3, coverage=False, state_timeout_s=1.0)
    assert not broken.loaded
    assert "expected expression" in broken.load_detail
    assert {item.outcome for item in broken.outputs} == {"unloadable"}
    assert not unknown.loaded
    assert "unheard_of" in unknown.load_detail
    assert [item.value for item in fine.outputs] == [5, 5, 5]


def test_choices_decide_and_what_cannot_compile_says_why(sandbox: Sandbox) -> None:
    function, made = prepared("hostile", sandbox)
    first, second = (InputState(seed=1, choices=(2,)), InputState(seed=9, choices=(2,)))
    execution = run(function, made, sandbox, [first, second], timeout_s=0.2)
    assert execution.shown[0] == execution.shown[1]
    assert execution.choices_used == (1, 1)
    broken = replace(function, text=FILE.replace("int *heap = malloc(4 * sizeof *heap);", "int *heap = ;"))
    broken = next(
        item for item in CFrontend().scan(broken.text, path="a.c").functions if item.qualname == "beyond"
    )
    made_of_it = KIT.prepare(broken, sandbox, check_time=lambda: None)
    assert isinstance(made_of_it, Inconclusive)
    assert made_of_it.reason == "load_failed"
    assert "expected expression" in made_of_it.detail
