"""What every family of business rules has in common: a name, a signature, and styles.

This module knows no family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["NOUNS", "Rule", "Style", "words"]


def words(text: str) -> tuple[str, ...]:
    """Split a vocabulary at its spaces."""
    return tuple(text.split())


NOUNS = words(
    "commission freight rebate toll royalty premium levy deposit stipend bonus lease parking storage "
    "customs courier voucher refund escrow docking mooring cargo ticket charter subsidy quota grant "
    "dividend payroll mileage catering insurance warranty brokerage salvage haulage towing"
)

Style = Callable[[], Iterator[str]]


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """One business rule.

    Attributes:
        name: Name of the function.
    """

    name: str

    MIN_LONG: ClassVar[int] = 10

    @property
    @abstractmethod
    def signature(self) -> str:
        """First line of the function, up to the colon."""

    @abstractmethod
    def styles(self) -> tuple[Style, ...]:
        """Every way to write the body, as makers of lines indented from the function."""

    def body(self, style: int) -> tuple[str, ...]:
        """Lines of the body in one style, indented."""
        return tuple(f"    {line}".rstrip() for line in self.styles()[style]())

    def render(self, style: int) -> str:
        """The whole function in one style, with a final newline."""
        return "\n".join((self.signature, *self.body(style))) + "\n"

    def long_styles(self) -> tuple[int, ...]:
        """Styles whose body an audit's default filters let through."""
        return tuple(k for k in range(len(self.styles())) if sum(map(bool, self.body(k))) >= self.MIN_LONG)
