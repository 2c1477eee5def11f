"""What agents may use: turns, tokens, seconds and money, for one function and for a whole run.

A limit is never passed and then noticed: before each request the most that it could cost is held aside, and
where that does not fit, it is not sent. Knows nothing of what is done within the limits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.records import Json
from pytest_funcmem.models.dialogue.records import Usage
from pytest_funcmem.models.prices import Price

__all__ = [
    "FUNCTION_LIMITS",
    "RUN_LIMITS",
    "Account",
    "AgentLimits",
    "Allowance",
    "LimitReachedError",
    "RunAllowance",
    "parse_limits",
]

_LEDGER = "agent-ledger"


class LimitReachedError(Exception):
    """Nothing more may be used; the message says of what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """Most that may be used; None for no limit.

    Attributes:
        turns: Answers of the model.
        tokens: Tokens read and written, those from a prompt cache included.
        seconds: Wall-clock seconds.
        cost: Dollars at the model's price.
    """

    turns: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None


FUNCTION_LIMITS = AgentLimits(turns=40, tokens=1_500_000, seconds=1800.0)
"""For one function, where the user sets no other."""

RUN_LIMITS = AgentLimits()


def parse_limits(text: str | None, *, where: str, usual: AgentLimits) -> AgentLimits:
    """Read ``turns=40,tokens=1000000,seconds=1800,cost=0.5``; what is left out stays as usual.

    Args:
        text: What the user gave; None for nothing.
        where: The option, for messages.
        usual: What holds where a limit is not named.

    Raises:
        UsageError: It is not of that form.
    """
    if text is None:
        return usual
    names = [field.name for field in fields(AgentLimits)]
    found: dict[str, float | int | None] = {}
    for part in text.split(","):
        name, separator, value = (piece.strip() for piece in part.partition("="))
        number = _number(name, value)
        if not separator or name not in names or name in found or number is None:
            raise UsageError(
                f"{part.strip()!r} is no limit of an agent.",
                where=where,
                expected="NAME=NUMBER,… with each of turns, tokens, seconds and cost (dollars) at most once; "
                "'none' lifts a limit",
                remedy=f"Write for example {where}=turns=40,cost=0.50.",
            )
        found[name] = None if number < 0 else number
    return replace(usual, **found)  # type: ignore[arg-type]


def _number(name: str, value: str) -> float | int | None:
    """The number; -1 for none at all; None where it is not one."""
    if value == "none":
        return -1
    try:
        number = int(value) if name in ("turns", "tokens") else float(value)
    except ValueError:
        return None
    return number if 0 <= number < 1e12 else None  # also refuses NaN


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was used: turns, tokens, dollars and wall-clock seconds."""

    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def plus(self, *, turns: int, tokens: int, cost: float) -> Account:
        """With so much more."""
        return replace(self, turns=self.turns + turns, tokens=self.tokens + tokens, cost=self.cost + cost)

    def json(self) -> Json:
        """For the store."""
        return {"turns": self.turns, "tokens": self.tokens, "cost": self.cost, "seconds": self.seconds}


class RunAllowance:
    """What all agents of a run together may use, and did. May be used from several threads.

    It is written down after every turn, so that a run that was killed goes on with what it had left; a run
    that came to its end leaves nothing to go on from.

    Args:
        limits: Of the run.
        price: Of the model; None where it is not known.
        limits_of_function: Of each function.
        store: Keeps the account; None for a run that cannot be gone on with.
        key: Names the run in the store.

    Raises:
        UsageError: There is a limit of money and no price.
    """

    def __init__(
        self,
        limits: AgentLimits,
        *,
        price: Price | None,
        limits_of_function: AgentLimits = FUNCTION_LIMITS,
        store: Store | None = None,
        key: str = "",
    ) -> None:
        if price is None and not (limits.cost is None and limits_of_function.cost is None):
            raise UsageError(
                "What the agent's model costs is not known, so a limit of money cannot be kept.",
                where="--funcmem-agent-limit, --funcmem-agent-run-limit",
                remedy='Give its price in a file of --funcmem-prices: {"MODEL": [INPUT, OUTPUT]}.',
            )
        self.limits = limits
        self.price = price
        self._store = store
        self._key = key
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._earlier = _read(store.get(_LEDGER, key)) if store is not None else Account()
        self._used = self._earlier
        self._held = Account()

    @property
    def used(self) -> Account:
        """What was used in this run and, where it goes on from a killed one, in that."""
        with self._lock:
            return self._used

    @property
    def carried_over(self) -> bool:
        """Whether something was used before this run began."""
        return self._earlier != Account()

    def hold(self, *, turns: int, tokens: int, cost: float) -> None:
        """Set aside the most that something may use.

        Raises:
            LimitReachedError: The limits leave less.
        """
        with self._lock:
            for name, wanted in (("turns", turns), ("tokens", tokens), ("cost", cost)):
                limit = getattr(self.limits, name)
                taken = getattr(self._used, name) + getattr(self._held, name)
                if limit is not None and taken + wanted > limit:
                    raise LimitReachedError(_said("the run", name, limit))
            seconds = self.limits.seconds
            if seconds is not None and self._earlier.seconds + time.monotonic() - self._began > seconds:
                raise LimitReachedError(_said("the run", "seconds", seconds))
            self._held = self._held.plus(turns=turns, tokens=tokens, cost=cost)

    def settle(
        self, *, held: tuple[int, int, float], turns: int = 0, tokens: int = 0, cost: float = 0.0
    ) -> None:
        """Replace what was set aside (turns, tokens, dollars) by what was used."""
        with self._lock:
            self._held = self._held.plus(turns=-held[0], tokens=-held[1], cost=-held[2])
            if turns or tokens or cost:
                self._used = self._used.plus(turns=turns, tokens=tokens, cost=cost)
                self._write(self._used)

    def close(self) -> None:
        """The run came to its end: the next one begins with nothing used. May be called twice."""
        with self._lock:
            if self._store is not None and self._used != Account():
                self._store.put(_LEDGER, self._key, Account().json())

    def _write(self, account: Account) -> None:
        if self._store is not None:
            seconds = self._earlier.seconds + time.monotonic() - self._began
            self._store.put(_LEDGER, self._key, replace(account, seconds=seconds).json())


class Allowance:
    """What the agent of one function may use, within what the run may.

    Args:
        limits: Of the function.
        run: Of the run.
        clock: Gives seconds.
    """

    def __init__(
        self, limits: AgentLimits, run: RunAllowance, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._run = run
        self._clock = clock
        self._began = clock()
        self.usage = Usage()
        self.turns = 0
        self.cost = 0.0
        self._most = 0.0  # dollars that one attempt of the request under way may cost
        self._attempts = 0  # for which that is set aside
        # An agent is started only where the run can pay all that it may cost: then nothing stops it midway.
        self._reserves = limits.cost is not None and run.limits.cost is not None
        self._reserved: float | None = None if self._reserves else 0.0  # None until the first request

    @property
    def limits_money(self) -> bool:
        """Whether there is a limit of money, for which it must be known what turns cost."""
        return self._limits.cost is not None or self._run.limits.cost is not None

    @property
    def seconds_left(self) -> float | None:
        """Wall-clock seconds that are left; None for no limit."""
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (self._clock() - self._began)

    def hold(self, *, tokens: int, output: int) -> tuple[int, int, float]:
        """Set aside what a request may use.

        Args:
            tokens: Most tokens that it makes the model read.
            output: Most that it lets it write.

        Returns:
            What to give to ``settle``.

        Raises:
            LimitReachedError: The limits leave less.
        """
        limits = self._limits
        cost = 0.0 if self._run.price is None else self._run.price.of(0, output, cache_write=tokens)
        if limits.turns is not None and self.turns + 1 > limits.turns:
            raise LimitReachedError(_said("the function", "turns", limits.turns))
        if limits.tokens is not None and self.usage.total + tokens + output > limits.tokens:
            raise LimitReachedError(_said("the function", "tokens", limits.tokens))
        if limits.cost is not None and self.cost + cost > limits.cost:
            raise LimitReachedError(_said("the function", "cost", limits.cost))
        left = self.seconds_left
        if left is not None and left <= 0:
            raise LimitReachedError(_said("the function", "seconds", limits.seconds or 0.0))
        if self._reserved is None:
            # What an earlier run has paid of it is in the run's account already.
            reserved = max(0.0, (limits.cost or 0.0) - self.cost)
            self._run.hold(turns=0, tokens=0, cost=reserved)
            self._reserved = reserved
        beyond = 0.0 if self._reserves else cost  # the run has set it aside already
        self._run.hold(turns=1, tokens=tokens + output, cost=beyond)
        self._most = cost
        self._attempts = 1
        return 1, tokens + output, beyond

    def hold_again(self, held: tuple[int, int, float]) -> tuple[int, int, float] | None:
        """Set aside what another attempt may cost, after one that broke off and may be billed all the same.

        Args:
            held: What is set aside for the request so far.

        Returns:
            What to give to ``settle`` in its place; None where the limits leave less.
        """
        limit = self._limits.cost
        if limit is not None and self.cost + (self._attempts + 1) * self._most > limit:
            return None
        beyond = 0.0 if self._reserves else self._most
        try:
            self._run.hold(turns=0, tokens=0, cost=beyond)
        except LimitReachedError:
            return None
        self._attempts += 1
        return held[0], held[1], held[2] + beyond

    def count(self, usage: Usage) -> None:
        """Count a turn that an earlier run has paid for.

        Raises:
            LimitReachedError: The function's limits had ended that run's agent before it.
        """
        if self._limits.turns is not None and self.turns + 1 > self._limits.turns:
            raise LimitReachedError(_said("the function", "turns", self._limits.turns))
        self.turns += 1
        self.usage = self.usage + usage
        self.cost += self._price_of(usage)

    def settle(self, held: tuple[int, int, float], usage: Usage | None, *, failed: int = 0) -> None:
        """Replace what was set aside by what a turn used.

        Args:
            held: What ``hold`` gave.
            usage: Of the turn; None where nothing came back.
            failed: Attempts of which it is not known what they cost: each is taken for the most that a
                request may cost.
        """
        turns, tokens, dollars = held
        cost = 0.0 if usage is None else self._price_of(usage)
        cost += failed * self._most
        if usage is not None:
            self.usage = self.usage + usage
        self.turns += 1
        self.cost += cost
        reserved = self._reserved or 0.0
        taken = min(reserved, cost)
        self._reserved = reserved - taken
        used = 0 if usage is None else usage.total
        self._run.settle(held=(turns, tokens, dollars + taken), turns=1, tokens=used, cost=cost)

    def _price_of(self, usage: Usage) -> float:
        return 0.0 if self._run.price is None else usage.cost(self._run.price)

    def close(self) -> None:
        """Give back what was reserved. May be called twice."""
        self._run.settle(held=(0, 0, self._reserved or 0.0))
        self._reserved = 0.0


def _read(value: Json) -> Account:
    """An account from the store; an empty one where there is none, or none that can be read."""
    if not isinstance(value, dict):
        return Account()
    amounts: list[Any] = [value.get(name) for name in ("turns", "tokens", "cost", "seconds")]
    turns, tokens, cost, seconds = amounts
    if not all(map(_is_amount, amounts)) or not isinstance(turns, int) or not isinstance(tokens, int):
        return Account()
    return Account(turns=turns, tokens=tokens, cost=float(cost), seconds=float(seconds))


def _is_amount(value: object) -> bool:
    """Whether it is a number that an account may hold: one that is none would lift every limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15


def _said(whose: str, name: str, limit: float) -> str:
    unit = {"cost": f"${limit:g}", "seconds": f"{limit:g} s"}.get(name, f"{limit:g} {name}")
    return f"the limit of {whose}, {unit}, leaves no room for another turn"
