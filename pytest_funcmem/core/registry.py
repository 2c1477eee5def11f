"""Names of implementations -> where they live, imported only when asked for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from pytest_funcmem.core.errors import MissingExtraError, UsageError

__all__ = ["REGISTRY", "Entry", "load", "require"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One implementation.

    Attributes:
        target: ``module:Name``.
        packages: Import names of the optional packages it needs.
        extra: The extra of this distribution that brings them; "" if none.
    """

    target: str
    packages: tuple[str, ...] = ()
    extra: str = ""


REGISTRY: dict[str, dict[str, Entry]] = {
    "language": {
        "python": Entry(target="pytest_funcmem.languages.python:PythonFrontend"),
        "java": Entry(target="pytest_funcmem.languages.java:JavaFrontend"),
        "c": Entry(target="pytest_funcmem.languages.c:CFrontend"),
        "rust": Entry(target="pytest_funcmem.languages.rust:RustFrontend"),
        "go": Entry(target="pytest_funcmem.languages.go:GoFrontend"),
    },
    "model": {
        "hf": Entry(
            target="pytest_funcmem.models.transformers_model:TransformersModel",
            packages=("torch", "transformers"),
            extra="hf",
        ),
        "openai": Entry(target="pytest_funcmem.models.server_model:ServerModel"),
        "replay": Entry(target="pytest_funcmem.models.replay_model:ReplayModel"),
    },
    "sandbox": {
        "docker": Entry(
            target="pytest_funcmem.sandbox.docker_sandbox:DockerSandbox", packages=("docker",), extra="docker"
        ),
        "namespace": Entry(target="pytest_funcmem.sandbox.namespace_sandbox:NamespaceSandbox"),
    },
    "builder": {
        "local/python": Entry(target="pytest_funcmem.harness.local.builder:LocalPythonBuilder"),
        "local/java": Entry(target="pytest_funcmem.harness.compiled.builder:LocalJavaBuilder"),
        "local/c": Entry(target="pytest_funcmem.harness.compiled.builder:LocalCBuilder"),
        "local/rust": Entry(target="pytest_funcmem.harness.compiled.builder:LocalRustBuilder"),
        "local/go": Entry(target="pytest_funcmem.harness.compiled.builder:LocalGoBuilder"),
        "agent": Entry(target="pytest_funcmem.harness.agent.builder:AgentBuilder"),
        "draft": Entry(target="pytest_funcmem.harness.agent.evaluation:DraftEvaluator"),
    },
    "toolkit": {
        "c": Entry(target="pytest_funcmem.harness.compiled.c.toolkit:CToolkit"),
        "rust": Entry(target="pytest_funcmem.harness.compiled.rust.toolkit:RustToolkit"),
        "go": Entry(target="pytest_funcmem.harness.compiled.go.toolkit:GoToolkit"),
        "java": Entry(target="pytest_funcmem.harness.compiled.java.toolkit:JavaToolkit"),
    },
    "metric": {
        "bleu": Entry(target="pytest_funcmem.metrics.text_metrics:Bleu"),
        "edit": Entry(target="pytest_funcmem.metrics.text_metrics:Edit"),
        "lcs": Entry(target="pytest_funcmem.metrics.text_metrics:CommonSubstring"),
        "exact": Entry(target="pytest_funcmem.metrics.text_metrics:Exact"),
        "codebleu": Entry(target="pytest_funcmem.metrics.codebleu:CodeBleu"),
        "codebleu-syntax": Entry(target="pytest_funcmem.metrics.codebleu:CodeBleuSyntax"),
        "codebleu-dataflow": Entry(target="pytest_funcmem.metrics.codebleu:CodeBleuDataflow"),
        "tsed": Entry(target="pytest_funcmem.metrics.tsed:Tsed"),
        "embedding": Entry(target="pytest_funcmem.metrics.embedding:Embedding"),
        "judge": Entry(target="pytest_funcmem.metrics.judging.judge:Judge"),
    },
    "reporter": {
        "json": Entry(target="pytest_funcmem.reporting.json_report:JsonReporter"),
        "html": Entry(target="pytest_funcmem.reporting.html.report:HtmlReporter"),
        "sarif": Entry(target="pytest_funcmem.reporting.sarif_report:SarifReporter"),
        "md": Entry(target="pytest_funcmem.reporting.markdown_report:MarkdownReporter"),
        "harness": Entry(target="pytest_funcmem.exchange.report:HarnessReporter"),
        "pairs": Entry(target="pytest_funcmem.reporting.pairs_report:PairsReporter"),
    },
}


def load(kind: str, name: str, *, purpose: str = "here") -> Any:
    """Import the implementation of a kind by its name.

    Args:
        kind: ``language``, ``model``, ``sandbox``, ``builder``, ``toolkit``, ``metric`` or ``reporter``.
        name: Name within the kind.
        purpose: What it is wanted for, to end "… is needed …" in an error.

    Raises:
        UsageError: There is no implementation of that name.
        MissingExtraError: An optional package it needs is not installed.
    """
    entries = REGISTRY[kind]
    if name not in entries:
        raise UsageError(
            f"There is no {kind} named {name!r}.", expected="one of " + ", ".join(sorted(entries))
        )
    entry = entries[name]
    for package in entry.packages:
        require(package, extra=entry.extra, purpose=purpose)
    module, _, attribute = entry.target.partition(":")
    return getattr(_import(module), attribute)


def require(package: str, *, extra: str, purpose: str) -> None:
    """Import an optional package, or say what to install.

    Args:
        package: Its import name.
        extra: The extra of this distribution that brings it.
        purpose: What it is wanted for, to end "… is needed …" in an error.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as exc:
        if exc.name is not None and exc.name.split(".")[0] != package:
            raise  # the package is there and lacks something of its own
        raise MissingExtraError.for_package(package, extra=extra, purpose=purpose) from exc


def _import(module: str) -> Any:
    """Import a module in spite of a fault of CPython.

    Some releases of 3.11 and 3.12 count the depth of syntax trees for the whole process (CPython issue
    106905): where another thread works on one, an import that is compiled just then fails so.
    """
    for attempt in range(10):
        try:
            return importlib.import_module(module)
        except SystemError:
            if attempt == 9:
                raise
    raise AssertionError("the loop returns or raises")
