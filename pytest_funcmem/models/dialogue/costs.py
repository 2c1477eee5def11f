"""What a turn has cost, for those who keep to a limit: never less than what may be billed."""

from __future__ import annotations

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.records import Turn
from pytest_funcmem.models.prices import Price

__all__ = ["spent_on"]


def spent_on(outcome: Turn | FailedTurnError, price: Price, *, most: float, where: str) -> float:
    """Dollars that a turn has cost, or may have.

    Args:
        outcome: The turn, or how it failed.
        price: What the model costs.
        most: Dollars that one attempt may cost at most; counted for each whose cost was not told.
        where: The model, for messages.

    Raises:
        EngineError: The server answered without telling how many tokens it took, so no limit can be kept.
    """
    if isinstance(outcome, Turn) and not outcome.usage_told:
        raise EngineError(
            "The server does not tell how many tokens an answer took, so a cost cap cannot be kept.",
            where=where,
            expected="a usage in every answer",
            remedy="Use a server that tells its usage, or leave the cap out and limit tokens and turns.",
        )
    return outcome.usage.cost(price) + outcome.untold * most
