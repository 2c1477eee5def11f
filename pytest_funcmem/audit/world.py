"""The sandboxes of an audit, one for each of its languages, and what of them can change an output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Json, Language
from pytest_funcmem.harness.compiled.toolkit import toolkit_for
from pytest_funcmem.harness.execution import PROGRAMS
from pytest_funcmem.sandbox.by_language import SandboxByLanguage
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.launch import program_sources

__all__ = ["World", "open_world", "world_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where an audit runs code.

    Attributes:
        sandbox: Open; takes tasks of every language in ``keys``.
        keys: For each language what can change an output there, for the keys of stored results.
        lacking: For each other language of the audit, why nothing can be run in it.
        notices: What the user should know.
    """

    sandbox: Sandbox
    keys: Mapping[Language, Json]
    lacking: Mapping[Language, str]
    notices: tuple[str, ...]


def open_world(
    name: str,
    languages: Sequence[Language],
    *,
    workers: int,
    image: str | None,
    runtime: str | None,
    progress: Callable[[str], None],
    more_programs: Mapping[str, Path] | None = None,
    packages: Sequence[str] = (),
) -> World:
    """Open a sandbox for each language.

    Args:
        name: ``auto``, ``docker`` or ``namespace``.
        languages: Of the functions that are to be audited.
        workers: Tasks that may run at one time in each; 0 means one per core.
        image: Docker image for Python instead of this package's.
        runtime: Container runtime of Docker.
        progress: Told what is being done while an image is built.
        more_programs: Programs that each sandbox is made with beside those of its language. They change no
            output, so they are in no key.
        packages: Debian packages that Docker's images are to have beside their own.

    Raises:
        SandboxUnavailableError: The machine offers no such isolation.
        MissingExtraError: ``docker`` was asked for and its package is not installed.
        UsageError: There is no sandbox of that name.
    """
    wanted = sorted(set(languages), key=lambda language: (language != "python", language)) or ["python"]
    opened: dict[Language, Sandbox] = {}
    lacking: dict[Language, str] = {}
    notices: dict[str, None] = {}
    try:
        for language in wanted:
            if opened and name == "auto":
                name = next(iter(opened.values())).name  # one kind for all
            if name == "namespace" and language != "python":
                lacking[language] = "the namespace sandbox has no compilers; use --funcmem-sandbox=docker"
                continue
            sandbox = open_sandbox(
                name,
                language=language,
                programs={**programs_of(language), **(more_programs or {})},
                workers=workers,
                image=image if language == "python" else None,
                runtime=runtime,
                packages=packages,
                progress=progress,
            )
            notices.update(dict.fromkeys(sandbox.notices))
            if sandbox.name == "namespace" and language != "python":
                sandbox.close()
                name = "namespace"
                lacking[language] = "the namespace sandbox has no compilers; use --funcmem-sandbox=docker"
                continue
            opened[language] = sandbox
        if not opened:
            opened["python"] = open_sandbox(name, programs=PROGRAMS, workers=workers, progress=progress)
    except BaseException:
        for other in opened.values():
            other.close()
        raise
    return World(
        sandbox=SandboxByLanguage(opened),
        keys={language: world_of(sandbox, language) for language, sandbox in opened.items()},
        lacking=lacking,
        notices=tuple(notices),
    )


def programs_of(language: Language) -> Mapping[str, Path]:
    """What the sandbox of a language has to be made with."""
    return PROGRAMS if language == "python" else toolkit_for(language).programs


def world_of(sandbox: Sandbox, language: Language = "python") -> Json:
    """What runs audited code, and the digest of the runner that it runs under.

    Which sandbox it is does not count: all promise the same world.
    """
    about = sandbox.identity()
    programs = program_sources(programs_of(language))
    key: dict[str, Json] = {
        "programs": {name: text_digest(source) for name, source in sorted(programs.items())}
    }
    if language == "python":
        key["interpreter"] = [about["implementation"], about["python"]]
    else:
        key["toolkit"] = toolkit_for(language).version
        key["toolchain"] = about.get("toolchain")
    if about.get("packages"):
        key["packages"] = [about["packages"], about.get("image")]  # which versions they are, the image tells
    return key
