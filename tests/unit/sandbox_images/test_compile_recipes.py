"""The compile-and-run call on a sandbox that only remembers what it was asked."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from pytest_funcmem.core.errors import SandboxError, UsageError
from pytest_funcmem.core.protocols import SandboxResult, SandboxTask
from pytest_funcmem.sandbox.toolchains.compile_run import PROGRAMS, compile_and_run, first_message
from pytest_funcmem.sandbox.toolchains.recipes import RECIPES, recipe_for


class Recorder:
    """Answers every task with one result."""

    def __init__(self, *records: bytes, outcome: Any = "ended") -> None:
        self.tasks: list[SandboxTask] = []
        self.result = SandboxResult(
            outcome=outcome,
            records=records,
            stdout=b"out",
            stderr=b"cannot start",
            exit_code=0 if outcome == "ended" else None,
            signal=None,
            seconds=0.5,
        )

    def run(self, task: SandboxTask) -> SandboxResult:
        self.tasks.append(task)
        return self.result


COMPILED = b'{"compiled": true, "seconds": 0.25}'


def run(recorder: Recorder, language: str, files: dict[str, bytes], **settings: Any) -> Any:
    return compile_and_run(recorder, language, files, b"1 2", **settings)  # type: ignore[arg-type]


def request_of(task: SandboxTask) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack_from(">I", task.payload)
    return json.loads(task.payload[4 : 4 + length]), task.payload[4 + length :]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.compiler)
def test_each_recipe_compiles_all_its_sources_within_limits_of_its_own(recipe: Any) -> None:
    recorder = Recorder(COMPILED)
    name = {"java": "Main.java", "rust": "main.rs"}.get(recipe.language, f"b{recipe.suffix}")
    files = {name: b"code", f"a{recipe.suffix}": b"more", "data.h": b"x"}
    outcome = run(recorder, recipe.language, files, compiler=recipe.compiler)
    assert outcome.compiled
    assert outcome.first_message == ""
    assert outcome.compile_seconds == 0.25
    request, rest = request_of(recorder.tasks[0])
    assert request["files"] == [[path, len(content)] for path, content in files.items()]
    assert rest == b"codemorex1 2"
    words = {word for step in request["steps"] for word in step}
    assert name in words
    assert "data.h" not in words
    assert recorder.tasks[0].limits == recipe.limits
    assert recorder.tasks[0].program in PROGRAMS


def test_the_first_compiler_of_a_language_is_its_default() -> None:
    assert recipe_for("c").compiler == "gcc"
    assert recipe_for("c", "tcc").compiler == "tcc"
    with pytest.raises(UsageError, match="java with gcc") as caught:
        recipe_for("java", "gcc")
    assert "c with tcc" in str(caught.value.expected)


def test_java_finds_no_processors_and_no_plugins() -> None:
    (step,) = recipe_for("java").steps(("Main.java",))
    assert "-proc:none" in step
    assert step[step.index("-cp") + 1] == "/work/tmp/build"


@pytest.mark.parametrize("path", ["/etc/x.c", "../x.c", "a/../../x.c", "", "x.c/", "-o.c", "@x.c", "a\0.c"])
def test_sources_stay_in_their_directory_and_are_no_options(path: str) -> None:
    recorder = Recorder(COMPILED)
    with pytest.raises(UsageError, match="cannot be at"):
        run(recorder, "c", {path: b"", "main.c": b""})
    assert recorder.tasks == []


def test_there_must_be_a_source() -> None:
    with pytest.raises(UsageError, match=r"nothing to compile for rust"):
        run(Recorder(COMPILED), "rust", {"main.c": b""})


def test_a_java_compiler_compiles_java_only() -> None:
    with pytest.raises(UsageError, match="cannot compile c"):
        run(Recorder(COMPILED), "c", {"main.c": b""}, javac=object())


def test_a_refusal_gives_the_first_complaint() -> None:
    said = "In file included from main.c:1:\nmain.c:3:5: error: expected ';'\nmain.c:4: error: other\n"
    report = json.dumps({"compiled": False, "status": 1, "said": said, "seconds": 0.1}).encode()
    outcome = run(Recorder(report), "c", {"main.c": b""})
    assert not outcome.compiled
    assert outcome.first_message == "main.c:3:5: error: expected ';'"
    silent = json.dumps({"compiled": False, "status": -9, "said": "", "seconds": 0.1}).encode()
    assert run(Recorder(silent), "c", {"main.c": b""}).first_message == "the compiler ended with status -9"


def test_a_message_is_one_line_of_bounded_length() -> None:
    assert first_message("\n\n  note: x\n") == "note: x"
    assert first_message("") == ""
    assert len(first_message("error " + "x" * 10_000)) == 500


@pytest.mark.parametrize("outcome", ["timeout", "memory", "signal", "refused"])
def test_a_compiler_that_is_stopped_did_not_compile(outcome: str) -> None:
    stopped = run(Recorder(outcome=outcome), "go", {"main.go": b""})
    assert not stopped.compiled
    assert stopped.first_message == f"the compiler was stopped: {outcome}"
    assert stopped.compile_seconds is None


def test_a_program_that_is_stopped_had_compiled() -> None:
    stopped = run(Recorder(COMPILED, outcome="timeout"), "go", {"main.go": b""})
    assert stopped.compiled
    assert stopped.result.outcome == "timeout"


@pytest.mark.parametrize(
    "record", [b"", b"{", b"[1]", b"null", b"[" * 100_000, b'{"compiled": 1' + b" " * 300_000 + b"}"]
)
def test_what_is_no_report_is_a_fault_of_the_sandbox(record: bytes) -> None:
    with pytest.raises(SandboxError, match="could not be started: cannot start"):
        run(Recorder(record), "c", {"main.c": b""})


def test_a_report_of_odd_types_is_no_success() -> None:
    outcome = run(Recorder(b'{"compiled": "yes", "seconds": "x", "said": 5}'), "c", {"main.c": b""})
    assert not outcome.compiled
    assert outcome.first_message == "5"
    assert outcome.compile_seconds is None
