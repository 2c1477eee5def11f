"""Workers, engines and owners that die: what is run again, what is an error, what is cleaned up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sandbox_support import (
    PROBE,
    answer,
    assert_next_is_honest,
    containers_of,
    kill_workers,
    open_or_skip,
    probe,
    wait_for,
)

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Limits
from pytest_funcmem.sandbox.pool import WarmSandbox


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
