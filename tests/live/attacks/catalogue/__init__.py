"""Every attack of the suite, by what it goes for."""

from __future__ import annotations

from attack_catalogue import bombs, escapes, floods, forgeries, neighbours
from attack_catalogue.record import Attack

ATTACKS: tuple[Attack, ...] = (
    *bombs.ATTACKS,
    *floods.ATTACKS,
    *neighbours.ATTACKS,
    *escapes.ATTACKS,
    *forgeries.ATTACKS,
)
