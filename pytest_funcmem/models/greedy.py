"""Greedy decoding of one batch: left padding, a key-value cache, and rows that leave when they are done.

Pure argmax over the model's logits, ties to the lowest id; no penalty, no processor of a generation
configuration. The next token of a row depends on that row alone, up to rounding: with float32 the rows that
are done are taken out of the batch, which changes the shapes of later products; with narrower formats, where
such rounding shows, a batch keeps its rows to the end, so that two models are compared under equal shapes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.records import StopReason
from pytest_funcmem.models.growing_cache import let_cache_grow

__all__ = ["GreedyDecoder", "Row"]

_ATTENTION_CACHES = ("cache", "past_key_values")
_CACHE_NAMES = (*_ATTENTION_CACHES, "cache_params", "state")
_ATTENTION_LAYERS = {"full_attention", "sliding_attention", "chunked_attention"}

_SHRINK_BELOW = 0.8
"""Share of rows still at work from which down the cache is compacted; a copy costs about one step."""

_ONE_THREAD_BELOW = 20_000_000
"""Parameters under which one thread is fastest: steps are too short for threads to meet in between, and on
cores that others use too, threads that wait for each other cost twenty times the work itself."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One prompt and what has been generated after it.

    Attributes:
        prompt: Ids of the prompt, special tokens included.
        budget: Most tokens that may follow.
        ended: Tells from the generated ids whether the function has ended; called after each token.
        generated: Ids so far, the one that ended the text included.
        stop: Why the row is done; None while it is not.
    """

    prompt: Sequence[int]
    budget: int
    ended: Callable[[Sequence[int]], bool]
    generated: list[int] = field(default_factory=list)
    stop: StopReason | None = None

    def append(self, token: int, eos_ids: frozenset[int]) -> None:
        """Take the next token, and see whether it was the last."""
        self.generated.append(token)
        if token in eos_ids:
            self.stop = "end_of_text"
        elif self.ended(self.generated):
            self.stop = "function_end"
        elif len(self.generated) >= self.budget:
            self.stop = "length"


class GreedyDecoder:
    """Decodes batches with one model.

    Args:
        module: A causal language model of transformers, in evaluation mode.
        eos_ids: Ids that end a text.
        shrink: Whether rows that are done leave the batch.
    """

    def __init__(self, module: Any, *, eos_ids: frozenset[int], shrink: bool) -> None:
        self._module = module
        self._eos_ids = eos_ids
        self._shrink = shrink
        self._device = module.device
        parameters = inspect.signature(module.forward).parameters
        self._takes_positions = "position_ids" in parameters
        self._takes_keep = "logits_to_keep" in parameters
        self._cache_name = next((name for name in _CACHE_NAMES if name in parameters), None)
        # A recurrent state absorbs the padding before a prompt and cannot be cut row by row, so such models
        # decode one row at a time.
        size = sum(parameter.numel() for parameter in module.parameters())
        self._one_thread = self._device.type == "cpu" and size < _ONE_THREAD_BELOW
        layers = set(getattr(module.config.get_text_config(decoder=True), "layer_types", None) or ())
        self._alone = (
            self._cache_name not in _ATTENTION_CACHES
            or bool(getattr(module, "_is_stateful", False))
            or not layers <= _ATTENTION_LAYERS
        )

    def decode(self, rows: Sequence[Row], *, on_done: Callable[[int], None]) -> None:
        """Fill in ``generated`` and ``stop`` of every row.

        Args:
            rows: The batch.
            on_done: Called with the number of rows that were done since the last call.

        Raises:
            EngineError: The logits are not numbers.
        """
        with torch.inference_mode(), _threads(1 if self._one_thread else None):
            if self._alone:
                for row in rows:
                    self._decode_batch([row], on_done)
            else:
                self._decode_batch(list(rows), on_done)

    def _decode_batch(self, rows: list[Row], on_done: Callable[[int], None]) -> None:
        width = max(len(row.prompt) for row in rows)
        ids = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for place, row in enumerate(rows):
            # The id under the mask is never attended to; 0 exists in every vocabulary, a pad token does not.
            ids[place, width - len(row.prompt) :] = torch.tensor(row.prompt, dtype=torch.long)
            mask[place, width - len(row.prompt) :] = 1
        ids, mask = ids.to(self._device), mask.to(self._device)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        cache: Any = None
        while True:
            output = self._forward(ids, mask, positions, cache)
            tokens = self._next_tokens(output.logits[:, -1, :])
            done = 0
            for row, token in zip(rows, tokens, strict=True):
                if row.stop is None:
                    row.append(token, self._eos_ids)
                    done += row.stop is not None
            if done:
                on_done(done)
            working = [place for place, row in enumerate(rows) if row.stop is None]
            if not working:
                return
            if cache is None:
                cache = self._cache_of(output)
                let_cache_grow(cache)
            else:
                cache = self._cache_of(output)
            ids = torch.tensor(tokens, dtype=torch.long, device=self._device).unsqueeze(1)
            mask = torch.cat([mask, mask.new_ones((len(rows), 1))], dim=1)
            positions = positions[:, -1:] + 1
            if (
                self._shrink
                and len(working) <= _SHRINK_BELOW * len(rows)
                and hasattr(cache, "batch_select_indices")
            ):
                chosen = torch.tensor(working, dtype=torch.long, device=self._device)
                cache.batch_select_indices(chosen)
                ids, mask, positions = ids[chosen], mask[chosen], positions[chosen]
                rows = [rows[place] for place in working]

    def _forward(self, ids: Any, mask: Any, positions: Any, cache: Any) -> Any:
        arguments: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "use_cache": True}
        if self._takes_positions:
            arguments["position_ids"] = positions
        if self._takes_keep:
            arguments["logits_to_keep"] = 1
        if cache is not None and self._cache_name is not None:
            arguments[self._cache_name] = cache
        return self._module(**arguments)

    def _cache_of(self, output: Any) -> Any:
        cache = getattr(output, self._cache_name, None) if self._cache_name is not None else None
        if cache is None:
            raise EngineError(
                "The model gives no key-value cache back, so it cannot be decoded token by token.",
                where=type(self._module).__name__,
                remedy="Serve the model and use openai:, or complete the prompts elsewhere and use replay:.",
            )
        return cache

    def _next_tokens(self, logits: Any) -> list[int]:
        best = logits.max(dim=-1)  # the first of equal maxima, which is the lowest id
        if not bool(torch.isfinite(best.values).all()):
            raise EngineError(
                "The model's logits are not finite numbers, so there is no most likely token.",
                where=f"{type(self._module).__name__} in {logits.dtype}",
                remedy="Use --funcmem-dtype=float32; if that is in use, the weights are broken.",
            )
        tokens: list[int] = best.indices.tolist()
        return tokens


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let torch use so many threads within one operation, and give back what was set before."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
