"""Debian packages that images have beside their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_funcmem.audit.world import programs_of, world_of
from pytest_funcmem.core.errors import SandboxUnavailableError, UsageError
from pytest_funcmem.core.protocols import Sandbox, SandboxTask
from pytest_funcmem.harness.agent.builder import AGENT_PROGRAMS
from pytest_funcmem.harness.agent.workshop import Workshop
from pytest_funcmem.sandbox.choice import open_sandbox

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(
        "docker",
        programs={**programs_of("python"), **AGENT_PROGRAMS},
        workers=1,
        packages=["python3-toolz"],
        progress=lambda _: None,
    ) as opened:
        yield opened


def test_functions_and_agents_find_the_package(sandbox: Sandbox) -> None:
    code = "import toolz; print(toolz.last([1, 2, 3]))"
    result = sandbox.run(SandboxTask(command=("python3", "-c", code)))
    assert (result.exit_code, result.stdout) == (0, b"3\n"), result.stderr
    end = Workshop(sandbox, "python", {"a.py": code}).run("python3 a.py", timeout_s=10)
    assert (end.exit, end.output) == (0, "3\n")


def test_packages_change_keys_and_stand_in_the_manifest(sandbox: Sandbox) -> None:
    assert sandbox.identity()["packages"] == ["python3-toolz"]
    assert "python3-toolz" in json.dumps(world_of(sandbox))


def test_what_cannot_be_installed_is_told() -> None:
    with pytest.raises(SandboxUnavailableError, match="python3-is-not-there"):
        open_sandbox("docker", programs=programs_of("python"), packages=["python3-is-not-there"])


@pytest.mark.parametrize("name", ["", "a b", "x;reboot", "--force", "Upper", "a\nb"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a Debian package"):
        open_sandbox("docker", programs=programs_of("python"), packages=[name])


def test_namespaces_have_no_packages(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="namespace sandbox has nothing but"):
        open_sandbox("namespace", programs=programs_of("python"), packages=["python3-toolz"])
