"""The embedded sandbox: Linux namespaces through util-linux ``unshare``, with nothing to install.

As root, the worker becomes root of a user namespace whose users are nobody on the host; as an ordinary user,
of one in which only that user exists. Each candidate gets process, mount and IPC namespaces of its own.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from pytest_funcmem.core.errors import SandboxUnavailableError
from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.sandbox.channel import TaskEnd, WorkerChannel, WorkerLost
from pytest_funcmem.sandbox.launch import BOOT, ENVIRONMENT, INTERPRETER_OPTIONS, setup_message
from pytest_funcmem.sandbox.pool import WarmSandbox, Worker
from pytest_funcmem.sandbox.process_stream import SocketStream

__all__ = ["NamespaceSandbox"]

_START_S = 20.0
_GRACE_S = 20.0
_STOP_S = 10.0
_IDS = 65_536
_FIRST_ID = 0x7000_0000
"""Where the ranges of host user ids begin that root's sandboxes use: far from those of users and of engines."""

_TOP_LEVEL = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


class NamespaceSandbox(WarmSandbox):
    """Runs tasks in namespaces of their own.

    Args:
        programs: Programs that tasks may name.
        workers: Tasks that may run at one time; 0 means one per core.
    """

    name = "namespace"

    def __init__(self, *, programs: Mapping[str, Path], workers: int = 0) -> None:
        super().__init__(programs=programs, workers=workers)
        self._unshare = ""

    def _prepare(self) -> None:
        unshare = shutil.which("unshare")
        if sys.platform != "linux" or unshare is None:
            raise SandboxUnavailableError(
                "The namespace sandbox needs Linux and the program 'unshare'.",
                remedy="install util-linux, or start Docker and use --funcmem-sandbox=docker",
            )
        self._unshare = unshare

    def _start_worker(self, limits: Limits) -> Worker:
        return _NamespaceWorker(self._unshare, self._sources)

    def _must_replace(self, end: TaskEnd) -> str | None:
        return None  # a candidate's namespaces end with it; nothing of it is left in the worker


class _NamespaceWorker:
    def __init__(self, unshare: str, sources: Mapping[str, str]) -> None:
        as_root = os.geteuid() == 0
        namespaces = ["--mount", "--propagation=private"]
        if not as_root:
            namespaces += ["--user", "--map-root-user", "--pid", "--net", "--ipc", "--uts", "--cgroup"]
            namespaces += ["--fork", "--kill-child"]
        interpreter = base_interpreter()
        command = [unshare, *namespaces, "--", interpreter, *INTERPRETER_OPTIONS, "-c", BOOT]
        ours, theirs = socket.socketpair()
        complaints: IO[bytes] = tempfile.TemporaryFile()
        self._stream = SocketStream(ours, complaints)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=theirs,
                stderr=complaints,
                env=dict(ENVIRONMENT),
                cwd="/",
                start_new_session=True,
            )
        except OSError as exc:
            self._stream.close()
            raise WorkerLost(f"unshare cannot be started: {exc}") from exc
        finally:
            theirs.close()
        config = {
            "mode": "namespaces",
            "alias": not as_root,
            "first_uid": 20_000,
            "uids": 40_000,
        }
        self._channel = WorkerChannel(self._stream)
        try:
            setup = setup_message(
                programs=sources, config=config, root=private_root(interpreter, as_root=as_root)
            )
            self.about: Mapping[str, object] = self._channel.start(setup, timeout_s=_START_S)
        except BaseException:
            self.stop()
            raise

    def fits(self, limits: Limits) -> bool:
        """Any limits: each candidate gets file systems of its own."""
        return True

    def run(self, task: SandboxTask) -> TaskEnd:
        return self._channel.run(task, grace_s=_GRACE_S)

    def stop(self) -> None:
        if self._process.poll() is None:
            # Its end takes all the namespaces' processes along: each dies with its parent.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_STOP_S)
        self._stream.close()


def base_interpreter() -> str:
    """Real path of the interpreter, out of any virtual environment."""
    return str(Path(getattr(sys, "_base_executable", None) or sys.executable).resolve())


def private_root(interpreter: str, *, as_root: bool) -> dict[str, object]:
    """What of the host is shown in the sandbox: system libraries and the interpreter's own prefix.

    Args:
        interpreter: Real path of the interpreter.
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
