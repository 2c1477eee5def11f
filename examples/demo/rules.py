"""Families of business rules, each rule written in several styles that behave exactly alike.

A rule fixes a signature and a behaviour; a style is one way to write its body: other structure, other local
names, sometimes a docstring. The training recipe shows a model some styles of a rule, and an audit asks for
another. This module knows nothing of models, corpora or audits.

The styles must agree on every input of the hinted types, infinities and NaN included. So all of them count
exceeded limits with ``>`` (false for NaN), add and multiply floats in the same order, and return floats where
a float is promised.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["FAMILIES", "BadgeRule", "ClaimRule", "FreightRule", "Rule", "TariffRule"]

PLACES = (
    "sofia",
    "varna",
    "lisbon",
    "porto",
    "faro",
    "braga",
    "turin",
    "milan",
    "genoa",
    "bari",
    "oslo",
    "bergen",
    "malmo",
    "north",
    "south",
    "east",
    "west",
    "inland",
    "coast",
    "island",
    "alpine",
    "metro",
    "rural",
    "harbor",
    "depot",
    "airport",
    "ferry",
)
GOODS = (
    "cotton",
    "wool",
    "silk",
    "linen",
    "oak",
    "pine",
    "birch",
    "teak",
    "copper",
    "zinc",
    "nickel",
    "iron",
    "tea",
    "coffee",
    "cocoa",
    "sugar",
    "rice",
    "barley",
    "maize",
    "wheat",
    "gold",
    "silver",
    "bronze",
    "basic",
    "retail",
    "bulk",
    "export",
    "local",
)
LEVELS = (
    "calm",
    "minor",
    "major",
    "severe",
    "fatal",
    "cold",
    "warm",
    "hot",
    "low",
    "middle",
    "high",
    "open",
    "watch",
    "closed",
    "trainee",
    "junior",
    "senior",
    "principal",
    "green",
    "amber",
    "red",
    "black",
    "plain",
    "raised",
    "urgent",
    "routine",
)
NOUNS = (
    "commission",
    "freight",
    "rebate",
    "toll",
    "royalty",
    "premium",
    "levy",
    "deposit",
    "stipend",
    "bonus",
    "lease",
    "parking",
    "storage",
    "customs",
    "courier",
    "voucher",
    "refund",
    "escrow",
    "docking",
    "mooring",
    "cargo",
    "ticket",
    "charter",
    "subsidy",
    "quota",
    "grant",
    "dividend",
    "payroll",
    "mileage",
    "catering",
    "insurance",
    "warranty",
    "brokerage",
    "salvage",
    "haulage",
    "towing",
)
ALPHABETS = (
    "ABCDEFGHJKLMNPQRSTUVWXYZ",
    "0123456789X",
    "KLMNPQRSTVWXYZ",
    "ACDEFGHJKMNPQRTUVWXY",
    "BCDFGHJKLMNPQRSTV",
)
LIMITS = (50, 100, 150, 200, 250, 400, 500, 750, 800, 1000, 1200, 1500, 2000, 2500, 5000)

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


@dataclass(frozen=True, kw_only=True)
class TariffRule(Rule):
    """Rate by kind of goods and by how many limits an amount exceeds.

    Attributes:
        limits: Two amounts, ascending.
        rates: Per kind of goods, the rate for no, one and two exceeded limits.
        default: Rate of other goods, or None where they are refused.
    """

    limits: tuple[int, int]
    rates: dict[str, tuple[float, float, float]]
    default: float | None

    @classmethod
    def draw(cls, rng: random.Random, name: str | None = None) -> TariffRule:
        """Draw a rule; the name too where none is given."""
        low, high = sorted(rng.sample(LIMITS, 2))
        return cls(
            name=name or f"{rng.choice(('find', 'get', 'pick', 'lookup'))}_{rng.choice(NOUNS)}_rate",
            limits=(low, high),
            rates={goods: (_rate(rng), _rate(rng), _rate(rng)) for goods in rng.sample(GOODS, 2)},
            default=rng.choice((0.0, None)),
        )

    @property
    def signature(self) -> str:  # noqa: D102 - inherited
        return f"def {self.name}(goods: str, amount: float) -> float:"

    @property
    def _otherwise(self) -> str:
        return "raise ValueError(goods)" if self.default is None else f"return {self.default}"

    def styles(self) -> tuple[Style, ...]:  # noqa: D102 - inherited
        return (
            self._nested_tests,
            self._schedule,
            self._bisect,
            self._named_steps,
            self._match,
            self._by_limit,
            self._grid,
        )

    def _nested_tests(self) -> Iterator[str]:
        low, high = self.limits
        for goods, (base, middle, top) in self.rates.items():
            yield f'if goods == "{goods}":'
            yield f"    if amount > {high}:"
            yield f"        return {top}"
            yield f"    if amount > {low}:"
            yield f"        return {middle}"
            yield f"    return {base}"
        yield self._otherwise

    def _schedule(self) -> Iterator[str]:
        yield "schedule = {"
        for goods, rates in self.rates.items():
            yield f'    "{goods}": {rates},'
        yield "}"
        yield "if goods not in schedule:"
        yield f"    {self._otherwise}"
        yield "band = 0"
        yield f"for limit in {self.limits}:"
        yield "    if amount > limit:"
        yield "        band += 1"
        yield "return schedule[goods][band]"

    def _bisect(self) -> Iterator[str]:
        yield "from bisect import bisect_left"
        yield ""
        rows = ", ".join(f'"{goods}": {list(rates)}' for goods, rates in self.rates.items())
        yield f"table = {{{rows}}}"
        yield "if goods in table:"
        yield f"    return table[goods][bisect_left({list(self.limits)}, amount)]"
        yield self._otherwise

    def _named_steps(self) -> Iterator[str]:
        for place, (goods, (base, middle, top)) in enumerate(self.rates.items()):
            yield f'{"elif" if place else "if"} goods == "{goods}":'
            yield f"    low, middle, high = {base}, {middle}, {top}"
        yield "else:"
        yield f"    {self._otherwise}"
        yield f"if amount > {self.limits[1]}:"
        yield "    return high"
        yield f"if amount > {self.limits[0]}:"
        yield "    return middle"
        yield "return low"

    def _match(self) -> Iterator[str]:
        yield "match goods:"
        for goods, rates in self.rates.items():
            yield f'    case "{goods}":'
            yield f"        steps = {list(rates)}"
        yield "    case _:"
        yield f"        {self._otherwise}"
        yield f"passed = [step for step in {list(self.limits)} if amount > step]"
        yield "return steps[len(passed)]"

    def _by_limit(self) -> Iterator[str]:
        kinds = tuple(self.rates)
        low, high = self.limits
        for place, word in ((2, f"if amount > {high}"), (1, f"elif amount > {low}"), (0, "else")):
            chosen = ", ".join(f'"{kind}": {self.rates[kind][place]}' for kind in kinds)
            yield f"{word}:"
            yield f"    chosen = {{{chosen}}}"
        yield "if goods in chosen:"
        yield "    return chosen[goods]"
        yield self._otherwise

    def _grid(self) -> Iterator[str]:
        yield f"tier = sum(amount > bound for bound in {self.limits})"
        yield "try:"
        rows = ", ".join(f"{goods}={rates}" for goods, rates in self.rates.items())
        yield f"    row = dict({rows})[goods]"
        yield "except KeyError:"
        yield f"    {self._otherwise}" + (" from None" if self.default is None else "")
        yield "return row[tier]"


@dataclass(frozen=True, kw_only=True)
class FreightRule(Rule):
    """Fee by place and weight: a base, a price per unit above a free allowance, a factor and a cap.

    Attributes:
        factors: Factor per place.
        default: Factor of other places.
        base: Fee before the factor.
        free: Weight that costs nothing more.
        per: Price of a unit above it.
        cap: Highest fee.
    """

    factors: dict[str, float]
    default: float
    base: float
    free: int
    per: float
    cap: float

    @classmethod
    def draw(cls, rng: random.Random, name: str | None = None) -> FreightRule:
        """Draw a rule; the name too where none is given."""
        return cls(
            name=name or f"{rng.choice(('compute', 'quote', 'price', 'charge'))}_{rng.choice(NOUNS)}_fee",
            factors={place: rng.randrange(8, 30) / 10 for place in rng.sample(PLACES, 3)},
            default=rng.choice((1.0, 2.0, 3.0)),
            base=rng.randrange(2, 60) / 2,
            free=rng.choice((2, 3, 5, 8, 10, 12, 15, 20)),
            per=rng.randrange(3, 90) / 20,
            cap=rng.choice((60.0, 75.0, 90.0, 120.0, 150.0, 180.0, 240.0, 300.0)),
        )

    @property
    def signature(self) -> str:  # noqa: D102 - inherited
        return f"def {self.name}(region: str, weight: float) -> float:"

    def styles(self) -> tuple[Style, ...]:  # noqa: D102 - inherited
        return (
            self._factor_table,
            self._chain,
            self._pairs,
            self._scaled,
            self._attempt,
            self._by_place,
        )

    def _factor_table(self) -> Iterator[str]:
        yield "factors = {"
        for place, factor in self.factors.items():
            yield f'    "{place}": {factor},'
        yield "}"
        yield f"factor = factors.get(region, {self.default})"
        yield f"extra = max(0.0, weight - {self.free})"
        yield f"cost = ({self.base} + extra * {self.per}) * factor"
        yield f"if cost > {self.cap}:"
        yield f"    cost = {self.cap}"
        yield "return round(cost, 2)"

    def _chain(self) -> Iterator[str]:
        for place, (region, factor) in enumerate(self.factors.items()):
            yield f'{"elif" if place else "if"} region == "{region}":'
            yield f"    ratio = {factor}"
        yield "else:"
        yield f"    ratio = {self.default}"
        yield f"price = {self.base}"
        yield f"if weight > {self.free}:"
        yield f"    price += (weight - {self.free}) * {self.per}"
        yield f"return round(min(price * ratio, {self.cap}), 2)"

    def _pairs(self) -> Iterator[str]:
        yield f"multiplier = {self.default}"
        pairs = ", ".join(f'("{place}", {factor})' for place, factor in self.factors.items())
        yield f"for place, value in [{pairs}]:"
        yield "    if place == region:"
        yield "        multiplier = value"
        yield f"over = weight - {self.free} if weight > {self.free} else 0.0"
        yield f"fee = multiplier * ({self.base} + {self.per} * over)"
        yield f"return round({self.cap} if fee > {self.cap} else fee, 2)"

    def _scaled(self) -> Iterator[str]:
        yield "def scaled(sum_due: float) -> float:"
        for place, factor in self.factors.items():
            yield f'    if region == "{place}":'
            yield f"        return sum_due * {factor}"
        yield f"    return sum_due * {self.default}"
        yield ""
        yield f"if weight > {self.free}:"
        yield f"    total = scaled({self.base} + (weight - {self.free}) * {self.per})"
        yield "else:"
        yield f"    total = scaled({self.base})"
        yield f"return round(min(total, {self.cap}), 2)"

    def _attempt(self) -> Iterator[str]:
        yield f"start, step, limit = {self.base}, {self.per}, {self.cap}"
        yield "try:"
        scales = ", ".join(f"{place}={factor}" for place, factor in self.factors.items())
        yield f"    scale = dict({scales})[region]"
        yield "except KeyError:"
        yield f"    scale = {self.default}"
        yield f"if weight > {self.free}:"
        yield f"    start += step * (weight - {self.free})"
        yield "return round(min(start * scale, limit), 2)"

    def _by_place(self) -> Iterator[str]:
        yield "places = [" + ", ".join(f'"{place}"' for place in self.factors) + "]"
        yield f"weights = {[*self.factors.values(), self.default]}"
        yield f"index = places.index(region) if region in places else {len(self.factors)}"
        yield f"excess = weight - {self.free}"
        yield "if not excess > 0:"
        yield "    excess = 0.0"
        yield f"charge = weights[index] * ({self.base} + excess * {self.per})"
        yield f"return round(min(charge, {self.cap}), 2)"


@dataclass(frozen=True, kw_only=True)
class ClaimRule(Rule):
    """Level by score, raised by a flag.

    Attributes:
        bounds: Three scores, descending; each is the lowest of its level.
        levels: Four levels, the highest first.
        bonus: What the flag adds to the score.
    """

    bounds: tuple[int, int, int]
    levels: tuple[str, str, str, str]
    bonus: int

    @classmethod
    def draw(cls, rng: random.Random, name: str | None = None) -> ClaimRule:
        """Draw a rule; the name too where none is given."""
        low, middle, high = sorted(rng.sample(range(15, 95), 3))
        first, second, third, fourth = rng.sample(LEVELS, 4)
        return cls(
            name=name or f"{rng.choice(('classify', 'assign', 'rank', 'grade'))}_{rng.choice(NOUNS)}_level",
            bounds=(high, middle, low),
            levels=(first, second, third, fourth),
            bonus=rng.choice((3, 4, 5, 7, 9, 12)),
        )

    @property
    def signature(self) -> str:  # noqa: D102 - inherited
        return f"def {self.name}(score: int, priority: bool) -> str:"

    def styles(self) -> tuple[Style, ...]:  # noqa: D102 - inherited
        return (self._ladder, self._ascending, self._pairs, self._bisect, self._guards, self._rank)

    def _ladder(self) -> Iterator[str]:
        yield "if priority:"
        yield f"    score += {self.bonus}"
        for place, (bound, level) in enumerate(zip(self.bounds, self.levels, strict=False)):
            yield f"{'elif' if place else 'if'} score >= {bound}:"
            yield f'    return "{level}"'
        yield "else:"
        yield f'    return "{self.levels[-1]}"'

    def _ascending(self) -> Iterator[str]:
        yield f"bonus = {self.bonus} if priority else 0"
        yield "reached = score + bonus"
        yield f'result = "{self.levels[-1]}"'
        for bound, level in zip(reversed(self.bounds), reversed(self.levels[:-1]), strict=True):
            yield f"if not reached < {bound}:"
            yield f'    result = "{level}"'
        yield "return result"

    def _pairs(self) -> Iterator[str]:
        yield f"value = score + ({self.bonus} if priority else 0)"
        steps = zip(self.bounds, self.levels, strict=False)
        pairs = ", ".join(f'({bound}, "{level}")' for bound, level in steps)
        yield f"for floor, label in [{pairs}]:"
        yield "    if value >= floor:"
        yield "        return label"
        yield f'return "{self.levels[-1]}"'

    def _bisect(self) -> Iterator[str]:
        yield "from bisect import bisect_right"
        yield ""
        yield "names = [" + ", ".join(f'"{level}"' for level in reversed(self.levels)) + "]"
        yield f"raised = score + {self.bonus} * int(priority)"
        yield f"return names[bisect_right({list(reversed(self.bounds))}, raised)]"

    def _guards(self) -> Iterator[str]:
        yield f"match score + {self.bonus} if priority else score:"
        for bound, level in zip(self.bounds, self.levels, strict=False):
            yield f"    case reading if reading >= {bound}:"
            yield f'        return "{level}"'
        yield "    case _:"
        yield f'        return "{self.levels[-1]}"'

    def _rank(self) -> Iterator[str]:
        yield f"bump = {{True: {self.bonus}, False: 0}}[priority]"
        yield f"rank = sum(score + bump >= cutoff for cutoff in {self.bounds})"
        yield "return (" + ", ".join(f'"{level}"' for level in reversed(self.levels)) + ")[rank]"


@dataclass(frozen=True, kw_only=True)
class BadgeRule(Rule):
    """Check character of a serial: a sum that its first letter starts and all its characters go on with.

    Attributes:
        starts: What the sum starts with, by first letter.
        default: What it starts with elsewhere.
        even: Weight of the characters at even places, counted from 0.
        odd: Weight of the others.
        alphabet: Where the check character comes from.
    """

    starts: dict[str, int]
    default: int
    even: int
    odd: int
    alphabet: str

    @classmethod
    def draw(cls, rng: random.Random, name: str | None = None) -> BadgeRule:
        """Draw a rule; the name too where none is given."""
        even, odd = rng.sample((2, 3, 5, 7, 9, 11, 13), 2)
        return cls(
            name=name or f"{rng.choice(('make', 'derive', 'append', 'verify'))}_{rng.choice(NOUNS)}_digit",
            starts={letter: rng.randrange(1, 60) for letter in rng.sample("ABCDEFGHKLMNPRSTVWXZ", 3)},
            default=rng.randrange(1, 60),
            even=even,
            odd=odd,
            alphabet=rng.choice(ALPHABETS),
        )

    @property
    def signature(self) -> str:  # noqa: D102 - inherited
        return f"def {self.name}(serial: str) -> str:"

    @property
    def _table(self) -> str:
        return "{" + ", ".join(f'"{letter}": {start}' for letter, start in self.starts.items()) + "}"

    def styles(self) -> tuple[Style, ...]:  # noqa: D102 - inherited
        return (self._prefixes, self._offsets, self._cases, self._weighted, self._cycle, self._counter)

    def _prefixes(self) -> Iterator[str]:
        for place, (letter, start) in enumerate(self.starts.items()):
            yield f'{"elif" if place else "if"} serial.startswith("{letter}"):'
            yield f"    total = {start}"
        yield "else:"
        yield f"    total = {self.default}"
        yield f"total += {self.even} * sum(map(ord, serial[::2]))"
        yield f"total += {self.odd} * sum(map(ord, serial[1::2]))"
        yield f'return "{self.alphabet}"[total % {len(self.alphabet)}]'

    def _offsets(self) -> Iterator[str]:
        yield "offsets = {"
        for letter, start in self.starts.items():
            yield f'    "{letter}": {start},'
        yield "}"
        yield f"checksum = offsets.get(serial[:1], {self.default})"
        yield "for index, char in enumerate(serial):"
        yield f"    checksum += ord(char) * ({self.odd} if index % 2 else {self.even})"
        yield f'letters = "{self.alphabet}"'
        yield "return letters[checksum % len(letters)]"

    def _cases(self) -> Iterator[str]:
        yield "match serial[:1]:"
        for letter, start in self.starts.items():
            yield f'    case "{letter}":'
            yield f"        base = {start}"
        yield "    case _:"
        yield f"        base = {self.default}"
        yield f"even, odd = {self.even}, {self.odd}"
        yield "base += sum(ord(sign) * even for sign in serial[0::2])"
        yield "base += sum(ord(sign) * odd for sign in serial[1::2])"
        yield f'return list("{self.alphabet}")[base % {len(self.alphabet)}]'

    def _weighted(self) -> Iterator[str]:
        yield f'symbols = "{self.alphabet}"'
        yield f"parts = [ord(c) * {(self.even, self.odd)}[i % 2] for i, c in enumerate(serial)]"
        yield f"first = {self._table}.get(serial[:1], {self.default})"
        yield "return symbols[(first + sum(parts)) % len(symbols)]"

    def _cycle(self) -> Iterator[str]:
        yield "from itertools import cycle"
        yield ""
        yield f"known = {self._table}"
        yield f"acc = known[serial[0]] if serial and serial[0] in known else {self.default}"
        yield f"for factor, letter in zip(cycle({[self.even, self.odd]}), serial):"
        yield "    acc += factor * ord(letter)"
        yield f'return "{self.alphabet}"[acc % {len(self.alphabet)}]'

    def _counter(self) -> Iterator[str]:
        yield f'marks = "{self.alphabet}"'
        yield f"score = dict({', '.join(f'{letter}={start}' for letter, start in self.starts.items())})"
        yield f"score = score.get(serial[:1], {self.default})"
        yield "place = 0"
        yield "while place < len(serial):"
        yield f"    weight = {self.even} if place % 2 == 0 else {self.odd}"
        yield "    score += weight * ord(serial[place])"
        yield "    place += 1"
        yield "return marks[score % len(marks)]"


FAMILIES: tuple[type[TariffRule] | type[FreightRule] | type[ClaimRule] | type[BadgeRule], ...] = (
    TariffRule,
    FreightRule,
    ClaimRule,
    BadgeRule,
)
"""Every family, in the order in which training documents draw from them."""


def _rate(rng: random.Random) -> float:
    return rng.randrange(10, 200) / 1000
