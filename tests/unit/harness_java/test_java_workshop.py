"""Java's workshop: what it does with requests that are hostile, too long, or not requests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_funcmem.core.protocols import Sandbox, SandboxTask
from pytest_funcmem.harness.compiled.java.tasks import build_task, read_builds
from pytest_funcmem.harness.execution import Program

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

FILES = (("after.java", "\n}\n"), ("before.java", "class Shop {\n"), ("plan", "path\tShop.java\n"))


def program(code: str) -> Program:
    return Program(text="", qualname="Shop.sell", line=2, language="java", code=code, files=FILES)


GOOD = program("static int sell(int n) {\n  return n + 1;\n}")


def task(*programs: Program) -> SandboxTask:
    return build_task(programs)


def test_programs_compile_each_for_itself_and_alike_each_time(java_sandbox: Sandbox) -> None:
    bad = program("static int sell(int n) { return nothing; }")
    result = java_sandbox.run(task(GOOD, bad, GOOD))
    first, broken, again = read_builds(result, 3)
    assert first == again
    assert first.problem == ""
    assert first.executable_lines == (1,)
    assert "cannot find symbol" in broken.problem
    assert broken.classes == ()
    assert result.cpu_s is not None
    assert java_sandbox.run(task(GOOD)).records == result.records[:1]


def test_what_takes_too_long_is_ended_and_the_next_is_served(java_sandbox: Sandbox) -> None:
    nested = "new Object() { Object o = " * 300 + "null" + "; }" * 300
    endless = program(f"static Object sell(int n) {{ return {nested}; }}")
    late = task(GOOD, endless)
    result = java_sandbox.run(replace(late, limits=replace(late.limits, cpu_s=0.05)))
    assert result.outcome == "timeout"
    assert len(result.records) < 2
    (built,) = read_builds(java_sandbox.run(task(GOOD)), 1)
    assert built.problem == ""


def test_what_is_no_request_ends_the_workshop_and_not_the_sandbox(java_sandbox: Sandbox) -> None:
    result = java_sandbox.run(replace(task(GOOD), payload=b"\0\0\0\4what"))
    assert (result.outcome, result.records) == ("signal", ())
    (built,) = read_builds(java_sandbox.run(task(GOOD)), 1)
    assert built.problem == ""


def test_nothing_of_what_is_compiled_runs_in_the_workshop(java_sandbox: Sandbox) -> None:
    ending = program(
        "static final int END = Integer.valueOf(3).hashCode();\n"
        "  static { Runtime.getRuntime().halt(END); }\n  static int sell(int n) { return n; }"
    )
    result = java_sandbox.run(task(ending, GOOD))
    assert result.outcome == "ended"
    assert [built.problem for built in read_builds(result, 2)] == ["", ""]
