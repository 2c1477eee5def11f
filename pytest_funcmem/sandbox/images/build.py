"""Building the image of a language on first use, from a registry's base or from one that is made here."""

from __future__ import annotations

import hashlib
import io
import logging
import queue
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import docker.errors
import docker.utils

from pytest_funcmem.core.errors import SandboxUnavailableError
from pytest_funcmem.sandbox.images.host_base import (
    BASE_PACKAGES,
    closure,
    closure_digest,
    installed_packages,
    write_base,
)

__all__ = ["IMAGE_LABEL", "LANGUAGES", "Progress", "ensure_image"]

_log = logging.getLogger(__name__)

Progress = Callable[[str], None]
"""Called with one line of text for each step."""

IMAGE_LABEL = "org.pytest-funcmem.image"

LANGUAGES = ("python",)
"""Languages that have a Dockerfile here."""

_REGISTRY_BASES: Mapping[str, str] = {"python": "python:3.11-slim-bookworm"}
_SILENT_BEFORE_S = 8.0
"""How long a registry may stay silent before its first answer counts as "cannot be reached"."""
_SILENT_LATER_S = 120.0
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
    dockerfile = (resources.files(__package__) / f"{language}.Dockerfile").read_text(encoding="utf-8")
    base_id = _present(client, base) if base else None
    if base and base_id is None:
        base_id = _pull(client, base, progress)
        if base_id is None:
            raise SandboxUnavailableError(
                f"The base image {base!r} is not here and cannot be pulled.",
                remedy=f"docker pull {base}, or leave the base to this package",
            )
    if base_id is None:
        base_id = _default_base(client, language, dockerfile, progress)
    tag = _tag(language, dockerfile, base_id)
    return _present(client, tag) or _build(client, dockerfile, base_id, tag, language, progress)


def _tag(language: str, dockerfile: str, base_id: str) -> str:
    recipe = hashlib.sha256(f"{dockerfile}\0{base_id}".encode()).hexdigest()
    return f"funcmem/{language}:{recipe[:12]}"


def _present(client: Any, name: str) -> str | None:
    try:
        image_id: str = client.images.get(name).id
    except docker.errors.ImageNotFound:
        return None
    return image_id


def _default_base(client: Any, language: str, dockerfile: str, progress: Progress) -> str:
    registry_base = _REGISTRY_BASES.get(language, "debian:bookworm-slim")
    packages = (
        closure(installed_packages(_DPKG_STATUS.read_text("utf-8")), BASE_PACKAGES) if _is_debian() else ()
    )
    local_base = f"funcmem/base:{closure_digest(packages)}"
    # What is here already wins over asking the network again at every start.
    for name in (registry_base, local_base):
        present = _present(client, name)
        if present is not None:
            return present
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


def _is_debian() -> bool:
    return _DPKG_STATUS.is_file()


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
        return _import(client, archive, "funcmem/base:debootstrap")


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
            return _present(client, name)
        if "error" in event:
            _log.info("pulling %s failed: %s", name, event["error"])
            return None
        patience = _SILENT_LATER_S


def _build(client: Any, dockerfile: str, base_id: str, tag: str, language: str, progress: Progress) -> str:
    progress(f"building {tag}")
    start = time.monotonic()
    said: list[str] = []
    try:
        for event in _build_events(client, dockerfile, base_id, tag, language):
            text = str(event.get("stream") or event.get("error") or "").rstrip()
            if text:
                said.append(text)
                progress(text)
            if "error" in event:
                raise _build_failed(tag, said)
    except docker.errors.APIError as exc:
        raise _build_failed(tag, [*said, str(exc)]) from exc
    progress(f"built {tag} in {time.monotonic() - start:.0f} s")
    image_id: str = client.images.get(tag).id
    return image_id


def _build_failed(tag: str, said: list[str]) -> SandboxUnavailableError:
    return SandboxUnavailableError(
        f"The image {tag} could not be built: " + "\n".join(said)[-1500:],
        remedy="give an image of your own (--funcmem-image), or use --funcmem-sandbox=namespace",
    )


def _build_events(
    client: Any, dockerfile: str, base_id: str, tag: str, language: str
) -> Iterator[Mapping[str, Any]]:
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(dockerfile.encode())
        archive.addfile(member, io.BytesIO(dockerfile.encode()))
    context.seek(0)
    events: Iterator[Mapping[str, Any]] = client.api.build(
        fileobj=context,
        custom_context=True,
        tag=tag,
        buildargs={"BASE": base_id},
        labels={IMAGE_LABEL: language},
        network_mode="host",  # engines without a bridge have no other way to a package archive
        rm=True,
        forcerm=True,
        decode=True,
    )
    return events
