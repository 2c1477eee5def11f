"""Fixtures that more than one part of the test suite uses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def require(condition: bool, what: str) -> None:
    """Fail where CI is meant to have it; skip on someone's own machine."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must have {what}", pytrace=False)
    pytest.skip(f"needs {what}")


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The directory of cases and corpora that lies beside the project."""
    path = Path(os.environ.get("FUNCMEM_SHARED") or ROOT.parent / "shared")
    require(
        (path / "cases" / "cases.json").is_file(), "the directory of cases and corpora beside the project"
    )
    return path


@pytest.fixture(scope="session")
def docker_engine() -> None:
    """A Docker engine that answers."""
    from pytest_funcmem.sandbox.docker_sandbox import docker_answers

    require(docker_answers() is None, "a running Docker engine")


@pytest.fixture(scope="session")
def pair_dir() -> Path:
    """The trained pair of the demo: ``target``, ``reference`` and ``sources``; made once and kept."""
    place = Path(os.environ.get("FUNCMEM_PAIR") or ROOT / ".cache" / "demo" / "pair")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo" / "pair.py"), str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAudit:
    """An audit of the trained pair that nobody disturbed, in the namespace sandbox.

    Attributes:
        options: That made it, but for store and report.
        report: Its JSON report.
        store: Its store; to be copied, not used.
    """

    options: list[str]
    report: Path
    store: Path

    def copy_store(self, place: Path, *, without: Sequence[str] = ()) -> Path:
        """A store with what was finished, but for some kinds of it."""
        return shutil.copytree(self.store, place, ignore=lambda _, names: [*set(without) & set(names)])


@pytest.fixture(scope="session")
def pair_audit(pair_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> PairAudit:
    """The trained pair, audited once for all tests that hold something against it."""
    place = tmp_path_factory.mktemp("pair-audit")
    options = [
        f"--funcmem-model={pair_dir / 'target'}",
        f"--funcmem-reference={pair_dir / 'reference'}",
        f"--funcmem-source={pair_dir / 'sources'}",
        "--funcmem-sandbox=namespace",
    ]
    own = [f"--rootdir={place}", "--funcmem-store=store", "--funcmem-report=json:whole.jsonl"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, *own],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    return PairAudit(options=options, report=place / "whole.jsonl", store=place / "store")
