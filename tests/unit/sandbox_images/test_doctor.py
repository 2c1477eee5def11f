"""What the doctor says of machines in good and in bad order."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections import namedtuple
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_funcmem import cli
from pytest_funcmem.core.errors import SandboxUnavailableError
from pytest_funcmem.sandbox import doctor
from pytest_funcmem.sandbox.doctor import Finding, examine

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


def found(store: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(store)}


def test_an_engine_that_does_not_answer_fails_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("docker")
    assert cli.main(["doctor", "--store", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "fail  engine" in out
    assert "/nowhere/docker.sock" in out
    assert "-> start it" in out
    assert "image" not in out


def test_json_holds_the_same_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("docker")
    assert cli.main(["doctor", "--json", "--store", str(tmp_path)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["healthy"] is False
    by_name = {finding["name"]: finding for finding in report["findings"]}
    assert by_name["engine"]["level"] == "fail"
    assert by_name["python"]["level"] == "ok"
    assert set(by_name["store"]) == {"name", "level", "said", "remedy"}


def test_everything_that_is_not_ok_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1, 1, 100))
    findings = found(tmp_path)
    assert findings["extra hf"].level == "warn"
    assert findings["extra hf"].remedy == "pip install 'pytest-funcmem[hf]'"
    assert findings["store"].level == "fail"
    assert all(finding.remedy for finding in findings.values() if finding.level != "ok")


@pytest.mark.parametrize(("gib", "level"), [(0.5, "fail"), (5, "warn"), (50, "ok")])
def test_disk_space_is_looked_at_where_the_store_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gib: float, level: str
) -> None:
    asked: list[Path] = []

    def usage(path: Path) -> Usage:
        asked.append(path)
        return Usage(0, 0, int(gib * 2**30))

    monkeypatch.setattr(shutil, "disk_usage", usage)
    finding = next(one for one in examine(tmp_path / "not" / "yet") if one.name == "store")
    assert asked == [tmp_path]
    assert finding.level == level
    assert str(tmp_path) in finding.said


def test_without_its_package_docker_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "docker" else find(name))
    engine = found(tmp_path)["engine"]
    assert engine.level == "warn"
    assert engine.remedy == "pip install 'pytest-funcmem[docker]'"


def test_namespaces_that_cannot_be_made_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused:
        def __init__(self, **settings: object) -> None:
            pass

        def __enter__(self) -> None:
            raise SandboxUnavailableError("This machine does not.", remedy="sudo sysctl x=1")

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.setattr(doctor, "NamespaceSandbox", Refused)
    findings = found(tmp_path)
    assert findings["namespaces"].level == "warn"
    assert findings["namespaces"].remedy == "sudo sysctl x=1"
    assert "cgroups" not in findings


@pytest.mark.parametrize(
    ("info", "level", "words"),
    [
        ({"MemoryLimit": True, "PidsLimit": True}, "ok", "can limit memory"),
        ({"SwapLimit": False}, "warn", "cannot limit: swap"),
        ({"MemoryLimit": False, "SwapLimit": False}, "fail", "cannot limit: memory, swap"),
    ],
)
def test_an_engine_must_be_able_to_limit(info: dict[str, object], level: str, words: str) -> None:
    client = SimpleNamespace(
        version=lambda: {"Version": "1", "ApiVersion": "1.41"}, info=lambda: {"Driver": "x", **info}
    )
    findings = {finding.name: finding for finding in doctor._engine(client)}
    assert findings["limits"].level == level
    assert words in findings["limits"].said
    assert findings["engine"].level == "ok"


def test_an_old_engine_fails() -> None:
    client = SimpleNamespace(version=lambda: {"Version": "1", "ApiVersion": "1.30"}, info=dict)
    engine = next(iter(doctor._engine(client)))
    assert engine.level == "fail"
    assert "1.30" in engine.said


def test_images_that_lack_and_images_left_over_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    from pytest_funcmem.sandbox.images import build

    monkeypatch.setattr(build, "find_image", lambda client, *, language: None)
    old = SimpleNamespace(id="sha256:1", tags=["funcmem/c:1"])
    dangling = SimpleNamespace(id="sha256:2", tags=[])
    client = SimpleNamespace(images=SimpleNamespace(list=lambda filters: [old, dangling]))
    findings = {finding.name: finding for finding in doctor._images(client)}
    assert findings["image rust"].level == "warn"
    assert findings["image rust"].remedy == "funcmem images build --language rust"
    assert findings["old images"].remedy == "docker image rm funcmem/c:1"
