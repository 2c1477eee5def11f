"""A thousand functions in a row leave nothing behind: no container, process, file or descriptor."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
from pathlib import Path

import pytest

from pytest_funcmem.core.protocols import SandboxTask
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import PROGRAMS, Program, execute
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

FUNCTIONS = 1_000
TASKS_PER_WORKER = 50
KEPT_CONNECTIONS = 8
"""Connections that the client library of Docker keeps; far fewer than workers are replaced."""
LISTING = (
    "sh",
    "-c",
    "ls -A /tmp /dev/shm /work /work/tmp; ls -A /run /run/lock /var/tmp /dev/mqueue 2>/dev/null; "
    "cat /proc/sysvipc/shm 2>/dev/null",
)


def run_function(sandbox: WarmSandbox, number: int) -> None:
    """Run a function of its own on one state; it leaves a file, prints, and forks."""
    text = f"""
import ctypes
def f{number}(x):
    with open("left", "w") as file:
        file.write("x" * 1000)
    if {number} % 10 == 0 and ctypes.CDLL(None).fork() == 0:
        ctypes.CDLL(None).setsid()
        while True:
            ctypes.CDLL(None).pause()
    print("line")
    return x * {number}
"""
    program = Program(text=text, qualname=f"f{number}", line=3, language="python")
    states = (InputState(arguments=("7",)),)
    execution = execute(sandbox, program, states, coverage=False, state_timeout_s=30.0)
    (output,) = execution.outputs
    assert (output.outcome, output.value) == ("returned", 7 * number), output


def run_many(sandbox: WarmSandbox, numbers: range) -> None:
    with concurrent.futures.ThreadPoolExecutor(sandbox.workers) as threads:
        list(threads.map(lambda number: run_function(sandbox, number), numbers))


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def below(pid: int) -> list[int]:
    """Living processes below one, as far down as they go."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = path.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(path.parent.name)] = int(parent)
    found: list[int] = []
    pending = [pid]
    while pending:
        one = pending.pop()
        children = [child for child, parent in parents.items() if parent == one]
        found += children
        pending += children
    return found


def containers() -> list[tuple[int, list[str]]]:
    """Of each container of this process: how many processes run in it, and what was changed in its image."""
    from pytest_funcmem.sandbox import docker_sandbox

    client = docker_sandbox.connect()
    try:
        label = f"{docker_sandbox.OWNER_LABEL}={os.getpid()}"
        return sorted(
            (len(container.top()["Processes"]), sorted(change["Path"] for change in container.diff()))
            for container in client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
        )
    finally:
        client.close()


@pytest.fixture(params=["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "docker":
        docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
        why_not = docker_sandbox.docker_answers()
        if why_not is not None:
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI must have a Docker engine: {why_not}", pytrace=False)
            pytest.skip(f"no Docker engine: {why_not}")
    return str(request.param)


def make_sandbox(name: str) -> WarmSandbox:
    if name == "namespace":
        return NamespaceSandbox(programs=PROGRAMS, workers=2, tasks_per_worker=TASKS_PER_WORKER)
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

    return DockerSandbox(programs=PROGRAMS, workers=2, tasks_per_worker=TASKS_PER_WORKER)


def settle(sandbox: WarmSandbox) -> None:
    """Wait for the replacements that are under way."""
    for thread in list(sandbox._replacing):
        thread.join()


def test_thousand_functions_leave_nothing_behind(name: str) -> None:
    in_docker = name == "docker"
    before_opening = open_descriptors(), len(below(os.getpid()))
    with make_sandbox(name) as sandbox:
        run_many(sandbox, range(20))
        listing = sandbox.run(SandboxTask(command=LISTING)).stdout
        settle(sandbox)
        descriptors, processes = open_descriptors(), len(below(os.getpid()))
        inside = containers() if in_docker else []
        run_many(sandbox, range(20, FUNCTIONS + 20))
        settle(sandbox)
        if in_docker:
            assert containers() == inside
        assert len(below(os.getpid())) == processes
        assert open_descriptors() <= descriptors + (KEPT_CONNECTIONS if in_docker else 0)
        for _ in range(2):
            assert sandbox.run(SandboxTask(command=LISTING)).stdout == listing
    if in_docker:
        assert not containers()
    assert (open_descriptors(), len(below(os.getpid()))) == before_opening
