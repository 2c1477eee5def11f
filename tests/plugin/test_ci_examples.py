"""The commands of the ready-made jobs in ``examples/ci``, taken out of them and run on a small audit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, require

EXAMPLES = ROOT / "examples" / "ci"


def parsed(name: str) -> Any:
    require(find_spec("yaml") is not None, "PyYAML")
    import yaml

    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ci") / "store"


@pytest.fixture
def shell(scene, shared_store: Path):
    """Runs a command where a job would: in a directory with audit file, functions and baseline."""
    place = scene.pytester.path
    for name in ("release.funcmem.toml", "accepted.toml", "slurm.sh"):
        shutil.copy(EXAMPLES / name, place / name)
    scene.source.rename(place / "training_functions")
    tools = scene.pytester.mkdir("tools")
    (tools / "srun").write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")
    (tools / "srun").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "CHECKPOINT": f"replay:{scene.target}",
        "REFERENCE": f"replay:{scene.reference}",
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "FUNCMEM_STORE": str(shared_store),
        # What differs here from a real job: small functions, no engine, and a store that is warm.
        "PYTEST_ADDOPTS": f"--funcmem-min-lines=9 --funcmem-sandbox=namespace --funcmem-store={shared_store}",
    }

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command], cwd=place, env=environment, capture_output=True, text=True, check=False
        )

    return run


def missing(scene, *names: str) -> list[str]:
    return [name for name in names if not (scene.pytester.path / name).exists()]


def test_github_actions(scene, shell) -> None:
    job = parsed("github-actions.yml")["jobs"]["audit"]
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    assert list(steps) == ["Install", "Audit", "Summary"]
    done = shell(steps["Audit"])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 functional · 1 verbatim · 1 clean" in done.stdout
    assert shell(steps["Summary"]).returncode == 0
    assert missing(scene, "audit.jsonl", "audit.html", "audit.sarif", "junit.xml", "summary.md") == []
    uploads = {step["uses"].partition("@")[0]: step["with"] for step in job["steps"] if "with" in step}
    assert uploads["github/codeql-action/upload-sarif"] == {"sarif_file": "audit.sarif"}
    assert missing(scene, *uploads["actions/upload-artifact"]["path"].split()) == []
    # Accepting the leaks, as the README says, lets the same job pass.
    assert shell(steps["Audit"].rstrip() + " --funcmem-update-baseline").returncode == 0
    again = shell(steps["Audit"])
    assert again.returncode == 0, again.stdout
    assert "2 xfailed" in again.stdout


def test_gitlab(scene, shell) -> None:
    job = parsed("gitlab-ci.yml")["release-audit"]
    (command,) = job["script"]
    assert shell(command).returncode == 1
    assert missing(scene, *job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]) == []
    (after,) = job["after_script"]
    assert shell(f'{after} --store="$FUNCMEM_STORE"').returncode == 0


def test_slurm(scene, shell) -> None:
    text = (EXAMPLES / "slurm.sh").read_text(encoding="utf-8")
    assert re.findall(r"^#SBATCH --(\S+)", text, flags=re.MULTILINE)[-1] == "requeue"
    done = shell("bash slurm.sh")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0 of " in done.stdout.splitlines()[-1]
    assert missing(scene, "audit.jsonl", "audit.html") == []


def test_kubernetes(scene, shell) -> None:
    spec = parsed("kubernetes.yaml")["spec"]
    assert spec["backoffLimit"] == 0
    (container,) = spec["template"]["spec"]["containers"]
    names = {item["name"] for item in container["env"]}
    words = [*container["command"], *container["args"]]
    assert set(re.findall(r"\$\((\w+)\)", " ".join(words))) == names == {"CHECKPOINT", "REFERENCE"}
    done = shell(" ".join(re.sub(r"\$\((\w+)\)", r'"$\1"', word) for word in words))
    assert done.returncode == 1, done.stdout + done.stderr
    assert missing(scene, "audit.jsonl", "audit.html") == []
