"""The records that flow through an audit, in the order in which they come to be.

``SourceFunction → Prompt → Completion (target, reference) → Candidate → Harness → OutputState per input
state → Similarity → Verdict → AuditRecord``, under one ``RunManifest``.

Records are frozen, hold plain values only, and know nothing of files, models, sandboxes or pytest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "LANGUAGES",
    "AuditRecord",
    "Candidate",
    "CandidateStatus",
    "Completion",
    "ExecutionOutcome",
    "Harness",
    "HarnessEvidence",
    "Inconclusive",
    "InconclusiveReason",
    "InputState",
    "Json",
    "Language",
    "MetricScore",
    "ModelIdentity",
    "OutputState",
    "Prompt",
    "Proof",
    "Rate",
    "Scaffold",
    "Sensitivity",
    "Severity",
    "Side",
    "Similarity",
    "SourceFunction",
    "StateComparison",
    "StopReason",
    "TextScore",
    "Verdict",
    "VerdictChange",
    "VerdictKind",
]

Json: TypeAlias = Any
"""A value made of None, bool, int, float, str, lists and string-keyed dicts."""

Language = Literal["python", "java", "c", "rust", "go"]
LANGUAGES: tuple[Language, ...] = ("python", "java", "c", "rust", "go")


# ------------------------------------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFunction:
    """One training function ("original"), as found in a source file.

    All offsets count characters in ``text`` and satisfy
    ``definition_start <= signature_start < signature_end <= end``.

    Attributes:
        path: Path relative to the source, with forward slashes; for a data-set row, the row's path.
        row: Identifier of the data-set row where two rows share the path, else None.
        qualname: ``Type.method`` or ``function``, in every language.
        ambiguous: Whether another function of the same file has this qualname.
        language: Language of the file.
        line: Line of the signature, counted from 1; decorators and annotations are not counted.
        text: The whole file, decoded, with single line feeds and no byte-order mark.
        definition_start: Where decorators or annotations begin, or the signature if it has none.
        signature_start: Where the signature begins (``def``, ``async def``, a modifier, a return type).
        signature_end: Where the prompt ends and the body begins: after ``:`` (Python); after ``{`` where the
            brace stands on the signature's last line, else after the signature's last token.
        end: Where the function ends; trailing newline not included.
        metadata: Unknown columns of the data-set row, as canonical JSON text ("" if none).
    """

    path: str
    row: str | None = None
    qualname: str
    ambiguous: bool = False
    language: Language
    line: int
    text: str
    definition_start: int
    signature_start: int
    signature_end: int
    end: int
    metadata: str = ""

    @property
    def key(self) -> str:
        """``PATH::QUALNAME``, as replay files and node ids name the function."""
        path = self.path if self.row is None else f"{self.path}#{self.row}"
        name = f"{self.qualname}@{self.line}" if self.ambiguous else self.qualname
        return f"{path}::{name}"

    @property
    def signature(self) -> str:
        """The signature, from its first token to where the body begins."""
        return self.text[self.signature_start : self.signature_end]

    @property
    def body(self) -> str:
        """All that a model is asked to give back: docstring and comments included, signature excluded."""
        return self.text[self.signature_end : self.end]

    @property
    def code(self) -> str:
        """Signature and body."""
        return self.text[self.signature_start : self.end]


# --------------------------------------------------------------------------------- prompts, completions


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What both models are asked to continue.

    Attributes:
        text: Ends with the signature, never in whitespace.
        token_ids: Ids by the tokenizer that cut the prompt, special tokens excluded. They are a run of the
            document's own ids wherever a token of the document ends where the signature does.
        tokenizer: Name of the tokenizer that cut it (a model's, or the named fallback).
        context_tokens: How many of the ids stand before the signature.
    """

    text: str
    token_ids: tuple[int, ...]
    tokenizer: str
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """Which model answered, as exactly as the engine can tell.

    Attributes:
        spec: The SPEC as the user gave it.
        kind: ``hf``, ``openai`` or ``replay``.
        revision: Revision or digest of the weights, the server's model name, or the replay file's digest.
        dtype: Number format of the weights in use; None where the engine does not tell.
        device: Where it ran; None where the engine does not tell.
        tokenizer: Digest or name of the tokenizer; None where the engine has none.
    """

    spec: str
    kind: Literal["hf", "openai", "replay"]
    revision: str
    dtype: str | None = None
    device: str | None = None
    tokenizer: str | None = None


StopReason = Literal["function_end", "end_of_text", "length", "stop"]
"""Why generation ended: the function had ended, the model ended its text, the token limit, or (servers and
replay files) an unspecified regular stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The text a model gave after a prompt.

    Attributes:
        text: Raw text after the prompt, special tokens removed.
        token_ids: Generated ids; None where the engine does not tell.
        stop: Why generation ended.
        batch: Digest of the prompts that were generated together, in order; None where there is no batch.
        batch_row: Position in that batch; None where there is no batch.
    """

    text: str
    token_ids: tuple[int, ...] | None
    stop: StopReason
    batch: str | None = None
    batch_row: int | None = None


CandidateStatus = Literal["ok", "unparsed", "uncompiled", "empty"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A completion parsed back into a function.

    Attributes:
        status: ``ok``; ``unparsed`` (no function can be read out of it); ``empty`` (nothing but blanks and
            comments). ``uncompiled`` is only known after execution.
        body: Text of the body alone, as it follows the signature; the raw completion if unparsed.
        code: Signature and body; None unless the status is ``ok``.
        detail: For people: what did not parse, or what was cut away.
    """

    status: CandidateStatus
    body: str
    code: str | None
    detail: str = ""


# ------------------------------------------------------------------------------------------- execution


@dataclass(frozen=True, slots=True, kw_only=True)
class InputState:
    """Everything needed to run the function once, as source text in the function's own language.

    Attributes:
        setup: Statements executed in the module's namespace before anything else is evaluated.
        receiver: Expression that builds ``self`` or ``cls``; None for a plain function or static method.
        arguments: Positional arguments, as expressions.
        keywords: Keyword arguments, as (name, expression).
        seed: Seed of the random sources, the clock and the identifiers of this state.
        stdin: What standard input holds.
        files: Text files present in the working directory, as (relative path, content).
        environment: Environment variables, as (name, value).
        answers: What the mocked world says where the seed does not decide: (path or question, expression),
            such as ``("client.get().status", "404")`` or ``("bool(order.paid)", "False")``.
        choices: Compiled languages: the integers, each in [0, 2**31), from which the harness makes receiver,
            arguments and answers; where they are used up, the seed decides. ``receiver`` and ``arguments``
            then show what was made of them, and do not decide anything.
    """

    setup: tuple[str, ...] = ()
    receiver: str | None = None
    arguments: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    stdin: str = ""
    files: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    answers: tuple[tuple[str, str], ...] = ()
    choices: tuple[int, ...] = ()


ExecutionOutcome = Literal[
    "returned",  # the function came back
    "raised",  # it raised an exception
    "timeout",  # it ran out of time
    "memory",  # it was killed for memory
    "signal",  # it died by a signal
    "refused",  # it was stopped by a refused system call or a forbidden flood of output
    "unloadable",  # the code could not be compiled or loaded, or the function was not in it
    "missing",  # no final record came back for this state
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputState:
    """What running the function on one input state did (paper, section 3, "output state").

    Every ``Json`` is the canonical encoding that the runner made of a value; see ``harness.values``.

    Attributes:
        outcome: What became of the run.
        value: Returned (or yielded) value; None unless returned.
        exception: ``{"type", "message", "own", "authored", "origin"}``; None unless raised.
            ``authored`` tells whether a ``raise`` or ``assert`` of the function's file raised it, ``own``
            whether it did or the docstring announces it; ``origin`` is ``function``, ``file``,
            ``library`` or ``scaffold``.
        calls: External effects in order, each ``{"path", "arguments", "keywords", "answer"}``.
        receiver: State of ``self`` after the run; None where there is none.
        arguments: State of the mutable arguments after the run, by position or name.
        module_globals: Module globals whose value changed.
        stdout: Captured text.
        stderr: Captured text.
        files: Files of the working directory after the run that were not there, or were other, before.
        lines: Lines of the function's file that were executed, relative to the signature's line (0 is the
            signature); empty unless coverage was asked for.
        detail: For people: a signal's name, a compiler's first message.
    """

    outcome: ExecutionOutcome
    value: Json = None
    exception: Mapping[str, Json] | None = None
    calls: tuple[Json, ...] = ()
    receiver: Json = None
    arguments: Mapping[str, Json] = field(default_factory=dict)
    module_globals: Mapping[str, Json] = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, Json] = field(default_factory=dict)
    lines: tuple[int, ...] = ()
    detail: str = ""


# ------------------------------------------------------------------------------------------- harnesses


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
    "budget",  # time ran out while building
    "no_builder",  # harness building was switched off
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconclusive:
    """Why no valid harness exists for a function.

    Attributes:
        reason: One of a closed list.
        detail: For people: what would be needed, with names and numbers.
        evidence: What was reached; None where nothing ran.
    """

    reason: InconclusiveReason
    detail: str
    evidence: HarnessEvidence | None = None


# ------------------------------------------------------------------------------------ scores and verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScore:
    """A similarity in [0, 1] with the signature that says how it was computed."""

    value: float
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """Textual similarity of a candidate to the original, on bodies.

    Attributes:
        bleu: SIM_text of the verdict.
        edit: Edit similarity, 1 - Levenshtein / |x|, at least 0.
        lcs: Length of the longest common substring / |x|.
        exact: Whether the bodies are the same text.
    """

    bleu: TextScore
    edit: TextScore
    lcs: TextScore
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScore:
    """One figure of one metric for a candidate, beside those that decide.

    Attributes:
        name: As the user named the metric.
        value: In [0, 1]; None where the metric has no figure, and ``note`` says why.
        signature: How it was computed.
        note: What a reader must know: a cap that was reached, text that does not parse.
    """

    name: str
    value: float | None
    signature: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateComparison:
    """One input state: the three outputs, and which of the two candidates' equal the original's.

    ``target`` and ``reference`` are None where that candidate could not be run at all.
    """

    state: InputState
    original: OutputState
    target: OutputState | None
    reference: OutputState | None
    target_matches: bool
    reference_matches: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two models on one function.

    Attributes:
        func: SIM_func in [0, 1]; None without a harness.
        matches: Input states on which the output state equals the original's; None without a harness.
        outcomes: Counts by execution outcome.
        scores: Of the metrics that were asked for, in their order.
    """

    model: ModelIdentity
    completion: Completion
    candidate: Candidate
    similarity: Similarity
    func: float | None
    matches: int | None
    outcomes: Mapping[str, int]
    scores: tuple[MetricScore, ...] = ()


VerdictKind = Literal["functional", "verbatim", "clean", "inconclusive", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one function.

    Attributes:
        kind: What was decided.
        reason: The rule that decided, in words with its numbers; for ``inconclusive`` begins with the reason
            code and a colon.
    """

    kind: VerdictKind
    reason: str

    @property
    def is_leak(self) -> bool:
        """Whether the target leaked text or behaviour that the reference did not."""
        return self.kind in ("functional", "verbatim")

    @property
    def is_decided(self) -> bool:
        """Whether the function counts in the denominator of a rate."""
        return self.kind in ("functional", "verbatim", "clean")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """What a verdict would be under another threshold, where it would be another.

    Attributes:
        under: The setting with its other value, ``tau_func=0.9``.
        verdict: What it would be; None where only a new run could tell.
    """

    under: str
    verdict: VerdictKind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How firmly a verdict stands, as far as its record tells.

    Attributes:
        changes: Thresholds nearby under which it changes; empty where it changes under none of them.
        states: Input states in each smaller choice that was tried; None where there is no smaller one.
        choices: Number of choices of so many of the harness's states.
        choices_same: Of those, the ones under which the verdict is the same.
    """

    changes: tuple[VerdictChange, ...] = ()
    states: int | None = None
    choices: int = 0
    choices_same: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Severity:
    """How much logic worth protecting a function holds.

    Attributes:
        value: From 1 (boilerplate) to 10 (what a company lives by); None where the rater gave none.
        signature: What rated it.
        note: Why there is no value, or what it rests on.
    """

    value: int | None
    signature: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """All that is known about one function at the end of its audit.

    Attributes:
        prompt: None where the audit broke before prompts were cut.
        harness: The harness, or why there is none; None where the audit broke before.
        harness_sha256: Digest of the harness; None without one.
        comparisons: One per input state, in order; empty without a harness.
        seconds: Wall-clock seconds by stage (``generate``, ``build``, ``run``); 0 for what was reused.
        cost_usd: Money spent on this function; None where nothing paid was used.
        reused: Stages whose result came out of the store.
        masked_sha256: Digest of the function's code where its text is masked; None where the text is there.
        severity: What the filter rated; None where there was no filter.
        sensitivity: How firmly the verdict stands; None where the audit broke.
    """

    function: SourceFunction
    verdict: Verdict
    prompt: Prompt | None = None
    target: Side | None = None
    reference: Side | None = None
    harness: Harness | Inconclusive | None = None
    harness_sha256: str | None = None
    comparisons: tuple[StateComparison, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    cost_usd: float | None = None
    reused: tuple[str, ...] = ()
    masked_sha256: str | None = None
    severity: Severity | None = None
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share with its Clopper-Pearson interval.

    Attributes:
        numerator: Functions counted.
        denominator: Functions decided.
        value: Their quotient; None where nothing was decided.
        low: Lower bound; 0 where nothing was decided.
        high: Upper bound; 1 where nothing was decided.
        confidence: Two-sided confidence of the interval.
    """

    numerator: int
    denominator: int
    value: float | None
    low: float
    high: float
    confidence: float = 0.95
