"""Makes programs of a scaffold and of code to put into it, with the image's tools."""

# ruff: noqa: PTH118, PTH123
# It runs on Python 3.9 too, and touches files before hostile code does.
from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

IMAGE = "/opt/funcmem"
_TOOLS = IMAGE + "/tools"
_IMPORTS = IMAGE + "/importcfg"
_SAID_BYTES = 200_000
_PLACE = re.compile(r"(?m)^(?:.*/)?function(?:_([0-9]+))?\.go:[0-9:]+ ?(.*)$")
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "GOROOT": "/usr/local/go",
    "GOTELEMETRY": "off",
    "GOMAXPROCS": "2",
    "GOGC": "300",
}
_ROUNDS = 6


def call_tool(command: str, request: dict[str, Any]) -> dict[str, Any]:
    """Ask the image's tool, and give its answer.

    Raises:
        RuntimeError: It failed.
    """
    done = subprocess.run(
        [IMAGE + "/funcmem-go", command, _IMPORTS],
        input=json.dumps(request).encode("utf-8"),
        capture_output=True,
        env=_ENVIRONMENT,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[-2000:])
    reply = json.loads(done.stdout)
    if not isinstance(reply, dict):
        raise RuntimeError("the tool gave no object")
    return reply


class Build:
    """One binary, and which programs are in it.

    Attributes:
        path: The binary; None where nothing of it compiled.
        variants: For each program in it, by its place among all, the number by which the binary knows it.
        problems: Why a program does not compile, by its place.
    """

    def __init__(self) -> None:
        self.path: str | None = None
        self.variants: dict[int, int] = {}
        self.problems: dict[int, str] = {}


def build(
    directory: str,
    files: dict[str, str],
    functions: list[dict[str, Any]],
    places: list[int],
    reply: dict[str, Any],
) -> Build:
    """Compile some programs of one scaffold into one binary.

    Args:
        directory: An empty directory to build in.
        files: The scaffold.
        functions: What the tool made of each program's code.
        places: Which of them go into the binary. Several need a dispatcher.
        reply: What else the tool said.
    """
    result = Build()
    several = bool(reply["dispatch"])
    common = {name: files[name] for name in ("file.go", "stubs.go", "driver.go")}
    left = []
    for place in places:
        if functions[place]["ok"]:
            left.append(place)
        else:
            result.problems[place] = functions[place]["detail"]
    for name, text in common.items():
        _write(directory, name, text)
    for place in left:
        _write(directory, f"function_{place}.go", functions[place]["text"])
    archive, program = os.path.join(directory, "main.a"), os.path.join(directory, "program")
    for _ in range(_ROUNDS):
        if not left:
            return result
        sources = [*common, *(f"function_{place}.go" for place in left)]
        if several:
            cases = "".join(reply["case"].replace("@N@", str(place)) for place in left)
            _write(directory, "dispatch.go", reply["dispatch"].replace("@CASES@", cases))
            sources.append("dispatch.go")
        said = _run(
            [
                *(_TOOLS + "/compile", "-p", "main", "-complete", "-pack", "-dwarf=false", "-e"),
                *("-importcfg", _IMPORTS, "-o", archive, *sources),
            ],
            directory,
        )
        if said is None:
            break
        bad = _blamed(said, left, several)
        if not bad:
            # Not a program's own fault, or none that can be told: without a scaffold nothing runs.
            bad = {place: _first(said) for place in left}
        result.problems.update(bad)
        left = [place for place in left if place not in bad]
    said = _run([_TOOLS + "/link", "-s", "-w", "-importcfg", _IMPORTS, "-o", program, archive], directory)
    if said is None:
        result.path = program
        result.variants = {place: place for place in left}
    else:
        result.problems.update({place: _first(said) for place in left})
    return result


def _write(directory: str, name: str, text: str) -> None:
    with open(os.path.join(directory, name), "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)


def _run(command: list[str], directory: str) -> str | None:
    """What a compiler said; None where it found nothing wrong."""
    done = subprocess.run(
        command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, env=_ENVIRONMENT, check=False
    )
    if done.returncode == 0:
        return None
    said = (done.stdout + done.stderr)[:_SAID_BYTES].decode("utf-8", "replace").strip()
    return said or f"the compiler ended with status {done.returncode}"


def _blamed(said: str, left: list[int], several: bool) -> dict[int, str]:
    """The programs that a compiler complains of, each with the first complaint."""
    bad: dict[int, str] = {}
    for line in said.splitlines():
        found = _PLACE.match(line)
        if found is None:
            continue
        if found.group(1) is not None and int(found.group(1)) in left:
            bad.setdefault(int(found.group(1)), line.rpartition("/")[2])
        elif not several:
            bad.setdefault(left[0], line.rpartition("/")[2])
    return bad


def _first(said: str) -> str:
    return next((line for line in said.splitlines() if ".go:" in line), said.splitlines()[0])[:500]
