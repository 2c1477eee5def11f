"""An audit under pytest-xdist: audited once, in the controller, and shown by the workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    return {key: value for key, value in result.parseoutcomes().items() if key not in ("seconds", "warnings")}


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distribution") / "store"


@pytest.fixture
def audit(scene, shared_store: Path):
    return lambda *arguments: scene.run(f"--funcmem-store={shared_store}", *arguments)


def without_times(path: Path) -> list[str]:
    """The lines of a report as they stand, but for its times."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        for key in ("seconds", "started", "finished"):
            line.pop(key, None)
        lines.append(json.dumps(line))
    return lines


def test_workers_show_what_the_controller_audits(scene, audit, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = audit("--funcmem-report=json:alone.jsonl")
    shared = audit("-n3", "--funcmem-report=json:shared.jsonl")
    assert (shared.ret, outcomes(shared)) == (1, outcomes(alone)) == (1, {"failed": 2, "passed": 1})
    place = scene.pytester.path
    assert without_times(place / "shared.jsonl") == without_times(place / "alone.jsonl")
    shared.stdout.fnmatch_lines(
        [
            "*FUNCTIONAL LEAK*",
            "verdicts*1 functional*1 verbatim*1 clean*",
            "*generated 0 completions, replayed 6,*",
            "gate*fails*",
        ]
    )
    assert shared.stdout.str().count("replayed 6") == 1
    assert outcomes(audit("-n2", "--lf")) == {"failed": 2}
    temporary = scene.pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    assert audit("-n2", "--collect-only", "-q").ret == 0
    assert list(temporary.glob("funcmem-relay-*")) == []
    stopped = audit("-n2", "-x", "--maxfail=1")
    assert stopped.ret != 0
    assert outcomes(stopped)["failed"] >= 1


def test_audit_files_and_ordinary_tests_are_distributed_together(scene, shared_store: Path) -> None:
    text = (
        f'model = ["replay:target.jsonl", "replay:reference.jsonl"]\nreference = "replay:reference.jsonl"\n'
        f'source = ["parcels"]\nsandbox = "namespace"\nmin_lines = 9\nstore = "{shared_store}"\n'
        f'baseline = "accepted.toml"\nreport = ["json:out.jsonl"]\n'
    )
    (scene.pytester.path / "release.funcmem.toml").write_text(text, encoding="utf-8")
    scene.pytester.makepyfile(test_ordinary="def test_ordinary():\n    pass\n")
    result = scene.pytester.runpytest_subprocess(
        "release.funcmem.toml", "test_ordinary.py", "-n2", "--funcmem-update-baseline"
    )
    assert (result.ret, outcomes(result)) == (0, {"passed": 5, "xfailed": 2})
    assert len(scene.report()) == 8
    assert "delay_class" in (scene.pytester.path / "accepted.toml").read_text(encoding="utf-8")


def test_a_sample_ends_where_one_process_would_end_it(scene, audit) -> None:
    options = ["--funcmem-max-rate=0", "--funcmem-stop-early", "-rs"]
    alone = audit(*options, "--funcmem-report=json:alone.jsonl")
    shared = audit(*options, "-n2", "--funcmem-report=json:shared.jsonl")
    assert (shared.ret, outcomes(shared)) == (alone.ret, outcomes(alone))
    assert outcomes(alone)["skipped"] >= 1
    place = scene.pytester.path
    assert without_times(place / "shared.jsonl") == without_times(place / "alone.jsonl")
    shared.stdout.fnmatch_lines(["settled*", "SKIPPED*not reached: the maximal rate was settled after*"])
    over = audit("--funcmem-time-budget=0.001", "-rs", "-n2")
    assert (over.ret, outcomes(over)) == (6, {"skipped": 3})
    over.stdout.fnmatch_lines(["SKIPPED*not reached within the time budget of 0.001 s"])
    # A budget that suffices changes nothing, and each of two models has its own.
    models = [f"--funcmem-model=replay:{path}" for path in (scene.target, scene.reference)]
    enough = audit(*models, "--funcmem-time-budget=3600", "-n2")
    assert outcomes(enough) == {"failed": 2, "passed": 4}


def test_a_controller_that_cannot_start_is_a_usage_error(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    result = scene.run("-n2", "--funcmem-sandbox=docker")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*Docker*", "*remedy:*"])
