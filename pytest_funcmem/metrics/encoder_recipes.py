"""How an encoder makes one vector of a text: pooling, instruction, end-of-text, length.

The wrong pooling or a missing convention does not fail, it only gives worse figures; so what the authors
publish is kept here, and for other encoders read from their own files.

This module loads no model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_funcmem.core.errors import ModelSpecError, UsageError

__all__ = ["PRESETS", "EncoderRecipe", "Pooling", "recipe_from_files", "recipe_with"]

Pooling = Literal["mean", "cls", "last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRecipe:
    """How one encoder is used.

    Attributes:
        model: Hub id, or "" where the user names a checkpoint.
        pooling: ``mean`` over all tokens, the first token (``cls``), or the ``last``.
        template: How an instruction and a text are joined, with ``{instruction}`` and ``{text}``. It is used
            only where an instruction is given: both texts are code, and by these models' conventions what is
            searched, unlike what searches, stands as it is.
        normalised: Whether vectors are brought to length 1; a cosine does not change by it.
        max_tokens: Tokens that are read; None for what the model's configuration allows.
    """

    model: str = ""
    pooling: Pooling = "mean"
    template: str = "{instruction}{text}"
    normalised: bool = True
    max_tokens: int | None = None


_QWEN3 = EncoderRecipe(pooling="last", template="Instruct: {instruction}\nQuery:{text}", max_tokens=8192)

PRESETS: Mapping[str, EncoderRecipe] = {
    "qwen3-0.6b": replace(_QWEN3, model="Qwen/Qwen3-Embedding-0.6B"),
    "qwen3-4b": replace(_QWEN3, model="Qwen/Qwen3-Embedding-4B"),
    "qwen3-8b": replace(_QWEN3, model="Qwen/Qwen3-Embedding-8B"),
    # Its authors' instruction for what searches is "Represent this query for searching relevant code: ".
    "nomic-embed-code": EncoderRecipe(model="nomic-ai/nomic-embed-code", pooling="last", max_tokens=8192),
}
"""Encoders by a short name, with the conventions that their authors publish."""

_POOLING_FLAGS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}


def recipe_from_files(directory: Path) -> EncoderRecipe:
    """Read a recipe from the files that sentence-transformers keeps beside a model; the mean without them.

    Raises:
        ModelSpecError: The files ask for a pooling that is not offered.
    """
    pooling = _json(directory / "1_Pooling" / "config.json")
    asked = sorted(
        name for name, value in pooling.items() if name.startswith("pooling_mode") and value is True
    )
    mode = pooling.get("pooling_mode")
    if isinstance(mode, str):
        asked = [name for name, value in _POOLING_FLAGS.items() if value == mode.removesuffix("token")] or [
            mode
        ]
    if len(asked) > 1 or any(name not in _POOLING_FLAGS for name in asked):
        raise ModelSpecError(
            f"The encoder asks for a pooling that is not offered: {', '.join(asked)}.",
            where=str(directory / "1_Pooling" / "config.json"),
            expected="one of " + ", ".join(get_args(Pooling)),
            remedy="Name the pooling in the metric's name: embedding:MODEL?pooling=mean.",
        )
    length = _json(directory / "sentence_bert_config.json").get("max_seq_length")
    return EncoderRecipe(
        pooling=_POOLING_FLAGS[asked[0]] if asked else "mean",
        max_tokens=length if isinstance(length, int) and length > 0 else None,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        raise ModelSpecError(
            f"A file of the encoder cannot be read: {exc}.", where=str(path), remedy="Copy the model again."
        ) from exc
    return value if isinstance(value, dict) else {}


def recipe_with(recipe: EncoderRecipe, settings: Mapping[str, str], *, where: str) -> EncoderRecipe:
    """Change a recipe by what the user wrote after ``?``.

    Args:
        recipe: What to begin with.
        settings: ``pooling``, ``max_tokens`` and ``template``; ``instruction`` is not part of a recipe.
        where: The metric's name, for messages.

    Raises:
        UsageError: A value is not one of those that are accepted.
    """
    pooling = settings.get("pooling", recipe.pooling)
    if pooling not in get_args(Pooling):
        raise UsageError(
            f"There is no pooling named {pooling!r}.",
            where=where,
            expected="one of " + ", ".join(get_args(Pooling)),
        )
    length = settings.get("max_tokens")
    if length is not None and not (length.isdecimal() and int(length) > 0):
        raise UsageError(f"{length!r} is no number of tokens.", where=where, expected="a whole number over 0")
    template = settings.get("template", recipe.template)
    if "{text}" not in template:
        raise UsageError(
            f"The template {template!r} has no place for the text.", where=where, expected="{text}"
        )
    return replace(
        recipe,
        pooling=_POOLING_NAMES[pooling],
        template=template,
        max_tokens=int(length) if length is not None else recipe.max_tokens,
    )


_POOLING_NAMES: Mapping[str, Pooling] = {"mean": "mean", "cls": "cls", "last": "last"}
