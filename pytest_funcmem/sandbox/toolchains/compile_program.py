"""Runs in the sandbox, as the candidate: compiles sources, says how that went, and becomes the program.

A program of the sandbox: sent as text, Python 3.9 and the standard library only. What it says of the compiler
is said before any code of the candidate runs, on a descriptor that the candidate's program never has.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCES = Path("/work/tmp/source")
BUILD = Path("/work/tmp/build")
_SAID_BYTES = 16_384


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Compile and run.

    Args:
        payload: Length and text of a JSON object with ``directory`` (where the files go), ``files`` (paths
            and sizes), ``steps``, ``run`` and ``environment``; then the files one after the other; then the
            program's standard input.
        emit: Given one JSON object: ``compiled``, ``seconds``, and of a failure ``status`` and ``said``.
    """
    (length,) = struct.unpack_from(">I", payload)
    request = json.loads(payload[4 : 4 + length])
    os.environ.update(request["environment"])
    start = time.monotonic()
    try:
        position = _lay_files(request, payload, 4 + length)
    except OSError as exc:
        # Hostile code may have named a class so that no file can have its name, or made too many.
        emit(
            json.dumps({"compiled": False, "said": f"error: {exc.strerror}", "seconds": 0.0}).encode("ascii")
        )
        return
    for step in request["steps"]:
        status, said = _run_compiler(step)
        if status != 0:
            end = {"compiled": False, "status": status, "said": said, "seconds": time.monotonic() - start}
            emit(json.dumps(end).encode("ascii"))
            return
    emit(json.dumps({"compiled": True, "seconds": time.monotonic() - start}).encode("ascii"))
    _become(request["run"], payload[position:])


def _lay_files(request: dict[str, Any], payload: bytes, position: int) -> int:
    """Lay the files into their directory; returns where the program's standard input begins."""
    SOURCES.mkdir()
    BUILD.mkdir()
    directory = BUILD if request["directory"] == "build" else SOURCES
    for path, size in request["files"]:
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(payload[position : position + size])
        position += size
    return position


def _run_compiler(step: list[str]) -> tuple[int, str]:
    """Exit status (negative for a signal) and the beginning of what it said."""
    with (BUILD / "said").open("w+b") as said:
        done = subprocess.run(
            step, cwd=SOURCES, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, check=False
        )
        said.seek(0)
        return done.returncode, said.read(_SAID_BYTES).decode("utf-8", "replace")


def _become(run: list[str], stdin: bytes) -> None:
    path = BUILD / "stdin"
    path.write_bytes(stdin)
    descriptor = os.open(path, os.O_RDONLY)
    path.unlink()
    os.dup2(descriptor, 0)
    os.close(descriptor)
    os.execvp(run[0], run)
