"""Prompts and completions for a whole plan, out of the store where they are there already.

The plan is the same whatever is selected or resumed: prompts are cut for all collected functions and batches
are fixed over all of them, so that a batch has the same composition in every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event as Flag
from typing import Literal

from pytest_funcmem.audit.events import Counters, Event, Listener
from pytest_funcmem.audit.keys import completion_key, prompt_key
from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Model, Store
from pytest_funcmem.core.records import Completion, Prompt, SourceFunction
from pytest_funcmem.models.batches import batch_digest, plan_batches
from pytest_funcmem.store.codec import encode

__all__ = ["Completing", "Generated", "SideName", "cut_prompts", "sample_blocks"]

SideName = Literal["target", "reference"]

_BLOCK_BATCHES = 2  # enough to put prompts of like length together, and soon done


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A completion, how long it took, and whether it came out of the store.

    ``seconds`` is the batch's time divided by its rows; 0 where it was reused.
    """

    completion: Completion
    seconds: float
    reused: bool


def cut_prompts(
    functions: Sequence[SourceFunction], model: Model, store: Store, settings: Settings, listener: Listener
) -> tuple[Prompt, ...]:
    """Cut the prompt of every function with the target's tokenizer.

    Raises:
        EngineError: The tokenizer failed.
        StoreError: A prompt could not be stored.
    """
    began = time.monotonic()
    tokenizer = model.identity.tokenizer or "none"
    stored = model.identity.kind == "hf"  # the fallback cutter is cheaper than the store
    cutter = None
    prompts: list[Prompt] = []
    for done, function in enumerate(functions):
        key = prompt_key(function, tokenizer=tokenizer, prefix_tokens=settings.prefix_tokens)
        prompt = reuse(store, "prompt", key, Prompt) if stored else None
        if prompt is None:
            cutter = cutter if cutter is not None else model.cutter()
            prompt = cutter.cut(function, prefix_tokens=settings.prefix_tokens)
            if stored:
                store.put("prompt", key, encode(prompt))
        prompts.append(prompt)
        listener(
            Event(stage="prompts", done=done + 1, total=len(functions), seconds=time.monotonic() - began)
        )
    return tuple(prompts)


def sample_blocks(order: Sequence[int], batch_size: int) -> tuple[tuple[int, ...], ...]:
    """Cut a random order into blocks, so that what is completed first is what is wanted first.

    Batches are fixed within blocks, so a sampled audit has batches of its own: whatever is selected of it or
    resumed gets the same ones.

    Args:
        order: Positions of all collected functions, in random order.
        batch_size: Prompts that are completed together.
    """
    size = _BLOCK_BATCHES * batch_size
    return tuple(tuple(order[start : start + size]) for start in range(0, len(order), size))


class Completing:
    """One model's completions of the selected functions.

    A batch that lacks one selected completion is generated as a whole.

    Args:
        side: Which of the two models this is.
        model: The model.
        functions: All collected functions.
        prompts: Their prompts.
        selected: Positions of the functions whose completions are wanted.
        store: Where completions are taken from and kept.
        settings: Of the audit.
        counters: Counts what is generated and what is reused.
        listener: Told of every finished batch.
        cancelled: Ends the work before the next batch.
        deliver: Called with a position and its completion as soon as it is stored.
    """

    def __init__(
        self,
        side: SideName,
        model: Model,
        functions: Sequence[SourceFunction],
        prompts: Sequence[Prompt],
        selected: frozenset[int],
        *,
        store: Store,
        settings: Settings,
        counters: Counters,
        listener: Listener,
        cancelled: Flag,
        deliver: Callable[[int, Generated], None],
    ) -> None:
        self._side = side
        self._model = model
        self._functions = functions
        self._prompts = prompts
        self._selected = selected
        self._store = store
        self._settings = settings
        self._counters = counters
        self._listener = listener
        self._cancelled = cancelled
        self._deliver = deliver
        self._done = 0
        self._seconds = 0.0
        self._tell()

    def complete(self, block: Sequence[int]) -> None:
        """Complete what is selected of one block, batch by batch.

        Args:
            block: Positions of functions; batches are fixed over all of them, selected or not.

        Raises:
            EngineError: The engine failed.
            StoreError: A completion could not be stored.
        """
        prompts = [self._prompts[position] for position in block]
        for places in plan_batches(prompts, self._model.batch_size):
            if self._cancelled.is_set():
                return
            began = time.monotonic()
            rows = [block[place] for place in places]
            wanted = [row for row in rows if row in self._selected]
            if wanted:
                self._complete_batch(rows, wanted)
                self._done += len(wanted)
                self._seconds += time.monotonic() - began
                self._tell()

    def _complete_batch(self, rows: Sequence[int], wanted: Sequence[int]) -> None:
        prompts = [self._prompts[row] for row in rows]
        identity = self._model.identity
        reusable = identity.kind != "replay"
        keys = self._keys(rows) if reusable else {}
        found: dict[int, Completion | None] = {
            row: reuse(self._store, "completion", keys[row], Completion) if reusable else None
            for row in wanted
        }
        kept = {row: completion for row, completion in found.items() if completion is not None}
        if len(kept) == len(wanted):
            for row, completion in kept.items():
                self._deliver(row, Generated(completion=completion, seconds=0.0, reused=True))
            self._counters.completions_reused += len(wanted)
            return
        started = time.monotonic()
        completions = self._model.complete(
            [self._functions[row] for row in rows], prompts, max_new_tokens=self._settings.max_new_tokens
        )
        if len(completions) != len(rows):
            raise EngineError(
                f"The {self._side} model gave {len(completions)} completions for {len(rows)} prompts.",
                where=identity.spec,
                remedy="Run the audit again; if it stays so, the engine is broken.",
            )
        share = (time.monotonic() - started) / len(rows)
        if reusable:
            for row, completion in zip(rows, completions, strict=True):
                self._store.put("completion", keys[row], encode(completion))
            self._counters.completions_generated += len(rows)
        else:
            self._counters.completions_replayed += len(wanted)
        for row, completion in zip(rows, completions, strict=True):
            if row in self._selected:
                self._deliver(row, Generated(completion=completion, seconds=share, reused=False))

    def _keys(self, rows: Sequence[int]) -> dict[int, str]:
        """Keys of a batch's completions, by position."""
        batch = batch_digest([self._prompts[row] for row in rows])
        return {
            row: completion_key(
                self._prompts[row],
                self._model.identity,
                language=self._functions[row].language,
                max_new_tokens=self._settings.max_new_tokens,
                batch=batch,
                row=place,
            )
            for place, row in enumerate(rows)
        }

    def _tell(self) -> None:
        self._listener(
            Event(stage=self._side, done=self._done, total=len(self._selected), seconds=self._seconds)
        )
