"""The process that candidates are forked from. It has the programs loaded and sees no request and no result.

Two ways to fork, by what the isolation around the worker allows:

- ``uid``: the candidate gets a user of its own; the supervisor cleans up after it.
- ``namespaces``: the candidate also gets process, mount and IPC namespaces of its own. Their end takes every
  process and file of the candidate with it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
import traceback
from types import ModuleType
from typing import Any

from . import candidate, linux

_NUMBER = struct.Struct(">i")
_END = struct.Struct(">id")


def load_programs(sources: dict[str, str]) -> dict[str, ModuleType]:
    """Run the text of every program once, each as a module of its own."""
    programs = {}
    for name, source in sources.items():
        module = ModuleType(f"funcmem_program_{name}")
        module.__file__ = f"<program {name}>"
        sys.modules[module.__name__] = module
        exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
        programs[name] = module
    return programs


def serve(control: socket.socket, config: dict[str, Any], sources: dict[str, str]) -> None:
    """Fork a candidate for each message on the control socket; never returns.

    For each message two answers are sent: the process to kill when time is up, then the wait status with the
    processor seconds of the candidate and of all that it waited for.
    """
    try:
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        linux.drop_bounding_set()
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        programs = load_programs(sources)
        control.send(b"ready")
    except BaseException:
        control.send(traceback.format_exc()[-4000:].encode("utf-8", "replace"))
        os._exit(1)
    gc.collect()
    gc.freeze()  # collections in a candidate would otherwise copy every page of the preloaded heap
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(control, 4096, 4)
        if not message:
            os._exit(0)
        spawn = json.loads(message)
        spawn.update({name: config[name] for name in ("alias", "count_processes")})
        try:
            if config["mode"] == "namespaces":
                _fork_in_namespaces(control, spawn, descriptors, programs)
            else:
                _fork(control, spawn, descriptors, programs)
        except OSError:
            control.send(traceback.format_exc()[-2000:].encode("utf-8", "replace"))
        for fd in descriptors:
            try:
                os.close(fd)
            except OSError:
                continue


def _fork(
    control: socket.socket, spawn: dict[str, Any], descriptors: list[int], programs: dict[str, ModuleType]
) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            candidate.arrange_descriptors(*descriptors)
            candidate.run(spawn, programs)
        finally:
            os._exit(125)
    for fd in descriptors:
        os.close(fd)
    descriptors.clear()
    control.send(_NUMBER.pack(pid))
    _pid, status, usage = os.wait4(pid, 0)
    control.send(_END.pack(status, usage.ru_utime + usage.ru_stime))


def _fork_in_namespaces(
    control: socket.socket, spawn: dict[str, Any], descriptors: list[int], programs: dict[str, ModuleType]
) -> None:
    report_r, report_w = os.pipe()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        # Only children enter the new process namespace; the next one has to be made from the zygote's own.
        linux.unshare(linux.CLONE_NEWPID)
        init = os.fork()
        if init == 0:
            try:
                os.close(report_r)
                os.close(own)
                _be_init(report_w, spawn, descriptors, programs)
            finally:
                os._exit(125)
        linux.setns(own, linux.CLONE_NEWPID)
    finally:
        os.close(own)
        os.close(report_w)
    for fd in descriptors:
        os.close(fd)
    descriptors.clear()
    control.send(_NUMBER.pack(init))
    with os.fdopen(report_r, "rb", buffering=0) as report:
        _pid, _status, usage = os.wait4(init, 0)  # returns only when every process of the namespace is gone
        told = report.read(_NUMBER.size) or b""
    # Without a word it was killed before it could tell.
    status = _NUMBER.unpack(told)[0] if len(told) == _NUMBER.size else signal.SIGKILL
    control.send(_END.pack(status, usage.ru_utime + usage.ru_stime))


def _be_init(
    report: int, spawn: dict[str, Any], descriptors: list[int], programs: dict[str, ModuleType]
) -> None:
    """First process of a candidate's namespaces: prepares them, forks the candidate, reports its end."""
    try:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWIPC | linux.CLONE_NEWNET)
        _private_mounts(spawn)
        main = os.fork()
        if main == 0:
            try:
                candidate.arrange_descriptors(*descriptors)
                candidate.run(spawn, programs)
            finally:
                os._exit(125)
    except BaseException:
        os.write(descriptors[3], traceback.format_exc().encode("utf-8", "replace"))
        os._exit(125)
    for fd in descriptors:
        os.close(fd)
    while True:
        pid, status = os.wait()  # orphans of the candidate come to this process too
        if pid == main:
            os.write(report, _NUMBER.pack(status))
            os._exit(0)


def _private_mounts(spawn: dict[str, Any]) -> None:
    flags = linux.MS_NOSUID | linux.MS_NODEV
    space = f"size={spawn['limits']['files_mib']}m,nr_inodes=4096,mode=755"
    linux.mount("proc", "/proc", "proc", flags | linux.MS_NOEXEC)
    linux.mount("tmpfs", "/work", "tmpfs", flags, space)
    for path in (candidate.WORK, candidate.TEMPORARY):
        os.mkdir(path, 0o700)
        if not spawn["alias"]:
            os.chown(path, spawn["uid"], spawn["uid"])
    linux.mount(candidate.TEMPORARY, "/tmp", "", linux.MS_BIND)
    linux.mount(candidate.TEMPORARY, "/dev/shm", "", linux.MS_BIND)
