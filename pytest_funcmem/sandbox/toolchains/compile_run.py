"""The call that compiles and runs code of a compiled language in a sandbox.

Compiler and program run in one task: same user, same limits, thrown away together. Java's compiler may
instead be a warm one (``warm_javac``), which runs nothing of a candidate.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_funcmem.core.errors import SandboxError, UsageError
from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.sandbox.toolchains import compile_program
from pytest_funcmem.sandbox.toolchains.recipes import Recipe, recipe_for

if TYPE_CHECKING:  # it loads the Docker client, which a namespace sandbox does without
    from pytest_funcmem.sandbox.toolchains.warm_javac import WarmJavac

__all__ = ["PROGRAMS", "CompileRun", "compile_and_run", "first_message"]

_PROGRAM = "compile"

PROGRAMS: Mapping[str, Path] = {_PROGRAM: Path(compile_program.__file__)}
"""Programs that a sandbox must be made with to compile in it."""

_MESSAGE_CHARACTERS = 500
_MOST_REPORT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRun:
    """What became of compiling and running.

    Attributes:
        compiled: Whether there was a program to run.
        first_message: The compiler's first complaint, or what ended the compiler; "" where it compiled.
        result: Of the program where it compiled, else of the compiler; None where a warm compiler refused.
        compile_seconds: What the compiler took, as measured beside it; None where it was stopped.
        seconds: Wall-clock seconds of the whole call, waiting for a worker included.
    """

    compiled: bool
    first_message: str
    result: SandboxResult | None
    compile_seconds: float | None
    seconds: float


def compile_and_run(
    sandbox: Sandbox,
    language: str,
    files: Mapping[str, bytes],
    stdin: bytes = b"",
    *,
    compiler: str | None = None,
    javac: WarmJavac | None = None,
    limits: Limits | None = None,
) -> CompileRun:
    """Compile sources and run the program on its standard input.

    Args:
        sandbox: An open sandbox on the language's image, made with ``PROGRAMS``.
        language: ``c``, ``java``, ``rust`` or ``go``.
        files: Sources, and what they include, by relative path. Go: a package ``main``; Java: a
            class ``Main``; Rust: ``main.rs``, or the first file.
        stdin: Standard input of the program.
        compiler: Which of the language's compilers; None takes its default.
        javac: A warm Java compiler of the same image; without it Java's compiler is started anew each time.
        limits: For compiler and program together; None takes those of the language.

    Raises:
        UsageError: There is no such compiler, or a path does not stay inside the directory of the sources.
        SandboxError: The sandbox failed; nothing is known about the code.
    """
    start = time.monotonic()
    recipe = recipe_for(language, compiler)
    limits = limits or recipe.limits
    _check_files(files, recipe)
    if javac is not None:
        if language != "java":
            raise UsageError(f"A Java compiler cannot compile {language}.")
        return _run_warm(sandbox, recipe, files, stdin, javac=javac, limits=limits, start=start)
    steps = recipe.steps(_sources(files, recipe))
    result = sandbox.run(
        SandboxTask(program=_PROGRAM, payload=_payload(recipe, steps, files, stdin), limits=limits)
    )
    return _judge(result, start)


def _run_warm(
    sandbox: Sandbox,
    recipe: Recipe,
    files: Mapping[str, bytes],
    stdin: bytes,
    *,
    javac: WarmJavac,
    limits: Limits,
    start: float,
) -> CompileRun:
    sources = {path: files[path].decode("utf-8", "replace") for path in _sources(files, recipe)}
    compilation = javac.compile(sources, timeout_s=limits.wall_s, most_bytes=limits.files_mib << 20)
    if not compilation.compiled:
        return CompileRun(
            compiled=False,
            first_message=compilation.message[:_MESSAGE_CHARACTERS],
            result=None,
            compile_seconds=compilation.seconds,
            seconds=time.monotonic() - start,
        )
    result = sandbox.run(
        SandboxTask(
            program=_PROGRAM,
            payload=_payload(recipe, (), compilation.classes, stdin, compiled=True),
            limits=limits,
        )
    )
    return replace(_judge(result, start), compile_seconds=compilation.seconds)


def first_message(said: str) -> str:
    """The first complaint in what a compiler said, on one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    chosen = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
    return chosen[:_MESSAGE_CHARACTERS]


def _sources(files: Mapping[str, bytes], recipe: Recipe) -> tuple[str, ...]:
    return tuple(sorted(path for path in files if path.endswith(recipe.suffix)))


def _check_files(files: Mapping[str, bytes], recipe: Recipe) -> None:
    for path in files:
        parts = PurePosixPath(path).parts
        # A path that begins with "-" would be an option of the compiler.
        if (
            not parts
            or path.startswith(("/", "-", "@"))
            or ".." in parts
            or "\0" in path
            or path.endswith("/")
        ):
            raise UsageError(f"A source file cannot be at {path!r}.", expected="a relative path without '..'")
    if not _sources(files, recipe):
        raise UsageError(
            f"There is nothing to compile for {recipe.language}.", expected=f"a file named *{recipe.suffix}"
        )


def _payload(
    recipe: Recipe,
    steps: tuple[tuple[str, ...], ...],
    files: Mapping[str, bytes],
    stdin: bytes,
    *,
    compiled: bool = False,
) -> bytes:
    request = {
        "directory": "build" if compiled else "source",
        "files": [(path, len(content)) for path, content in files.items()],
        "steps": steps,
        "run": recipe.run,
        "environment": dict(recipe.environment),
    }
    text = json.dumps(request).encode("ascii")
    return b"".join([struct.pack(">I", len(text)), text, *files.values(), stdin])


def _judge(result: SandboxResult, start: float) -> CompileRun:
    report = _report(result)
    if report.get("compiled") is True:
        compiled, message = True, ""
    elif report:
        complaint = first_message(str(report.get("said", "")))
        compiled, message = False, complaint or f"the compiler ended with status {report.get('status')}"
    elif result.outcome == "ended":
        # It ended without a word: the program of this package failed, not the code.
        said = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise SandboxError(
            f"The compiler could not be started: {said[-1][:_MESSAGE_CHARACTERS]}",
            where="compile",
            expected="an image with the language's toolchain",
            remedy="funcmem images build",
        )
    else:
        compiled, message = False, f"the compiler was stopped: {result.outcome}"
    seconds = report.get("seconds")
    return CompileRun(
        compiled=compiled,
        first_message=message,
        result=result,
        compile_seconds=seconds if isinstance(seconds, float) else None,
        seconds=time.monotonic() - start,
    )


def _report(result: SandboxResult) -> Mapping[str, object]:
    """What the compiling program said; hostile data, as a compiler is no wall."""
    if not result.records or len(result.records[0]) > _MOST_REPORT_BYTES:
        return {}
    try:
        report = json.loads(result.records[0])
    except (ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}
