"""Compiles Rust programs that share a scaffold into one executable, and runs their input states.

``main(payload, emit)`` lays every program into a module of its own. What does not compile is left out and the
rest compiled again, so that one program says nothing about another. An executable that is wanted again is
given back before it is first run, and comes in with a later task. The executable forks a process for every
input state (the runtime in the image does); its records are passed on unread. Everything from the first start
of the executable on is up to hostile code, so nothing here may be relied upon outside the sandbox.
"""

# ruff: noqa: PTH101, PTH103, PTH123
# It runs on Python 3.9 too, and touches files before hostile code does.
from __future__ import annotations

import base64
import json
import os
import subprocess
import zlib
from collections.abc import Callable, Sequence
from typing import Any

IMAGE = "/opt/funcmem"
BUILD = "/work/tmp/build"
_QUICK_LINKER = "/usr/bin/ld.gold"
"""Where it is there: to link takes half of what it takes to compile."""
_ROUNDS = 8
_MOST_MESSAGES = 60
_MOST_RECORD_BYTES = 9 * 1024 * 1024
_MOST_KEPT_BYTES = 2 * 1024 * 1024

_HEAD = "#![feature(specialization, exhaustive_patterns)]\n#![allow(warnings)]\n"
_MODULE = '#[path = "p{number}.rs"] mod p{number};\n'
_PROGRAM = (
    'funcmem::Program {{ number: {number}, file: "p{number}.rs", first: {first}, last: {last}, '
    "driver: {driver}, pools: &p{number}::__FUNCMEM_POOLS, drive: p{number}::__funcmem_drive }},\n"
)


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Compile, and run the states of what compiled.

    Args:
        payload: JSON, as the Rust toolkit writes it.
        emit: Called with the bytes of each record.
    """
    task = json.loads(payload)
    os.makedirs(BUILD)
    alive = list(task["programs"])
    for program in alive:
        with open(f"{BUILD}/p{program['number']}.rs", "w", encoding="utf-8") as file:
            file.write(program["text"])
    messages: dict[int, list[dict[str, Any]]] = {}
    is_built = bool(task["executable"])
    if is_built:
        with open(f"{BUILD}/main", "wb") as file:
            file.write(zlib.decompress(base64.b64decode(task["executable"])))
        os.chmod(f"{BUILD}/main", 0o755)
    for _ in range(0 if is_built else _ROUNDS):
        said = _compile(task, alive)
        if said is None:
            is_built = True
            break
        blamed = _blame(said, alive)
        messages.update(blamed)
        alive = [program for program in alive if program["number"] not in blamed]
        if not alive:
            break
    if not is_built:
        alive = []
    numbers = {program["number"] for program in alive}
    for program in task["programs"]:
        number = program["number"]
        found = messages.get(number, [])
        emit(
            _record(
                kind="load",
                program=number,
                loaded=number in numbers,
                detail=_first_message(found, program) if number not in numbers else "",
                executable_lines=program["executable_lines"],
                **({"messages": found} if task["messages"] else {}),
            )
        )
    if alive and task["keep"]:
        with open(f"{BUILD}/main", "rb") as file:
            executable = zlib.compress(file.read(), 1)
        if len(executable) <= _MOST_KEPT_BYTES:
            emit(_record(kind="executable") + executable)
    if alive and task["states"]:
        _run_states([state for state in task["states"] if state[0] in numbers], task, emit)
    emit(_record(kind="done"))


def _record(**fields: Any) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"


def _compile(task: dict[str, Any], programs: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """What the compiler has against the programs; None where it made an executable."""
    text = _HEAD + "".join(_MODULE.format(**program) for program in programs)
    text += (
        f"fn main() {{ funcmem::serve(&[{''.join(_PROGRAM.format(**program) for program in programs)}]) }}\n"
    )
    with open(f"{BUILD}/main.rs", "w", encoding="utf-8") as file:
        file.write(text)
    command = ["rustc", f"--edition={task['edition']}", "--crate-name=main", "--error-format=json"]
    command += [
        "--json=diagnostic-short",
        # What a newer compiler has against older code is no reason not to run it.
        "--cap-lints=allow",
        "-Cdebuginfo=0",
        "-Copt-level=0",
        "-Ccodegen-units=1",
    ]
    command += ["-L", f"dependency={IMAGE}/deps", "--extern", f"funcmem={IMAGE}/runtime/libfuncmem.rlib"]
    for name, path in _externs():
        if name in task["externs"]:
            command += ["--extern", f"{name}={path}"]
    for feature in task["features"]:
        command += ["--cfg", f'feature="{feature}"']
    if task["check_only"]:
        command += ["--emit=metadata", "-o", f"{BUILD}/main.rmeta"]
    else:
        # The standard library looks this one up by its name at run time.
        command += ["-Clink-arg=-Wl,--export-dynamic-symbol=getrandom", "-Cstrip=symbols"]
        command += ["-o", f"{BUILD}/main"]
        if os.path.exists(_QUICK_LINKER):  # noqa: PTH110
            command += ["-Clink-arg=-fuse-ld=gold"]
    done = subprocess.run(
        [*command, "main.rs"],
        cwd=BUILD,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        # The runtime's traits give way to more special ones, which takes an unstable feature.
        env={**os.environ, "RUSTC_BOOTSTRAP": "1", "LC_ALL": "C.UTF-8"},
    )
    if done.returncode == 0:
        return None
    said = []
    for line in done.stderr.decode("utf-8", "replace").splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            message = {"level": "error", "message": line[:500], "spans": [], "children": [], "code": None}
        if isinstance(message, dict) and message.get("level") == "error":
            said.append(message)
    return said


def _externs() -> list[tuple[str, str]]:
    """Crates and their archives."""
    with open(f"{IMAGE}/externs", encoding="utf-8") as file:
        words = file.read().split()
    pairs = zip(words, words[1:])  # noqa: B905, RUF007 (newer than Python 3.9)
    named = [word.partition("=") for flag, word in pairs if flag == "--extern"]
    return [(name, path) for name, _, path in named]


def _blame(
    said: Sequence[dict[str, Any]], programs: Sequence[dict[str, Any]]
) -> dict[int, list[dict[str, Any]]]:
    """The messages of each program; where no message names a program, all of them are to blame."""
    known = {f"p{program['number']}.rs": program["number"] for program in programs}
    blamed: dict[int, list[dict[str, Any]]] = {}
    for message in said:
        spans = [_outermost(span) for span in message.get("spans", [])]
        files = [span for span in spans if span["file_name"] in known]
        if files:
            number = known[files[0]["file_name"]]
            found = blamed.setdefault(number, [])
            if len(found) < _MOST_MESSAGES:
                found.append(_slim(message))
    if blamed:
        return blamed
    return {number: [_slim(message) for message in said[:_MOST_MESSAGES]] for number in known.values()}


def _outermost(span: dict[str, Any]) -> dict[str, Any]:
    """The place in a program's own text: a message in a macro's expansion is about the call."""
    while span.get("expansion") and not str(span["file_name"]).startswith("p"):
        span = span["expansion"]["span"]
    return span


_SPAN = ("file_name", "line_start", "line_end", "column_start", "column_end", "byte_start", "byte_end")


def _slim(message: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    spans = []
    for span in message.get("spans", [])[:12]:
        place = _outermost(span)
        slim = {name: place[name] for name in _SPAN}
        slim.update(label=str(span.get("label") or "")[:1000], is_primary=bool(span.get("is_primary")))
        slim["suggested"] = str(span.get("suggested_replacement") or "")[:200]
        slim["text"] = "\n".join(line["text"] for line in place.get("text", [])[:3])[:1000]
        slim["macro"] = str((span.get("expansion") or {}).get("macro_decl_name", ""))[:100]
        spans.append(slim)
    code = message.get("code") or {}
    return {
        "code": str(code.get("code") or ""),
        "message": str(message.get("message"))[:2000],
        "spans": spans,
        "children": [] if depth else [_slim(child, 1) for child in message.get("children", [])[:8]],
    }


def _first_message(found: Sequence[dict[str, Any]], program: dict[str, Any]) -> str:
    for message in found:
        code = f"[{message['code']}]" if message["code"] else ""
        lines = [span["line_start"] for span in message["spans"] if span["is_primary"]]
        line = lines[0] - program["first"] + 1 if lines else 0
        is_inside = lines and program["first"] <= lines[0] <= program["last"]
        where = f" (line {line} of the function)" if is_inside else ""
        return f"error{code}: {message['message'][:400]}{where}"
    return "the compiler was stopped"


def _run_states(states: Sequence[Any], task: dict[str, Any], emit: Callable[[bytes], None]) -> None:
    limit_ms = max(1, int(task["state_timeout_s"] * 1000))
    lines = []
    for number, index, seed, choices in states:
        lines.append(" ".join(map(str, [number, index, seed, limit_ms, *choices])))
    with open(f"{BUILD}/request", "w", encoding="ascii") as file:
        file.write("\n".join(lines))
    with open(f"{BUILD}/request", "rb") as request:
        running = subprocess.Popen(
            [f"{BUILD}/main"],
            stdin=request,
            stdout=subprocess.PIPE,
            stderr=None,
            env={"PATH": "/usr/bin:/bin", "HOME": "/work", "LANG": "C.UTF-8", "TZ": "UTC", "USER": "user"},
        )
    if running.stdout is None:
        return
    while True:
        head = running.stdout.read(4)
        length = int.from_bytes(head, "big")
        if len(head) < 4 or length > _MOST_RECORD_BYTES:
            break
        body = running.stdout.read(length)
        if len(body) < length:
            break
        emit(body)
    running.kill()
    running.wait()
