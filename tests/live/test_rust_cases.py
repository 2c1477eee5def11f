"""The Rust examples, audited from the command line: leaks of behaviour in other words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

EXAMPLES = Path(__file__).parents[2] / "examples" / "rust"


def test_rust_examples_come_out_as_functional(docker_engine: None, tmp_path: Path) -> None:
    report = tmp_path / "audit.jsonl"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"),
            *(f"--funcmem-source={EXAMPLES / 'sources'}", f"--funcmem-store={tmp_path / 'store'}"),
            *(f"--funcmem-model=replay:{EXAMPLES / 'target.jsonl'}", "--funcmem-sandbox=docker"),
            *(f"--funcmem-reference=replay:{EXAMPLES / 'reference.jsonl'}", "--funcmem-budget=900"),
            f"--funcmem-report=json:{report}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    records = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    found = {record["function"]["qualname"]: record for record in records if record["kind"] == "function"}
    assert set(found) == {"RateLimiter.check", "entity_tag", "parse_ranges"}
    for name, record in found.items():
        assert record["verdict"] == "functional", (name, record["reason"])
        assert record["target"]["func"] >= 0.8
        assert record["reference"]["func"] <= 0.3
    assert found["entity_tag"]["harness"]["mock_share"] == 0
    assert found["parse_ranges"]["reference"]["outcomes"] == {
        "unloadable": found["parse_ranges"]["harness"]["inputs"]
    }
