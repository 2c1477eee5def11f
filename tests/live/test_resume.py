"""An audit that was killed goes on from what was finished, and ends with the same report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import PairAudit

pytestmark = pytest.mark.pair


def command(audit: PairAudit, place: Path, report: str) -> list[str]:
    own = [f"--rootdir={place}", "--funcmem-store=store", f"--funcmem-report=json:{report}"]
    return [sys.executable, "-m", "pytest", "-q", *audit.options, *own]


def without_times(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for key in ("seconds", "started", "finished"):
            line.pop(key, None)
    return lines


def finished(store: Path, kind: str) -> int:
    return len(list((store / "v1" / kind).rglob("*.json")))


@pytest.mark.parametrize("kind", ["completion", "harness", "execution"])
def test_killed_and_started_again(pair_audit: PairAudit, tmp_path: Path, kind: str) -> None:
    store = tmp_path / "store"
    process = subprocess.Popen(
        command(pair_audit, tmp_path, "never.jsonl"),
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
        command(pair_audit, tmp_path, "again.jsonl"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout
    assert without_times(tmp_path / "again.jsonl") == without_times(pair_audit.report)
