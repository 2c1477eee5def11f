"""What the original's code shows about a value that it is given: a record that grows while the code is read.

Evidence forms a tree: the elements, keys and attributes of a value have evidence of their own. It knows no
syntax and makes no values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["MAX_DEPTH", "Evidence"]

MAX_DEPTH = 6
"""Deepest nesting that is followed."""


@dataclass(slots=True, eq=False)
class Evidence:
    """What is known about one value.

    Attributes:
        label: Name of the parameter or attribute at the root of the tree; "" below.
        depth: Distance from that root.
        kinds: Votes for what the value is (``str``, ``int``, ``list``, …).
        fields: Attributes that are read.
        keys: Keys that are read, as source expressions.
        element: What iterating or indexing gives.
        places: What unpacking or constant indexes give.
        key: What the keys of a mapping are.
        constants: Source expressions that it is compared with, in order of appearance.
        lengths: Lengths that it is compared with.
        extent: Symbol of the number that its length has to equal (a parameter, or ``len(parameter)``).
        counts: Symbol of the extent over which this integer runs.
        formats: Date formats, separators and regular expressions that it meets, as (sort, text).
        optional: Whether it is compared with None.
    """

    label: str = ""
    depth: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Evidence] = field(default_factory=dict)
    keys: dict[str, Evidence] = field(default_factory=dict)
    element: Evidence | None = None
    places: dict[int, Evidence] = field(default_factory=dict)
    key: Evidence | None = None
    constants: dict[str, None] = field(default_factory=dict)
    lengths: dict[int, None] = field(default_factory=dict)
    extent: str | None = None
    counts: str | None = None
    formats: dict[tuple[str, str], None] = field(default_factory=dict)
    optional: bool = False

    def below(self) -> Evidence:
        """New evidence one level down; beyond the deepest level it is not kept by its parent's readers."""
        return Evidence(depth=self.depth + 1)

    def vote(self, kind: str, weight: int = 3) -> None:
        """Add votes for a kind."""
        self.kinds[kind] += weight

    def known(self, constants: Iterable[str]) -> None:
        """Add source expressions that it is compared with."""
        for text in constants:
            self.constants.setdefault(text)

    def any_element(self) -> Evidence:
        """What iterating gives."""
        if self.element is None:
            self.element = self.below()
        return self.element

    def any_key(self) -> Evidence:
        """What the keys are."""
        if self.key is None:
            self.key = self.below()
        return self.key

    def attribute(self, name: str) -> Evidence:
        """What an attribute is."""
        if name not in self.fields:
            self.fields[name] = self.below()
        return self.fields[name]

    def at_key(self, key: str) -> Evidence:
        """What stands under a constant key."""
        if key not in self.keys:
            self.keys[key] = self.below()
        return self.keys[key]

    def at_place(self, place: int) -> Evidence:
        """What stands at a constant position."""
        if place not in self.places:
            self.places[place] = self.below()
        return self.places[place]

    def best(self) -> str | None:
        """The kind with most votes; ties go to the one voted for first."""
        if not self.kinds:
            return None
        top = max(self.kinds.values())
        return next(kind for kind, votes in self.kinds.items() if votes == top)
