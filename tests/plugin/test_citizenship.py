"""An audit under pytest's own options and beside other plugins behaves as any test suite does.

``tox -e beside`` runs them, under the oldest pytest that is served, with the other plugins installed.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

TIMES = re.compile(r"\d\d\d\d-\d\d-\d\dT[\d:+]+")
ORDINARY = """
def test_ordinary():
    assert 1 + 1 == 2
"""


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    return {key: value for key, value in result.parseoutcomes().items() if key != "seconds"}


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all audits here: harnesses are built once."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def audit(scene, store: Path):
    """Run the audit with the shared store, in the order of the file unless a test says otherwise."""

    def run(*arguments: str) -> pytest.RunResult:
        order = () if "randomly" in " ".join(arguments) else ("-p", "no:randomly")
        return scene.run(f"--funcmem-store={store}", *order, *arguments)

    return run


@pytest.fixture
def audit_file(scene, store: Path) -> Path:
    """An audit file beside an ordinary test module."""
    path = scene.pytester.path / "release.funcmem.toml"
    path.write_text(
        'model = "replay:target.jsonl"\nreference = "replay:reference.jsonl"\nsource = ["parcels"]\n'
        f'sandbox = "namespace"\nmin_lines = 9\nstore = "{store}"\n',
        encoding="utf-8",
    )
    scene.pytester.makepyfile(test_ordinary=ORDINARY)
    return path


def need(plugin: str) -> None:
    """Skip where a plugin is not installed, unless this is the environment that is made for them."""
    if find_spec(plugin) is not None:
        return
    if os.environ.get("FUNCMEM_BESIDE"):
        pytest.fail(f"this environment must have {plugin}", pytrace=False)
    pytest.skip(f"needs {plugin}")


# ------------------------------------------------------------------------------------------ pytest itself


def test_stepwise_goes_on_where_it_stopped(audit) -> None:
    first = audit("--sw")
    assert outcomes(first) == {"failed": 1}
    assert "FAILED tariffs.py::parcel_fee" in first.stdout.str()
    # The leak is still there, so it stops there again; skipping it, the next one is reached.
    assert outcomes(audit("--sw")) == {"failed": 1}
    skipping = audit("--sw", "--sw-skip")
    assert outcomes(skipping) == {"failed": 2}
    assert "FAILED tariffs.py::delay_class" in skipping.stdout.str()


def test_last_failed_and_failed_first(scene, audit) -> None:
    audit("--junitxml=junit.xml")
    assert outcomes(audit("--lf")) == {"failed": 2, "deselected": 1}
    last = audit("--ff", "-v")
    lines = [line for line in last.outlines if re.match(r"tariffs.py::\S+ (PASSED|FAILED)", line)]
    assert [line.split()[1] for line in lines] == ["FAILED", "FAILED", "PASSED"]


def test_no_cache_provider(scene, audit) -> None:
    assert outcomes(audit("-p", "no:cacheprovider")) == {"failed": 2, "passed": 1}
    assert not (scene.pytester.path / ".pytest_cache").exists()


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_import_modes_beside_an_ordinary_suite(scene, audit_file: Path, mode: str) -> None:
    result = scene.pytester.runpytest_subprocess(
        f"--import-mode={mode}", "-p", "no:randomly", audit_file.name, "test_ordinary.py"
    )
    assert outcomes(result) == {"failed": 2, "passed": 2}


@pytest.mark.parametrize(("style", "reports"), [("short", 2), ("native", 2), ("line", 0), ("no", 0)])
def test_traceback_styles(audit, style: str, reports: int) -> None:
    result = audit(f"--tb={style}")
    assert outcomes(result) == {"failed": 2, "passed": 1}
    text = result.stdout.str()
    assert text.count("similarity to the original") == reports
    failures = text.partition("= FAILURES =")[2].partition("= funcmem audit =")[0]
    if style == "line":
        lines = [line for line in failures.splitlines() if line and not line.startswith("=")]
        assert len(lines) == 2
        assert lines[0].startswith("tariffs.py:6: functional: the target behaves like the original")


def test_quiet_says_no_more_than_pytest_does(audit) -> None:
    text = audit("-q").stdout.str()
    assert "funcmem:" not in text
    assert "building harnesses" not in text


# ---------------------------------------------------------------------------------------- other plugins


def test_beside_timeout(scene, audit) -> None:
    need("pytest_timeout")
    assert outcomes(audit("--timeout=300")) == {"failed": 2, "passed": 1}
    # Where the audit of a function is cut off, nothing is known of it: an error, never a pass.
    cut = scene.run("--timeout=0.05", "-k", "parcel_fee", "-p", "no:randomly")
    assert cut.ret == 1
    assert outcomes(cut) == {"errors": 1, "deselected": 2}
    assert "Timeout" in cut.stdout.str()


def test_beside_randomly(scene, audit) -> None:
    need("pytest_randomly")
    texts, orders = [], set()
    for seed in (1, 2, 4):
        path = scene.pytester.path / f"{seed}.html"
        result = audit("-v", f"--randomly-seed={seed}", f"--funcmem-report=html:{path}")
        assert outcomes(result) == {"failed": 2, "passed": 1}
        orders.add(
            tuple(re.findall(r"^tariffs.py::(\S+) (?:PASSED|FAILED)", result.stdout.str(), re.MULTILINE))
        )
        texts.append(TIMES.sub("TIME", path.read_text(encoding="utf-8")))
    assert len(orders) > 1
    assert len(set(texts)) == 1


def test_beside_rerunfailures(scene, audit) -> None:
    need("pytest_rerunfailures")
    path = scene.pytester.path / "junit.xml"
    result = audit("--reruns=1", f"--junitxml={path}")
    assert outcomes(result) == {"failed": 2, "passed": 1, "rerun": 2}
    for case in ElementTree.parse(path).iter("testcase"):
        names = [item.get("name") for item in case.iter("property")]
        assert len(names) == len(set(names))
        assert "funcmem_verdict" in names


def test_beside_cov(scene, audit_file: Path) -> None:
    need("pytest_cov")
    scene.pytester.makepyfile(counted="def one():\n    return 1\n")
    scene.pytester.makepyfile(
        test_ordinary="import counted\n\ndef test_ordinary():\n    assert counted.one() == 1\n"
    )
    result = scene.pytester.runpytest_subprocess(
        "--cov=counted", "--cov-report=term", "-p", "no:randomly", audit_file.name, "test_ordinary.py"
    )
    assert outcomes(result) == {"failed": 2, "passed": 2}
    assert re.search(r"counted.py\s+2\s+0\s+100%", result.stdout.str())
