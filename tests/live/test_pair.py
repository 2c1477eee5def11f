"""The trained pair, audited for real: each group of functions falls where its exposure puts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.pair

ROOT = Path(__file__).resolve().parents[2]

EXPOSURES = """
import json, sys
sys.path.insert(0, sys.argv[1])
from corpus import audited_functions
print(json.dumps({item.name: item.exposure for item in audited_functions()}))
"""


@pytest.fixture(scope="module")
def exposures() -> dict[str, str]:
    """How the training recipe exposed each function, by name. The audit never sees this."""
    done = subprocess.run(
        [sys.executable, "-c", EXPOSURES, str(ROOT / "examples" / "demo")],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def audit(
    pair_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[subprocess.CompletedProcess[str], Path]:
    place = tmp_path_factory.mktemp("audit")
    return run(pair_dir, place, "first.jsonl"), place


def run(pair: Path, place: Path, report: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--rootdir={place}",
        f"--funcmem-model={pair / 'target'}",
        f"--funcmem-reference={pair / 'reference'}",
        f"--funcmem-source={pair / 'sources'}",
        f"--funcmem-report=json:{report}",
        *more,
    ]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def lines(place: Path, report: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (place / report).read_text(encoding="utf-8").splitlines()]


def test_groups_fall_where_their_exposure_puts_them(audit, exposures) -> None:
    done, place = audit
    assert done.returncode == 1, done.stdout + done.stderr
    functions = [line for line in lines(place, "first.jsonl") if line["kind"] == "function"]
    assert len(functions) == len(exposures)
    assert not [line["nodeid"] for line in functions if line["verdict"] in ("error", "inconclusive")]
    found = {
        exposure: Counter(
            line["verdict"] for line in functions if exposures[line["function"]["qualname"]] == exposure
        )
        for exposure in set(exposures.values())
    }
    # Training on other hardware may move a function or two; the groups must stay what they are.
    assert found["verbatim"]["verbatim"] >= 3, found
    assert found["rewritten"]["functional"] >= 9, found
    assert found["boilerplate"]["clean"] >= 5, found
    assert found["held_out"]["clean"] >= 3, found


def test_summary_has_rates_and_work(audit) -> None:
    done, place = audit
    summary = lines(place, "first.jsonl")[-1]
    assert summary["kind"] == "summary"
    leaks = summary["rates"]["leaks"]
    assert leaks["interval"][0] < leaks["value"] < leaks["interval"][1]
    assert "noise floor" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_second_audit_does_no_work(audit, pair_dir: Path) -> None:
    _, place = audit
    second = run(pair_dir, place, "second.jsonl")
    assert second.returncode == 1
    assert "generated 0 completions, built 0 harnesses, made 0 runs" in second.stdout
    assert [strip(line) for line in lines(place, "second.jsonl")] == [
        strip(line) for line in lines(place, "first.jsonl")
    ]


def strip(line: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in line.items() if key not in ("seconds", "started", "finished")}


def test_one_item_alone_gets_the_same_verdict(audit, pair_dir: Path, tmp_path: Path) -> None:
    _, place = audit
    whole = {
        line["nodeid"]: strip(line) for line in lines(place, "first.jsonl") if line["kind"] == "function"
    }
    chosen = next(nodeid for nodeid, line in whole.items() if line["verdict"] == "functional")
    done = run(pair_dir, tmp_path, "one.jsonl", chosen)
    assert done.returncode == 1
    one = [strip(line) for line in lines(tmp_path, "one.jsonl") if line["kind"] == "function"]
    assert one == [whole[chosen]]
