"""The program that writes scaffolds for Go functions, and runs them. It lives inside the sandbox.

``main(payload, emit)`` answers one of two requests: ``prepare`` asks the image's tool what has to be compiled
around a function; ``run`` builds programs and runs each on its input states, every state in a process of its
own. Everything that those processes do is up to hostile code, so nothing here may be relied upon outside.
"""

# ruff: noqa: PTH101, PTH103, PTH118, PTH123
# It runs on Python 3.9 too, and touches files before hostile code does.
from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from .batching import FEWEST, run_batch
from .building import build, call_tool
from .running import run_state


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Answer a request.

    Args:
        payload: JSON, as the toolkit writes it.
        emit: Called with the bytes of each record.
    """
    task = json.loads(payload)
    if task["request"] == "prepare":
        emit(_line(call_tool("prepare", {name: task[name] for name in ("text", "start", "end")})))
        return
    base = _directory()
    if task["built"] is not None:
        _run_built(task, base, emit)
        return
    files = dict(task["files"])
    codes = task["codes"]
    together = len(codes) > 1 and "dispatch.go" in files
    reply = call_tool(
        "fill",
        {
            "outline": files["outline.json"],
            "dispatch": files["dispatch.go"] if together else "",
            "codes": codes,
            "coverage": task["coverage"],
        },
    )
    functions = reply["functions"]
    groups = [list(range(len(codes)))] if together else [[place] for place in range(len(codes))]
    for number, places in enumerate(groups):
        directory = os.path.join(base, f"build{number}")
        os.makedirs(directory)
        built = build(directory, files, functions, places, reply)
        for place in places:
            loaded = built.path is not None and place in built.variants
            lines, probes = functions[place].get("lines") or [], functions[place].get("probes") or []
            detail = "" if loaded else built.problems.get(place, "it does not compile")[:500]
            emit(_load(place, lines, loaded=loaded, detail=detail))
            if not loaded or built.path is None:
                continue
            if task["keep"]:
                with open(built.path, "rb") as program:
                    emit(_line({"kind": "binary", "lines": lines, "probes": probes}) + program.read())
            _run_states(built.path, place, built.variants[place], probes, task, base, emit)


def _directory() -> str:
    """An empty directory that goes by the same name in every task, since code may say where it runs."""
    base = os.path.join(tempfile.gettempdir(), "go")
    try:
        os.makedirs(base)
    except FileExistsError:
        return tempfile.mkdtemp(prefix="go")
    return base


def _load(place: int, lines: list[int], *, loaded: bool, detail: str) -> bytes:
    return _line(
        {
            "kind": "load",
            "program": place,
            "loaded": loaded,
            "detail": detail,
            "executable_lines": lines,
        }
    )


def _run_built(task: dict[str, Any], base: str, emit: Callable[[bytes], None]) -> None:
    """Run the states of a program that an earlier task built, and that lies in the working directory."""
    program = os.path.join(base, "program")
    shutil.move("program", program)
    os.chmod(program, 0o700)
    emit(_load(0, task["built"]["lines"], loaded=True, detail=""))
    _run_states(program, 0, 0, task["built"]["probes"], task, base, emit)


def _run_states(
    program: str,
    place: int,
    variant: int,
    probes: list[int],
    task: dict[str, Any],
    base: str,
    emit: Callable[[bytes], None],
) -> None:
    task, states = {**task, "probes": probes}, task["states"][place]
    if task["coverage"] and len(states) >= FEWEST:
        records = run_batch(program, variant, states, base, task)
    else:
        records = (run_state(program, variant, state, base, task) for state in states)
    for index, (header, body) in enumerate(records):
        header.update(program=place, index=index)
        emit(_line(header) + body)
