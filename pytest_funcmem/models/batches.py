"""Which prompts are completed together: fixed over the whole plan, whatever part of it is still to do.

Number formats narrower than float32 make a completion depend on its batch, so a resumed audit must cut the
same batches as the one that was killed, and both models must get the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_funcmem.core.digests import digest, text_digest
from pytest_funcmem.core.records import Prompt

__all__ = ["batch_digest", "plan_batches"]


def plan_batches(prompts: Sequence[Prompt], batch_size: int) -> tuple[tuple[int, ...], ...]:
    """Group prompts of like length, longest first, so that what memory cannot hold shows in the first batch.

    The order of the prompts does not matter: the same set of texts gives the same batches of texts.

    Args:
        prompts: All prompts of the plan, finished ones included.
        batch_size: Most prompts in a batch, at least 1.

    Returns:
        Positions in ``prompts``, each exactly once, batch by batch.
    """
    if batch_size < 1:
        raise ValueError(f"a batch holds at least one prompt, not {batch_size}")
    order = sorted(
        range(len(prompts)),
        key=lambda place: (-len(prompts[place].token_ids), text_digest(prompts[place].text), place),
    )
    return tuple(tuple(order[start : start + batch_size]) for start in range(0, len(order), batch_size))


def batch_digest(prompts: Sequence[Prompt]) -> str:
    """Digest of the prompts that are completed together, in order, as 64 hexadecimal digits."""
    return digest([text_digest(prompt.text) for prompt in prompts])
