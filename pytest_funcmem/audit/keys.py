"""Keys of stored results: each hashes exactly what changes the result, and nothing else."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from pytest_funcmem.core.digests import digest, text_digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.records import ModelIdentity, Prompt, SourceFunction
from pytest_funcmem.harness.validate import function_digest

__all__ = ["completion_key", "execution_key", "harness_key", "prompt_key", "score_key"]

# Each number goes up when the code behind that kind of result changes what it gives for the same input.
PROMPT_FORMAT = 1
COMPLETION_FORMAT = 1
HARNESS_FORMAT = 1
EXECUTION_FORMAT = 1
SCORE_FORMAT = 1


def prompt_key(function: SourceFunction, *, tokenizer: str, prefix_tokens: int) -> str:
    """Key of a cut prompt.

    Args:
        function: The original.
        tokenizer: Digest or name of the tokenizer that cuts.
        prefix_tokens: Largest number of tokens before the signature.
    """
    return digest(
        {
            "format": PROMPT_FORMAT,
            "function": function_digest(function),
            "tokenizer": tokenizer,
            "prefix_tokens": prefix_tokens,
        }
    )


def completion_key(
    prompt: Prompt, identity: ModelIdentity, *, language: str, max_new_tokens: int, batch: str, row: int
) -> str:
    """Key of a completion.

    The batch is part of it only where it can change the text: below float32 the sums inside a model depend
    on what is computed beside them.
    """
    exact = identity.kind != "hf" or identity.dtype == "float32"
    return digest(
        {
            "format": COMPLETION_FORMAT,
            "prompt": text_digest(prompt.text),
            "language": language,
            "model": [identity.kind, identity.revision, identity.tokenizer, identity.dtype],
            "max_new_tokens": max_new_tokens,
            "batch": None if exact else [batch, row],
        }
    )


def harness_key(function: SourceFunction, builder: str, settings: Settings, *, world: Any) -> str:
    """Key of a harness.

    Args:
        function: The original.
        builder: Name and version of the builder.
        settings: Of the audit.
        world: What of the sandbox can change an output: the interpreter and the runner's digest.
    """
    return digest(
        {
            "format": HARNESS_FORMAT,
            "function": function_digest(function),
            "builder": builder,
            "hypothesis": importlib.metadata.version("hypothesis"),  # draws the input states
            "world": world,
            "settings": {
                "inputs": settings.inputs,
                "min_inputs": settings.min_inputs,
                "min_coverage": settings.min_coverage,
                "min_outputs": settings.min_outputs,
                "tau_func": settings.tau_func,
                "float_tolerance": settings.float_tolerance,
                "budget": settings.budget,
                "seed": settings.seed,
            },
        }
    )


def execution_key(harness_sha256: str, code: str, *, world: Any) -> str:
    """Key of a candidate's output states on a harness.

    Args:
        harness_sha256: Digest of the harness.
        code: The candidate: signature and body.
        world: As for ``harness_key``.
    """
    return digest(
        {
            "format": EXECUTION_FORMAT,
            "harness": harness_sha256,
            "code": text_digest(code),
            "world": world,
        }
    )


def score_key(name: str, signature: str, pair: CodePair) -> str:
    """Key of a score: the metric, how it computes, and the two texts."""
    return digest(
        {
            "format": SCORE_FORMAT,
            "metric": name,
            "signature": signature,
            "language": pair.language,
            "texts": [text_digest(pair.original), text_digest(pair.candidate)],
        }
    )
