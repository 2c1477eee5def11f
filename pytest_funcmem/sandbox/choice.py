"""Which sandbox is used: the one that was asked for, or for ``auto`` the best that answers. Never none."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_funcmem.core.errors import MissingExtraError, UsageError
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

__all__ = ["build_images", "open_sandbox"]

_log = logging.getLogger(__name__)


def open_sandbox(
    name: str,
    *,
    programs: Mapping[str, Path],
    workers: int = 0,
    image: str | None = None,
    runtime: str | None = None,
    language: str = "python",
    packages: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> WarmSandbox:
    """Make and open the sandbox of a name. What the user should know of it stands in its ``notices``.

    Args:
        name: ``docker``, ``namespace``, or ``auto``: Docker if its engine answers, else namespaces.
        programs: Programs that tasks may name: Python files with a function ``main(payload, emit)``.
        workers: Tasks that may run at one time; 0 means one per core.
        image: Docker image to use instead of the one that this package builds.
        runtime: Container runtime that Docker is to use, such as ``runsc`` or ``kata``; None takes its
            default.
        language: Whose image Docker is to use. Namespaces have the host's Python and nothing else.
        packages: Debian packages that Docker's image is to have beside its own.
        progress: Told what is being done while an image is built.

    Raises:
        SandboxUnavailableError: The machine offers no such isolation.
        MissingExtraError: ``docker`` was asked for and its package is not installed.
        UsageError: There is no sandbox of that name.
    """
    match name:
        case "docker":
            sandbox = _docker(programs, workers, image, runtime, language, packages, progress)
        case "namespace":
            _refuse_packages(packages)
            sandbox = NamespaceSandbox(programs=programs, workers=workers)
        case "auto":
            why_not = _why_not_docker()
            if why_not is None:
                sandbox = _docker(programs, workers, image, runtime, language, packages, progress)
            else:
                _refuse_packages(packages)
                sandbox = NamespaceSandbox(programs=programs, workers=workers)
                sandbox.notices = (f"Docker is not used: {why_not}.", *sandbox.notices)
        case _:
            raise UsageError(f"There is no sandbox named {name!r}.", expected="auto, docker or namespace")
    sandbox.open()
    return sandbox


def build_images(
    *,
    base: str | None = None,
    languages: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _line: None,
) -> Iterator[tuple[str, str]]:
    """Build the images that are not there yet, one after the other.

    Args:
        base: Image to build from; None takes a registry's, or makes one where no registry answers.
        languages: Whose images; all where none is given.
        progress: Told what is being done.

    Yields:
        Language and id of each image.

    Raises:
        SandboxUnavailableError: No engine answers, or a build failed.
        MissingExtraError: The Docker package is not installed.
        UsageError: There is no image for a language.
    """
    if not _docker_installed():
        raise MissingExtraError.for_package("docker", extra="docker", purpose="to build images")
    from pytest_funcmem.sandbox.docker_sandbox import connect
    from pytest_funcmem.sandbox.images.build import LANGUAGES, ensure_image

    client = connect()
    try:
        for language in languages or LANGUAGES:
            yield language, ensure_image(client, language=language, base=base, progress=progress)
    finally:
        client.close()


def _refuse_packages(packages: Sequence[str]) -> None:
    if packages:
        raise UsageError(
            "The namespace sandbox has nothing but the host's Python: no package can be put into it.",
            where="--funcmem-packages",
            remedy="Use --funcmem-sandbox=docker, or leave the packages out.",
        )


def _docker(
    programs: Mapping[str, Path],
    workers: int,
    image: str | None,
    runtime: str | None,
    language: str,
    packages: Sequence[str],
    progress: Callable[[str], None] | None,
) -> WarmSandbox:
    if not _docker_installed():
        raise MissingExtraError.for_package("docker", extra="docker", purpose="for --funcmem-sandbox=docker")
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

    return DockerSandbox(
        programs=programs,
        workers=workers,
        image=image,
        runtime=runtime,
        language=language,
        packages=packages,
        progress=progress,
    )


def _why_not_docker() -> str | None:
    if not _docker_installed():
        return "the Python package 'docker' is not installed (pip install 'pytest-funcmem[docker]')"
    from pytest_funcmem.sandbox.docker_sandbox import docker_answers

    return docker_answers()


def _docker_installed() -> bool:
    return importlib.util.find_spec("docker") is not None
