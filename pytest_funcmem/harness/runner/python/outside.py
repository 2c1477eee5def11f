"""Processes and the network: none starts, nothing connects, and every attempt is logged."""

from __future__ import annotations

import errno
import functools
import http.client
import os
import random
import smtplib
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from typing import Any, NoReturn

from .world import stand_in_for, world


def tame_processes() -> None:
    """Let no process start."""

    def refused(error: type[OSError], number: int, message: str) -> Callable[..., Any]:
        def answer(n: int, source: random.Random, *args: Any, **kwargs: Any) -> None:
            raise error(number, message)

        return answer

    def run_inside(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda n, source, *args, **kwargs: original(*args, **kwargs)

    absent = refused(FileNotFoundError, errno.ENOENT, "No such file or directory")
    exhausted = refused(BlockingIOError, errno.EAGAIN, "Resource temporarily unavailable")
    unknown = refused(ProcessLookupError, errno.ESRCH, "No such process")
    for name in ("run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"):
        original = getattr(subprocess, name)
        setattr(subprocess, name, stand_in_for("subprocess." + name, original, run_inside(original), True))

    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        world.call("subprocess.Popen", args, kwargs, lambda n, source: absent(n, source), True)

    setattr(subprocess.Popen, "__init__", start)  # noqa: B010 - as above
    os.system = stand_in_for("os.system", os.system, lambda n, source, command: 127 << 8, True)
    os.popen = stand_in_for("os.popen", os.popen, run_inside(os.popen), True)
    for name in ("fork", "forkpty"):
        setattr(os, name, stand_in_for("os." + name, getattr(os, name), exhausted, True))
    for name in ("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"):
        setattr(os, name, stand_in_for("os." + name, getattr(os, name), absent, True))
    for name in ("posix_spawn", "posix_spawnp"):
        setattr(os, name, stand_in_for("os." + name, getattr(os, name), absent, True))
    for name in ("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe"):
        setattr(os, name, stand_in_for("os." + name, getattr(os, name), lambda n, source, *args: 127, True))
    for name in ("kill", "killpg"):
        setattr(os, name, stand_in_for("os." + name, getattr(os, name), unknown, True))


def tame_network() -> None:
    """Let no connection be made."""

    def run_inside(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda n, source, *args, **kwargs: original(*args, **kwargs)

    def unresolved(n: int, source: random.Random, *args: Any, **kwargs: Any) -> NoReturn:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        setattr(socket, name, stand_in_for("socket." + name, getattr(socket, name), unresolved, True))
    for module, path, name in (
        (socket, "socket", "create_connection"),
        (urllib.request, "urllib.request", "urlopen"),
        (urllib.request, "urllib.request", "urlretrieve"),
    ):
        original = getattr(module, name)
        setattr(module, name, stand_in_for(f"{path}.{name}", original, run_inside(original), True))

    def refuse(self: Any, *args: Any) -> NoReturn:
        if self.family == socket.AF_UNIX:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    def method(
        kind: type[Any],
        name: str,
        path: str,
        what: Callable[..., Any] | None = None,
        receiver: Callable[[Any], list[Any]] = lambda self: [],
    ) -> None:
        original = what or getattr(kind, name)

        def stand_in(self: Any, *args: Any, **kwargs: Any) -> Any:
            shown = (*receiver(self), *args)
            return world.call(path, shown, kwargs, lambda n, source: original(self, *args, **kwargs), True)

        setattr(kind, name, functools.wraps(original)(stand_in))

    def place(self: Any) -> list[Any]:
        return [self.host, self.port]

    method(socket.socket, "connect", "socket.socket.connect", refuse)
    method(socket.socket, "connect_ex", "socket.socket.connect_ex", lambda self, *args: errno.ECONNREFUSED)
    method(socket.socket, "sendto", "socket.socket.sendto", refuse)
    method(urllib.request.OpenerDirector, "open", "urllib.request.OpenerDirector.open")
    method(http.client.HTTPConnection, "request", "http.client.HTTPConnection.request", receiver=place)
    method(http.client.HTTPConnection, "connect", "http.client.HTTPConnection.connect", receiver=place)
    method(smtplib.SMTP, "connect", "smtplib.SMTP.connect")
