"""The first stage of the namespace sandbox: a root directory of its own, then the worker inside it.

Runs in fresh namespaces that ``unshare`` has made, with the host's files still in view. What the interpreter
needs is bound read-only into an empty root; the rest of the host is then unmounted.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
from typing import Any

from . import linux

_OLD = "/.host"
_STAGES = ("/tmp", "/var/tmp", "/mnt", "/media")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_INNER_NAMESPACES = (
    linux.CLONE_NEWUSER
    | linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWCGROUP
)
_ETC = {
    "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "hostname": "sandbox\n",
}
# Mount flags of a bind's source that a user namespace may not take away.
_LOCKED = ((os.ST_NOSUID, linux.MS_NOSUID), (os.ST_NODEV, linux.MS_NODEV), (os.ST_NOEXEC, linux.MS_NOEXEC))


def enter(config: dict[str, Any]) -> None:
    """Build the root, enter it, and become the first process of the worker's namespaces.

    Args:
        config: ``binds`` (paths shown read-only), ``links`` (symbolic links, as [path, target]),
            ``uid_map`` and ``gid_map`` ([inside, outside, count]; null where all namespaces are entered).
    """
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    _pivot()
    for path, target in config["links"]:
        os.symlink(target, path)
    for path in config["binds"]:
        _show(path)
    _fill_etc()
    _fill_dev()
    for path in ("/work", "/tmp", "/dev/shm", "/proc", "/run", "/var/tmp", "/root"):
        os.makedirs(path, exist_ok=True)
    # A new /proc may be mounted only where one is in view already; it comes to lie over this one.
    linux.mount(_OLD + "/proc", "/proc", "", linux.MS_BIND | linux.MS_REC)
    linux.unmount(_OLD, linux.MNT_DETACH)
    os.rmdir(_OLD)
    if config["uid_map"] is not None:
        _enter_user_namespace(config["uid_map"], config["gid_map"])
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    socket.sethostname("sandbox")
    linux.mount(
        "", "/", "", linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
    )


def _pivot() -> None:
    stage = next(path for path in _STAGES if os.path.isdir(path))
    linux.mount("tmpfs", stage, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=4m,mode=755")
    os.mkdir(stage + _OLD)
    linux.pivot_root(stage, stage + _OLD)
    os.chdir("/")


def _show(path: str) -> None:
    """Bind a host directory or file, with all that is mounted below, read-only at the same place."""
    source = _OLD + path
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    linux.mount(source, path, "", linux.MS_BIND | linux.MS_REC)
    for point in _mount_points(path):
        _make_read_only(point)


def _mount_points(path: str) -> list[str]:
    points = []
    with open(_OLD + "/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            point = line.split(" ")[4].replace("\\040", " ")
            if point == path or point.startswith(path + "/"):
                points.append(point)
    return points


def _make_read_only(point: str) -> None:
    flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
    present = os.statvfs(point).f_flag
    for seen, wanted in _LOCKED:
        if present & seen:
            flags |= wanted
    linux.mount("", point, "", flags)


def _fill_etc() -> None:
    os.makedirs("/etc", exist_ok=True)
    for name, text in _ETC.items():
        with open(f"/etc/{name}", "w", encoding="ascii") as file:
            file.write(text)
    for name in ("ld.so.cache", "alternatives"):
        if os.path.exists(f"{_OLD}/etc/{name}"):
            _show(f"/etc/{name}")


def _fill_dev() -> None:
    os.makedirs("/dev", exist_ok=True)
    for name in _DEVICES:
        path = f"/dev/{name}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
        if not stat.S_ISCHR(os.stat(_OLD + path).st_mode):
            raise OSError(f"{path} of the host is no device")
        linux.mount(_OLD + path, path, "", linux.MS_BIND)
    for name, target in (
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        os.symlink(target, f"/dev/{name}")


def _enter_user_namespace(uid_map: list[int], gid_map: list[int]) -> None:
    """Give up being root of the host: go on as root of a namespace whose users are nobody outside."""
    ready_r, ready_w = os.pipe()
    mapped_r, mapped_w = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(mapped_r)
        os.close(ready_w)
        if os.read(ready_r, 1) == b"r":
            for name, numbers in (("gid_map", gid_map), ("uid_map", uid_map)):
                with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                    file.write(" ".join(map(str, numbers)))
            os.write(mapped_w, b"m")
        os.close(mapped_w)
        _pass_on_end(child)
    os.close(ready_r)
    os.close(mapped_w)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    linux.unshare(_INNER_NAMESPACES)
    os.write(ready_w, b"r")
    os.close(ready_w)
    if os.read(mapped_r, 1) != b"m":
        os._exit(1)
    os.close(mapped_r)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    parent = os.getpid()
    first = os.fork()
    if first:
        _pass_on_end(first)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)


def _pass_on_end(child: int) -> None:
    """Wait for the child, holding no end of the channel, and end as it did."""
    for fd in (0, 1):
        os.close(fd)
    _pid, status = os.waitpid(child, 0)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)
