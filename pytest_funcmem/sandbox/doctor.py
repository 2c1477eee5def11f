"""Finds out what of this machine an audit can use, and what to do about the rest.

Every finding comes from trying: an engine that is installed and does not answer is a fault, not a version.
Knows nothing of how findings are shown.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pytest_funcmem import __version__
from pytest_funcmem.core.errors import FuncmemError
from pytest_funcmem.core.protocols import SandboxTask
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

__all__ = ["EXTRAS", "Finding", "examine"]

Level = Literal["ok", "warn", "fail"]

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "docker": ("docker",),
    "hf": ("torch", "transformers", "accelerate"),
    "gguf": ("gguf",),
    "data": ("pyarrow", "zstandard"),
}
"""Distributions that each extra brings."""

_GIB = 1 << 30
_LOW_GIB, _ENOUGH_GIB = 1.0, 10.0
"""Free disk space below which an audit is likely to fail, and from which nothing is said."""
_OLDEST_API = (1, 40)
_LIMIT_FLAGS: Mapping[str, str] = {
    "MemoryLimit": "memory",
    "SwapLimit": "swap",
    "PidsLimit": "number of processes",
    "CpuCfsQuota": "processor time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        name: What was looked at.
        level: ``ok``; ``warn`` where something is missing that not every audit needs; ``fail`` otherwise.
        said: What was found, in one line.
        remedy: What to do about it; "" where nothing needs doing.
    """

    name: str
    level: Level
    said: str
    remedy: str = ""


def examine(store: Path) -> Iterator[Finding]:
    """Check one thing after the other, and remove the containers that killed runs have left.

    Args:
        store: Directory of finished results; need not exist yet.
    """
    yield Finding(
        name="python", level="ok", said=f"pytest-funcmem {__version__} on Python {platform.python_version()}"
    )
    yield from _packages()
    yield _space("store", store)
    yield from _namespaces()
    yield from _docker()


def _packages() -> Iterator[Finding]:
    for extra, distributions in EXTRAS.items():
        found, lacking = [], []
        for name in distributions:
            try:
                found.append(f"{name} {metadata.version(name)}")
            except metadata.PackageNotFoundError:
                lacking.append(name)
        said = ", ".join([*found, *(f"no {name}" for name in lacking)])
        remedy = f"pip install 'pytest-funcmem[{extra}]'" if lacking else ""
        yield Finding(name=f"extra {extra}", level="warn" if lacking else "ok", said=said, remedy=remedy)


def _space(name: str, place: Path) -> Finding:
    present = next((path for path in (place, *place.absolute().parents) if path.exists()), Path("/"))
    try:
        free = shutil.disk_usage(present).free / _GIB
    except OSError as exc:
        return Finding(
            name=name, level="fail", said=f"{present}: {exc.strerror or exc}", remedy="name another place"
        )
    said = f"{free:.1f} GiB free at {present}"
    if free < _LOW_GIB:
        return Finding(name=name, level="fail", said=said, remedy="free space, or name another place")
    level: Level = "ok" if free >= _ENOUGH_GIB else "warn"
    return Finding(name=name, level=level, said=said, remedy="" if level == "ok" else "free space soon")


def _namespaces() -> Iterator[Finding]:
    sandbox = NamespaceSandbox(programs={}, workers=1)
    trial = _trial("namespaces", sandbox, level="warn")
    yield trial
    if trial.level == "ok":
        limited = "cgroup" in trial.said
        yield Finding(
            name="cgroups",
            level="ok" if limited else "warn",
            said="memory of a task is limited by the kernel"
            if limited
            else "no control group can be made: memory of a task in namespaces is watched, not limited",
            remedy="" if limited else "prefer --funcmem-sandbox=docker for code that exhausts memory",
        )


def _trial(name: str, sandbox: WarmSandbox, *, level: Level) -> Finding:
    """Open a sandbox and run a command in it."""
    try:
        with sandbox:
            result = sandbox.run(SandboxTask(command=("true",)))
            about = sandbox.identity()
    except FuncmemError as exc:
        return Finding(name=name, level=level, said=exc.what, remedy=exc.remedy or "")
    if result.outcome != "ended" or result.exit_code != 0:
        said = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["nothing on standard error"]
        return Finding(
            name=name,
            level=level,
            said=f"a command ended with {result.outcome}, status {result.exit_code}: {said[-1]}",
            remedy="look at the kernel's log (dmesg) and report this",
        )
    detail = ", ".join(
        str(about[key]) for key in ("python", "kernel", "memory_limit", "runtime") if about.get(key)
    )
    return Finding(name=name, level="ok", said=f"a command ran in {result.seconds * 1000:.0f} ms ({detail})")


def _docker() -> Iterator[Finding]:
    if importlib.util.find_spec("docker") is None:
        yield Finding(
            name="engine",
            level="warn",
            said="not asked: the Python package 'docker' is not installed",
            remedy="pip install 'pytest-funcmem[docker]'",
        )
        return
    from pytest_funcmem.sandbox.container import ENGINE_FAILURES, describe_failure
    from pytest_funcmem.sandbox.docker_sandbox import connect

    try:
        client = connect()
    except FuncmemError as exc:
        yield Finding(name="engine", level="fail", said=exc.what, remedy=exc.remedy or "")
        return
    try:
        yield from _engine(client)
        yield _leftovers(client)
        yield from _images(client)
    except ENGINE_FAILURES as exc:
        yield Finding(
            name="engine",
            level="fail",
            said=f"it failed while it was asked: {describe_failure(exc)}",
            remedy="look at the engine (docker info)",
        )
    finally:
        client.close()


def _engine(client: Any) -> Iterator[Finding]:
    version, info = client.version(), client.info()
    api = str(version.get("ApiVersion", "0.0"))
    numbers = tuple(int(part) for part in api.split(".") if part.isdigit())
    recent = numbers >= _OLDEST_API
    yield Finding(
        name="engine",
        level="ok" if recent else "fail",
        said=f"docker {version.get('Version')} answers, API {api}, "
        f"cgroup v{info.get('CgroupVersion') or 1}, {info.get('Driver')}",
        remedy="" if recent else "install Docker 19.03 or newer",
    )
    lacking = [what for flag, what in _LIMIT_FLAGS.items() if info.get(flag) is False]
    yield Finding(
        name="limits",
        level="fail" if set(lacking) - {"swap"} else "warn" if lacking else "ok",
        said=f"this engine cannot limit: {', '.join(lacking)}"
        if lacking
        else f"this engine can limit {', '.join(_LIMIT_FLAGS.values())}",
        remedy="switch the controllers on in the kernel's command line (cgroup_enable=memory swapaccount=1)"
        if lacking
        else "",
    )
    root = Path(str(info.get("DockerRootDir") or ""))
    if root.is_dir():
        yield _space("engine disk", root)
    else:
        yield Finding(
            name="engine disk",
            level="ok",
            said=f"{root} is not on this machine or cannot be seen by this user",
        )


def _leftovers(client: Any) -> Finding:
    from pytest_funcmem.sandbox.docker_sandbox import reap_orphans
    from pytest_funcmem.sandbox.ownership import OWNER_LABEL, is_orphan

    count = reap_orphans(client)
    present = client.containers.list(all=True, filters={"label": OWNER_LABEL}, ignore_removed=True)
    stuck = [container.short_id for container in present if is_orphan(container.labels)]
    in_use = f"{len(present) - len(stuck)} in use by runs that are alive"
    if stuck:
        return Finding(
            name="containers",
            level="fail",
            said=f"left by a killed run and not removable: {', '.join(stuck)}; {in_use}",
            remedy=f"docker rm --force {' '.join(stuck)}",
        )
    removed = f"removed {count} that a killed run had left" if count else "none left by killed runs"
    return Finding(name="containers", level="ok", said=f"{removed}; {in_use}")


def _images(client: Any) -> Iterator[Finding]:
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox
    from pytest_funcmem.sandbox.images.build import IMAGE_LABEL, LANGUAGES, find_image, toolchain_versions

    current = set()
    for language in LANGUAGES:
        image = find_image(client, language=language)
        if image is None:
            yield Finding(
                name=f"image {language}",
                level="warn",
                said="not built yet; it is built when it is first used",
                remedy=f"funcmem images build --language {language}",
            )
            continue
        current.add(image)
        toolchain = toolchain_versions(client, image)
        versions = "; ".join(f"{name}: {version}" for name, version in toolchain.items())
        yield Finding(name=f"image {language}", level="ok", said=f"{image[:19]} ({versions})")
        if language == "python":
            yield _trial("docker", DockerSandbox(programs={}, workers=1, image=image), level="fail")
    old = [
        image
        for image in client.images.list(filters={"label": IMAGE_LABEL})
        if image.tags and image.id not in current
    ]
    if old:
        yield Finding(
            name="old images",
            level="warn",
            said=f"{len(old)} built from earlier recipes or other bases",
            remedy="docker image rm " + " ".join(sorted(tag for image in old for tag in image.tags)),
        )
