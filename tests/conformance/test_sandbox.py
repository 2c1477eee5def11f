"""What every sandbox promises; runs on each implementation."""

from __future__ import annotations

import concurrent.futures
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sandbox_support import SHORT, answer, assert_next_is_honest, open_or_skip, probe

from pytest_funcmem.core.errors import SandboxError, SandboxUnavailableError, UsageError
from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.sandbox import namespace_sandbox
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

# ------------------------------------------------------------------------------------ what a task gets


def test_program_receives_its_payload_and_emits_records_in_order(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "count", upto=500)
    assert result.records == (*(str(number).encode() for number in range(500)), b'"end"')
    assert (result.outcome, result.exit_code, result.signal) == ("ended", 0, None)
    assert 0 < result.seconds < 10


def test_processor_seconds_are_told_for_all_that_a_task_waited_for(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "burn", processes=2)
    assert result.cpu_s is not None
    assert 0.6 <= result.cpu_s < 0.6 + 5.0
    idle = probe(sandbox, "count", upto=1)
    assert idle.cpu_s is not None
    assert idle.cpu_s < 0.5


def test_a_task_that_uses_too_much_of_the_processor_is_ended(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "burn", processes=0, limits=Limits(wall_s=60.0, cpu_s=0.4, memory_mib=256))
    assert (result.outcome, result.records) == ("timeout", (b'"burnt"',))
    assert result.cpu_s is not None
    assert 0.4 <= result.cpu_s < 20.0
    assert_next_is_honest(sandbox)


def test_large_payload_and_record_come_through(sandbox: WarmSandbox) -> None:
    value = "x" * 3_000_000
    assert answer(probe(sandbox, "echo", value=value)) == value


def test_candidate_starts_in_a_clean_place(sandbox: WarmSandbox) -> None:
    state = answer(probe(sandbox, "state"))
    assert state["cwd"] == "/work/task"
    assert state["entries"] == []
    assert state["uid"] not in (0, os.getuid())
    assert state["groups"] in ([], [state["gid"]])
    assert state["descriptors"] == [0, 1, 2, 3]
    assert set(state["capabilities"][:3]) == {"0000000000000000"}
    assert state["stdin"] == ""
    assert state["utf8"] == 1
    environment = state["environment"]
    path = environment.pop("PATH")
    assert "/usr/bin" in path.split(":")
    assert environment == {
        "HOME": "/work/task",
        "TMPDIR": "/work/tmp",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_hash_seed_is_fixed_in_programs_and_in_python_that_they_start(sandbox: WarmSandbox) -> None:
    expected = subprocess.run(
        [sys.executable, "-c", "print(hash('an ordinary text'))"],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert str(answer(probe(sandbox, "state"))["hash"]) == expected
    assert answer(probe(sandbox, "run_python")) == expected


def test_user_differs_from_task_to_task(sandbox: WarmSandbox) -> None:
    uids = [answer(probe(sandbox, "state"))["uid"] for _ in range(4)]
    assert len(set(uids)) == 4


def test_files_are_laid_into_the_working_directory(sandbox: WarmSandbox) -> None:
    task = SandboxTask(
        program="probe",
        payload=json.dumps({"do": "file_contents", "paths": ["a.txt", "sub/b ü.txt"]}).encode(),
        files={"a.txt": b"first", "sub/b ü.txt": "zweite Ü".encode()},
    )
    assert answer(sandbox.run(task)) == ["first", "zweite Ü"]


def test_command_reads_payload_on_stdin(sandbox: WarmSandbox) -> None:
    command = ("sh", "-c", "cat; cat note; pwd; echo problem >&2; exit 7")
    result = sandbox.run(SandboxTask(command=command, payload=b"in\n", files={"note": b"a note\n"}))
    assert result.stdout == b"in\na note\n/work/task\n"
    assert result.stderr == b"problem\n"
    assert (result.outcome, result.exit_code, result.records) == ("ended", 7, ())


def test_command_that_is_not_there(sandbox: WarmSandbox) -> None:
    result = sandbox.run(SandboxTask(command=("no-such-program",)))
    assert result.exit_code == 127
    assert b"no-such-program" in result.stderr


def test_command_runs_python_without_the_host_environment(sandbox: WarmSandbox) -> None:
    code = "import os, sys; print(sorted(os.environ)); print(sys.stdin.read())"
    result = sandbox.run(SandboxTask(command=("python3", "-c", code), payload=b"hello"))
    assert result.exit_code == 0, result
    assert b"hello" in result.stdout
    assert b"VIRTUAL_ENV" not in result.stdout


def test_multiprocessing_works(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "pool")) == [1, 2, 3]


# ------------------------------------------------------------------------------------------- outcomes


def test_exit_code_of_a_program(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "leave", how="exit 3")
    assert (result.outcome, result.exit_code, result.records) == ("ended", 3, (b"before",))


def test_exit_behind_the_back_of_the_program_keeps_records(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "leave", how="_exit 0")
    assert (result.outcome, result.exit_code, result.records) == ("ended", 0, (b"before",))


def test_exception_out_of_main(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "leave", how="raise")
    assert (result.outcome, result.exit_code, result.records) == ("ended", 1, (b"before",))
    assert b"ValueError: out of main" in result.stderr


@pytest.mark.parametrize(
    ("how", "number"), [("segv", signal.SIGSEGV), ("kill", signal.SIGKILL), ("abort", signal.SIGABRT)]
)
def test_death_by_signal(sandbox: WarmSandbox, how: str, number: int) -> None:
    result = probe(sandbox, "leave", how=how)
    assert (result.outcome, result.signal, result.exit_code) == ("signal", number, None)
    assert result.records == (b"before",)


def test_refused_system_call_ends_the_task(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "leave", how="bpf")
    assert (result.outcome, result.records) == ("refused", (b"before",))
    assert_next_is_honest(sandbox)


def test_timeout_keeps_what_was_emitted(sandbox: WarmSandbox) -> None:
    start = time.monotonic()
    result = probe(sandbox, "hang", limits=SHORT)
    assert (result.outcome, result.exit_code, result.signal) == ("timeout", None, None)
    assert result.records == (b"before",)
    assert time.monotonic() - start < 6.0
    assert_next_is_honest(sandbox)


def test_command_timeout(sandbox: WarmSandbox) -> None:
    result = sandbox.run(SandboxTask(command=("sh", "-c", "echo early; sleep 60"), limits=SHORT))
    assert (result.outcome, result.stdout) == ("timeout", b"early\n")


@pytest.mark.parametrize("do", ["eat_memory"])
def test_memory_of_one_process(sandbox: WarmSandbox, do: str) -> None:
    result = probe(sandbox, do)
    assert (result.outcome, result.exit_code, result.signal) == ("memory", None, None)
    assert result.records == (b"before",)
    assert_next_is_honest(sandbox)


def test_memory_of_all_processes_together(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "eat_shared_memory", processes=3)
    assert result.outcome in ("memory", "timeout")
    assert result.records == (b"before",)
    assert_next_is_honest(sandbox)


def test_record_cut_by_death_is_dropped(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "partial_record")
    assert (result.outcome, result.records) == ("signal", (b"whole",))


def test_record_with_a_forged_length(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "monstrous_record")
    assert (result.outcome, result.records) == ("refused", (b"whole",))


# --------------------------------------------------------------------------------------------- floods


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_flood_of_output_is_drained_and_cut(sandbox: WarmSandbox, stream: str) -> None:
    limits = Limits(wall_s=60.0, output_bytes=100_000)
    result = probe(sandbox, "flood", what=stream, mebibytes=200, limits=limits)
    assert answer(result) == "through"
    assert len(getattr(result, stream)) == 100_000


@pytest.mark.parametrize("what", ["records", "empty records"])
def test_flood_of_records_is_refused(sandbox: WarmSandbox, what: str) -> None:
    limits = Limits(wall_s=60.0, output_bytes=3_000_000)
    result = probe(sandbox, "flood", what=what, mebibytes=1024, limits=limits)
    assert result.outcome == "refused"
    assert sum(map(len, result.records)) <= 3_000_000
    assert len(result.records) <= 3_000_000 // 64
    assert_next_is_honest(sandbox)


def test_host_memory_stays_bounded_while_a_candidate_floods(sandbox: WarmSandbox) -> None:
    limits = Limits(wall_s=120.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    probe(sandbox, "flood", what="stdout", mebibytes=1024, limits=limits)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) / 1024 < 64


# --------------------------------------------------------------------------------------- the sandbox


def test_tasks_run_beside_one_another_up_to_the_number_of_workers(sandbox: WarmSandbox) -> None:
    running, most = 0, 0
    lock = threading.Lock()
    inner = WarmSandbox._attempt

    def counted(self: WarmSandbox, task: SandboxTask) -> SandboxResult:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return inner(self, task)
        finally:
            with lock:
                running -= 1

    with pytest.MonkeyPatch.context() as patch, concurrent.futures.ThreadPoolExecutor(6) as threads:
        patch.setattr(WarmSandbox, "_attempt", counted)
        results = list(threads.map(lambda value: answer(probe(sandbox, "echo", value=value)), range(40)))
    assert results == list(range(40))
    assert most == 2


def test_identity_names_what_matters(sandbox: WarmSandbox) -> None:
    identity = sandbox.identity()
    assert identity["sandbox"] == sandbox.name
    assert identity["hash_seed_fixed"] is True
    assert {"python", "implementation", "kernel", "machine"} <= set(identity)
    json.dumps(identity)
    if sandbox.name == "docker":
        assert str(identity["image"]).startswith("sha256:")
        assert str(identity["engine"]).startswith("docker ")


@pytest.mark.parametrize(
    "task",
    [
        SandboxTask(),
        SandboxTask(program="probe", command=("true",)),
        SandboxTask(program="unknown"),
        SandboxTask(command=()),
        SandboxTask(command=("true",), files={"../escape": b""}),
        SandboxTask(command=("true",), files={"/etc/passwd": b""}),
        SandboxTask(command=("true",), limits=Limits(wall_s=0.0)),
        SandboxTask(command=("true",), limits=Limits(wall_s=float("nan"))),
    ],
)
def test_task_that_makes_no_sense_is_refused(sandbox: WarmSandbox, task: SandboxTask) -> None:
    with pytest.raises(UsageError):
        sandbox.run(task)


@pytest.mark.parametrize("name", ["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def test_program_that_does_not_load(name: str, tmp_path: Path) -> None:
    open_or_skip(name, workers=1).close()
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module\n")
    with pytest.raises(SandboxUnavailableError, match="No module named 'no_such_module'"):
        open_sandbox(name, programs={"broken": broken}, workers=1)


@pytest.mark.docker
def test_runtime_of_the_engine() -> None:
    with open_or_skip("docker", workers=1, runtime="runc") as sandbox:
        assert sandbox.identity()["runtime"] == "runc"
        assert_next_is_honest(sandbox)
    with pytest.raises(SandboxUnavailableError, match="no runtime 'nowhere'"):
        open_or_skip("docker", workers=1, runtime="nowhere")


def test_task_that_cannot_be_set_up_is_no_outcome(fresh: WarmSandbox) -> None:
    task = SandboxTask(command=("true",), files={"a": b"", "a/b": b"under a file"})
    with pytest.raises(SandboxError, match="not set up"):
        fresh.run(task)


@pytest.mark.parametrize("do", ["eat_memory", "eat_shared_memory", "eat_hidden_memory"])
def test_memory_without_control_groups(do: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_sandbox, "find_parent", lambda: None)
    with open_or_skip("namespace", workers=1) as sandbox:
        assert sandbox.identity()["memory_limit"] == "watched"
        arguments = {} if do == "eat_memory" else {"processes": 3}
        result = probe(sandbox, do, **arguments)
        if do == "eat_hidden_memory":
            assert answer(result) == "PermissionError"
        else:
            assert (result.outcome, result.records) == ("memory", (b"before",))
        assert_next_is_honest(sandbox)
