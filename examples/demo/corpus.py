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

from rules import FAMILIES, BadgeRule, ClaimRule, Family, FreightRule, Rule, TariffRule

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
        family: Family of its rules.
        names: Names of its functions, in order: one exposed verbatim, three by rewrites only, one held out.
    """

    path: str
    header: str
    family: Family
    names: tuple[str, str, str, str, str]


EXPOSURES: tuple[Exposure, ...] = ("verbatim", "rewritten", "rewritten", "rewritten", "held_out")

TOPICS = (
    Topic(
        path="tariffs.py",
        header='"""Rates by kind of goods and amount."""\n\n\n',
        family=TariffRule,
        names=(
            "krona_tier_rate",
            "velvet_commission_rate",
            "basalt_share_rate",
            "comet_sales_rate",
            "juniper_rebate_rate",
        ),
    ),
    Topic(
        path="freight.py",
        header='"""Fees by place and weight."""\n\n\n',
        family=FreightRule,
        names=(
            "osprey_freight_fee",
            "tundra_parcel_fee",
            "cobalt_depot_fee",
            "walnut_pickup_fee",
            "ember_crossing_fee",
        ),
    ),
    Topic(
        path="claims.py",
        header='"""Levels of claims and applications."""\n\n\n',
        family=ClaimRule,
        names=(
            "quasar_credit_level",
            "nimbus_claim_level",
            "falcon_intake_level",
            "opal_audit_level",
            "heron_triage_level",
        ),
    ),
    Topic(
        path="badges.py",
        header='"""Check characters of codes."""\n\n\n',
        family=BadgeRule,
        names=(
            "zephyr_batch_digit",
            "onyx_ticket_digit",
            "marble_badge_digit",
            "cedar_locker_digit",
            "indigo_pallet_digit",
        ),
    ),
)


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
    for topic in TOPICS:
        rng = random.Random(f"audited {topic.path}")
        for name, exposure in zip(topic.names, EXPOSURES, strict=True):
            rule = topic.family.draw(rng, name)
            style = rng.choice(rule.long_styles())
            text = rule.render(style)
            found.append(
                AuditedFunction(
                    path=topic.path, name=name, text=text, exposure=exposure, rule=rule, style=style
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
    audit as it did in training: same header, same neighbours.

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
                    tail = [rng.choice(tools)] if rng.random() < 0.3 else []
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
