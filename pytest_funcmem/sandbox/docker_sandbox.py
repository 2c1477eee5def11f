"""The Docker sandbox: one hardened warm container per worker, without network, on a read-only root.

The only file that talks to a Docker engine, besides those under ``images``; imported only where it is used.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from pytest_funcmem.core.errors import SandboxError, SandboxUnavailableError
from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.core.records import Json
from pytest_funcmem.sandbox.channel import TaskEnd, WorkerChannel, WorkerLostError
from pytest_funcmem.sandbox.images.build import Progress, ensure_image
from pytest_funcmem.sandbox.launch import BOOT, ENVIRONMENT, INTERPRETER_OPTIONS, setup_message, worker_config
from pytest_funcmem.sandbox.ownership import OWNER_LABEL, is_orphan, owner_labels
from pytest_funcmem.sandbox.pool import TASKS_PER_WORKER, WarmSandbox, Worker

__all__ = ["DockerSandbox", "connect", "docker_answers"]

_log = logging.getLogger(__name__)

_START_S = 60.0
_GRACE_S = 30.0
_ENGINE_S = 60
_PING_S = 5
_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_KEPT_CONNECTIONS = 4
_WORKER_MIB = 96
"""Memory of the container beyond the task's: supervisor, zygote, and the loaded programs."""
_PROCESSES = 1024
_CAPABILITIES = ("SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "FOWNER")
_UIDS = 4096
_ENGINE_FAILURES = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


def _describe(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__


def connect() -> Any:
    """Connect to the engine that the environment names.

    Returns:
        A ``docker.DockerClient`` whose engine has just answered.

    Raises:
        SandboxUnavailableError: No engine answers.
    """
    try:
        return _connect(timeout_s=_ENGINE_S)
    except _ENGINE_FAILURES as exc:
        raise SandboxUnavailableError(
            f"The Docker engine does not answer: {_describe(exc)}.",
            expected="a running engine that this user may use",
            remedy="start it (systemctl start docker), join its group or use --funcmem-sandbox=namespace",
        ) from exc


def _connect(*, timeout_s: int) -> Any:
    _knock(timeout_s)
    client = docker.from_env(timeout=timeout_s, max_pool_size=_KEPT_CONNECTIONS)
    try:
        client.ping()
    except BaseException:
        client.close()
        raise
    return client


def _knock(timeout_s: float) -> None:
    """Find out cheaply that nobody listens: the client library would leave sockets open over it."""
    scheme, separator, path = (os.environ.get("DOCKER_HOST") or _DEFAULT_ADDRESS).partition("://")
    if separator and scheme in ("unix", "http+unix"):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(timeout_s)
            try:
                link.connect(f"/{path.lstrip('/')}")
            except OSError as exc:
                raise OSError(f"{exc.strerror or exc} (/{path.lstrip('/')})") from exc


def docker_answers() -> str | None:
    """Ask the engine for an answer; None if it gives one, else why not."""
    try:
        _connect(timeout_s=_PING_S).close()
    except _ENGINE_FAILURES as exc:
        return _describe(exc)
    return None


class DockerSandbox(WarmSandbox):
    """Runs tasks in warm containers.

    Args:
        programs: Programs that tasks may name.
        workers: Tasks that may run at one time; 0 means one per core.
        image: Image to use; None builds this package's Python image on first use.
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
        runtime: str | None = None,
        progress: Progress | None = None,
        tasks_per_worker: int = TASKS_PER_WORKER,
    ) -> None:
        super().__init__(programs=programs, workers=workers, tasks_per_worker=tasks_per_worker)
        self._wanted_image = image
        self._runtime = runtime
        self._progress = progress or _log.info
        self._client: Any = None
        self._image = ""
        self._engine: Mapping[str, Json] = {}
        self._remapped = False

    def identity(self) -> Mapping[str, Json]:
        """Engine, image digest, interpreter and kernel, for the manifest."""
        return {**super().identity(), **self._engine, "image": self._image}

    def _prepare(self) -> None:
        self._client = connect()
        try:
            version = self._client.version()
            info = self._client.info()
            reap_orphans(self._client)
            self._image = self._find_image()
        except _ENGINE_FAILURES as exc:
            self._release()
            raise SandboxUnavailableError(
                f"The Docker engine failed: {_describe(exc)}.",
                remedy="look at the engine (docker info), or use --funcmem-sandbox=namespace",
            ) from exc
        except BaseException:
            self._release()
            raise
        self._remapped = any("name=userns" in option for option in info.get("SecurityOptions") or ())
        self._engine = {
            "engine": f"docker {version.get('Version')}",
            "runtime": self._runtime or info.get("DefaultRuntime"),
            "cgroup": info.get("CgroupVersion") or "1",
        }

    def _find_image(self) -> str:
        if self._wanted_image is None:
            return ensure_image(self._client, progress=self._progress)
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
        if self._client is not None:
            self._client.close()
            self._client = None

    def _start_worker(self, limits: Limits) -> Worker:
        try:
            return _Container(self._client, self._create(limits), self._sources, self._uids(), limits)
        except _ENGINE_FAILURES as exc:
            raise SandboxError(
                f"The Docker engine failed: {_describe(exc)}.",
                where="docker sandbox",
                remedy="look at the engine (docker info) and run the audit again: what was finished is kept",
            ) from exc

    def _must_replace(self, end: TaskEnd) -> str | None:
        if end.leftovers:
            return "leftovers: " + ", ".join(end.leftovers)
        return end.result.outcome if end.result.outcome in ("timeout", "memory", "refused") else None

    def _uids(self) -> tuple[int, int]:
        """A range of user ids for one container: RLIMIT_NPROC counts a user across all containers."""
        if self._remapped:
            return 20_000 + secrets.randbelow(20) * 2_000, 2_000
        return 0x1000_0000 + secrets.randbelow(0x4000) * _UIDS, _UIDS

    def _create(self, limits: Limits) -> Any:
        space = f"size={limits.files_mib}m,nr_inodes=4096,nosuid,nodev"
        memory = _memory_bytes(limits)
        return self._client.containers.create(
            self._image,
            entrypoint=["python3", *INTERPRETER_OPTIONS, "-c", BOOT],
            command=[],
            environment=dict(ENVIRONMENT),
            working_dir="/",
            hostname="sandbox",
            stdin_open=True,
            user="0:0",
            init=True,
            auto_remove=True,
            labels=owner_labels(),
            log_config=docker.types.LogConfig(type="none"),
            runtime=self._runtime,
            network_mode="none",
            ipc_mode="private",
            read_only=True,
            tmpfs={"/work": f"{space},exec,mode=755", "/tmp": f"{space},exec,mode=1777"},
            shm_size=f"{limits.files_mib}m",
            cap_drop=["ALL"],
            cap_add=list(_CAPABILITIES),
            security_opt=["no-new-privileges"],
            pids_limit=_PROCESSES,
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=1_000_000_000,
            ulimits=[
                docker.types.Ulimit(name="core", soft=0, hard=0),
                docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
            ],
        )


def _memory_bytes(limits: Limits) -> int:
    # Files in memory are charged to the container too.
    return (limits.memory_mib + limits.files_mib + _WORKER_MIB) * 1024 * 1024


def reap_orphans(client: Any) -> int:
    """Remove the containers whose owner is dead; returns how many there were."""
    count = 0
    for container in client.containers.list(all=True, filters={"label": OWNER_LABEL}, ignore_removed=True):
        if is_orphan(container.labels):
            _remove(container)
            count += 1
    return count


def _remove(container: Any) -> None:
    try:
        container.remove(force=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as exc:
        if exc.status_code != 409:  # it is being removed already
            _log.warning("container %s could not be removed: %s", container.short_id, _describe(exc))
    except _ENGINE_FAILURES as exc:
        _log.warning("container %s could not be removed: %s", container.short_id, _describe(exc))


class _Container:
    def __init__(
        self, client: Any, container: Any, sources: Mapping[str, str], uids: tuple[int, int], limits: Limits
    ) -> None:
        self._container = container
        self._limits = limits
        self._stream: _AttachedStream | None = None
        try:
            attached = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            self._stream = _AttachedStream(attached)
            container.start()
            config = worker_config(mode="uid", first_uid=uids[0], uids=uids[1])
            self._channel = WorkerChannel(self._stream)
            setup = setup_message(programs=sources, config=config)
            self.about: Mapping[str, object] = self._channel.start(setup, timeout_s=_START_S)
        except BaseException:
            self.stop()
            raise

    def fits(self, limits: Limits) -> bool:
        """Whether tasks with these limits can run here: the size of the file systems cannot be changed."""
        return limits.files_mib == self._limits.files_mib

    def run(self, task: SandboxTask) -> TaskEnd:
        if _memory_bytes(task.limits) != _memory_bytes(self._limits):
            memory = _memory_bytes(task.limits)
            try:
                self._container.update(mem_limit=memory, memswap_limit=memory)
            except _ENGINE_FAILURES as exc:
                raise WorkerLostError(
                    f"the container's memory limit cannot be changed: {_describe(exc)}"
                ) from exc
            self._limits = task.limits
        return self._channel.run(task, grace_s=_GRACE_S)

    def kill(self) -> None:
        try:
            self._container.kill()
        except _ENGINE_FAILURES as exc:
            _log.debug("container %s could not be killed: %s", self._container.short_id, _describe(exc))

    def stop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        _remove(self._container)


class _AttachedStream:
    """The container's standard streams over one connection, in the engine's frames."""

    _FRAME = struct.Struct(">BxxxI")
    _KEPT_COMPLAINTS = 4000

    def __init__(self, attached: Any) -> None:
        self._attached = attached
        self._socket = getattr(attached, "_sock", attached)
        self._left = 0
        self._kind = 0
        self._header = bytearray()
        self._complaints = bytearray()

    def send(self, data: bytes, *, deadline: float) -> None:
        self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
        self._socket.sendall(data)

    def receive(self, limit: int, *, deadline: float) -> bytes:
        while True:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            if self._left == 0:
                piece = self._socket.recv(self._FRAME.size - len(self._header))
                if not piece:
                    return b""
                self._header += piece
                if len(self._header) == self._FRAME.size:
                    self._kind, self._left = self._FRAME.unpack(self._header)
                    self._header.clear()
                continue
            standard_output = self._kind == 1
            piece = self._socket.recv(min(self._left, limit if standard_output else 65_536))
            if not piece:
                return b""
            self._left -= len(piece)
            if standard_output:
                return bytes(piece)
            self._complaints += piece
            del self._complaints[: -self._KEPT_COMPLAINTS]

    def diagnosis(self) -> str:
        return self._complaints.decode("utf-8", "replace")

    def close(self) -> None:
        for thing in (self._socket, self._attached):
            try:
                thing.close()
            except OSError:
                continue
