"""One hardened container with a warm worker in it: how it is made, spoken to, and removed.

Every flag that keeps hostile code inside is in ``create_container``. Knows nothing of how tasks are shared
out.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import docker.errors
import docker.types
import requests.exceptions

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.sandbox.channel import TaskEnd, WorkerChannel, WorkerLostError
from pytest_funcmem.sandbox.launch import BOOT, ENVIRONMENT, INTERPRETER_OPTIONS, setup_message, worker_config
from pytest_funcmem.sandbox.ownership import owner_labels

__all__ = [
    "ENGINE_FAILURES",
    "UIDS_LABEL",
    "AttachedStream",
    "UidRange",
    "WorkerContainer",
    "create_container",
    "describe_failure",
    "engine_failed",
    "knock",
    "remove_container",
    "seccomp_digest",
]

_log = logging.getLogger(__name__)

ENGINE_FAILURES = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)
"""What the client library raises where the engine fails or has gone."""

UIDS_LABEL = "org.pytest-funcmem.uids"
"""Label with the first user id of the range that a container's candidates get theirs from."""

_START_S = 60.0
_GRACE_S = 30.0
_WORKER_MIB = 96
"""Memory of the container beyond the task's: supervisor, zygote, and the loaded programs."""
_PROCESSES = 1024
_CAPABILITIES = ("SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "FOWNER")
_TRIES = 20
_KNOCK_S = 10.0
_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"


@dataclass(frozen=True, slots=True, kw_only=True)
class UidRange:
    """User ids that the candidates of one container get, one after the other."""

    first: int
    count: int


@functools.cache
def _seccomp_profile() -> str:
    """The system calls that a container may make, as the engine reads it, in one line."""
    text = resources.files("pytest_funcmem.sandbox").joinpath("seccomp.json").read_text(encoding="utf-8")
    return json.dumps(json.loads(text), separators=(",", ":"))


def seccomp_digest() -> str:
    """Short digest of the system-call profile, for the manifest."""
    return hashlib.sha256(_seccomp_profile().encode()).hexdigest()[:12]


def create_container(
    client: Any,
    image: str,
    limits: Limits,
    *,
    runtime: str | None,
    remapped: bool,
    entrypoint: Sequence[str] = (),
) -> tuple[Any, UidRange]:
    """Create a container, not yet started, whose user ids no other container of this engine uses.

    The kernel counts the processes of a user across containers, so that two containers with one range could
    keep each other from forking.

    Args:
        client: A ``docker.DockerClient``.
        image: Id of an image with Python 3.9 or newer.
        limits: What its tasks may use; the file systems get their sizes from it.
        runtime: Container runtime of the engine; None takes its default.
        remapped: Whether the engine maps the users of containers to a range of its own, of 65,536.
        entrypoint: Argument list to start instead of a worker.

    Raises:
        SandboxError: No range is free.
    """
    for _ in range(_TRIES):
        uids = _draw_range(remapped=remapped)
        container = _create(client, image, limits, runtime, uids, entrypoint)
        holders = client.api.containers(all=True, filters={"label": f"{UIDS_LABEL}={uids.first}"})
        if len(holders) == 1:
            return container, uids
        remove_container(container)  # whoever drew the same range at the same moment does this too
    raise SandboxError(
        "No range of user ids is free for another container.",
        where="docker sandbox",
        remedy="stop other audits on this machine, or lower --funcmem-workers",
    )


def _draw_range(*, remapped: bool) -> UidRange:
    if remapped:
        return UidRange(first=20_000 + secrets.randbelow(160) * 250, count=250)
    return UidRange(first=0x1000_0000 + secrets.randbelow(0x4000) * 4096, count=4096)


def _create(
    client: Any,
    image: str,
    limits: Limits,
    runtime: str | None,
    uids: UidRange,
    entrypoint: Sequence[str],
) -> Any:
    space = f"size={limits.files_mib}m,nr_inodes=4096,nosuid,nodev"
    memory = _memory_bytes(limits)
    return client.containers.create(
        image,
        entrypoint=list(entrypoint) or ["python3", *INTERPRETER_OPTIONS, "-c", BOOT],
        command=[],
        environment=dict(ENVIRONMENT),
        working_dir="/",
        hostname="sandbox",
        stdin_open=True,
        user="0:0",
        init=True,
        auto_remove=True,
        labels={**owner_labels(), UIDS_LABEL: str(uids.first)},
        log_config=docker.types.LogConfig(type="none"),
        runtime=runtime,
        network_mode="none",
        ipc_mode="private",
        read_only=True,
        tmpfs={"/work": f"{space},exec,mode=755", "/tmp": f"{space},exec,mode=1777"},
        shm_size=f"{limits.files_mib}m",
        cap_drop=["ALL"],
        cap_add=list(_CAPABILITIES),
        security_opt=["no-new-privileges", f"seccomp={_seccomp_profile()}"],
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


def knock(timeout_s: float = _KNOCK_S) -> None:
    """Find out cheaply that no engine listens: the client library would leave sockets open over it.

    Raises:
        OSError: Nobody listens.
    """
    scheme, separator, path = (os.environ.get("DOCKER_HOST") or _DEFAULT_ADDRESS).partition("://")
    if separator and scheme in ("unix", "http+unix"):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(timeout_s)
            try:
                link.connect(f"/{path.lstrip('/')}")
            except OSError as exc:
                raise OSError(f"{exc.strerror or exc} (/{path.lstrip('/')})") from exc


def describe_failure(error: BaseException) -> str:
    """What the engine said, or what the system said of the connection to it, in one line."""
    if isinstance(error, (docker.errors.DockerException, requests.exceptions.RequestException)) and not (
        isinstance(error, docker.errors.APIError)
    ):
        # The client library wraps what happened in names of its own classes, several deep.
        for cause in _causes(error):
            if isinstance(cause, (TimeoutError, requests.exceptions.Timeout)):
                return "it gave no answer in time"
            if isinstance(cause, OSError) and cause.strerror:
                return cause.strerror
            if isinstance(cause, ConnectionError):
                return "it closed the connection without an answer"
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__


def engine_failed(error: BaseException, where: str) -> SandboxError:
    """What to raise where the engine did not do in the midst of an audit what it was asked for."""
    return SandboxError(
        f"The Docker engine failed: {describe_failure(error)}.",
        where=where,
        remedy="look at the engine (docker info) and run the audit again: what was finished is kept",
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it wraps, by whatever means, once each."""
    waiting, seen = [error], set()
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        inner = (*found.args, getattr(found, "reason", None), found.__cause__, found.__context__)
        waiting.extend(item for item in inner if isinstance(item, BaseException))


def remove_container(container: Any) -> None:
    """Remove a container in whatever state it is; one that cannot be removed is left to the next start."""
    try:
        knock()
        container.remove(force=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as exc:
        if exc.status_code != 409:  # it is being removed already
            _log.warning("container %s could not be removed: %s", container.short_id, describe_failure(exc))
    except ENGINE_FAILURES as exc:
        _log.warning("container %s could not be removed: %s", container.short_id, describe_failure(exc))


class WorkerContainer:
    """A started container with its worker.

    Args:
        container: As ``create_container`` gives it.
        sources: Text of the programs by name.
        uids: The candidates' user ids.
        limits: Those that the container was created with.

    Raises:
        WorkerLostError: The worker in it did not start.
    """

    def __init__(self, container: Any, sources: Mapping[str, str], uids: UidRange, limits: Limits) -> None:
        self._container = container
        self._limits = limits
        self._stream: AttachedStream | None = None
        try:
            attached = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            self._stream = AttachedStream(attached)
            container.start()
            config = worker_config(mode="uid", first_uid=uids.first, uids=uids.count)
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
        """Run one task; ``WorkerLostError`` where that is not possible."""
        if _memory_bytes(task.limits) != _memory_bytes(self._limits):
            memory = _memory_bytes(task.limits)
            try:
                knock()
                self._container.update(mem_limit=memory, memswap_limit=memory)
            except ENGINE_FAILURES as exc:
                raise WorkerLostError(
                    f"the container's memory limit cannot be changed: {describe_failure(exc)}"
                ) from exc
            self._limits = task.limits
        return self._channel.run(task, grace_s=_GRACE_S)

    def kill(self) -> None:
        """Kill it as a crash would."""
        try:
            knock()
            self._container.kill()
        except ENGINE_FAILURES as exc:
            _log.debug(
                "container %s could not be killed: %s", self._container.short_id, describe_failure(exc)
            )

    def stop(self) -> None:
        """Close the connection and remove the container."""
        if self._stream is not None:
            self._stream.close()
        remove_container(self._container)


class AttachedStream:
    """The container's standard streams over one connection, in the engine's frames.

    Args:
        attached: What the client library gives for attaching with a stream.
    """

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
        """Send all bytes."""
        self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
        self._socket.sendall(data)

    def receive(self, limit: int, *, deadline: float) -> bytes:
        """Receive some bytes of standard output; b"" at the end."""
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
        """The end of what was written to standard error."""
        return self._complaints.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the connection."""
        for thing in (self._socket, self._attached):
            try:
                thing.close()
            except OSError:
                continue
