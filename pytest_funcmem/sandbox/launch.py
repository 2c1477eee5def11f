"""How the worker gets into the isolation: as text, over its standard input, so that no path is shared."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from pytest_funcmem.core.errors import UsageError

__all__ = ["BOOT", "ENVIRONMENT", "INTERPRETER_OPTIONS", "program_sources", "setup_message", "worker_config"]

INTERPRETER_OPTIONS = ("-s", "-B")
"""Not ``-I``: it would ignore PYTHONHASHSEED. The environment is empty but for ``ENVIRONMENT`` instead."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/work/task",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}

BOOT = """\
import sys
sys.path[:] = [path for path in sys.path if path]
import importlib.abc, importlib.util, json, os, struct
def read(count):
    pieces = []
    while count:
        piece = os.read(0, min(count, 1 << 20))
        if not piece:
            os._exit(1)
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
setup = json.loads(read(struct.unpack(">I", read(4))[0]))
class Sent(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        if name in setup["modules"]:
            return importlib.util.spec_from_loader(name, self, is_package=name == "worker")
    def get_source(self, name):
        return setup["modules"][name]
    def is_package(self, name):
        return name == "worker"
sys.meta_path.insert(0, Sent())
if setup["root"] is not None:
    from worker import private_root
    private_root.enter(setup["root"])
from worker import supervisor
sys.argv[:] = [""]
supervisor.main(setup["config"], setup["programs"])
"""
"""What the interpreter is started with (``-c``): it reads the setup message and runs the worker in it."""

_MODULES = (
    "candidate",
    "cleanup",
    "framing",
    "linux",
    "private_root",
    "supervisor",
    "syscalls",
    "zygote",
)


def program_sources(programs: Mapping[str, Path]) -> dict[str, str]:
    """Read the programs: files, or packages whose module ``program`` has the function ``main``.

    Raises:
        UsageError: A file cannot be read.
    """
    sources = {}
    for name, path in programs.items():
        try:
            sources[name] = _package(path) if path.is_dir() else path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise UsageError(
                f"The sandbox program {name!r} cannot be read: {exc}.",
                where=str(path),
                expected="a Python file in UTF-8 with a function main(payload, emit)",
            ) from exc
    return sources


_PACKAGE = """\
import importlib.abc, importlib.util, sys
_sources = {sources!r}
_package = __name__ + "_package"
class _Bundled(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        if name == _package or name.startswith(_package + ".") and name[len(_package) + 1 :] in _sources:
            return importlib.util.spec_from_loader(name, self, is_package=name == _package)
    def get_source(self, name):
        return _sources[name[len(_package) + 1 :] or "__init__"]
    def get_code(self, name):
        return compile(self.get_source(name), "<program " + name + ">", "exec", dont_inherit=True)
    def is_package(self, name):
        return name == _package
sys.meta_path.insert(0, _Bundled())
main = importlib.import_module(_package + ".program").main
"""


def _package(directory: Path) -> str:
    """The modules of a package as the text of one program."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.py"))}
    return _PACKAGE.format(sources=sources)


def worker_config(
    *,
    mode: str,
    first_uid: int,
    uids: int,
    alias: bool = False,
    count_processes: bool = True,
    watch_memory: bool = False,
) -> dict[str, object]:
    """Settings of the worker.

    Args:
        mode: ``uid`` or ``namespaces``; see ``worker.zygote``.
        first_uid: Start of the range from which each candidate gets a user of its own.
        uids: Size of that range.
        alias: Whether only one user exists, which candidates see under the numbers of the range.
        count_processes: Whether the kernel can count the processes of a candidate alone.
        watch_memory: Whether the supervisor has to watch the memory of a task, since no control group does.
    """
    return {
        "mode": mode,
        "first_uid": first_uid,
        "uids": uids,
        "alias": alias,
        "count_processes": count_processes,
        "watch_memory": watch_memory,
    }


def setup_message(
    *, programs: Mapping[str, str], config: Mapping[str, object], root: Mapping[str, object] | None = None
) -> bytes:
    """Build the first message to the worker.

    Args:
        programs: Text of the programs by name.
        config: See ``worker_config``.
        root: See ``worker.private_root.enter``; None where the root directory is the worker's already.
    """
    files = resources.files("pytest_funcmem.sandbox.worker")
    modules = {f"worker.{name}": (files / f"{name}.py").read_text(encoding="utf-8") for name in _MODULES}
    modules["worker"] = ""
    setup = {"modules": modules, "programs": dict(programs), "config": dict(config), "root": root}
    body = json.dumps(setup).encode("ascii")
    return struct.pack(">I", len(body)) + body
