"""A fixed sample of the harness benchmark: no rate of it may get worse than its interval allows."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_funcmem.verdict.rates import rate
from tests.conftest import require

ROOT = Path(__file__).resolve().parents[2]
BASELINE = json.loads(Path(__file__).with_name("conclusive_sample.json").read_text(encoding="utf-8"))

BETTER_HIGH = ("conclusive", "strength", "equivalent_flagged")
BETTER_LOW = ("mocked", "strangers_flagged", "siblings_flagged", "stubs_flagged")


@pytest.fixture(scope="module")
def figures(shared_dir: Path) -> dict[str, object]:
    """The last line of the benchmark on the sample."""
    require(importlib.util.find_spec("libcst") is not None, "libcst, the extra 'benchmarks'")
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "benchmarks" / "conclusive.py"),
            str(shared_dir / "corpora" / "python.jsonl"),
            *BASELINE["arguments"],
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return {**found, "conclusive": [found["conclusive"], found["n"]]}


@pytest.mark.parametrize("name", [*BETTER_HIGH, *BETTER_LOW])
def test_no_rate_of_a_fixed_sample_leaves_its_interval(figures: dict[str, object], name: str) -> None:
    measured = figures[name]
    assert isinstance(measured, list)
    now, before = rate(*measured), rate(*BASELINE["rates"][name])
    assert now.value is not None
    shown = f"{name}: {measured[0]} of {measured[1]}, where {BASELINE['rates'][name]} was reached"
    if name in BETTER_HIGH:
        assert now.value >= before.low, shown
    else:
        assert now.value <= before.high, shown


def test_a_sample_covers_every_rate_that_is_printed(figures: dict[str, object]) -> None:
    shares = {name for name in figures if name.endswith("_flagged")} | {"conclusive", "strength", "mocked"}
    assert shares == {*BETTER_HIGH, *BETTER_LOW} == set(BASELINE["rates"])
    assert figures["n"] == BASELINE["rates"]["conclusive"][1]
