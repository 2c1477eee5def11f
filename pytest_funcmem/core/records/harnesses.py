"""Harnesses: all that is needed to run a function, and why it may judge; or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.records.execution import InputState, OutputState
from pytest_funcmem.core.records.functions import Language

__all__ = [
    "AgentUse",
    "Harness",
    "HarnessEvidence",
    "Inconclusive",
    "InconclusiveReason",
    "Proof",
    "Scaffold",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """What surrounds a function when it runs: the same for original, target and reference.

    Attributes:
        prelude: Source executed in the module's namespace before the file (names the file takes for
            granted, such as those of ``typing``).
        version: Number of this scaffold for this function; a repair makes a higher one.
        mocks: Dotted names that the scaffold stands in for; empty where all is real.
        files: Compiled languages: what is compiled around the function, as (path, text). Its toolkit wrote
            them from the original's file, and knows where in them the function's code goes.
    """

    prelude: str = ""
    version: int = 1
    mocks: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One self-proof of a harness (design: "A harness proves itself before it judges").

    Attributes:
        name: ``self``, ``renamed``, or ``stub:…``.
        score: Similarity that the original's stand-in reached on the harness, in [0, 1].
        passed: Whether that is on the right side of the threshold.
    """

    name: str
    score: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessEvidence:
    """Why a harness may judge.

    Attributes:
        inputs: Input states in the harness.
        valid: Of those, distinct ones that are valid.
        outputs: Distinct outputs over results and effects (never over echoed inputs).
        executable_lines: Executable lines of the original, relative to the signature's line.
        covered_lines: Of those, the ones that some valid state executed.
        mutants: Small mutants of the original that were tried.
        mutants_killed: Of those, the ones that some state tells apart from the original.
        mocked_states: States whose outcome rests on a mocked value.
        proofs: The self-proofs, in a fixed order.
    """

    inputs: int
    valid: int
    outputs: int
    executable_lines: tuple[int, ...]
    covered_lines: tuple[int, ...]
    mutants: int
    mutants_killed: int
    mocked_states: int = 0
    proofs: tuple[Proof, ...] = ()

    @property
    def coverage(self) -> float:
        """Share of the executable lines that the valid states executed, in [0, 1]."""
        return len(self.covered_lines) / len(self.executable_lines) if self.executable_lines else 0.0

    @property
    def strength(self) -> float | None:
        """Share of the mutants told apart, in [0, 1]; None where the original has no mutant."""
        return self.mutants_killed / self.mutants if self.mutants else None

    @property
    def mock_share(self) -> float:
        """Share of the states whose outcome rests on a mocked value, in [0, 1]."""
        return self.mocked_states / self.inputs if self.inputs else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """All that is needed to run a function on its input states, and the proof that it may judge.

    Attributes:
        builder: ``local`` or ``agent``, with its version: ``local/1``.
        function_sha256: Digest of the original's file and place; a harness serves this function alone.
        scaffold: What surrounds the function.
        states: The chosen input states, in order.
        expected: Output states of the original, one per input state. They never enter a candidate's sandbox.
        state_timeout_s: Seconds a candidate gets for one state, calibrated on the original.
        evidence: Why it may judge.
    """

    builder: str
    language: Language
    function_sha256: str
    scaffold: Scaffold
    states: tuple[InputState, ...]
    expected: tuple[OutputState, ...]
    state_timeout_s: float
    evidence: HarnessEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUse:
    """What the agent of one function used, whether or not a harness came of it.

    Attributes:
        model: Which model, as the user named it.
        turns: Its answers.
        input_tokens: Tokens that it read anew.
        output_tokens: Tokens that it wrote.
        cache_read_tokens: Tokens read from the provider's prompt cache.
        cache_write_tokens: Tokens read anew and kept there.
        cost_usd: Dollars; None where the model's price is not known.
        seconds: Wall-clock seconds.
    """

    model: str
    turns: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None
    seconds: float


InconclusiveReason = Literal[
    "language",  # no builder for this language yet
    "load_failed",  # the file's own definitions do not load
    "missing_dependency",  # it needs a package or a name that is not there
    "unsupported_signature",  # the builder cannot call it (what it takes or what it is a method of)
    "no_valid_state",  # no input state ran validly
    "too_few_states",  # fewer distinct valid states than wanted
    "coverage",  # lines that no state reached
    "outputs",  # too few distinct outputs
    "nondeterministic",  # the original does not agree with itself
    "weak_harness",  # a stub passed for the original
    "budget",  # time, or what an agent may use, ran out while building
    "gave_up",  # the agent gave up, or its model declined to go on
    "no_builder",  # harness building was switched off
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconclusive:
    """Why no valid harness exists for a function.

    Attributes:
        reason: One of a closed list.
        detail: For people: what would be needed, with names and numbers.
        evidence: What was reached; None where nothing ran.
        states: The best input states that there were, for whoever goes on from here.
    """

    reason: InconclusiveReason
    detail: str
    evidence: HarnessEvidence | None = None
    states: tuple[InputState, ...] = ()
