"""Loads a checkpoint into torch, quietly, and refuses what cannot complete text.

The only place that calls ``from_pretrained``. Remote code is never trusted: a model that needs code from its
own repository is refused. Knows nothing of prompts or audits.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.models.auto import modeling_auto

from pytest_funcmem.core.digests import digest, text_digest
from pytest_funcmem.core.errors import FuncmemError, ModelSpecError, UsageError
from pytest_funcmem.models.checkpoint import Checkpoint

__all__ = ["LoadedModel", "load_checkpoint", "pick_device", "quiet"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model and its tokenizer, ready to be used.

    Attributes:
        module: The causal language model, in evaluation mode.
        tokenizer: Its tokenizer.
        tokenizer_digest: ``sha256:…`` over all that makes the tokenizer what it is, wherever it lies.
        eos_ids: Ids that end a text, by the generation configuration, the configuration or the tokenizer.
        positions: Most tokens that prompt and completion may have together; None where there is no limit.
    """

    module: Any
    tokenizer: Any
    tokenizer_digest: str
    eos_ids: frozenset[int]
    positions: int | None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, logs and progress bars of transformers, and give back what was set before."""
    verbosity = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity(logging.CRITICAL)
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # theirs is untyped
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # theirs is untyped


def pick_device(name: str) -> torch.device:
    """Turn the setting ``device`` into a torch device; ``auto`` takes a GPU where there is one.

    Raises:
        UsageError: Torch knows no such device, or this machine has none.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as exc:
        reason = str(exc).strip().partition("\n")[0] or type(exc).__name__
        raise UsageError(
            f"The device {name!r} cannot be used: {reason}",
            where="--funcmem-device",
            expected="auto, cpu, cuda, cuda:N or mps",
            remedy="Leave the option out, or name a device that this machine has.",
        ) from exc
    if device.type == "meta":
        raise UsageError(
            "The device 'meta' holds no weights.", where="--funcmem-device", remedy="Leave the option out."
        )
    return device


def load_checkpoint(checkpoint: Checkpoint, *, where: str, dtype: str, device: torch.device) -> LoadedModel:
    """Load a model and its tokenizer.

    Args:
        checkpoint: The files.
        where: The SPEC, for messages.
        dtype: ``float32``, ``bfloat16`` or ``float16``.
        device: Where the weights go.

    Raises:
        ModelSpecError: It is not a causal language model, or its files are broken or do not fit together.
    """
    directory = str(checkpoint.directory)
    common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    if checkpoint.gguf is not None:
        common["gguf_file"] = checkpoint.gguf
    tokenizer_common = dict(common)
    if not checkpoint.tokenizer_in_gguf:
        tokenizer_common.pop("gguf_file", None)
    with quiet():
        with _translated(where, "configuration", checkpoint):
            config = AutoConfig.from_pretrained(directory, **common)
        _refuse_other_kinds(config, where)
        with _translated(where, "tokenizer", checkpoint):
            tokenizer = AutoTokenizer.from_pretrained(directory, **tokenizer_common)
        # The reader of GGUF files draws its progress bar whatever is set, so what it writes is dropped.
        written = redirect_stderr(io.StringIO()) if checkpoint.gguf is not None else nullcontext()
        with _translated(where, "weights", checkpoint), written:
            # Its annotation leaves out that it returns a pair when the report is asked for.
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                directory, config=config, dtype=_DTYPES[dtype], output_loading_info=True, **common
            )
            module, report = loaded
            # What a checkpoint lacks is drawn at random; such a model must not be audited.
            _refuse_random_weights(report, where)
            module = module.to(device).eval()
    text_config = config.get_text_config(decoder=True)
    _refuse_foreign_tokenizer(tokenizer, module, where)
    return LoadedModel(
        module=module,
        tokenizer=tokenizer,
        tokenizer_digest=_tokenizer_digest(tokenizer),
        eos_ids=_eos_ids(module, text_config, tokenizer),
        positions=_positions(text_config),
    )


@contextmanager
def _translated(where: str, part: str, checkpoint: Checkpoint) -> Iterator[None]:
    try:
        yield
    except FuncmemError:
        raise
    except (torch.OutOfMemoryError, MemoryError) as exc:
        raise ModelSpecError(
            "The model does not fit into memory.",
            where=where,
            remedy="Choose another --funcmem-device, or --funcmem-dtype=bfloat16 for both models.",
        ) from exc
    except Exception as exc:  # transformers, safetensors, tokenizers and gguf each raise what they like
        reason = (str(exc).strip() or "no reason given").partition("\n")[0]
        if "trust_remote_code" in str(exc):
            raise ModelSpecError(
                "The model needs program code out of its own repository, which is never run.",
                where=where,
                remedy="Use a model whose architecture transformers itself has, or serve it and use openai:.",
            ) from exc
        raise ModelSpecError(
            f"The model's {part} cannot be loaded: {type(exc).__name__}: {reason[:300]}",
            where=f"{where} ({checkpoint.directory})",
            expected=f"a checkpoint that transformers {transformers.__version__} reads",
            remedy="Copy the checkpoint again; if it is whole, try a newer transformers.",
        ) from exc


def _refuse_other_kinds(config: Any, where: str) -> None:
    names: set[str] = set()
    for value in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        names.update((value,) if isinstance(value, str) else value)
    declared = tuple(getattr(config, "architectures", None) or ())
    known = config.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    encoder = config.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if getattr(config, "is_encoder_decoder", False):
        why = "it is an encoder-decoder model"
    elif not known:
        why = f"transformers {transformers.__version__} has none of type {config.model_type!r}"
    elif declared and not names.intersection(declared):
        why = f"it was saved as {', '.join(declared)}"
    elif encoder and not getattr(config, "is_decoder", False):
        why = f"it is an encoder ({config.model_type})"
    else:
        return
    raise ModelSpecError(
        f"The model is not a causal language model: {why}.",
        where=where,
        expected="a decoder that continues text, such as Llama, OLMo, Qwen, StarCoder or GPT-2",
        remedy="Name another model.",
    )


def _refuse_random_weights(report: Any, where: str) -> None:
    missing = sorted(report["missing_keys"])
    mismatched = sorted(
        str(item[0] if isinstance(item, tuple) else item) for item in report["mismatched_keys"]
    )
    absent = missing or mismatched
    if absent:
        raise ModelSpecError(
            f"The checkpoint lacks {len(absent)} of the model's weights, such as {absent[0]}.",
            where=where,
            expected="weights for every parameter that config.json describes",
            remedy="Copy the checkpoint again, or correct its config.json.",
        )


def _refuse_foreign_tokenizer(tokenizer: Any, module: Any, where: str) -> None:
    rows = module.get_input_embeddings().weight.shape[0]
    if not tokenizer.get_vocab():
        raise ModelSpecError(
            "The model's tokenizer is empty.",
            where=where,
            remedy="Save the model's tokenizer beside its weights.",
        )
    # Many models pad their embeddings, and some tokenizers add special tokens that the model never saw; but
    # every id that ordinary text can give needs an embedding.
    if tokenizer.vocab_size > rows:
        raise ModelSpecError(
            f"The tokenizer has ids up to {tokenizer.vocab_size - 1}, and the model has {rows} embeddings.",
            where=where,
            expected="the tokenizer that the model was trained with",
            remedy="Save the model's own tokenizer beside its weights.",
        )


def _eos_ids(module: Any, config: Any, tokenizer: Any) -> frozenset[int]:
    ids: set[int] = set()
    generation = getattr(module, "generation_config", None)
    for given in (
        getattr(generation, "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        if given is not None:
            ids.update([int(given)] if isinstance(given, int) else (int(item) for item in given))
    return frozenset(ids)


def _positions(config: Any) -> int | None:
    for name in (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "max_sequence_length",
    ):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def _tokenizer_digest(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        described = text_digest(json.dumps(json.loads(backend.to_str()), sort_keys=True))
    else:
        described = digest(sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]))
    flags = [str(tokenizer.bos_token), str(tokenizer.eos_token), type(tokenizer).__name__]
    return f"sha256:{digest([described, flags])}"
