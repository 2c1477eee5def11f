"""Building the image of a language on first use, from a registry's base or from one that is made here."""

from __future__ import annotations

import io
import json
import logging
import os
import queue
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import docker.errors
import docker.utils

from pytest_funcmem.core.errors import SandboxUnavailableError, UsageError
from pytest_funcmem.sandbox.images.context import recipe_digest, write_context
from pytest_funcmem.sandbox.images.host_base import (
    BASE_PACKAGES,
    HostPackage,
    closure,
    closure_digest,
    installed_packages,
    write_base,
)

__all__ = [
    "IMAGE_LABEL",
    "LANGUAGES",
    "TOOLCHAIN_LABEL",
    "Progress",
    "build_from",
    "ensure_image",
    "find_image",
    "present_image",
    "recipe_context",
    "toolchain_versions",
]

_log = logging.getLogger(__name__)

Progress = Callable[[str], None]
"""Called with one line of text for each step."""

IMAGE_LABEL = "org.pytest-funcmem.image"
"""Label with the language of an image."""

TOOLCHAIN_LABEL = "org.pytest-funcmem.toolchain"
"""Label with the versions of an image's toolchain, as a JSON object."""

LANGUAGES = ("python", "c", "java", "rust", "go")
"""Languages that have a Dockerfile here."""

_REGISTRY_BASES: Mapping[str, str] = {"python": "python:3.11-slim-bookworm"}
_DEBIAN_BASE = "debian:bookworm-slim"
_TOOLCHAIN_FILE = "/opt/funcmem/toolchain.json"
_MOST_TOOLCHAIN_BYTES = 64 * 1024
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
"""Build arguments that every engine knows and keeps out of the history of an image."""
_SILENT_BEFORE_S = 8.0
"""How long a registry may stay silent before its first answer counts as "cannot be reached"."""
_SILENT_LATER_S = 120.0
_BUILD_S = 900
"""How long a build may stay silent: a step that compiles says nothing until it is done."""
_DEBOOTSTRAP_TAG = "funcmem/base:debootstrap"
_DPKG_STATUS = Path("/var/lib/dpkg/status")


def ensure_image(
    client: Any, *, language: str = "python", base: str | None = None, progress: Progress = lambda _line: None
) -> str:
    """Find the image of a language, or build it.

    Args:
        client: A ``docker.DockerClient``.
        language: Name of a Dockerfile of this package.
        base: Image to build from; None takes the registry's, or makes one where no registry answers.
        progress: Told what is being done.

    Returns:
        The image's id, ``sha256:…``.

    Raises:
        SandboxUnavailableError: There is no base, or the build failed.
    """
    _check_language(language)
    base_id = present_image(client, base) if base else None
    if base and base_id is None:
        base_id = _pull(client, base, progress)
        if base_id is None:
            raise SandboxUnavailableError(
                f"The base image {base!r} is not here and cannot be pulled.",
                remedy=f"docker pull {base}, or leave the base to this package",
            )
    if base_id is None:
        base_id = _present_default_base(client, language) or _make_default_base(client, language, progress)
    tag = _tag(language, base_id)
    return present_image(client, tag) or _build(client, base_id, tag, language, progress)


def find_image(client: Any, *, language: str) -> str | None:
    """Find the image of a language that ``ensure_image`` would give without building; None if it would build.

    Raises:
        UsageError: There is no Dockerfile for the language.
    """
    _check_language(language)
    base_id = _present_default_base(client, language)
    return None if base_id is None else present_image(client, _tag(language, base_id))


def toolchain_versions(client: Any, image: str) -> dict[str, str]:
    """The versions of an image's toolchain by name; empty for an image that this package did not build."""
    try:
        versions = json.loads(client.images.get(image).labels.get(TOOLCHAIN_LABEL, "{}"))
    except ValueError:
        return {}
    return (
        {str(name): str(version) for name, version in versions.items()} if isinstance(versions, dict) else {}
    )


def _check_language(language: str) -> None:
    if language not in LANGUAGES:
        raise UsageError(
            f"There is no image for the language {language!r}.", expected="one of " + ", ".join(LANGUAGES)
        )


def _tag(language: str, base_id: str) -> str:
    return f"funcmem/{language}:{recipe_digest(language, base_id)}"


def present_image(client: Any, name: str) -> str | None:
    """Id of the image of a name; None where there is none."""
    try:
        image_id: str = client.images.get(name).id
    except docker.errors.ImageNotFound:
        return None
    return image_id


def _registry_base(language: str) -> str:
    return _REGISTRY_BASES.get(language, _DEBIAN_BASE)


def _host_packages() -> tuple[HostPackage, ...]:
    if not _DPKG_STATUS.is_file():
        return ()  # no Debian
    return closure(installed_packages(_DPKG_STATUS.read_text("utf-8")), BASE_PACKAGES)


def _host_tag(packages: tuple[HostPackage, ...]) -> str:
    return f"funcmem/base:{closure_digest(packages)}"


def _present_default_base(client: Any, language: str) -> str | None:
    """What is here already wins over asking the network again at every start."""
    for name in (_registry_base(language), _host_tag(_host_packages()), _DEBOOTSTRAP_TAG):
        present = present_image(client, name)
        if present is not None:
            return present
    return None


def _make_default_base(client: Any, language: str, progress: Progress) -> str:
    registry_base = _registry_base(language)
    packages = _host_packages()
    local_base = _host_tag(packages)
    pulled = _pull(client, registry_base, progress)
    if pulled is not None:
        return pulled
    if packages and any(package.name == "python3" for package in packages):
        progress(f"making a base image of {len(packages)} of this machine's packages")
        return _import_host_base(client, packages, local_base)
    if shutil.which("debootstrap"):
        return _debootstrap(client, progress)
    if packages:
        return _import_host_base(client, packages, local_base)
    raise SandboxUnavailableError(
        f"The base image {registry_base!r} cannot be pulled, and this machine is no Debian to make one from.",
        remedy=f"docker pull {registry_base} where a registry answers, or use --funcmem-sandbox=namespace",
    )


def _import_host_base(client: Any, packages: Any, tag: str) -> str:
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory, "base.tar")
        write_base(packages, archive)
        return _import(client, archive, tag)


def _debootstrap(client: Any, progress: Progress) -> str:
    progress("making a base image with debootstrap; this takes about a minute")
    with tempfile.TemporaryDirectory() as directory:
        root, archive = Path(directory, "root"), Path(directory, "base.tar")
        command = ["debootstrap", "--variant=minbase", "--include=python3", "stable", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SandboxUnavailableError(
                "debootstrap failed: " + (done.stdout + done.stderr).strip()[-500:],
                remedy="look at the package sources of this machine, or use --funcmem-sandbox=namespace",
            )
        with tarfile.open(archive, "w") as packed:
            packed.add(root, arcname=".")
        return _import(client, archive, _DEBOOTSTRAP_TAG)


def _import(client: Any, archive: Path, tag: str) -> str:
    repository, _, version = tag.partition(":")
    client.api.import_image_from_file(str(archive), repository=repository, tag=version)
    image_id: str = client.images.get(tag).id
    return image_id


def _pull(client: Any, name: str, progress: Progress) -> str | None:
    """Pull an image; None where no registry answers in time or it has no such image."""
    progress(f"pulling {name}")
    repository, tag = docker.utils.parse_repository_tag(name)
    events: queue.Queue[Mapping[str, Any] | None] = queue.Queue()

    def listen() -> None:
        try:
            for event in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
                events.put(event)
        except Exception as exc:
            events.put({"error": str(exc)})
        events.put(None)

    # The engine offers no time limit for a pull, so a thread waits and may be left waiting.
    threading.Thread(target=listen, name="funcmem-pull", daemon=True).start()
    patience = _SILENT_BEFORE_S
    while True:
        try:
            event = events.get(timeout=patience)
        except queue.Empty:
            _log.info("no registry answered for %s in %.0f s", name, patience)
            return None
        if event is None:
            return present_image(client, name)
        if "error" in event:
            _log.info("pulling %s failed: %s", name, event["error"])
            return None
        patience = _SILENT_LATER_S


def _build(client: Any, base_id: str, tag: str, language: str, progress: Progress) -> str:
    progress(f"building {tag}")
    start = time.monotonic()
    with tempfile.TemporaryFile() as context:
        write_context(language, context, progress=progress)
        context.seek(0)
        arguments = {"BASE": base_id, **_proxies()}
        plain_id = _run_build(client, context, progress, what=tag, arguments=arguments)
    # The versions become labels, so that they can be read off an image that is not started. The tag comes
    # last: whoever finds it finds an image that is whole.
    versions = _read_versions(client, plain_id)
    labels = {IMAGE_LABEL: language, TOOLCHAIN_LABEL: json.dumps(versions, sort_keys=True)}
    labelling = recipe_context(f"FROM {plain_id}\n")
    image_id = _run_build(client, labelling, _say_nothing, what=tag, tag=tag, labels=labels)
    progress(f"built {tag} in {time.monotonic() - start:.0f} s")
    return image_id


def build_from(client: Any, context: IO[bytes], tag: str, progress: Progress) -> str:
    """Build an image from a context, which needs no base beside what its recipe names; gives its id.

    Raises:
        SandboxUnavailableError: The build failed.
    """
    return _run_build(client, context, progress, what=tag, tag=tag, arguments=_proxies())


def _say_nothing(_line: str) -> None:
    return None


def _proxies() -> dict[str, str]:
    """The proxies of this process, for the packages that a build installs."""
    return {
        name: value
        for upper in _PROXIES
        for name in (upper, upper.lower())
        if (value := os.environ.get(name))
    }


def recipe_context(recipe: str) -> IO[bytes]:
    """The context of an image that is made of its recipe alone."""
    text = recipe.encode()
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    context.seek(0)
    return context


def _read_versions(client: Any, image_id: str) -> dict[str, str]:
    """What ``describe.py`` noted in an image, read without starting it."""
    container = client.containers.create(image_id, command=["true"], network_mode="none")
    try:
        pieces, _stat = container.get_archive(_TOOLCHAIN_FILE)
        packed = b"".join(pieces)
    finally:
        container.remove(force=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        file = archive.extractfile(Path(_TOOLCHAIN_FILE).name)
        versions: dict[str, str] = json.loads(file.read(_MOST_TOOLCHAIN_BYTES)) if file is not None else {}
    return versions


def _run_build(
    client: Any,
    context: IO[bytes],
    progress: Progress,
    *,
    what: str,
    tag: str | None = None,
    arguments: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> str:
    said: list[str] = []
    image_id = ""
    try:
        for event in _build_events(client, context, tag, labels or {}, arguments or {}):
            text = str(event.get("stream") or event.get("error") or "").rstrip()
            if text:
                said.append(text)
                progress(text)
            if "error" in event:
                raise _build_failed(what, said)
            built = event.get("aux")
            if isinstance(built, Mapping) and "ID" in built:
                image_id = str(built["ID"])
    except docker.errors.APIError as exc:
        raise _build_failed(what, [*said, str(exc)]) from exc
    if not image_id:
        raise _build_failed(what, [*said, "the engine named no image"])
    return image_id


def _build_failed(what: str, said: list[str]) -> SandboxUnavailableError:
    return SandboxUnavailableError(
        f"The image {what} could not be built: " + "\n".join(said)[-1500:],
        remedy="see that package archives can be reached, or give a base that has more (--base)",
    )


def _build_events(
    client: Any,
    context: IO[bytes],
    tag: str | None,
    labels: Mapping[str, str],
    arguments: Mapping[str, str],
) -> Iterator[Mapping[str, Any]]:
    events: Iterator[Mapping[str, Any]] = client.api.build(
        fileobj=context,
        custom_context=True,
        tag=tag,
        buildargs=dict(arguments),
        labels=dict(labels),
        network_mode="host",  # engines without a bridge have no other way to a package archive
        rm=True,
        forcerm=True,
        decode=True,
        timeout=_BUILD_S,
    )
    return events
