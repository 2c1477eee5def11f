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

__all__ = ["Generated", "SideName", "complete_plan", "cut_prompts"]

SideName = Literal["target", "reference"]


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


def complete_plan(
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
    """Complete the prompts of the selected functions with one model.

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

    Raises:
        EngineError: The engine failed.
        StoreError: A completion could not be stored.
    """
    began = time.monotonic()
    total = len(selected)
    done = 0

    def tell() -> None:
        listener(Event(stage=side, done=done, total=total, seconds=time.monotonic() - began))

    tell()
    identity = model.identity
    reusable = identity.kind != "replay"
    for rows in plan_batches(prompts, model.batch_size):
        if cancelled.is_set():
            return
        wanted = [row for row in rows if row in selected]
        if not wanted:
            continue
        batch = batch_digest([prompts[row] for row in rows])
        keys = {
            row: completion_key(
                prompts[row],
                identity,
                language=functions[row].language,
                max_new_tokens=settings.max_new_tokens,
                batch=batch,
                row=place,
            )
            for place, row in enumerate(rows)
        }
        found: dict[int, Completion | None] = {
            row: reuse(store, "completion", keys[row], Completion) if reusable else None for row in wanted
        }
        kept = {row: completion for row, completion in found.items() if completion is not None}
        if len(kept) == len(wanted):
            for row, completion in kept.items():
                deliver(row, Generated(completion=completion, seconds=0.0, reused=True))
            counters.completions_reused += len(wanted)
            done += len(wanted)
            tell()
            continue
        started = time.monotonic()
        completions = model.complete(
            [functions[row] for row in rows],
            [prompts[row] for row in rows],
            max_new_tokens=settings.max_new_tokens,
        )
        if len(completions) != len(rows):
            raise EngineError(
                f"The {side} model gave {len(completions)} completions for {len(rows)} prompts.",
                where=identity.spec,
                remedy="Run the audit again; if it stays so, the engine is broken.",
            )
        share = (time.monotonic() - started) / len(rows)
        if reusable:
            for row, completion in zip(rows, completions, strict=True):
                store.put("completion", keys[row], encode(completion))
        for row, completion in zip(rows, completions, strict=True):
            if row in selected:
                deliver(row, Generated(completion=completion, seconds=share, reused=False))
        counters.completions_generated += len(rows)
        done += len(wanted)
        tell()
