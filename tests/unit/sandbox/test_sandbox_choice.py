"""Which sandbox is opened, and what is said where none can be."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import MissingExtraError, SandboxError, SandboxUnavailableError, UsageError
from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.sandbox import choice, namespace_sandbox
from pytest_funcmem.sandbox.channel import TaskEnd
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox
from pytest_funcmem.sandbox.pool import WarmSandbox, Worker, check_task


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sandboxes that were opened, none of which really is."""
    names: list[str] = []
    monkeypatch.setattr(WarmSandbox, "open", lambda self: names.append(self.name))
    return names


def test_unknown_name() -> None:
    with pytest.raises(UsageError, match="auto, docker or namespace"):
        choice.open_sandbox("chroot", programs={})


def test_auto_takes_docker_where_its_engine_answers(
    monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    pytest.importorskip("docker")
    monkeypatch.setattr(choice, "_why_not_docker", lambda: None)
    assert choice.open_sandbox("auto", programs={}).notices == ()
    assert opened == ["docker"]


def test_auto_says_why_docker_is_not_used(monkeypatch: pytest.MonkeyPatch, opened: list[str]) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    sandbox = choice.open_sandbox("auto", programs={})
    assert opened == ["namespace"]
    assert sandbox.notices[0].startswith("Docker is not used: ")


def test_docker_package_missing(monkeypatch: pytest.MonkeyPatch, opened: list[str]) -> None:
    monkeypatch.setattr(choice, "_docker_installed", lambda: False)
    with pytest.raises(MissingExtraError, match=r"pytest-funcmem\[docker\]"):
        choice.open_sandbox("docker", programs={})
    sandbox = choice.open_sandbox("auto", programs={})
    assert opened == ["namespace"]
    assert "pytest-funcmem[docker]" in sandbox.notices[0]


def test_docker_without_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(SandboxUnavailableError, match="does not answer") as caught:
        choice.open_sandbox("docker", programs={})
    assert caught.value.remedy is not None


def test_machine_without_unshare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_sandbox.shutil, "which", lambda *_args, **_more: None)
    with pytest.raises(SandboxUnavailableError, match="util-linux"):
        NamespaceSandbox(programs={}).open()


def test_machine_that_refuses_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(command: list[str], **_settings: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "unshare: Operation not permitted\n")

    monkeypatch.setattr(namespace_sandbox.subprocess, "run", refuse)
    with pytest.raises(SandboxUnavailableError, match="Operation not permitted") as caught:
        NamespaceSandbox(programs={}).open()
    assert "docker" in str(caught.value.remedy)


def test_program_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.py"):
        NamespaceSandbox(programs={"p": tmp_path / "missing.py"})


def test_docker_is_not_loaded_unasked() -> None:
    code = "import sys, pytest_funcmem.sandbox.choice; sys.exit('docker' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_limits_must_be_positive_and_finite() -> None:
    for limits in (Limits(wall_s=-1), Limits(memory_mib=0), Limits(wall_s=float("inf")), Limits(processes=0)):
        with pytest.raises(UsageError):
            check_task(SandboxTask(command=("true",), limits=limits), programs={})


class Refusing(WarmSandbox):
    """A sandbox whose workers say that they are not to be used again."""

    name = "refusing"
    _advice_where_none_starts = "none"
    started = 0
    stopped = 0

    def _prepare(self) -> None:
        return

    def _release(self) -> None:
        return

    def _must_replace(self, end: TaskEnd) -> str | None:
        return "leftovers" if end.leftovers else None

    def _start_worker(self, limits: Limits) -> Worker:
        Refusing.started += 1
        return FakeWorker(limits)


class FakeWorker:
    def __init__(self, limits: Limits) -> None:
        self.about = {"python": "3"}
        self._limits = limits

    def fits(self, limits: Limits) -> bool:
        return limits.files_mib == self._limits.files_mib

    def run(self, task: SandboxTask) -> TaskEnd:
        from pytest_funcmem.core.protocols import SandboxResult

        result = SandboxResult(
            outcome="ended", records=(), stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
        )
        return TaskEnd(result=result, leftovers=("/dev/mqueue/x",) if task.payload else ())

    def kill(self) -> None:
        return

    def stop(self) -> None:
        Refusing.stopped += 1


def settle(sandbox: WarmSandbox) -> None:
    """Wait for the replacements that are under way."""
    for thread in list(sandbox._replacing):
        thread.join()


def test_workers_are_kept_or_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "started", 0)
    monkeypatch.setattr(Refusing, "stopped", 0)
    clean = SandboxTask(command=("true",))
    with Refusing(programs={}, workers=1, tasks_per_worker=3) as sandbox:
        sandbox.run(clean)
        sandbox.run(clean)
        assert (Refusing.started, Refusing.stopped) == (1, 0)
        sandbox.run(clean)  # the third: it has done its share
        settle(sandbox)
        assert (Refusing.started, Refusing.stopped) == (2, 1)
        sandbox.run(SandboxTask(command=("true",), payload=b"leaves something"))
        settle(sandbox)
        assert (Refusing.started, Refusing.stopped) == (3, 2)
        sandbox.run(clean)
        sandbox.run(SandboxTask(command=("true",), limits=Limits(files_mib=99)))  # does not fit
        assert (Refusing.started, Refusing.stopped) == (4, 3)
    assert Refusing.stopped == 4


class Slow(Refusing):
    """Its replacements take a moment to start, or never do."""

    fails = False

    def _start_worker(self, limits: Limits) -> Worker:
        if Refusing.started:
            time.sleep(0.2)
            if self.fails:
                raise SandboxError("The engine is gone.", remedy="start it")
        return super()._start_worker(limits)


def test_task_waits_for_the_replacement_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "started", 0)
    with Slow(programs={}, workers=1, tasks_per_worker=1) as sandbox:
        start = time.monotonic()
        sandbox.run(SandboxTask(command=("true",)))
        assert time.monotonic() - start < 0.15  # its result does not wait for the replacement
        sandbox.run(SandboxTask(command=("true",)))
        assert Refusing.started == 2


def test_replacement_that_does_not_start_is_said_by_the_next_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "started", 0)
    with Slow(programs={}, workers=1, tasks_per_worker=1) as sandbox:
        monkeypatch.setattr(Slow, "fails", True)
        sandbox.run(SandboxTask(command=("true",)))
        with pytest.raises(SandboxError, match="engine is gone"):
            sandbox.run(SandboxTask(command=("true",)))
        monkeypatch.setattr(Slow, "fails", False)
        sandbox.run(SandboxTask(command=("true",)))


def test_closing_waits_for_replacements_and_stops_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refusing, "started", 0)
    monkeypatch.setattr(Refusing, "stopped", 0)
    with Slow(programs={}, workers=1, tasks_per_worker=1) as sandbox:
        sandbox.run(SandboxTask(command=("true",)))
    assert (Refusing.started, Refusing.stopped) == (2, 2)
    assert not sandbox._replacing
