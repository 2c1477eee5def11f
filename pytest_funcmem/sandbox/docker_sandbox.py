"""The Docker sandbox: one hardened warm container per worker, without network, on a read-only root.

Finds the engine and the image; what a container is made of is in ``container``. Imported only on demand.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import docker
import docker.errors

from pytest_funcmem.core.errors import SandboxUnavailableError
from pytest_funcmem.core.protocols import Limits, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Json
from pytest_funcmem.sandbox.channel import TaskEnd
from pytest_funcmem.sandbox.container import (
    ENGINE_FAILURES,
    WorkerContainer,
    create_container,
    describe_failure,
    engine_failed,
    knock,
    remove_container,
    seccomp_digest,
)
from pytest_funcmem.sandbox.images.build import Progress, ensure_image, toolchain_versions
from pytest_funcmem.sandbox.images.packages import check_packages, ensure_packages
from pytest_funcmem.sandbox.ownership import OWNER_LABEL, is_orphan
from pytest_funcmem.sandbox.pool import TASKS_PER_WORKER, WarmSandbox, Worker, check_limits
from pytest_funcmem.sandbox.service import WarmService
from pytest_funcmem.sandbox.toolchains.recipes import SERVICES

__all__ = ["DockerSandbox", "connect", "docker_answers"]

_log = logging.getLogger(__name__)

_ENGINE_S = 60
_PING_S = 5
_KEPT_CONNECTIONS = 4


def connect() -> Any:
    """Connect to the engine that the environment names.

    Returns:
        A ``docker.DockerClient`` whose engine has just answered.

    Raises:
        SandboxUnavailableError: No engine answers.
    """
    try:
        return _connect(timeout_s=_ENGINE_S)
    except ENGINE_FAILURES as exc:
        raise SandboxUnavailableError(
            f"The Docker engine does not answer: {describe_failure(exc)}.",
            expected="a running engine that this user may use",
            remedy="start it (systemctl start docker), join its group or use --funcmem-sandbox=namespace",
        ) from exc


def _connect(*, timeout_s: int) -> Any:
    knock(timeout_s)
    client = docker.from_env(timeout=timeout_s, max_pool_size=_KEPT_CONNECTIONS)
    try:
        client.ping()
    except BaseException:
        client.close()
        raise
    return client


def docker_answers() -> str | None:
    """Ask the engine for an answer; None if it gives one, else why not."""
    try:
        _connect(timeout_s=_PING_S).close()
    except ENGINE_FAILURES as exc:
        return describe_failure(exc)
    return None


class DockerSandbox(WarmSandbox):
    """Runs tasks in warm containers.

    Args:
        programs: Programs that tasks may name.
        workers: Tasks that may run at one time; 0 means one per core.
        image: Image to use; None builds this package's image of the language on first use.
        language: Whose image is built and used where none is given.
        packages: Debian packages that it has beside; installed on first use.
        runtime: Container runtime of the engine, such as ``runsc``; None takes the engine's default.
        progress: Told what is being done while an image is built.
        tasks_per_worker: Tasks after which a container is replaced.
    """

    name = "docker"
    _advice_where_none_starts = "give an image with Python 3.9 or newer, or use --funcmem-sandbox=namespace"

    def __init__(
        self,
        *,
        programs: Mapping[str, Path],
        workers: int = 0,
        image: str | None = None,
        language: str = "python",
        packages: Sequence[str] = (),
        runtime: str | None = None,
        progress: Progress | None = None,
        tasks_per_worker: int = TASKS_PER_WORKER,
    ) -> None:
        super().__init__(programs=programs, workers=workers, tasks_per_worker=tasks_per_worker)
        self._wanted_image = image
        self._language = language
        self._packages = check_packages(packages, where="--funcmem-packages")
        self._runtime = runtime
        self._progress = progress or _log.info
        self._client: Any = None
        self._image = ""
        self._engine: Mapping[str, Json] = {}
        self._toolchain: Mapping[str, Json] = {}
        self._remapped = False
        self._services: Mapping[str, WarmService] = {}

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run one task; a request to a warm service of the language goes there. See ``WarmSandbox.run``."""
        service = self._services.get(task.program or "")
        if service is None:
            return super().run(task)
        check_limits(task.limits)
        return service.run(task)

    def identity(self) -> Mapping[str, Json]:
        """Engine, image digest, versions of its toolchain, interpreter and kernel, for the manifest."""
        about: dict[str, Json] = {**super().identity(), **self._engine, "image": self._image}
        if self._toolchain:
            about["toolchain"] = dict(self._toolchain)
        if self._packages:
            about["packages"] = list(self._packages)
        return about

    def _prepare(self) -> None:
        self._client = connect()
        try:
            version = self._client.version()
            info = self._client.info()
            self._check_runtime(info.get("Runtimes") or {})
            reap_orphans(self._client)
            self._image = self._find_image()
            self._toolchain = toolchain_versions(self._client, self._image)
            if self._packages:
                self._image = ensure_packages(
                    self._client, self._image, self._language, self._packages, self._progress
                )
        except ENGINE_FAILURES as exc:
            self._release()
            raise SandboxUnavailableError(
                f"The Docker engine failed: {describe_failure(exc)}.",
                remedy="look at the engine (docker info), or use --funcmem-sandbox=namespace",
            ) from exc
        except BaseException:
            self._release()
            raise
        self._remapped = any("name=userns" in option for option in info.get("SecurityOptions") or ())
        self._services = {
            name: WarmService(
                self._client,
                self._image,
                service.command,
                limits=service.limits,
                most=self.workers,
                runtime=self._runtime,
                remapped=self._remapped,
            )
            for name, service in SERVICES.get(self._language, {}).items()
        }
        self._engine = {
            "engine": f"docker {version.get('Version')}",
            "runtime": self._runtime or info.get("DefaultRuntime"),
            "cgroup": info.get("CgroupVersion") or "1",
            "seccomp": seccomp_digest(),
        }

    def _check_runtime(self, known: Mapping[str, Any]) -> None:
        if self._runtime is not None and self._runtime not in known:
            raise SandboxUnavailableError(
                f"The Docker engine has no runtime {self._runtime!r}.",
                where="--funcmem-runtime",
                expected="one of " + ", ".join(sorted(known)),
                remedy="name it in the engine's daemon.json under 'runtimes', and restart the engine",
            )

    def _find_image(self) -> str:
        if self._wanted_image is None:
            return ensure_image(self._client, language=self._language, progress=self._progress)
        try:
            image_id: str = self._client.images.get(self._wanted_image).id
        except docker.errors.ImageNotFound as exc:
            raise SandboxUnavailableError(
                f"There is no Docker image {self._wanted_image!r} on this engine.",
                where="--funcmem-image",
                expected="an image with Python 3.9 or newer as python3",
                remedy=f"docker pull {self._wanted_image}",
            ) from exc
        return image_id

    def _release(self) -> None:
        for service in self._services.values():
            service.close()
        if self._client is not None:
            self._client.close()
            self._client = None

    def _start_worker(self, limits: Limits) -> Worker:
        try:
            knock()
            container, uids = create_container(
                self._client, self._image, limits, runtime=self._runtime, remapped=self._remapped
            )
            return WorkerContainer(container, self._sources, uids, limits)
        except ENGINE_FAILURES as exc:
            raise engine_failed(exc, "docker sandbox") from exc

    def _must_replace(self, end: TaskEnd) -> str | None:
        if end.leftovers:
            return "leftovers: " + ", ".join(end.leftovers)
        if end.oom_killed:
            return "a process was killed for memory"
        return end.result.outcome if end.result.outcome in ("timeout", "memory", "refused") else None


def reap_orphans(client: Any) -> int:
    """Remove the containers whose owner is dead; returns how many there were."""
    count = 0
    for container in client.containers.list(all=True, filters={"label": OWNER_LABEL}, ignore_removed=True):
        if is_orphan(container.labels):
            remove_container(container)
            count += 1
    return count
