"""What models of providers cost, and a purse that is never overdrawn.

Prices are dollars for a million tokens. The table was written down in November 2026, partly from memory and
not copied from a price list: hold it against what your provider bills before you trust a cap to it. A price
that the user gives goes before the table's. A model without a price is never taken to be free: its cost is
not known, and it cannot be used under a cost cap.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_funcmem.core.errors import UsageError

__all__ = [
    "BATCH_SHARE",
    "CACHE_READ_SHARE",
    "CACHE_WRITE_SHARE",
    "PRICES",
    "Price",
    "Purse",
    "parse_price",
    "price_of",
    "read_prices",
]

BATCH_SHARE = 0.5
"""What a request in a batch costs, as a share of one that is answered at once."""

CACHE_READ_SHARE = 0.1
CACHE_WRITE_SHARE = 1.25
"""What a token read from the prompt cache, and one kept in it, costs, as a share of one that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars for a million tokens read and written."""

    input: float
    output: float

    def of(
        self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0
    ) -> float:
        """Dollars for so many tokens; those read from the prompt cache or kept in it are counted apart."""
        read = input_tokens + cache_read * CACHE_READ_SHARE + cache_write * CACHE_WRITE_SHARE
        return (read * self.input + output_tokens * self.output) / 1e6


PRICES: Mapping[str, Price] = {
    "claude-fable-5-2": Price(input=8, output=40),
    "claude-fable-5-1": Price(input=10, output=50),
    "claude-opus-5-5": Price(input=4, output=20),
    "claude-opus-5": Price(input=5, output=25),
    "claude-opus-4-8": Price(input=5, output=25),
    "claude-opus-4-7": Price(input=5, output=25),
    "claude-opus-4-6": Price(input=5, output=25),
    "claude-opus-4-5": Price(input=5, output=25),
    "claude-opus-4-1": Price(input=15, output=75),
    "claude-sonnet-5-5": Price(input=2, output=10),
    "claude-sonnet-5": Price(input=2, output=10),
    "claude-sonnet-4-6": Price(input=3, output=15),
    "claude-sonnet-4-5": Price(input=3, output=15),
    "claude-haiku-4-5": Price(input=1, output=5),
}
"""Prices by model; a dated snapshot costs what the model of its name does."""


def price_of(model: str, table: Mapping[str, Price] = PRICES) -> Price | None:
    """The price of a model in a table; None where it is not known."""
    name, _, date = model.rpartition("-")
    return table.get(model) or (table.get(name) if date.isdecimal() and len(date) == 8 else None)


def read_prices(path: Path) -> dict[str, Price]:
    """Read the user's table: ``{"MODEL": [INPUT, OUTPUT]}``, dollars for a million tokens.

    Raises:
        UsageError: The file cannot be read, or is no such table.
    """
    expected = '{"MODEL": [INPUT, OUTPUT]} in dollars for a million tokens'
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise UsageError(
            f"The table of prices cannot be read: {reason}.", where=str(path), expected=expected
        ) from exc
    if not isinstance(table, dict):
        raise UsageError("The table of prices is no object.", where=str(path), expected=expected)
    prices = {}
    for model, pair in table.items():
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_price, pair))):
            raise UsageError(
                f"The price of {model!r} is no pair of numbers of at least 0.",
                where=str(path),
                expected=expected,
                remedy="Mend or drop that entry.",
            )
        prices[model] = Price(input=float(pair[0]), output=float(pair[1]))
    return prices


def _is_price(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def parse_price(text: str) -> Price:
    """Read ``INPUT,OUTPUT``, dollars for a million tokens.

    Raises:
        UsageError: It is not two numbers of at least 0.
    """
    try:
        values = [float(part) for part in text.split(",")]
        if len(values) != 2 or not all(0 <= value < float("inf") for value in values):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"{text!r} is no price.", expected="INPUT,OUTPUT in dollars for a million tokens, such as 3,15"
        ) from None
    return Price(input=values[0], output=values[1])


class Purse:
    """What may be spent and what was. May be used from several threads.

    Args:
        limit: Dollars that may be spent; None for no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._held = 0.0
        self._lock = threading.Lock()

    def hold(self, dollars: float) -> bool:
        """Set the most that a request may cost aside; False where the limit leaves less."""
        with self._lock:
            if self.limit is not None and self.spent + self._held + dollars > self.limit:
                return False
            self._held += dollars
            return True

    def settle(self, held: float, dollars: float) -> None:
        """Replace what was set aside by what was spent."""
        with self._lock:
            self._held -= held
            self.spent += dollars
