"""What can become of a turn but an answer, and what was spent on it all the same."""

from __future__ import annotations

from typing import Literal

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.models.dialogue.records import Usage

__all__ = ["FailedTurnError", "FailureKind"]

FailureKind = Literal[
    "failed",  # the engine did not answer, and went on failing
    "rejected",  # the engine refuses this request for what stands in it, its length for one
    "malformed",  # what came is no answer of the API, or stopped for a reason that has no meaning here
    "cancelled",  # the caller gave the request up
    "unaffordable",  # an attempt broke off, and the caller may not pay for another
]


class FailedTurnError(EngineError):
    """A turn without an answer.

    Args:
        what: One sentence that says what went wrong.
        kind: What became of it.
        usage: What its attempts cost of which the API told all.
        untold: Attempts that broke off before the API told all that they cost; ``usage`` lacks them.
        where: The address or the model.
        expected: What would have been accepted.
        remedy: One thing that the user can do about it.
    """

    def __init__(
        self,
        what: str,
        *,
        kind: FailureKind = "failed",
        usage: Usage | None = None,
        untold: int = 0,
        where: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(what, where=where, expected=expected, remedy=remedy)
        self.kind: FailureKind = kind
        self.usage = usage or Usage()
        self.untold = untold

    def __reduce__(self) -> tuple[object, ...]:
        state = {"kind": self.kind, "usage": self.usage, "untold": self.untold}
        told = {"where": self.where, "expected": self.expected, "remedy": self.remedy}
        return (_rebuild, (self.what, {**state, **told}))


def _rebuild(what: str, rest: dict[str, object]) -> FailedTurnError:
    return FailedTurnError(what, **rest)  # type: ignore[arg-type]  # what __reduce__ took from one
