"""The program that the C toolkit runs in the sandbox: compiles, describes, and runs on input states.

``main(payload, emit)``; the payload is a JSON object with ``task``: ``runtime`` (make the native half where
the image has none), ``build`` or ``run``. Everything that a compiled program does is up to hostile code, so
nothing here may be relied upon outside the sandbox.
"""

# ruff: noqa: PTH100, PTH103, PTH112, PTH113, PTH118, PTH123, PTH208
# It runs on Python 3.9 too, and most of it is calls of tools in one directory.
from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

from .building import (
    Runtime,
    block_functions,
    build_object,
    complain,
    diagnose,
    image_has,
    last_said,
    link,
    make_runtime,
)
from .dwarf import borrowed, describe
from .together import at_fault, can_share, joined, place_of

HERE = "/work/tmp"
_ATTEMPTS = 3
_FEWEST = 2
_NOT_LOADED = 72
_MOST_GIVEN = 1 << 20


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Do what the payload asks for."""
    request = json.loads(payload)
    os.makedirs(os.path.join(HERE, "build"), exist_ok=True)
    os.chdir(os.path.join(HERE, "build"))
    if request["task"] == "runtime":
        files = {} if image_has(request["digest"]) else make_runtime(request["sources"])
        emit(json.dumps({"files": files}).encode("ascii"))
        return
    runtime = Runtime(request["runtime"])
    if request["task"] == "build":
        emit(json.dumps(_build(request, runtime)).encode("ascii"))
    else:
        _run(request, runtime, emit)


def _build(request: dict[str, Any], runtime: Runtime) -> dict[str, Any]:
    """Diagnostics of a text that is only checked or has errors; else what it lacks and what it is made of."""
    headers = {name: _has_header(name) for name in request.get("headers", ())}
    answer: dict[str, Any] = {"diagnostics": [], "headers": headers}
    if not request["text"]:
        return answer
    if request.get("check_only"):
        answer["diagnostics"] = diagnose(request["text"])
        return answer
    complaint, _blocks = build_object(request["text"], "program", coverage=False, debugging=True)
    if complaint:
        answer["diagnostics"] = diagnose(request["text"])
    if not complaint:
        complaint, missing = link("program", runtime, strict=False)
        answer["missing"] = missing
    answer["complaint"] = complaint
    if not complaint:
        with open("program.so", "rb") as file:
            data = file.read()
        answer["description"] = describe(data)
        answer["borrowed"] = borrowed(data)
    return answer


def _has_header(name: str) -> bool:
    places = ["/usr/include", "/usr/local/include"]
    places += [os.path.join("/usr/include", item) for item in ("x86_64-linux-gnu", "aarch64-linux-gnu")]
    places += [os.path.join(root, "include") for root in _compiler_roots()]
    return ".." not in name and any(os.path.isfile(os.path.join(place, name)) for place in places)


def _compiler_roots() -> list[str]:
    found = []
    for machine in ("x86_64-linux-gnu", "aarch64-linux-gnu"):
        directory = os.path.join("/usr/lib/gcc", machine)
        if os.path.isdir(directory):
            found += [os.path.join(directory, version) for version in sorted(os.listdir(directory))]
    return found


def _header(**fields: Any) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"


def _run(request: dict[str, Any], runtime: Runtime, emit: Callable[[bytes], None]) -> None:
    around, hole, codes = request["around"], request["hole"], request["codes"]
    done: dict[str, tuple[str, int, list[list[int]]]] = {}
    if request["made"] is not None:
        with open("made.so", "wb") as file:
            file.write(base64.b64decode(request["made"]["object"]))
        done[codes[0]] = ("made", 0, request["made"]["blocks"])
    else:
        # With coverage the first is alone: how its blocks are numbered depends on nothing else.
        done = _built_together(
            request,
            runtime,
            [code for code in codes[1:] if code != codes[0]] if request["coverage"] else codes,
        )
    for number, code in enumerate(codes):
        # Equal programs are one: the same object serves them.
        if code not in done:
            name = f"p{number}"
            text = around.replace(hole, code)
            complaint, blocks = build_object(text, name, coverage=request["coverage"], debugging=False)
            if not complaint:
                complaint, _missing = link(name, runtime, strict=True)
            if complaint:
                emit(_header(kind="load", program=number, loaded=False, detail=complaint))
                continue
            done[code] = (name, 0, blocks)
            if request["give"]:
                with open(name + ".so", "rb") as file:
                    made = base64.b64encode(file.read()).decode("ascii")
                if len(made) <= _MOST_GIVEN:
                    emit(_header(kind="made", object=made, blocks=blocks))
        name, place, blocks = done[code]
        lines = sorted({line for block in blocks for line in block if line >= request["first_line"]})
        emit(_header(kind="load", program=number, loaded=True, detail="", skipped=[], executable_lines=lines))
        status = _run_states(request, runtime, emit, number, (name, place), blocks)
        if status == _NOT_LOADED and place:
            # The system lets no code be changed: the program is made as if it were alone.
            complaint, blocks = build_object(
                around.replace(hole, code), f"p{number}", coverage=request["coverage"], debugging=False
            )
            complaint = complaint or link(f"p{number}", runtime, strict=True)[0]
            if not complaint:
                done[code] = (f"p{number}", 0, blocks)
                _run_states(request, runtime, emit, number, done[code][:2], blocks)


def _built_together(
    request: dict[str, Any], runtime: Runtime, codes: list[str]
) -> dict[str, tuple[str, int, list[list[int]]]]:
    """Objects by code, with the code's place in its object and blocks: of those that one text can hold.

    What the compiler finds errors in is left out, to be compiled alone.
    """
    around, hole, name = request["around"], request["hole"], request["function"]
    codes = [code for code in dict.fromkeys(codes) if can_share(code, name, around)]
    for number in range(_ATTEMPTS):
        if len(codes) < _FEWEST:
            break
        text = joined(around, hole, name, codes)
        together = f"all{number}"
        complaint, blocks = build_object(text, together, coverage=request["coverage"], debugging=False)
        if not complaint:
            complaint, _missing = link(together, runtime, strict=True)
            if complaint:
                break
            owners = [place_of(item, name) for item in block_functions(together)] if blocks else []
            return {code: (together, place, _own(blocks, owners, place)) for place, code in enumerate(codes)}
        faulty = at_fault(last_said(), name)
        if faulty is None:
            break
        codes = [code for place, code in enumerate(codes) if place not in faulty]
    return {}


def _own(blocks: list[list[int]], owners: list[int | None], place: int) -> list[list[int]]:
    """Lines of blocks, without those of what stands for the function in other programs."""
    return [block if owner == place else [] for block, owner in zip(blocks, owners)]  # noqa: B905  (Python 3.9)


def _run_states(
    request: dict[str, Any],
    runtime: Runtime,
    emit: Callable[[bytes], None],
    number: int,
    built: tuple[str, int],
    blocks: list[list[int]],
) -> int:
    """Run a program, given by its object and its place in it, on its states; the native half's status."""
    kept = [[line for line in block if line >= request["first_line"]] for block in blocks]
    counts = [str(len(blocks)), str(sum(map(len, kept)))]
    words = [" ".join([str(len(block)), *map(str, block)]) for block in kept]
    with open("table", "w", encoding="ascii") as file:
        file.write("\n".join([request["table"], *counts, *words, ""]))
    states = request["states"][number]
    with open("states", "w", encoding="ascii") as file:
        file.write(f"{len(states)}\n")
        file.writelines(
            " ".join(map(str, [state["seed"], len(state["choices"]), *state["choices"]])) + "\n"
            for state in states
        )
    reading, writing = os.pipe()
    environment = {
        "HOME": "/work/task",
        "PATH": "/usr/bin:/bin",
        "LANG": "C",
        "TZ": "UTC",
        "USER": "user",
        "LOGNAME": "user",
        "TERM": "dumb",
    }

    def arrange() -> None:
        os.dup2(writing, 3)

    with open("said", "w+b") as said:
        process = subprocess.Popen(
            [
                runtime.program,
                os.path.abspath("table"),
                os.path.abspath("states"),
                os.path.abspath(built[0] + ".so"),
                "1" if request["coverage"] else "0",
                str(request["timeout_ms"]),
                str(built[1]),
            ],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment,
            preexec_fn=arrange,
            pass_fds=[3],
        )
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            _pass_on(stream, emit, number)
        process.wait()
        if process.returncode and (process.returncode != _NOT_LOADED or not built[1]):
            said.seek(0)
            emit(
                _header(
                    kind="end",
                    program=number,
                    status=process.returncode,
                    said=complain(said.read(4000).decode("utf-8", "replace")),
                )
            )
    return process.returncode


def _pass_on(stream: Any, emit: Callable[[bytes], None], number: int) -> None:
    while True:
        head = stream.readline(400)
        if not head:
            return
        index, outcome, seconds, length, detail = head.decode("utf-8", "replace").split(" ", 4)
        body = stream.read(int(length))
        header = _header(
            kind="state",
            program=number,
            index=int(index),
            outcome=outcome,
            seconds=float(seconds),
            detail="" if detail.strip() == "-" else detail.strip(),
        )
        emit(header + body)
