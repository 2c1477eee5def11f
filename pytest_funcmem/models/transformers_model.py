"""``hf:`` models: checkpoints that transformers loads, completed greedily in static batches.

Joins the files (``checkpoint``), the weights (``loading``), the decoding loop (``greedy``) and the end of the
function (``endings``). A row whose prompt and completion together exceed the model's positions gets a smaller
budget and stops with ``length``.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import GenerationProgress, PromptCutter
from pytest_funcmem.core.records import Completion, ModelIdentity, Prompt, SourceFunction
from pytest_funcmem.models.batches import batch_digest
from pytest_funcmem.models.checkpoint import find_checkpoint
from pytest_funcmem.models.endings import FunctionEndings
from pytest_funcmem.models.greedy import GreedyDecoder, Row
from pytest_funcmem.models.loading import load_checkpoint, pick_device, quiet
from pytest_funcmem.models.prompts import TokenizerCutter
from pytest_funcmem.models.spec import ModelSpec

__all__ = ["TransformersModel"]

_DECODE_CONTEXT = 8
"""Prompt tokens decoded before a completion, so that its first token keeps the blank it may begin with."""


class CheckpointTokenizer:
    """A tokenizer of transformers, reduced to text to ids and back.

    Args:
        tokenizer: Slow or fast, with or without a padding token.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._newline: dict[int, bool] = {}
        before, after = self._wrapping()
        self._before = before
        self._after = after

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without special tokens."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def encode_prompt(self, text: str) -> list[int]:
        """Ids of a prompt, with the special tokens that the tokenizer by default puts before a text."""
        return self.wrap(self.encode(text))

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """Put the special tokens before ids. One behind them would end the text, so it is left out."""
        return [*self._before, *ids]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens kept."""
        return self._text(ids, skip=False)

    def completion_text(self, prompt: Sequence[int], generated: Sequence[int]) -> str:
        """Text that generated ids add to a prompt, special tokens removed."""
        context = list(prompt[-_DECODE_CONTEXT:])
        before, both = self._text(context, skip=True), self._text([*context, *generated], skip=True)
        return both[len(before) :] if both.startswith(before) else self._text(generated, skip=True)

    def has_newline(self, token: int) -> bool:
        """Whether a token's text has a newline in it."""
        known = self._newline.get(token)
        if known is None:
            known = self._newline[token] = "\n" in self._text([token], skip=False)
        return known

    def _text(self, ids: Sequence[int], *, skip: bool) -> str:
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=skip, clean_up_tokenization_spaces=False
        )
        return text

    def _wrapping(self) -> tuple[list[int], list[int]]:
        """Special tokens that the tokenizer by default puts before and behind a text."""
        bare: list[int] = self._tokenizer("x", add_special_tokens=False, verbose=False)["input_ids"]
        full: list[int] = self._tokenizer("x", verbose=False)["input_ids"]
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return full[:start], full[start + len(bare) :]
        return [], []


class TransformersModel:
    """A causal language model that runs in this process.

    Args:
        spec: A parsed ``hf:`` SPEC.
        settings: ``dtype``, ``device`` and ``batch_size`` are used.

    Raises:
        ModelSpecError: Missing, broken, or not a causal language model.
        MissingExtraError: A GGUF file without the package that reads it.
        UsageError: The device does not exist.
    """

    def __init__(self, spec: ModelSpec, settings: Settings) -> None:
        device = pick_device(settings.device)
        checkpoint = find_checkpoint(spec)
        loaded = load_checkpoint(checkpoint, where=spec.text, dtype=settings.dtype, device=device)
        self._spec = spec
        self._positions = loaded.positions
        self._eos_ids = loaded.eos_ids
        self._batch_size = settings.batch_size
        self._endings = FunctionEndings()
        self._tokenizer = CheckpointTokenizer(loaded.tokenizer)
        self._cutter = TokenizerCutter(self._tokenizer, name=f"hf/{loaded.tokenizer_digest}")
        self._decoder: GreedyDecoder | None = GreedyDecoder(
            loaded.module, eos_ids=loaded.eos_ids, shrink=settings.dtype == "float32"
        )
        self._identity = ModelIdentity(
            spec=spec.text,
            kind="hf",
            revision=checkpoint.revision,
            dtype=settings.dtype,
            device=_device_name(device),
            tokenizer=loaded.tokenizer_digest,
        )

    @property
    def identity(self) -> ModelIdentity:
        """Digest or commit of the checkpoint, number format, device and tokenizer."""
        return self._identity

    @property
    def batch_size(self) -> int:
        """Prompts that go through the model together."""
        return self._batch_size

    def cutter(self) -> PromptCutter:
        """The cutter of the model's own tokenizer; its name is the tokenizer's digest."""
        return self._cutter

    def complete(
        self,
        functions: Sequence[SourceFunction],
        prompts: Sequence[Prompt],
        *,
        max_new_tokens: int,
        progress: GenerationProgress | None = None,
    ) -> tuple[Completion, ...]:
        """Complete the prompts as one batch; see ``Model.complete``.

        A prompt that was cut by an equal tokenizer is taken by its ids, any other by its text.
        """
        if self._decoder is None:
            raise EngineError("The model was closed.", where=self._spec.text, remedy="Open it again.")
        if not prompts:
            return ()
        rows = [
            self._row(function, prompt, max_new_tokens)
            for function, prompt in zip(functions, prompts, strict=True)
        ]
        try:
            with quiet():
                self._decoder.decode(rows, on_done=progress if progress is not None else _ignore)
        except (torch.OutOfMemoryError, MemoryError) as exc:
            raise self._out_of_memory(len(rows)) from exc
        except RuntimeError as exc:
            if "allocate" in str(exc) or "out of memory" in str(exc).lower():
                raise self._out_of_memory(len(rows)) from exc
            raise EngineError(
                f"The model failed while it was generating: {str(exc).strip().partition(chr(10))[0]}",
                where=f"{self._spec.text} on {self._identity.device}",
                remedy="Try --funcmem-device=cpu, or another version of torch.",
            ) from exc
        batch = batch_digest(prompts)
        return tuple(self._completion(row, batch, place) for place, row in enumerate(rows))

    def close(self) -> None:
        """Free the weights."""
        if self._decoder is not None:
            self._decoder = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _row(self, function: SourceFunction, prompt: Prompt, max_new_tokens: int) -> Row:
        own = prompt.tokenizer == self._cutter.name
        ids = self._tokenizer.wrap(prompt.token_ids) if own else self._tokenizer.encode_prompt(prompt.text)
        if not ids:
            raise EngineError(
                f"The prompt of {function.key} has no tokens.",
                where=self._spec.text,
                remedy="Use the tokenizer that the model was trained with.",
            )
        budget = max_new_tokens
        if self._positions is not None:
            budget = min(budget, self._positions - len(ids))
            if budget < 1:
                raise EngineError(
                    f"The prompt of {function.key} has {len(ids)} tokens, and the model has"
                    f" {self._positions} positions.",
                    where=self._spec.text,
                    remedy="Lower --funcmem-prefix-tokens, or deselect the function.",
                )
        return Row(prompt=ids, budget=budget, ended=self._ending(function, ids))

    def _ending(self, function: SourceFunction, prompt: Sequence[int]) -> Callable[[Sequence[int]], bool]:
        tokenizer, endings = self._tokenizer, self._endings

        def ended(generated: Sequence[int]) -> bool:
            # Only a newline can end a function for certain, and only then is decoding worth its time.
            if not tokenizer.has_newline(generated[-1]):
                return False
            return endings.ended(function, tokenizer.completion_text(prompt, generated))

        return ended

    def _completion(self, row: Row, batch: str, place: int) -> Completion:
        ended_by_id = row.stop == "end_of_text"
        text_ids = row.generated[:-1] if ended_by_id else row.generated
        return Completion(
            text=self._tokenizer.completion_text(row.prompt, text_ids),
            token_ids=tuple(row.generated),
            stop=row.stop or "length",
            batch=batch,
            batch_row=place,
        )

    def _out_of_memory(self, rows: int) -> EngineError:
        # Halving the batch by itself would change what the completions depend on, unseen.
        return EngineError(
            f"The memory of {self._identity.device} does not suffice for {rows} prompts at a time.",
            where=self._spec.text,
            remedy=f"Set --funcmem-batch-size={max(1, rows // 2)}; it applies to both models.",
        )


def _ignore(count: int) -> None:
    """Stand in for a progress callback."""


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return str(device)
