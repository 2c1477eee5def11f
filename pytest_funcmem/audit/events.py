"""What an audit tells while it works, so that a front end can show progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Counters", "Event", "Listener", "Stage"]

Stage = Literal["load", "prompts", "target", "reference", "sandbox", "build", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something moved on.

    Attributes:
        stage: What moved: loading a model (``load``), cutting prompts, completing with the target or the
            reference, opening the sandbox, building harnesses, running candidates.
        done: Pieces finished so far in this stage, those found in the store included.
        total: Pieces there are in this stage.
        seconds: Wall-clock seconds since the stage began.
        detail: For people; a model's name, a function's key.
    """

    stage: Stage
    done: int
    total: int
    seconds: float
    detail: str = ""


Listener = Callable[[Event], None]
"""Called from the pipeline's threads, one call at a time."""


@dataclass(slots=True)
class Counters:
    """How much work was done and how much was found in the store."""

    completions_generated: int = 0
    completions_replayed: int = 0
    completions_reused: int = 0
    harnesses_built: int = 0
    harnesses_reused: int = 0
    candidates_run: int = 0
    candidates_reused: int = 0
    scores_computed: int = 0
    scores_reused: int = 0
