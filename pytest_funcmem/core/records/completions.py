"""From a function to what a model made of it: prompt, completion, candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Candidate", "CandidateStatus", "Completion", "ModelIdentity", "Prompt", "StopReason"]


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
