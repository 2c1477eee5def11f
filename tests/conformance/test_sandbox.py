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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import SandboxError, SandboxUnavailableError, UsageError
from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.sandbox import namespace_sandbox
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

PROBE = Path(__file__).with_name("sandbox_probe.py")
QUICK = Limits(wall_s=10.0, memory_mib=256)
SHORT = Limits(wall_s=1.0, memory_mib=256)
HOST_SECRETS = ("/etc/shadow", "/etc/ssh", "/var/run/docker.sock", "/run/docker.sock", "/.host", "/home")


def open_or_skip(name: str, **settings: Any) -> WarmSandbox:
    if name == "docker":
        docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
        why_not = docker_sandbox.docker_answers()
        if why_not is not None:
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI must have a Docker engine: {why_not}", pytrace=False)
            pytest.skip(f"no Docker engine: {why_not}")
    return open_sandbox(name, programs={"probe": PROBE}, **settings)


@pytest.fixture(scope="module", params=["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest) -> Iterator[WarmSandbox]:
    opened = open_or_skip(request.param, workers=2)
    yield opened
    opened.close()


@pytest.fixture(params=["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def fresh(request: pytest.FixtureRequest) -> Iterator[WarmSandbox]:
    opened = open_or_skip(request.param, workers=1)
    yield opened
    opened.close()


def probe(sandbox: WarmSandbox, do: str, *, limits: Limits = QUICK, **arguments: object) -> SandboxResult:
    payload = json.dumps({"do": do, **arguments}).encode()
    return sandbox.run(SandboxTask(program="probe", payload=payload, limits=limits))


def answer(result: SandboxResult) -> Any:
    assert result.outcome == "ended", result
    assert result.exit_code == 0, result
    return json.loads(result.records[-1])


def assert_next_is_honest(sandbox: WarmSandbox) -> None:
    """The next candidate gets its own result, finds nothing left, and is not slowed down."""
    start = time.monotonic()
    assert answer(probe(sandbox, "echo", value=[1, "ü"])) == [1, "ü"]
    assert time.monotonic() - start < 5.0
    found = answer(probe(sandbox, "list_directories", directories=["/tmp", "/dev/shm", ".", "/work"]))
    assert found == {"/tmp": [], "/dev/shm": [], ".": [], "/work": ["task", "tmp"]}


# ------------------------------------------------------------------------------------ what a task gets


def test_program_receives_its_payload_and_emits_records_in_order(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "count", upto=500)
    assert result.records == (*(str(number).encode() for number in range(500)), b'"end"')
    assert (result.outcome, result.exit_code, result.signal) == ("ended", 0, None)
    assert 0 < result.seconds < 10


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


# -------------------------------------------------------------------------------------------- attacks


def test_fork_bomb(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "fork_bomb", limits=SHORT)
    assert (result.outcome, result.records) == ("timeout", (b"before",))
    assert_next_is_honest(sandbox)


def test_thread_bomb(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "thread_bomb")) < QUICK.processes
    assert_next_is_honest(sandbox)


def test_there_is_no_network_at_all(sandbox: WarmSandbox) -> None:
    for what, became in answer(probe(sandbox, "network")).items():
        if what == "loopback" and sandbox.name == "docker":
            assert became == "ConnectionRefusedError"
        elif what == "own server" and sandbox.name == "docker":
            assert became is None  # a container's loopback is its own
        else:
            assert became in ("OSError", "PermissionError", "gaierror", "TimeoutError"), what


def test_host_files_are_invisible(sandbox: WarmSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    paths = [str(secret), str(Path.home() / ".ssh"), str(PROBE), str(Path.cwd()), *HOST_SECRETS]
    seen = answer(probe(sandbox, "look_at", paths=paths))
    visible = {path: became for path, became in seen.items() if became}
    # The image has a home directory and a shadow file of its own, which are not the host's and say nothing.
    assert set(visible) <= {"/etc/shadow", "/home"}
    assert "read" not in visible.values()


def test_root_is_read_only(sandbox: WarmSandbox) -> None:
    directories = ["/", "/etc", "/usr", "/usr/bin", "/var/tmp", "/run", "/dev", "/work", "/proc/sys/kernel"]
    attempts = answer(probe(sandbox, "write_to", directories=[*directories, "."]))
    assert attempts.pop(".") is None
    if os.geteuid() != 0 and sandbox.name == "namespace":
        attempts.pop("/work")  # its own mount, which ends with it
    assert set(attempts.values()) <= {"PermissionError", "OSError", "FileNotFoundError"}
    assert_next_is_honest(sandbox)


def test_nothing_is_left_in_shared_directories(sandbox: WarmSandbox) -> None:
    made = answer(probe(sandbox, "write_to", directories=["/tmp", "/dev/shm", "/work/tmp", "."]))
    assert set(made.values()) == {None}
    assert_next_is_honest(sandbox)


def test_deep_and_forbidden_tree_is_removed(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "deep_tree", depth=1500)) == "made"
    assert_next_is_honest(sandbox)


def test_space_and_inodes_are_limited(sandbox: WarmSandbox) -> None:
    filled = answer(probe(sandbox, "fill_files", limits=Limits(files_mib=4, wall_s=30.0)))
    assert filled["mebibytes"] <= 4
    assert filled["inodes"] < 5000
    assert_next_is_honest(sandbox)


def test_daemon_does_not_outlive_its_task(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "leave_daemon")) == "left"
    others = answer(probe(sandbox, "processes"))
    assert all(pid == 1 or uid == 0 for pid, uid in others), others  # none but the worker's own


def test_child_that_holds_the_pipes_delays_nothing(sandbox: WarmSandbox) -> None:
    start = time.monotonic()
    result = probe(sandbox, "hold_pipes_open")
    assert (result.outcome, result.records) == ("ended", (b"before",))
    assert time.monotonic() - start < 5.0


def test_other_processes_are_out_of_reach(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "attack_others")
    if result.outcome == "ended":
        attempts = answer(result)
        assert set(attempts["kill"]) <= {"PermissionError", "ProcessLookupError"}
        assert set(attempts["memory"]) <= {"PermissionError", "FileNotFoundError"}
        assert set(attempts["environment"]) <= {"PermissionError", "FileNotFoundError"}
        assert set(attempts["descriptors"]) <= {"PermissionError", "FileNotFoundError"}
        assert set(attempts["ptrace"]) <= {-1}
    assert_next_is_honest(sandbox)


def test_privileges_cannot_be_gained(sandbox: WarmSandbox) -> None:
    results = answer(probe(sandbox, "rise"))
    assert results.pop("su") != 0
    for what, became in results.items():
        assert became in ("PermissionError", "OSError", -1), what
    assert_next_is_honest(sandbox)


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


def test_lost_worker_is_replaced_and_the_task_run_again(fresh: WarmSandbox) -> None:
    assert answer(probe(fresh, "echo", value=1)) == 1
    kill_workers(fresh)
    assert answer(probe(fresh, "echo", value=2)) == 2


def test_worker_killed_in_the_middle_of_a_task(fresh: WarmSandbox) -> None:
    killer = threading.Timer(0.5, kill_workers, [fresh])
    killer.start()
    limits = Limits(wall_s=2.0)
    assert probe(fresh, "hang", limits=limits).outcome == "timeout"
    killer.join()
    assert_next_is_honest(fresh)


def test_worker_lost_twice_is_an_error(fresh: WarmSandbox) -> None:
    stop = threading.Event()

    def keep_killing() -> None:
        while not stop.wait(0.1):
            kill_workers(fresh)

    killer = threading.Thread(target=keep_killing)
    killer.start()
    try:
        with pytest.raises(SandboxError):
            probe(fresh, "hang", limits=Limits(wall_s=30.0))
    finally:
        stop.set()
        killer.join()
    assert_next_is_honest(fresh)


def test_closing_twice_and_using_a_closed_one(fresh: WarmSandbox) -> None:
    fresh.close()
    fresh.close()
    with pytest.raises(SandboxError):
        probe(fresh, "echo", value=1)
    fresh.open()
    assert answer(probe(fresh, "echo", value=1)) == 1


def test_many_tasks_leave_no_descriptor(fresh: WarmSandbox) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    assert answer(probe(fresh, "echo", value=0)) == 0
    before = descriptors()
    for value in range(30):
        assert answer(probe(fresh, "echo", value=value)) == value
    assert descriptors() == before
    for _ in range(4):  # worker after worker is replaced
        probe(fresh, "echo", value=0)
        kill_workers(fresh)
    kept_connections = 8 if fresh.name == "docker" else 0
    assert descriptors() <= before + kept_connections


def kill_workers(sandbox: WarmSandbox) -> None:
    """Do from outside what a crash of a worker's process or of its container does."""
    for worker in [*sandbox._busy, *(worker for worker, _count in sandbox._idle)]:
        worker.kill()


OWNER = """
import sys, threading
from pathlib import Path
from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.sandbox import namespace_sandbox
from pytest_funcmem.sandbox.choice import open_sandbox
sandbox = open_sandbox(sys.argv[1], programs={"probe": Path(sys.argv[2])}, workers=1)
print("open", flush=True)
sandbox.run(SandboxTask(command=("sleep", "987"), limits=Limits(wall_s=900.0)))
"""


def sleepers() -> list[Path]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", b"987"]:
            found.append(path)
    return found


def test_nothing_survives_the_death_of_the_owner(fresh: WarmSandbox) -> None:
    command = [sys.executable, "-c", OWNER, fresh.name, str(PROBE)]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert owner.stdout is not None
    with owner, owner.stdout:
        assert owner.stdout.readline() == b"open\n"
        wait_for(lambda: bool(sleepers()))
        owner.send_signal(signal.SIGKILL)
    wait_for(lambda: not sleepers())
    if fresh.name == "docker":
        fresh.close()
        fresh.open()  # reaps what the engine has not removed yet
        wait_for(lambda: not containers_of(owner.pid))


@pytest.mark.docker
def test_containers_of_a_dead_owner_are_reaped() -> None:
    sandbox = open_or_skip("docker", workers=1)
    try:
        from pytest_funcmem.sandbox import docker_sandbox

        client = docker_sandbox.connect()
        try:
            dead = subprocess.Popen(["true"])
            dead.wait()
            labels = {"org.pytest-funcmem.owner": str(dead.pid), "org.pytest-funcmem.owner-start": "1"}
            own = client.containers.list(filters={"label": f"org.pytest-funcmem.owner={os.getpid()}"})
            labels = {**own[0].labels, **labels}
            client.containers.create(
                sandbox.identity()["image"], ["true"], labels=labels, network_mode="none"
            )
            assert len(containers_of(dead.pid)) == 1
            docker_sandbox.reap_orphans(client)
            assert containers_of(dead.pid) == []
            assert len(containers_of(os.getpid())) >= 1
        finally:
            client.close()
    finally:
        sandbox.close()


@pytest.mark.docker
def test_engine_lost_at_work_is_an_error_and_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = open_or_skip("docker", workers=1)
    try:
        assert answer(probe(sandbox, "echo", value=1)) == 1
        kill_workers(sandbox)
        with monkeypatch.context() as patch:
            # What a client finds when the engine has gone.
            patch.setattr(sandbox._client.api, "base_url", "http+docker://localhost/nowhere")  # type: ignore[attr-defined]
            with pytest.raises(SandboxError, match="engine failed"):
                probe(sandbox, "echo", value=1)
        assert answer(probe(sandbox, "echo", value=1)) == 1
    finally:
        sandbox.close()


def containers_of(pid: int) -> list[str]:
    from pytest_funcmem.sandbox import docker_sandbox

    client = docker_sandbox.connect()
    try:
        label = f"org.pytest-funcmem.owner={pid}"
        return [container.id for container in client.containers.list(all=True, filters={"label": label})]
    finally:
        client.close()


def wait_for(condition: Callable[[], bool], *, limit_s: float = 20.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)


@pytest.mark.parametrize("name", ["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def test_program_that_does_not_load(name: str, tmp_path: Path) -> None:
    open_or_skip(name, workers=1).close()
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module\n")
    with pytest.raises(SandboxUnavailableError, match="No module named 'no_such_module'"):
        open_sandbox(name, programs={"broken": broken}, workers=1)


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
