"""The embedded sandbox: Linux namespaces through util-linux ``unshare``, with nothing to install.

As root, the worker becomes root of a user namespace whose users are nobody on the host; as an ordinary user,
of one in which only that user exists. Each candidate gets process, mount and IPC namespaces of its own.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from pytest_funcmem.core.errors import SandboxError, SandboxUnavailableError
from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.core.records import Json
from pytest_funcmem.sandbox.cgroups import MemoryGroup, find_parent, new_group
from pytest_funcmem.sandbox.channel import TaskEnd, WorkerChannel, WorkerLostError
from pytest_funcmem.sandbox.launch import (
    BOOT,
    ENVIRONMENT,
    INTERPRETER_OPTIONS,
    setup_message,
    worker_config,
)
from pytest_funcmem.sandbox.pool import TASKS_PER_WORKER, WarmSandbox, Worker
from pytest_funcmem.sandbox.process_stream import SocketStream

__all__ = ["NamespaceSandbox"]

_START_S = 20.0
_GRACE_S = 20.0
_STOP_S = 10.0
_PROBE_S = 10.0
_WORKER_MIB = 96
"""Memory of the group beyond the task's: supervisor, zygote, and the loaded programs."""
_IDS = 65_536
_FIRST_ID = 0x7000_0000
"""Where the ranges of host ids begin that root's sandboxes use: far from those of users and of engines."""
_TOP_LEVEL = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_AS_ROOT = ("--mount", "--propagation=private")
_AS_USER = (
    "--user",
    "--map-root-user",
    "--mount",
    "--propagation=private",
    "--pid",
    "--net",
    "--ipc",
    "--uts",
    "--cgroup",
    "--fork",
    "--kill-child",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Means:
    """What this machine offers.

    Attributes:
        unshare: Path of the program.
        as_root: Whether users of the sandbox can be mapped to ids that nobody has.
        groups: Where control groups with a memory limit can be made; None if nowhere.
        counts: Whether the kernel counts the processes of a candidate apart from those of its user.
    """

    unshare: str
    as_root: bool
    groups: Path | None
    counts: bool


class NamespaceSandbox(WarmSandbox):
    """Runs tasks in namespaces of their own.

    Args:
        programs: Programs that tasks may name.
        workers: Tasks that may run at one time; 0 means one per core.
        tasks_per_worker: Tasks after which a worker is replaced.
    """

    name = "namespace"
    _advice_where_none_starts = "start Docker and use --funcmem-sandbox=docker"

    def __init__(
        self,
        *,
        programs: Mapping[str, Path],
        workers: int = 0,
        tasks_per_worker: int = TASKS_PER_WORKER,
    ) -> None:
        super().__init__(programs=programs, workers=workers, tasks_per_worker=tasks_per_worker)
        self._means: _Means | None = None

    def identity(self) -> Mapping[str, Json]:
        """Engine, interpreter and kernel, for the manifest."""
        limits = "cgroup" if self._means is not None and self._means.groups is not None else "watched"
        return {**super().identity(), "memory_limit": limits}

    def _prepare(self) -> None:
        means = _probe()
        self._means = means
        lacks = ["the host's system libraries are visible, read-only"]
        if means.groups is None:
            lacks.append("memory of a task is watched every 50 ms rather than limited by the kernel")
        if not means.counts:
            lacks.append("the number of processes is not limited")
        notice = (
            "The embedded namespace sandbox isolates code by kernel namespaces and a system-call filter. "
            f"Unlike in Docker, {'; '.join(lacks)}; its results depend on this machine's Python "
            f"{platform.python_version()}."
        )
        if notice not in self.notices:
            self.notices = (*self.notices, notice)

    def _release(self) -> None:
        self._means = None

    def _start_worker(self, limits: Limits) -> Worker:
        means = self._means
        if means is None:
            raise SandboxError("The sandbox is closed.", where="namespace sandbox")
        return _NamespaceWorker(means, self._sources)

    def _must_replace(self, end: TaskEnd) -> str | None:
        # A candidate's namespaces end with it, and nothing of it is left in the worker. But where memory ran
        # out, one of the worker's own processes may have been the one that was killed for it.
        return "a process was killed for memory" if end.oom_killed else None


class _NamespaceWorker:
    def __init__(self, means: _Means, sources: Mapping[str, str]) -> None:
        self._group: MemoryGroup | None = None
        self._limits: Limits | None = None
        try:
            self._group = None if means.groups is None else new_group(means.groups)
        except OSError as exc:
            raise WorkerLostError(str(exc)) from exc
        interpreter = base_interpreter()
        command = [means.unshare, *(_AS_ROOT if means.as_root else _AS_USER), "--"]
        # Without site: what happens to be installed on the host must not decide what a function can do.
        command += [interpreter, "-S", *INTERPRETER_OPTIONS, "-c", BOOT]
        if self._group is not None:
            # A shell joins the group before anything is forked, so that nothing can be outside of it.
            command = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._group.members), *command]
        self._process, self._stream = spawn(command)
        self._channel = WorkerChannel(self._stream)
        try:
            setup = setup_message(
                programs=sources,
                config=worker_config(
                    mode="namespaces",
                    first_uid=20_000,
                    uids=40_000,
                    alias=not means.as_root,
                    count_processes=means.counts,
                    watch_memory=means.groups is None,
                ),
                root=private_root(as_root=means.as_root),
            )
            self.about: Mapping[str, object] = self._channel.start(setup, timeout_s=_START_S)
        except BaseException:
            self.stop()
            raise

    def fits(self, limits: Limits) -> bool:
        """Any limits: each candidate gets file systems of its own."""
        return True

    def run(self, task: SandboxTask) -> TaskEnd:
        group = self._group
        if group is None:
            return self._channel.run(task, grace_s=_GRACE_S)
        try:
            if task.limits != self._limits:
                mebibytes = task.limits.memory_mib + task.limits.files_mib + _WORKER_MIB
                group.limit(mebibytes * 1024 * 1024)
                self._limits = task.limits
            before = group.oom_kills()
            start = time.monotonic()
            try:
                end = self._channel.run(task, grace_s=_GRACE_S)
            except WorkerLostError:
                if group.oom_kills() == before:
                    raise
                return self._channel.out_of_memory(seconds=time.monotonic() - start)
            killed_for_memory = group.oom_kills() > before
        except OSError as exc:
            raise WorkerLostError(f"the control group cannot be used: {exc}") from exc
        if not killed_for_memory:
            return end
        if end.result.signal == signal.SIGKILL:
            end = replace(end, result=replace(end.result, outcome="memory", signal=None))
        return replace(end, oom_killed=True)

    def kill(self) -> None:
        if self._process.poll() is None:
            # Its end takes all the namespaces' processes along: each dies with its parent.
            os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        self.kill()
        self._process.wait(_STOP_S)
        self._stream.close()
        if self._group is not None:
            self._group.remove()


def spawn(command: list[str]) -> tuple[subprocess.Popen[bytes], SocketStream]:
    ours, theirs = socket.socketpair()
    complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - the stream closes it
    stream = SocketStream(ours, complaints)
    try:
        process = subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=complaints,
            env=dict(ENVIRONMENT),
            cwd="/",
            start_new_session=True,
        )
    except OSError as exc:
        stream.close()
        raise WorkerLostError(f"{command[0]} cannot be started: {exc}") from exc
    finally:
        theirs.close()
    return process, stream


def _probe() -> _Means:
    """Find out what this machine offers.

    Raises:
        SandboxUnavailableError: Not enough.
    """
    unshare = shutil.which("unshare", path=ENVIRONMENT["PATH"] + ":/usr/sbin:/sbin")
    if sys.platform != "linux" or unshare is None:
        raise SandboxUnavailableError(
            "The namespace sandbox needs Linux and the program 'unshare'.",
            remedy="install util-linux, or start Docker and use --funcmem-sandbox=docker",
        )
    as_root = os.geteuid() == 0
    flags = _AS_ROOT if as_root else _AS_USER
    try:
        probe = subprocess.run(
            [unshare, *flags, "--", "/bin/true"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_S,
            check=False,
        )
        failure = probe.stderr.strip() if probe.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as exc:
        failure = str(exc)
    if failure:
        raise SandboxUnavailableError(
            f"This machine does not let this user make namespaces: {failure[:300]}.",
            expected="root, or user namespaces for ordinary users",
            remedy=_remedy(),
        )
    kernel = re.match(r"(\d+)\.(\d+)", platform.release())
    recent = kernel is not None and (int(kernel[1]), int(kernel[2])) >= (5, 14)
    return _Means(unshare=unshare, as_root=as_root, groups=find_parent(), counts=as_root or recent)


def _remedy() -> str:
    switches = {
        "kernel.apparmor_restrict_unprivileged_userns": "0",
        "kernel.unprivileged_userns_clone": "1",
    }
    for name, wanted in switches.items():
        path = Path("/proc/sys", name.replace(".", "/"))
        if path.is_file() and path.read_text(encoding="ascii").strip() != wanted:
            return f"sudo sysctl {name}={wanted}, or start Docker and use --funcmem-sandbox=docker"
    most = Path("/proc/sys/user/max_user_namespaces")
    if most.is_file() and most.read_text(encoding="ascii").strip() == "0":
        return "sudo sysctl user.max_user_namespaces=10000, or start Docker and use --funcmem-sandbox=docker"
    return "start Docker and use --funcmem-sandbox=docker; inside a container, allow it to make namespaces"


def base_interpreter() -> str:
    """Real path of the interpreter, out of any virtual environment."""
    return str(Path(getattr(sys, "_base_executable", None) or sys.executable).resolve())


def private_root(*, as_root: bool) -> dict[str, object]:
    """What of the host is shown in the sandbox: system libraries and the interpreter's own prefix.

    Args:
        as_root: Whether the caller is root, so that the users of the sandbox can be mapped to unused ids.
    """
    binds, links = ["/usr"], []
    for name in _TOP_LEVEL:
        path = Path("/", name)
        if path.is_symlink():
            links.append([str(path), str(path.readlink())])
        elif path.is_dir():
            binds.append(str(path))
    prefixes = {str(Path(prefix).resolve()) for prefix in (sys.base_prefix, sys.base_exec_prefix)}
    for prefix in sorted(prefixes):
        shown = "/nix/store" if prefix.startswith("/nix/store/") else prefix
        if not any(shown == bind or shown.startswith(bind + "/") for bind in binds):
            binds.append(shown)
    first = _FIRST_ID + secrets.randbelow(8192) * _IDS
    ids = [0, first, _IDS] if as_root else None
    return {"binds": binds, "links": links, "uid_map": ids, "gid_map": ids}
