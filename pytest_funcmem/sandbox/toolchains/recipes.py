"""How each language is compiled and run in its image. Nothing here starts anything.

Compilers get the candidate's own confinement, so the limits have to leave room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import Limits

__all__ = ["JAVA_FLAGS", "RECIPES", "SERVICES", "Recipe", "Service", "recipe_for"]

Step = tuple[str, ...]
"""An argument list."""

_IMAGE = "/opt/funcmem"
_BUILD = "/work/tmp/build"
_PROGRAM = f"{_BUILD}/program"
JAVA_FLAGS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Xlog:disable",  # warnings would go to standard output
    "-Xmx256m",
)
"""What makes a virtual machine start fast and stay small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to compile and run.

    Attributes:
        language: Whose image it needs.
        compiler: Which of the image's compilers; each language has one that is taken by default.
        suffix: How the names of sources end.
        steps: From the sorted paths of the sources to the argument lists that compile them, in order. They
            run in the directory of the sources and write to ``build`` beside it.
        run: Argument list of the compiled program; it runs in the empty working directory.
        environment: What the compiler and the program find in their environment beside the usual.
        limits: What a task needs that compiles and runs a small program.
    """

    language: str
    compiler: str
    suffix: str
    steps: Callable[[Sequence[str]], tuple[Step, ...]]
    run: Step
    environment: tuple[tuple[str, str], ...] = ()
    limits: Limits


def _gcc(sources: Sequence[str]) -> tuple[Step, ...]:
    flags = ("-std=gnu17", "-O0", "-w", "-pipe", "-fmax-errors=3", "-fdiagnostics-color=never")
    return (("gcc", *flags, "-o", _PROGRAM, *sources, "-lm"),)


def _tcc(sources: Sequence[str]) -> tuple[Step, ...]:
    return (("tcc", "-w", "-o", _PROGRAM, *sources, "-lm"),)


def _javac(sources: Sequence[str]) -> tuple[Step, ...]:
    # No class path, so that no service, processor or plugin can be found on one.
    quick = tuple(f"-J{flag}" for flag in (*JAVA_FLAGS, f"-XX:SharedArchiveFile={_IMAGE}/javac.jsa"))
    flags = ("-proc:none", "-nowarn", "-Xlint:none", "-Xmaxerrs", "3", "-encoding", "UTF-8", "-cp", _BUILD)
    return (("javac", *quick, *flags, "-d", _BUILD, *sources),)


def _rustc(sources: Sequence[str]) -> tuple[Step, ...]:
    root = "main.rs" if "main.rs" in sources else sources[0]  # the compiler finds the modules from there
    flags = ("--edition=2021", "--crate-name=main", "-Copt-level=0", "-Cdebuginfo=0", "-Awarnings")
    return (("rustc", *flags, "--error-format=short", f"@{_IMAGE}/externs", "-o", _PROGRAM, root),)


def _go(sources: Sequence[str]) -> tuple[Step, ...]:
    imports = ("-importcfg", f"{_IMAGE}/importcfg")
    archive = f"{_BUILD}/main.a"
    return (
        (f"{_IMAGE}/tools/compile", "-p", "main", "-complete", "-pack", *imports, "-o", archive, *sources),
        (f"{_IMAGE}/tools/link", "-s", "-w", *imports, "-o", _PROGRAM, archive),
    )


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        language="c",
        compiler="gcc",
        suffix=".c",
        steps=_gcc,
        run=(_PROGRAM,),
        limits=Limits(wall_s=20.0, memory_mib=512, files_mib=32),
    ),
    Recipe(
        language="c",
        compiler="tcc",
        suffix=".c",
        steps=_tcc,
        run=(_PROGRAM,),
        limits=Limits(wall_s=20.0, memory_mib=512, files_mib=32),
    ),
    Recipe(
        language="java",
        compiler="javac",
        suffix=".java",
        steps=_javac,
        run=("java", *JAVA_FLAGS, "-cp", _BUILD, "Main"),
        limits=Limits(wall_s=20.0, memory_mib=768, processes=64, files_mib=32),
    ),
    Recipe(
        language="rust",
        compiler="rustc",
        suffix=".rs",
        steps=_rustc,
        run=(_PROGRAM,),
        limits=Limits(wall_s=20.0, memory_mib=1024, processes=64, files_mib=64),
    ),
    Recipe(
        language="go",
        compiler="gc",
        suffix=".go",
        steps=_go,
        run=(_PROGRAM,),
        # One processor is what a container gets; more threads would only be throttled.
        environment=(("GOMAXPROCS", "1"), ("GOROOT", "/usr/local/go"), ("GOTELEMETRY", "off")),
        limits=Limits(wall_s=20.0, memory_mib=1024, processes=64, files_mib=64),
    ),
)
"""All ways; the first of a language is its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A program of an image that stays warm in a container of its own, and runs nothing of what it gets.

    Attributes:
        command: Its argument list.
        limits: Of its container.
    """

    command: tuple[str, ...]
    limits: Limits


SERVICES: Mapping[str, Mapping[str, Service]] = MappingProxyType(
    {
        "java": {
            "java-workshop": Service(
                command=(
                    "java",
                    *(flag for flag in JAVA_FLAGS if not flag.startswith("-Xmx")),
                    "-Xmx512m",
                    "-XX:+ExitOnOutOfMemoryError",
                    f"-XX:SharedArchiveFile={_IMAGE}/workshop.jsa",
                    "-jar",
                    f"{_IMAGE}/harness.jar",
                    "workshop",
                ),
                limits=Limits(memory_mib=900, processes=64, files_mib=1),
            )
        }
    }
)
"""For each language the services that a sandbox of it offers, by the program that tasks name."""


def recipe_for(language: str, compiler: str | None = None) -> Recipe:
    """Find the way to compile a language.

    Raises:
        UsageError: There is none.
    """
    for recipe in RECIPES:
        if recipe.language == language and compiler in (None, recipe.compiler):
            return recipe
    known = ", ".join(f"{recipe.language} with {recipe.compiler}" for recipe in RECIPES)
    asked = language if compiler is None else f"{language} with {compiler}"
    raise UsageError(f"There is no way to compile {asked}.", expected=f"one of {known}")
