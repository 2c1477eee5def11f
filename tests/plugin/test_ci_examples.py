"""The commands of the ready-made jobs in ``examples/ci``, taken out of them and run.

Each is run over replay files, and over the weights of the trained pair.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
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


class Job:
    """Where a job runs: a directory with audit file, functions and baseline, and the variables of a pipeline.

    Attributes:
        place: The directory.
        store: Of the audit; all jobs of a kind have one, as a runner's cache would give it to them.
        weights: Whether the models are checkpoints.
    """

    def __init__(self, place: Path, store: Path, checkpoint: str, reference: str, more: str) -> None:
        self.place = place
        self.store = store
        self.weights = checkpoint.startswith("hf:")
        for name in ("release.funcmem.toml", "accepted.toml", "slurm.sh"):
            shutil.copy(EXAMPLES / name, place / name)
        tools = place / "tools"
        tools.mkdir()
        (tools / "srun").write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")
        (tools / "srun").chmod(0o755)
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "CHECKPOINT": checkpoint,
            "REFERENCE": reference,
            "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
            "FUNCMEM_STORE": str(store),
            # What differs here from a real job: no engine, and a store that others have used.
            "PYTEST_ADDOPTS": f"--funcmem-sandbox=namespace --funcmem-store={store} {more}",
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a job's shell would."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.place,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def missing(self, *names: str) -> list[str]:
        """Those of these files that are not there."""
        return [name for name in names if not (self.place / name).exists()]

    def verdicts(self) -> Counter[str]:
        """The verdicts of the JSON report that the job wrote, counted."""
        lines = (self.place / "audit.jsonl").read_text(encoding="utf-8").splitlines()
        return Counter(line["verdict"] for line in map(json.loads, lines) if line["kind"] == "function")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ci")


@pytest.fixture(params=["replay", pytest.param("weights", marks=pytest.mark.pair)])
def job(request: pytest.FixtureRequest, stores: Path) -> Job:
    """A job over replay files, and one over the trained pair; the first of those loads its weights."""
    store = stores / request.param
    if request.param == "replay":
        scene = request.getfixturevalue("scene")
        scene.source.rename(scene.pytester.path / "training_functions")
        models = (f"replay:{scene.target}", f"replay:{scene.reference}")
        return Job(scene.pytester.path, store, *models, "--funcmem-min-lines=9")
    pair, audit = request.getfixturevalue("pair_dir"), request.getfixturevalue("pair_audit")
    if not store.exists():
        audit.copy_store(store, without=("completion", "model", "prompt"))
    place = request.getfixturevalue("tmp_path")
    shutil.copytree(pair / "sources", place / "training_functions")
    return Job(place, store, f"hf:{pair / 'target'}", f"hf:{pair / 'reference'}", "")


def expect_leaks(job: Job, done: subprocess.CompletedProcess[str]) -> None:
    """The job failed because its audit found leaks, and for no other reason."""
    assert done.returncode == 1, done.stdout + done.stderr
    found = job.verdicts()
    assert found["functional"] >= 1, found
    assert found["verbatim"] >= 1, found
    assert (found["error"], found["inconclusive"]) == (0, 0), found
    # Completions come into a store by being generated alone.
    assert job.weights == bool(list((job.store / "v1" / "completion").rglob("*.json")))


def test_github_actions(job: Job) -> None:
    recipe = parsed("github-actions.yml")["jobs"]["audit"]
    steps = {step["name"]: step["run"] for step in recipe["steps"] if "run" in step}
    assert list(steps) == ["Install", "Audit", "Summary"]
    expect_leaks(job, job.run(steps["Audit"]))
    leaks = job.verdicts()["functional"] + job.verdicts()["verbatim"]
    assert job.run(steps["Summary"]).returncode == 0
    assert job.missing("audit.jsonl", "audit.html", "audit.sarif", "junit.xml", "summary.md") == []
    uploads = {step["uses"].partition("@")[0]: step["with"] for step in recipe["steps"] if "with" in step}
    assert uploads["github/codeql-action/upload-sarif"] == {"sarif_file": "audit.sarif"}
    assert job.missing(*uploads["actions/upload-artifact"]["path"].split()) == []
    # Accepting the leaks, as the README says, lets the same job pass.
    assert job.run(steps["Audit"].rstrip() + " --funcmem-update-baseline").returncode == 0
    again = job.run(steps["Audit"])
    assert again.returncode == 0, again.stdout
    assert f"{leaks} xfailed" in again.stdout


def test_gitlab(job: Job) -> None:
    recipe = parsed("gitlab-ci.yml")["release-audit"]
    (command,) = recipe["script"]
    expect_leaks(job, job.run(command))
    assert job.missing(*recipe["artifacts"]["paths"], recipe["artifacts"]["reports"]["junit"]) == []
    (after,) = recipe["after_script"]
    assert job.run(f'{after} --store="$FUNCMEM_STORE"').returncode == 0


def test_slurm(job: Job) -> None:
    text = (EXAMPLES / "slurm.sh").read_text(encoding="utf-8")
    assert re.findall(r"^#SBATCH --(\S+)", text, flags=re.MULTILINE)[-1] == "requeue"
    done = job.run("bash slurm.sh")
    expect_leaks(job, done)
    assert "0 of " in done.stdout.splitlines()[-1]
    assert job.missing("audit.jsonl", "audit.html") == []


def test_kubernetes(job: Job) -> None:
    spec = parsed("kubernetes.yaml")["spec"]
    assert spec["backoffLimit"] == 0
    (container,) = spec["template"]["spec"]["containers"]
    names = {item["name"] for item in container["env"]}
    words = [*container["command"], *container["args"]]
    assert set(re.findall(r"\$\((\w+)\)", " ".join(words))) == names == {"CHECKPOINT", "REFERENCE"}
    done = job.run(" ".join(re.sub(r"\$\((\w+)\)", r'"$\1"', word) for word in words))
    expect_leaks(job, done)
    assert job.missing("audit.jsonl", "audit.html") == []
