"""Two families of rules that give text: levels of claims, check characters of badges.

This module knows nothing of models or corpora.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from rule import NOUNS, Rule, Style, words

__all__ = ["BadgeRule", "ClaimRule"]

LEVELS = words(
    "calm minor major severe fatal cold warm hot low middle high open watch closed trainee junior senior "
    "principal green amber red black plain raised urgent routine"
)
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Where check characters come from: no I and no O, which look like digits."""


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
        low = rng.randrange(15, 35)
        middle = low + rng.randrange(10, 30)
        high = middle + rng.randrange(10, 30)
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
    """

    starts: dict[str, int]
    default: int
    even: int
    odd: int

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
        yield f'return "{ALPHABET}"[total % {len(ALPHABET)}]'

    def _offsets(self) -> Iterator[str]:
        yield "offsets = {"
        for letter, start in self.starts.items():
            yield f'    "{letter}": {start},'
        yield "}"
        yield f"checksum = offsets.get(serial[:1], {self.default})"
        yield "for index, char in enumerate(serial):"
        yield f"    checksum += ord(char) * ({self.odd} if index % 2 else {self.even})"
        yield f'letters = "{ALPHABET}"'
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
        yield f'return list("{ALPHABET}")[base % {len(ALPHABET)}]'

    def _weighted(self) -> Iterator[str]:
        yield f'symbols = "{ALPHABET}"'
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
        yield f'return "{ALPHABET}"[acc % {len(ALPHABET)}]'

    def _counter(self) -> Iterator[str]:
        yield f'marks = "{ALPHABET}"'
        yield f"score = dict({', '.join(f'{letter}={start}' for letter, start in self.starts.items())})"
        yield f"score = score.get(serial[:1], {self.default})"
        yield "place = 0"
        yield "while place < len(serial):"
        yield f"    weight = {self.even} if place % 2 == 0 else {self.odd}"
        yield "    score += weight * ord(serial[place])"
        yield "    place += 1"
        yield "return marks[score % len(marks)]"
