"""An audit that was killed goes on from what was finished, and ends with the same report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.pair


def command(pair: Path, place: Path, store: str, report: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        f"--rootdir={place}",
        f"--funcmem-model={pair / 'target'}",
        f"--funcmem-reference={pair / 'reference'}",
        f"--funcmem-source={pair / 'sources'}",
        f"--funcmem-store={store}",
        f"--funcmem-report=json:{report}",
        "--funcmem-sandbox=namespace",
    ]


def without_times(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for key in ("seconds", "started", "finished"):
            line.pop(key, None)
    return lines


def finished(store: Path, kind: str) -> int:
    return len(list((store / "v1" / kind).rglob("*.json")))


@pytest.mark.parametrize("kind", ["completion", "harness", "execution"])
def test_killed_and_started_again(pair_dir: Path, tmp_path: Path, kind: str, whole_report: Path) -> None:
    store = tmp_path / "store"
    process = subprocess.Popen(
        command(pair_dir, tmp_path, "store", "never.jsonl"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while finished(store, kind) < 5 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "never.jsonl").exists()
    kept = {name: finished(store, name) for name in ("completion", "harness", "execution")}
    assert kept[kind] >= 5

    again = subprocess.run(
        command(pair_dir, tmp_path, "store", "again.jsonl"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout
    assert without_times(tmp_path / "again.jsonl") == without_times(whole_report)


@pytest.fixture(scope="module")
def whole_report(pair_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an audit that nobody killed."""
    place = tmp_path_factory.mktemp("whole")
    done = subprocess.run(
        command(pair_dir, place, "store", "whole.jsonl"),
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    return place / "whole.jsonl"
