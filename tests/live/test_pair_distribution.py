"""The trained pair under pytest-xdist, and as a sample: how often weights are loaded, what is generated."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PairAudit

pytestmark = pytest.mark.pair

# Every process of the session loads this plugin, pytest-xdist's workers too.
COUNTER = """
import os
from pathlib import Path

import pytest_funcmem.audit.remembered_model as remembered

LOG = Path(os.environ["LOADS"])
load = remembered.open_model


def counted(spec, settings):
    with LOG.open("a") as stream:
        stream.write(f"{os.getpid()} {spec}\\n")
    return load(spec, settings)


remembered.open_model = counted


def pytest_sessionstart(session):
    with LOG.with_name("processes.txt").open("a") as stream:
        stream.write(f"{os.getpid()}\\n")
"""


@pytest.fixture
def run(pair_audit: PairAudit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Audits the pair with a store that has harnesses and runs, but nothing of the models."""
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LOADS", str(tmp_path / "loads.txt"))
    pair_audit.copy_store(tmp_path / "store", without=("completion", "model", "prompt"))

    def audit(*arguments: str) -> subprocess.CompletedProcess[str]:
        own = [f"--rootdir={tmp_path}", "--funcmem-store=store", "--funcmem-report=json:out.jsonl"]
        command = [sys.executable, "-m", "pytest", "-p", "counter", *pair_audit.options, *own, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return audit


def lines(report: Path) -> list[str]:
    """The lines of a report as they stand, but for its times."""
    found = []
    for text in report.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        for key in ("seconds", "started", "finished"):
            line.pop(key, None)
        found.append(json.dumps(line))
    return found


def test_four_workers_load_each_model_once_in_all(run, pair_audit: PairAudit, tmp_path: Path) -> None:
    done = run("-n4")
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(set((tmp_path / "processes.txt").read_text().split())) == 5
    loads = [line.split(maxsplit=1) for line in (tmp_path / "loads.txt").read_text().splitlines()]
    assert len({process for process, _ in loads}) == 1
    assert [Path(spec).name for _, spec in loads] == ["target", "reference"]
    assert "generated 52 completions" in done.stdout
    assert lines(tmp_path / "out.jsonl") == lines(pair_audit.report)


def test_a_question_that_is_settled_saves_completions(run, tmp_path: Path) -> None:
    """A maximum of 0 is settled by the first leak; a block is two batches of two functions."""
    done = run("--funcmem-max-rate=0", "--funcmem-stop-early", "--funcmem-batch-size=2")
    assert done.returncode == 1, done.stdout + done.stderr
    generated = re.search(r"generated (\d+) completions", done.stdout)
    assert generated is not None, done.stdout
    assert 8 <= int(generated[1]) < 52
    loads = (tmp_path / "loads.txt").read_text().splitlines()
    assert [Path(line.split(maxsplit=1)[1]).name for line in loads] == ["target", "reference"]
