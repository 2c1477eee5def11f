"""What the sandbox suites share: the fixtures, and how the probe is asked and answered for."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

PROBE = Path(__file__).with_name("sandbox_probe.py")
QUICK = Limits(wall_s=10.0, memory_mib=256)
SHORT = Limits(wall_s=1.0, memory_mib=256)


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


def kill_workers(sandbox: WarmSandbox) -> None:
    """Do from outside what a crash of a worker's process or of its container does."""
    for worker in [*sandbox._busy, *(worker for worker, _count in sandbox._idle)]:
        worker.kill()


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
