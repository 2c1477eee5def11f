"""An attack that is made while another candidate runs, which must neither be seen nor be disturbed."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

PROGRAMS = {"attack": Path(__file__).with_name("attack_program.py")}

VICTIM = r"""
import socket, time
write("/tmp/victim", "secret of the victim")
write("/dev/shm/victim", "secret of the victim")
write("victim", "secret of the victim")
server = socket.socket(socket.AF_UNIX)
server.bind("\0victim")
server.listen()
server.setblocking(False)
emit(b'"started"')
time.sleep(1.5)
answers.append(attempt(server.accept))
answers.append(str(read("/tmp/victim") == read("victim") == b"secret of the victim"))
"""

ATTACK = r"""
import signal, socket, time
end = time.monotonic() + 0.8
while time.monotonic() < end:
    for directory in ("/tmp", "/dev/shm", "/work", "/work/task", "."):
        for name in os.listdir(directory):
            if "victim" in name:
                answers.append(os.path.join(directory, name))
    if attempt(socket.socket(socket.AF_UNIX).connect, "\0victim") == "done":
        answers.append("connected")
    for pid in others():
        if pid > 1 and os.stat(f"/proc/{pid}").st_uid not in (0, 65534):
            answers.append(f"process {pid}")
        attempt(os.kill, pid, signal.SIGKILL)
    attempt(os.kill, -1, signal.SIGSTOP)
    time.sleep(0.01)
"""


@pytest.fixture(params=["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest) -> Iterator[WarmSandbox]:
    if request.param == "docker":
        docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
        why_not = docker_sandbox.docker_answers()
        if why_not is not None:
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI must have a Docker engine: {why_not}", pytrace=False)
            pytest.skip(f"no Docker engine: {why_not}")
    with open_sandbox(request.param, programs=PROGRAMS, workers=2) as opened:
        yield opened


def run(sandbox: WarmSandbox, code: str) -> SandboxResult:
    payload = json.dumps({"code": code, "given": {}}).encode()
    return sandbox.run(SandboxTask(program="attack", payload=payload, limits=Limits(wall_s=20.0)))


def test_candidate_that_runs_at_the_same_time(sandbox: WarmSandbox) -> None:
    run(sandbox, "")
    results: list[SandboxResult] = []
    victim = threading.Thread(target=lambda: results.append(run(sandbox, VICTIM)))
    victim.start()
    time.sleep(0.3)
    attack = run(sandbox, ATTACK)
    victim.join()
    assert (attack.outcome, json.loads(attack.records[-1])) == ("ended", []), attack
    assert results[0].outcome == "ended", results
    assert json.loads(results[0].records[-1]) == ["EAGAIN", "True"]
