"""Two families of rules that give numbers: rates of goods, fees of freight.

Every limit is tested with ``>``, which is false for NaN, in every style; floats are added and multiplied in
the same order; where a float is promised, a float comes back. This module knows nothing of models or corpora.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from rule import NOUNS, Rule, Style, words

__all__ = ["FreightRule", "TariffRule"]

PLACES = words(
    "sofia varna lisbon porto faro braga turin milan genoa bari oslo bergen malmo north south east west "
    "inland coast island alpine metro rural harbor depot airport ferry"
)
GOODS = words(
    "cotton wool silk linen oak pine birch teak copper zinc nickel iron tea coffee cocoa sugar rice "
    "barley maize wheat gold silver bronze basic retail bulk export local"
)
LIMITS = (50, 100, 150, 200, 250, 400, 500, 750, 800, 1000, 1200, 1500, 2000, 2500, 5000)


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
            factors={place: rng.randrange(8, 30) / 10 for place in rng.sample(PLACES, 2)},
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


def _rate(rng: random.Random) -> float:
    return rng.randrange(10, 200) / 1000
