"""The native half of the harness: the image's, or compiled once for a sandbox and sent along from then on."""

from __future__ import annotations

import binascii
import hashlib
import json
from functools import cache
from importlib import resources
from weakref import WeakKeyDictionary

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.harness.compiled.limits import task_limits

__all__ = ["FILES_MIB", "PROGRAM", "build_limits", "native_files"]

PROGRAM = "c"
"""Name of the sandbox's program."""
FILES_MIB = 64
"""What files of a task may take, the same for all: for others, another worker would have to be started."""

_RECORD_BYTES = 8 * 1024 * 1024
_NAMES = frozenset({"libfmc.so", "fmrun"})
_made: WeakKeyDictionary[Sandbox, dict[str, str]] = WeakKeyDictionary()


def build_limits() -> Limits:
    """What compiling may use."""
    return task_limits(60.0, memory_mib=768, processes=32, files_mib=FILES_MIB, output_bytes=_RECORD_BYTES)


@cache
def _sources() -> dict[str, str]:
    directory = resources.files("pytest_funcmem.sandbox.images") / "c"
    names = sorted(entry.name for entry in directory.iterdir() if entry.name.endswith((".c", ".h")))
    return {name: (directory / name).read_text(encoding="utf-8") for name in names}


def native_files(sandbox: Sandbox) -> dict[str, str]:
    """Files of the native half by name, as Base64; none where the sandbox's image has them.

    They are compiled in a task of their own, in which nothing of an audited file is.

    Raises:
        SandboxError: They cannot be compiled there.
    """
    known = _made.get(sandbox)
    if known is None:
        known = _make(sandbox)
        _made[sandbox] = known
    return known


def _make(sandbox: Sandbox) -> dict[str, str]:
    digest = hashlib.sha256("".join(_sources().values()).encode("utf-8")).hexdigest()
    request = {"task": "runtime", "digest": digest, "sources": _sources()}
    result = sandbox.run(
        SandboxTask(
            program=PROGRAM,
            payload=json.dumps(request).encode("ascii"),
            limits=build_limits(),
            language="c",
        )
    )
    try:
        files = json.loads(result.records[0])["files"]
        if not (files.keys() <= _NAMES and all(binascii.a2b_base64(text) for text in files.values())):
            raise ValueError("other files than were asked for")
    except (IndexError, ValueError, KeyError, TypeError, AttributeError) as exc:
        said = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SandboxError(
            f"The native half of the C harness cannot be made: {said or result.outcome}.",
            where="the sandbox for C",
            expected="gcc and the C library's headers",
            remedy="funcmem images build --language c",
        ) from exc
    return dict(files)
