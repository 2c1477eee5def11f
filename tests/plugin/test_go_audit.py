"""Three Go functions audited from replay files, by the local builder alone: what two models wrote decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent / "go_examples"

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]


@pytest.mark.usefixtures("docker_engine")
def test_examples_come_out_as_they_should(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(
        f"--funcmem-source={EXAMPLES / 'sources'}",
        f"--funcmem-model=replay:{EXAMPLES / 'target.jsonl'}",
        f"--funcmem-reference=replay:{EXAMPLES / 'reference.jsonl'}",
        "--funcmem-sandbox=docker",
        "--funcmem-report=json:out.jsonl",
    )
    assert result.ret == 1, result.stdout.str()
    lines = (pytester.path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    functions = {line["nodeid"]: line for line in map(json.loads, lines) if line["kind"] == "function"}
    assert {name: line["verdict"] for name, line in functions.items()} == {
        # Nothing is made up: what it takes from the standard library is there.
        "signing.go::SignedQuery": "functional",
        # A receiver with state, a clock, and a package that is not there.
        "limiter.go::Bucket.Take": "functional",
        # The reference calls what the file does not have.
        "intervals.go::Hours": "functional",
    }
    for name, line in functions.items():
        assert line["target"]["func"] >= 0.8
        # Far from the threshold; what a limiter refuses, another may refuse too.
        assert line["reference"]["func"] <= (0.5 if "Bucket" in name else 0.3)
        assert line["harness"]["coverage"] >= 0.8
    assert functions["signing.go::SignedQuery"]["harness"]["mock_share"] == 0.0
    assert functions["limiter.go::Bucket.Take"]["harness"]["mock_share"] < 1.0
    assert functions["intervals.go::Hours"]["reference"]["candidate"] == "uncompiled"
    assert "undefined: parseHour" in result.stdout.str()
