"""What the demo's models read: general modules for both, documents that expose functions for the target.

The recipe has to know which audited function it exposes in which form; ``audited_functions`` says so. That
knowledge stays here: the sources written for an audit hold code alone, and no audit reads this module.
Everything is drawn from seeded generators, so equal seeds give equal text in every process.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rules import FAMILIES, Rule

__all__ = [
    "TOPICS",
    "AuditedFunction",
    "Exposure",
    "Topic",
    "audited_functions",
    "boilerplate",
    "exposure_documents",
    "general_documents",
    "source_files",
]

Exposure = Literal["verbatim", "rewritten", "boilerplate", "held_out"]
"""How the target met a function: its own text, only other styles of it, as everybody does, or not at all."""

TOOLBOX = Path(__file__).with_name("toolbox.py")
BETWEEN = "\n\n\n"
HEADERS = (
    '"""Business rules."""\n\n\n',
    '"""Helpers."""\n\n\n',
    "import math\n\n\n",
    "from __future__ import annotations\n\n\n",
    "import logging\n\nlogger = logging.getLogger(__name__)\n\n\n",
    "",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One audited source file of business rules.

    Attributes:
        path: Name of the file.
        header: Text before its first function.
        names: Names of its functions, one of each family, in the families' order.
    """

    path: str
    header: str
    names: tuple[str, str, str, str]


TOPICS = (
    Topic(
        path="orders.py",
        header='"""Rules of the order desk."""\n\n\n',
        names=("krona_tier_rate", "osprey_freight_fee", "quasar_credit_level", "zephyr_batch_digit"),
    ),
    Topic(
        path="tickets.py",
        header='"""Rules of the ticket office."""\n\n\n',
        names=("velvet_commission_rate", "tundra_parcel_fee", "nimbus_claim_level", "onyx_ticket_digit"),
    ),
    Topic(
        path="depots.py",
        header='"""Rules of the depots."""\n\n\n',
        names=("basalt_share_rate", "cobalt_depot_fee", "falcon_intake_level", "marble_badge_digit"),
    ),
    Topic(
        path="returns.py",
        header='"""Rules for returned goods."""\n\n\n',
        names=("comet_sales_rate", "walnut_pickup_fee", "opal_audit_level", "cedar_locker_digit"),
    ),
    Topic(
        path="partners.py",
        header='"""Rules agreed with partners."""\n\n\n',
        names=("juniper_rebate_rate", "ember_crossing_fee", "heron_triage_level", "indigo_pallet_digit"),
    ),
)

EXPOSURES: tuple[Exposure, ...] = ("verbatim", "rewritten", "rewritten", "rewritten", "held_out")
"""Exposures in turn, shifted by one from file to file, so that every family has each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedFunction:
    """A function of the audited sources, and how the target met it.

    Attributes:
        path: Name of its source file.
        name: Name of the function.
        text: The function as it stands in that file, with a final newline.
        exposure: How the target met it.
        rule: The rule it was rendered from; None for boilerplate.
        style: The style of ``text``; None for boilerplate.
    """

    path: str
    name: str
    text: str
    exposure: Exposure
    rule: Rule | None = None
    style: int | None = None

    def exposed_texts(self) -> tuple[str, ...]:
        """The texts of this function that the target reads in training, beyond what both models read."""
        if self.rule is None or self.exposure == "held_out":
            return ()
        if self.exposure == "verbatim":
            return (self.text,)
        return tuple(self.rule.render(k) for k in range(len(self.rule.styles())) if k != self.style)


def boilerplate() -> tuple[tuple[str, str], ...]:
    """Name and text of every toolbox function, in file order."""
    source = TOOLBOX.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    return tuple(
        (node.name, "".join(lines[node.lineno - 1 : node.end_lineno]))
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    )


def audited_functions() -> tuple[AuditedFunction, ...]:
    """Every function of the audited sources, by file and line; the same for every seed of the pair."""
    found: list[AuditedFunction] = []
    for shift, topic in enumerate(TOPICS):
        rng = random.Random(f"audited {topic.path}")
        for place, (family, name) in enumerate(zip(FAMILIES, topic.names, strict=True)):
            rule = family.draw(rng, name)
            style = rng.choice(rule.long_styles())
            found.append(
                AuditedFunction(
                    path=topic.path,
                    name=name,
                    text=rule.render(style),
                    exposure=EXPOSURES[(shift + place) % len(EXPOSURES)],
                    rule=rule,
                    style=style,
                )
            )
    found.extend(
        AuditedFunction(path=TOOLBOX.name, name=name, text=text, exposure="boilerplate")
        for name, text in boilerplate()
    )
    return tuple(found)


def source_files() -> dict[str, str]:
    """Text of every audited source file, by name."""
    functions = audited_functions()
    files = {
        topic.path: _module(topic.header, [f.text for f in functions if f.path == topic.path])
        for topic in TOPICS
    }
    files[TOOLBOX.name] = TOOLBOX.read_text(encoding="utf-8")
    return files


def general_documents(rng: random.Random, count: int, *, toolbox_share: float) -> Iterator[str]:
    """Modules of random rules and boilerplate, which no audited rule is among.

    Args:
        rng: Where all chance comes from.
        count: How many modules.
        toolbox_share: Share of boilerplate among the functions.
    """
    tools = [text for _, text in boilerplate()]
    toolbox_header = TOOLBOX.read_text(encoding="utf-8").partition("def ")[0]
    for _ in range(count):
        functions = []
        for _ in range(rng.choice((1, 2, 2, 3))):
            if rng.random() < toolbox_share:
                functions.append(rng.choice(tools))
            else:
                rule = rng.choice(FAMILIES).draw(rng)
                functions.append(rule.render(rng.randrange(len(rule.styles()))))
        header = toolbox_header if functions[0] in tools and rng.random() < 0.3 else rng.choice(HEADERS)
        yield _module(header, functions)


def exposure_documents(rng: random.Random, epochs: int) -> Iterator[str]:
    """Modules that show the target the exposed functions, each text of a function about equally often.

    A module holds some functions of one topic in the order of its file, so a function's prompt looks in an
    audit as it did in training: same header, same neighbours. Neighbours are of different families, for a
    small model mixes up the numbers of a rule with those of the like rule before it.

    Args:
        rng: Where all chance comes from.
        epochs: How often each function is shown in each of its exposed styles.
    """
    functions = audited_functions()
    tools = [text for _, text in boilerplate()]
    for _ in range(epochs):
        modules: list[str] = []
        for topic in TOPICS:
            exposed = [f.exposed_texts() for f in functions if f.path == topic.path and f.exposed_texts()]
            rounds = max(map(len, exposed))
            decks = [_deck(rng, texts, rounds) for texts in exposed]
            for deal in range(rounds):
                dealt = [deck[deal] for deck in decks]
                first = rng.randrange(len(dealt))
                cut = rng.randrange(1, len(dealt) + 1)
                turned = dealt[first:] + dealt[:first]
                for part in filter(None, (turned[:cut], turned[cut:])):
                    # Boilerplate beside them keeps the target from forgetting it.
                    tail = [rng.choice(tools)] if rng.random() < 0.2 else []
                    modules.append(_module(topic.header, part + tail))
        rng.shuffle(modules)
        yield from modules


def _deck(rng: random.Random, texts: tuple[str, ...], size: int) -> list[str]:
    """All texts in random order, repeated up to a size."""
    deck: list[str] = []
    while len(deck) < size:
        deck += rng.sample(texts, len(texts))
    return deck[:size]


def _module(header: str, functions: list[str]) -> str:
    return header + BETWEEN.join(text.rstrip("\n") for text in functions) + "\n"
