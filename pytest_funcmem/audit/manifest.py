"""The manifest of a run: under what exactly its verdicts were reached."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence

import pytest_funcmem
from pytest_funcmem.core.digests import plain
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Json, ModelIdentity

__all__ = ["run_manifest"]

# Where results come from besides this package; those that are absent are left out.
PACKAGES = (
    "docker",
    "hypothesis",
    "rapidfuzz",
    "sacrebleu",
    "scipy",
    "tokenizers",
    "torch",
    "transformers",
    "tree-sitter",
    "tree-sitter-c",
    "tree-sitter-go",
    "tree-sitter-java",
    "tree-sitter-python",
    "tree-sitter-rust",
)

# Settings that say where things are kept, not how verdicts are reached.
PLACES = (
    "store",
    "report",
    "baseline",
    "update_baseline",
    "accept_who",
    "accept_until",
    "accept_reason",
    "workers",
    "prices",
)


def run_manifest(
    settings: Settings,
    *,
    models: Mapping[str, ModelIdentity],
    sandbox: Mapping[str, Json],
    builders: Sequence[str],
    sources: Sequence[str],
    functions: int,
    selected: int,
    reported: int,
    dropped: Mapping[str, int],
    started: str,
    finished: str,
) -> Json:
    """Put together the manifest.

    Args:
        settings: Of the audit.
        models: Identities by side (``target``, ``reference``); a side that never opened is absent.
        sandbox: What the sandbox says of itself.
        builders: Names and versions of the builders.
        sources: The sources, as the user named them.
        functions: Functions collected.
        selected: Of those, the ones that were to be audited.
        reported: Of those, the ones that were reached before the run ended.
        dropped: Functions and files left out, by reason.
        started: UTC time, ISO 8601.
        finished: UTC time, ISO 8601.
    """
    values = plain(settings)
    if len(settings.model) <= 1:
        values["model"] = settings.target
    return {
        "kind": "manifest",
        "format_version": 1,
        "tool": {"name": "pytest-funcmem", "version": pytest_funcmem.__version__},
        "python": platform.python_version(),
        "packages": _versions(),
        "settings": {name: value for name, value in values.items() if name not in PLACES},
        "models": {side: plain(identity) for side, identity in sorted(models.items())},
        "sandbox": plain(sandbox),
        "builders": list(builders),
        "sources": list(sources),
        "functions": functions,
        "selected": selected,
        "reported": reported,
        "dropped": dict(sorted(dropped.items())),
        "started": started,
        "finished": finished,
    }


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
