"""The extension points: what a model, sandbox, builder, language, metric, store and reporter promise.

Implementations are named in ``core.registry`` and imported only when they are asked for. Every protocol has
one conformance suite under ``tests/conformance`` that runs on each implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

from pytest_funcmem.core.records import (
    AuditRecord,
    Candidate,
    Completion,
    Harness,
    Inconclusive,
    Json,
    Language,
    ModelIdentity,
    Prompt,
    SourceFunction,
)

__all__ = [
    "Builder",
    "CodePair",
    "FunctionScan",
    "GenerationProgress",
    "LanguageFrontend",
    "Limits",
    "Metric",
    "Model",
    "PromptCutter",
    "Reporter",
    "Sandbox",
    "SandboxOutcome",
    "SandboxResult",
    "SandboxTask",
    "Score",
    "Store",
]


# ------------------------------------------------------------------------------------------- languages


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionScan:
    """What a front end found in one file.

    Attributes:
        functions: In order of their place in the file; ``ambiguous`` already set.
        dropped: How many things that look like functions were left out, by reason (closed list:
            ``syntax_error``, ``fill_in_the_middle``, ``generated``, ``no_body``).
    """

    functions: tuple[SourceFunction, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class LanguageFrontend(Protocol):
    """Finds functions in a source file and parses a completion back into a function."""

    language: Language
    suffixes: tuple[str, ...]

    def scan(self, text: str, *, path: str, row: str | None = None, metadata: str = "") -> FunctionScan:
        """Find every function of a file. Never raises on hostile or broken text."""
        ...

    def candidate(self, function: SourceFunction, completion: str) -> Candidate:
        """Cut the completed function out of a raw completion. Never raises on hostile text."""
        ...

    def function_ended(self, function: SourceFunction, completion: str) -> bool:
        """Whether more text could no longer change the function that ``candidate`` would find.

        Called after each newline while a model generates: must be cheap, must err towards False, and once
        true stays true for every longer completion.
        """
        ...


# ---------------------------------------------------------------------------------------------- models

GenerationProgress = Callable[[int], None]
"""Called with the number of completions finished since the last call."""


@runtime_checkable
class PromptCutter(Protocol):
    """Cuts prompts with one tokenizer (paper, section 4: up to P tokens before the signature)."""

    name: str

    def cut(self, function: SourceFunction, *, prefix_tokens: int) -> Prompt:
        """Cut the prompt of a function.

        Args:
            function: The original.
            prefix_tokens: Largest number of tokens before the signature.
        """
        ...


class Model(Protocol):
    """A source of greedy completions. Opening it may be slow; using it is thread-confined."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model answers. Available once the model is open."""
        ...

    @property
    def batch_size(self) -> int:
        """Prompts to hand over together; for a server, requests in flight."""
        ...

    def cutter(self) -> PromptCutter:
        """The prompt cutter of this model's own tokenizer, or the named fallback."""
        ...

    def complete(
        self,
        functions: Sequence[SourceFunction],
        prompts: Sequence[Prompt],
        *,
        max_new_tokens: int,
        progress: GenerationProgress | None = None,
    ) -> tuple[Completion, ...]:
        """Complete one batch of prompts, greedily, one completion a prompt and in the same order.

        Args:
            functions: The originals, to know when a function has ended.
            prompts: Their prompts; given to the model as text.
            max_new_tokens: Most tokens a completion may have.
            progress: Told of every finished completion.

        Raises:
            EngineError: The engine failed; nothing of the batch is to be used.
        """
        ...

    def close(self) -> None:
        """Free what the model holds. May be called twice."""
        ...


# --------------------------------------------------------------------------------------------- sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one task may use.

    Attributes:
        wall_s: Wall-clock seconds for the whole task.
        cpu_s: Processor seconds of all processes of the task together, seen to several times a second; by
            default as good as none. Unlike the wall clock, the load of the machine hardly changes them.
        memory_mib: Memory of all processes of the task, in MiB.
        processes: Processes and threads at one time.
        output_bytes: Bytes of records, and of standard output and error each, that are kept. A flood of
            records ends the task with outcome ``refused``; a flood of standard output is drained and dropped.
        files_mib: Space in the working directory, in MiB.
    """

    wall_s: float = 10.0
    cpu_s: float = 1e6
    memory_mib: int = 512
    processes: int = 32
    output_bytes: int = 8 * 1024 * 1024
    files_mib: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxTask:
    """One candidate's run.

    Exactly one of ``program`` and ``command`` is given. A program is a Python file named when the sandbox was
    made; the warm worker has it loaded, forks, and calls its ``main(payload, emit)`` in a new process with
    its own user, empty working directory and limits. A command is an argument list run in the same
    confinement.

    Attributes:
        program: Name of a program.
        payload: Bytes handed to the program's ``main``, or to the command on standard input.
        command: Argument list.
        files: Files laid into the working directory beforehand, by relative path.
        language: Whose image it needs, where a sandbox has one for each language.
    """

    program: str | None = None
    payload: bytes = b""
    command: tuple[str, ...] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    language: Language = "python"


SandboxOutcome = Literal[
    "ended",  # the main process ended by itself; see exit_code
    "timeout",  # the wall-clock limit passed, or that of the processor
    "memory",  # killed for memory
    "signal",  # the main process died by a signal; see signal
    "refused",  # a refused system call or a flood of records ended it
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """What came back, all of it hostile data.

    Attributes:
        records: What the program emitted, one bytes object each, in order and whole; what a killed program
            had emitted before is kept.
        stdout: Captured standard output of the task's processes, cut at the limit (commands only matter).
        stderr: Captured standard error, cut at the limit.
        exit_code: Exit status if ``ended``.
        signal: Signal number if ``signal``.
        seconds: Wall-clock seconds in the sandbox.
        cpu_s: Processor seconds of the task's processes, without those that their parents left behind; None
            where the sandbox cannot tell.
    """

    outcome: SandboxOutcome
    records: tuple[bytes, ...]
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    signal: int | None
    seconds: float
    cpu_s: float | None = None


class Sandbox(Protocol):
    """Runs tasks without network, with limits, and leaves nothing behind.

    ``run`` may be called from several threads at once; at most ``workers`` tasks run at one time and the
    others wait. Used as a context manager: entering opens it, leaving closes it.
    """

    name: str
    workers: int

    def identity(self) -> Mapping[str, Json]:
        """Engine, image digest, interpreter and kernel, for the manifest."""
        ...

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run one task.

        Raises:
            SandboxError: The sandbox failed (engine gone, worker lost twice); nothing is known of the task.
        """
        ...

    def open(self) -> None:
        """Make it ready; ``SandboxUnavailableError`` where the machine cannot."""
        ...

    def close(self) -> None:
        """Stop everything it started. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


# --------------------------------------------------------------------------------------------- harness


class Builder(Protocol):
    """Makes a harness from the original and its file alone, never from a completion."""

    name: str
    version: str

    def build(self, function: SourceFunction, sandbox: Sandbox, *, seed: int) -> Harness | Inconclusive:
        """Build and prove a harness. The same arguments give the same harness, byte for byte.

        Raises:
            SandboxError: The sandbox failed; nothing is known about the function.
        """
        ...


# --------------------------------------------------------------------------------------------- metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePair:
    """Two texts to compare, as they are: whole functions or bodies, whichever the caller measures.

    Attributes:
        language: Language of both.
        original: Text of the original.
        candidate: Text of the candidate, or the raw completion where it does not parse.
    """

    language: Language
    original: str
    candidate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One figure of one metric for one pair.

    Attributes:
        value: In [0, 1]; None where the metric has no figure for this pair, and ``note`` says why.
        signature: How it was computed: name, variant, tokenizer and versions.
        note: What a reader must know: a cap that was reached, text that does not parse, a judge's failure.
    """

    value: float | None
    signature: str
    note: str = ""


class Metric(Protocol):
    """A similarity of a candidate to its original, the same for any order, hash seed and worker count."""

    name: str

    def signature(self, language: Language) -> str:
        """How figures for a language are computed, as each of its scores says; known without computing one.

        Raises:
            AuditError: The engine behind the metric failed.
        """
        ...

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs, one score a pair and in the same order; keeps nothing of a pair but its score.

        Raises:
            AuditError: The engine behind the metric failed (a server, a model); nothing is to be used.
        """
        ...

    def close(self) -> None:
        """Free what the metric holds. May be called twice."""
        ...


# --------------------------------------------------------------------------------------- store, reports


class Store(Protocol):
    """Content-addressed results, safe for several processes on one directory."""

    def get(self, kind: str, key: str) -> Json | None:
        """The stored value, or None. A damaged entry counts as absent, with a warning that names it."""
        ...

    def put(self, kind: str, key: str, value: Json) -> None:
        """Write a value so that a reader sees all of it or nothing.

        Raises:
            StoreError: It could not be written (full disk, permissions).
        """
        ...


class Reporter(Protocol):
    """Writes one report file from finished records. Made with the audit's ``Settings``."""

    def write(
        self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str], path: Path
    ) -> None:
        """Write the file beside its place and rename it."""
        ...
