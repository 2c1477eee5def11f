"""What models of providers cost, and a purse that keeps to its limit.

Prices are dollars for a million tokens. The table was held against the public price pages of Anthropic's
documentation in November 2026, its cache prices of Fable 5.2 against those of resellers; providers change
their prices, so hold it against what yours bills before you trust a cap to it. A price that the user gives
goes before the table's. A model without a price is never taken to be free: its cost is not known, and it
cannot be used under a cost cap.
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
"""What a token read from the prompt cache, and one kept in it for five minutes, costs as a share of one that
is read, where a price does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars for a million tokens.

    Attributes:
        input: Tokens read.
        output: Tokens written, thoughts included.
        cache_read: Tokens read from the provider's prompt cache; None for the usual share of ``input``.
        cache_write: Tokens read and kept in that cache; None for the usual share of ``input``.
        beyond: Tokens of a prompt, cached ones included, beyond which a request costs another price, all
            of it; None where long prompts cost what short ones do.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    beyond: tuple[int, Price] | None = None

    def of(
        self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0
    ) -> float:
        """Dollars for one request's tokens.

        Args:
            input_tokens: Read anew.
            output_tokens: Written.
            cache_read: Read from the prompt cache; not among ``input_tokens``.
            cache_write: Read anew and kept in it; not among ``input_tokens``.
        """
        if self.beyond is not None and input_tokens + cache_read + cache_write > self.beyond[0]:
            return self.beyond[1].of(
                input_tokens, output_tokens, cache_read=cache_read, cache_write=cache_write
            )
        read = self.input * CACHE_READ_SHARE if self.cache_read is None else self.cache_read
        kept = self.input * CACHE_WRITE_SHARE if self.cache_write is None else self.cache_write
        dollars = input_tokens * self.input + output_tokens * self.output
        return (dollars + cache_read * read + cache_write * kept) / 1e6

    def times(self, share: float) -> Price:
        """All of it multiplied, as for batches."""
        return Price(
            input=self.input * share,
            output=self.output * share,
            cache_read=None if self.cache_read is None else self.cache_read * share,
            cache_write=None if self.cache_write is None else self.cache_write * share,
            beyond=None if self.beyond is None else (self.beyond[0], self.beyond[1].times(share)),
        )


PRICES: Mapping[str, Price] = {
    "claude-fable-5-2": Price(input=8, output=40, cache_read=0.2),
    "claude-fable-5-1": Price(input=10, output=50, cache_read=0.25),
    "claude-fable-5": Price(input=10, output=50),
    "claude-mythos-5-1": Price(input=10, output=50, cache_read=0.25),
    "claude-mythos-5": Price(input=10, output=50),
    "claude-opus-5-5": Price(input=4, output=20, cache_read=0.2),
    "claude-opus-5": Price(input=5, output=25),
    "claude-opus-4-8": Price(input=5, output=25),
    "claude-opus-4-7": Price(input=5, output=25),
    "claude-opus-4-6": Price(input=5, output=25),
    "claude-opus-4-5": Price(input=5, output=25),
    "claude-opus-4-1": Price(input=15, output=75),
    "claude-sonnet-5-5": Price(input=2, output=10, cache_read=0.1),
    "claude-sonnet-5": Price(input=2, output=10),
    "claude-sonnet-4-6": Price(input=3, output=15),
    "claude-sonnet-4-5": Price(input=3, output=15),
    "claude-haiku-5-5": Price(input=0.1, output=0.5, beyond=(100_000, Price(input=0.5, output=2.5))),
    "claude-haiku-4-5": Price(input=1, output=5),
}
"""Prices by model; a dated snapshot costs what the model of its name does."""


def price_of(model: str, table: Mapping[str, Price] = PRICES) -> Price | None:
    """The price of a model in a table; None where it is not known."""
    name, _, date = model.rpartition("-")
    return table.get(model) or (table.get(name) if date.isdecimal() and len(date) == 8 else None)


def listed_price(spec: str, own: Mapping[str, Price]) -> Price | None:
    """The price of the model that a SPEC names, by the user's own table, else by this one; None if unknown.

    Args:
        spec: ``anthropic:MODEL`` or ``openai:BASE_URL#MODEL``.
        own: The user's prices by model.
    """
    kind, _, rest = spec.partition(":")
    model = rest.partition("#")[2] if kind == "openai" else rest
    return price_of(model, own) or price_of(model)


def read_prices(path: Path) -> dict[str, Price]:
    """Read the user's table of dollars for a million tokens.

    A row is ``"MODEL": [INPUT, OUTPUT]``, or ``"MODEL": [INPUT, OUTPUT, CACHE_READ, CACHE_WRITE]``.

    Raises:
        UsageError: The file cannot be read, or is no such table.
    """
    expected = (
        '{"MODEL": [INPUT, OUTPUT]} in dollars for a million tokens, with CACHE_READ, CACHE_WRITE or not'
    )
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
    for model, row in table.items():
        if not (isinstance(row, list) and len(row) in (2, 4) and all(map(_is_price, row))):
            raise UsageError(
                f"The price of {model!r} is no two or four numbers of at least 0.",
                where=str(path),
                expected=expected,
                remedy="Mend or drop that entry.",
            )
        numbers = [float(number) for number in row]
        cached: tuple[float | None, ...] = tuple(numbers[2:]) or (None, None)
        prices[model] = Price(
            input=numbers[0], output=numbers[1], cache_read=cached[0], cache_write=cached[1]
        )
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

    Before a request, the most that it may cost is held; afterwards, what it did cost takes the place of that.
    What is held and spent together never exceeds the limit, so the purse is overdrawn only by as much as a
    request has cost more than was held for it.

    Args:
        limit: Dollars that may be spent; None for no limit.

    Attributes:
        limit: As given.
        spent: Dollars spent so far; what is held is not among them.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._held = 0.0
        self._lock = threading.Lock()

    def hold(self, dollars: float) -> bool:
        """Set the most that a request may cost aside; False where the limit leaves less, and none is held."""
        with self._lock:
            if self.limit is not None and self.spent + self._held + dollars > self.limit:
                return False
            self._held += dollars
            return True

    def settle(self, held: float, dollars: float) -> None:
        """Replace what was held for a request, as it was held, by what it cost; 0 if it was never made."""
        with self._lock:
            self._held -= held
            self.spent += dollars
