"""Calls the compiler and the linker, and notes which lines of a function each of its blocks comes from."""

# ruff: noqa: PTH101, PTH109, PTH123
# It runs on Python 3.9 too, and most of it is calls of tools in one directory.
from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from typing import Any

FUNCTION_FILE = "function.c"
IMAGE = "/opt/funcmem/c"
_SAID = 2_000_000

_LANGUAGE = (
    "-std=gnu17",
    "-D_GNU_SOURCE",
    "-fgnu89-inline",
    "-fno-builtin",
    "-fdiagnostics-color=never",
)
_CODE = (
    "-O0",
    "-w",
    "-fPIC",
    "-fno-strict-aliasing",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-ftrivial-auto-var-init=pattern",
    "-fsanitize=kernel-address",
    "--param=asan-instrumentation-with-call-threshold=0",
    "--param=asan-stack=0",
    "--param=asan-globals=1",
    "-fsanitize=bounds,signed-integer-overflow,shift-exponent,integer-divide-by-zero,float-cast-overflow,vla-bound",
    "-fsanitize-undefined-trap-on-error",
    "-fsanitize-coverage=trace-pc",
)


def call(arguments: list[str], most: int = _SAID) -> tuple[int, str]:
    """Exit status and the beginning of what a tool said."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    with open("said", "w+b") as said:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False, env=environment
        )
        said.seek(0)
        return done.returncode, said.read(most).decode("utf-8", "replace")


def last_said() -> str:
    """The beginning of what the last tool that was called said."""
    with open("said", "rb") as said:
        return said.read(_SAID).decode("utf-8", "replace")


def complain(text: str) -> str:
    """The first error in what a compiler or linker said."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen = next((line for line in lines if "error" in line or "undefined" in line), "")
    return (chosen or (lines[0] if lines else "it said nothing"))[:500]


def diagnose(text: str) -> list[Any]:
    """What the compiler says of a text, as its own objects; code is not made."""
    with open("program.c", "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    status, said = call(["gcc", *_LANGUAGE, "-fsyntax-only", "-fdiagnostics-format=json", "program.c"])
    for line in said.splitlines():
        if line.startswith("["):
            try:
                found = list(json.loads(line))
            except ValueError:
                break
            if found:
                _add_spellings(found)
            return found
    if status:
        return [{"kind": "fatal", "message": complain(said), "locations": [], "children": []}]
    return []


_SPOT = re.compile(r"([\w.]+):(\d+):(\d+): (error|warning|fatal error|note): (.*)")


def _add_spellings(found: list[Any]) -> None:
    """Say of each diagnostic where its text is spelled, and through which macros: objects lack that."""
    _status, said = call(["gcc", *_LANGUAGE, "-fsyntax-only", "-fno-diagnostics-show-caret", "program.c"])
    spots: list[dict[str, Any]] = []
    for line in said.splitlines():
        match = _SPOT.match(line)
        if match is None:
            continue
        place = {"file": match[1], "line": int(match[2]), "byte-column": int(match[3])}
        if match[4] != "note":
            spots.append({"kind": match[4], "spelled": place, "expansions": []})
        elif spots and "in expansion of macro" in match[5]:
            spots[-1]["expansions"].append([match[5], place])
        elif spots and "in definition of macro" in match[5]:
            spots[-1]["is_argument"] = True  # its text stands where the macro is used
    if [spot["kind"] for spot in spots] == [item.get("kind") for item in found]:
        for item, spot in zip(found, spots):  # noqa: B905  (of equal length; Python 3.9 knows no strict)
            if spot["expansions"] or spot.get("is_argument"):
                item.update(spot)


def build_object(text: str, name: str, *, coverage: bool, debugging: bool) -> tuple[str, list[list[int]]]:
    """Compile to an object file.

    Returns:
        The compiler's first complaint ("" if none), and with coverage the lines of each block.
    """
    source, assembly = name + ".c", name + ".s"
    with open(source, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    flags = [*_LANGUAGE, *_CODE]
    if debugging:
        flags += ["-g", "-gdwarf-4"]
    if not coverage:
        status, said = call(["gcc", *flags, "-c", "-o", name + ".o", source])
        return (complain(said) if status else ""), []
    if not debugging:
        flags += ["-g1", "-gdwarf-4"]
    status, said = call(["gcc", *flags, "-S", "-o", assembly, source])
    if status:
        return complain(said), []
    with open(assembly, encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().split("\n")
    lines, blocks = _label_blocks(lines)
    with open(assembly, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(lines))
    status, said = call(["as", "-o", name + ".o", assembly])
    return (complain(said) if status else ""), blocks


_LOC = re.compile(r"\s*\.loc (\d+) (\d+)")
_FILE = re.compile(r'\s*\.file (\d+) (?:"[^"]*" )?"([^"]*)"')
_LABEL = re.compile(r"([A-Za-z_]\w*):")
_INSTRUCTION = re.compile(r"\t[a-z]")
_SECTION = re.compile(r"\s*\.(text|section|data|bss)\b(.*)")


def _label_blocks(lines: list[str]) -> tuple[list[str], list[list[int]]]:
    """Put a label after each call that marks a block, and a table of them at the end.

    A block is all that follows its mark up to the next: what the compiler laid out in one piece. A line is
    one of a block where an instruction of the block stands on it; a block that tells no line of its own, such
    as where branches meet again, has none.
    """
    files: dict[str, str] = {}
    in_text = is_told = False
    place: tuple[str, int] = ("", 0)
    labelled: list[str] = []
    blocks: list[list[int]] = []
    for line in lines:
        labelled.append(line)
        found = _LOC.match(line)
        if found is not None:
            place, is_told = (found[1], int(found[2])), True
            continue
        found = _FILE.match(line)
        if found is not None:
            files[found[1]] = found[2]
            continue
        found = _SECTION.match(line)
        if found is not None:
            in_text = found[1] == "text"
        elif (
            in_text and "__sanitizer_cov_trace_pc" in line and "\tcall" in line.replace("\tbl\t", "\tcall\t")
        ):
            labelled.append(f".Lfm_block_{len(blocks)}:")
            blocks.append([])
            place, is_told = place if is_told else ("", 0), False
        elif line.startswith("\t.cfi_endproc") or "\t.size\t" in line:
            place = ("", 0)
        elif blocks and in_text and _INSTRUCTION.match(line):
            _note(blocks[-1], files, place)
            is_told = False
    table = ['\t.section .data.rel.ro,"aw"', "\t.balign 8", "\t.globl fm_blocks", "fm_blocks:"]
    table += [f"\t.quad .Lfm_block_{number}" for number in range(len(blocks))]
    table += ["\t.globl fm_blocks_end", "fm_blocks_end:", "\t.quad 0", ""]
    return labelled + table, blocks


def block_functions(name: str) -> list[str]:
    """For each block of an object that was compiled with coverage, the function that it is in."""
    function = ""
    found = []
    with open(name + ".s", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            label = _LABEL.match(line)
            if label is not None:
                function = label[1]
            elif line.startswith(".Lfm_block_"):
                found.append(function)
    return found


def _note(block: list[int], files: dict[str, str], place: tuple[str, int]) -> None:
    if files.get(place[0], "").rpartition("/")[2] == FUNCTION_FILE and place[1] - 1 not in block:
        block.append(place[1] - 1)


def image_has(digest: str) -> bool:
    """Whether the image holds the native half that is wanted."""
    try:
        with open(IMAGE + "/digest", encoding="ascii") as file:
            return file.read().split()[:1] == [digest]
    except OSError:
        return False


def make_runtime(sources: dict[str, str]) -> dict[str, str]:
    """Compile the native half here: its files by name, as Base64."""
    for name, text in sources.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    parts = [name for name in sorted(sources) if name.endswith(".c") and name != "start.c"]
    flags = ["-O1", "-w", "-fno-builtin"]
    steps = [
        ["gcc", *flags, "-fPIC", "-shared", "-Wl,-soname,libfmc.so", "-o", "libfmc.so", *parts, "-lm"],
        ["gcc", *flags, "-o", "fmrun", "start.c", "./libfmc.so", "-Wl,-rpath,$ORIGIN"],
    ]
    for step in steps:
        status, said = call(step)
        if status:
            raise RuntimeError("the runtime cannot be compiled: " + complain(said))
    made = {}
    for name in ("libfmc.so", "fmrun"):
        with open(name, "rb") as file:
            made[name] = base64.b64encode(file.read()).decode("ascii")
    return made


class Runtime:
    """The native half: the image's own, or one that was made before and is sent along.

    Args:
        files: Its files by name, as Base64; none where the image's is to be used.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self.directory = os.getcwd() if files else IMAGE
        for name, content in files.items():
            with open(name, "wb") as file:
                file.write(base64.b64decode(content))
            os.chmod(name, 0o755)

    @property
    def program(self) -> str:
        """What runs a shared object."""
        return self.directory + "/fmrun"

    @property
    def library(self) -> str:
        """What a shared object is linked with."""
        return self.directory + "/libfmc.so"


def link(name: str, runtime: Runtime, *, strict: bool) -> tuple[str, list[str]]:
    """Make a shared object of an object file.

    Returns:
        The linker's first complaint ("" if none), and the names that nothing defines.
    """
    unresolved = "-Wl,-z,defs" if strict else "-Wl,-z,defs,--warn-unresolved-symbols"
    status, said = call(
        [
            "gcc",
            "-shared",
            "-nostartfiles",
            "-Wl,-Bsymbolic",
            unresolved,
            "-o",
            name + ".so",
            name + ".o",
            runtime.library,
            "-lm",
        ]
    )
    missing = re.findall(r"undefined reference to `([^']+)'", said)
    return (complain(said) if status else ""), sorted(set(missing))
