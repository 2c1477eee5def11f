"""A small source tree with completions of two made-up models, for audits by replay files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

TARIFFS = '''"""Tariffs of a parcel service."""

import math


def parcel_fee(weight: float, zone: str) -> float:
    """Fee of a parcel by weight and zone."""
    fees = {"inner": 4.5, "outer": 7.25, "island": 12.0}
    if zone not in fees:
        raise ValueError(zone)
    fee = fees[zone]
    if weight > 20:
        fee = fee + 9.0
    elif weight > 5:
        fee = fee + 3.5
    return round(fee, 2)


def delay_class(days: int) -> str:
    """Class of a delay."""
    label = "on time"
    if days > 14:
        label = "lost"
    elif days > 7:
        label = "very late"
    elif days > 2:
        label = "late"
    else:
        label = "on time"
    return label


class Depot:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.stored = 0

    def store(self, parcels: int) -> int:
        """Take in parcels; gives how many do not fit."""
        if parcels < 0:
            raise ValueError("parcels cannot be negative")
        room = self.capacity - self.stored
        if parcels > room:
            left = parcels - room
            self.stored = self.capacity
        else:
            left = 0
            self.stored = self.stored + parcels
        return left
'''

REWRITTEN_FEE = """
    table = [("inner", 4.5), ("outer", 7.25), ("island", 12.0)]
    for name, base in table:
        if name == zone:
            extra = 9.0 if weight > 20 else (3.5 if weight > 5 else 0.0)
            return round(base + extra, 2)
    raise ValueError(zone)
"""
OTHER_FEE = """
    if zone == "inner":
        return weight * 2
    return weight * 3
"""
VERBATIM_DELAY = TARIFFS[TARIFFS.index("def delay_class(days: int) -> str:") :].split("\n\n\n")[0][34:]
OTHER_DELAY = '\n    return "late" if days else "early"\n'
SAME_STORE = """
        free = self.capacity - self.stored
        if parcels < 0:
            raise ValueError("parcels cannot be negative")
        taken = min(free, parcels)
        self.stored += taken
        return parcels - taken
"""


def replay(path: Path, completions: dict[str, str]) -> Path:
    lines = [
        json.dumps({"function": key, "completion": text, "finish_reason": "stop"})
        for key, text in completions.items()
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Scene:
    """A source tree and two replay files in a pytester directory."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.source = pytester.mkdir("parcels")
        (self.source / "tariffs.py").write_text(TARIFFS, encoding="utf-8")
        self.target = replay(
            pytester.path / "target.jsonl",
            {
                "tariffs.py::parcel_fee": REWRITTEN_FEE,
                "tariffs.py::delay_class": VERBATIM_DELAY,
                "tariffs.py::Depot.store": SAME_STORE,
            },
        )
        self.reference = replay(
            pytester.path / "reference.jsonl",
            {
                "tariffs.py::parcel_fee": OTHER_FEE,
                "tariffs.py::delay_class": OTHER_DELAY,
                "tariffs.py::Depot.store": SAME_STORE,
            },
        )

    @property
    def options(self) -> list[str]:
        return [
            f"--funcmem-model=replay:{self.target}",
            f"--funcmem-reference=replay:{self.reference}",
            "--funcmem-sandbox=namespace",
            "--funcmem-min-lines=9",
        ]

    def run(self, *arguments: str) -> pytest.RunResult:
        """Audit the tree; target models among the arguments stand in the place of the scene's own."""
        options = self.options
        if any(argument.startswith("--funcmem-model=") for argument in arguments):
            options = [option for option in options if not option.startswith("--funcmem-model=")]
        return self.pytester.runpytest_subprocess(f"--funcmem-source={self.source}", *options, *arguments)

    def report(self, name: str = "out.jsonl") -> list[dict[str, object]]:
        """The lines of a JSON report."""
        text = (self.pytester.path / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def scene(pytester: pytest.Pytester) -> Scene:
    return Scene(pytester)


@pytest.fixture
def make_replay() -> Callable[[Path, dict[str, str]], Path]:
    return replay
