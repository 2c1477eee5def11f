"""``funcmem store info|verify|gc``: what a store holds, whether it is sound, and what of it can go."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from pytest_funcmem.core.options import Settings
from pytest_funcmem.store.upkeep import collect, contents, damaged

__all__ = ["add_store_command", "run_store_command"]

_DAY_S = 86_400.0


def add_store_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "store",
        help="look at the store of finished results, verify it, or free space",
        description="info: what the store holds. verify: read every entry and name those that are damaged; "
        "exits with 1 where there are any. gc: remove damaged entries, what killed runs left, and results of "
        "other versions. What is removed is made again by the audit that wants it.",
    )
    parser.add_argument("action", choices=["info", "verify", "gc"])
    parser.add_argument("--store", metavar="DIR", default=Settings().store, help="directory of the store")
    parser.add_argument(
        "--older-than",
        metavar="DAYS",
        type=float,
        default=None,
        help="gc: also remove entries that no audit has used for so many days",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object instead of lines")


def run_store_command(options: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        1 where ``verify`` finds damage, else 0.

    Raises:
        UsageError: There is no store.
    """
    path = Path(options.store)
    match options.action:
        case "info":
            found = contents(path)
            _write(
                options.json,
                dataclasses.asdict(found),
                [
                    f"store     {path}, format {found.format}",
                    *(
                        f"{kind:<10}{number:>8} entries {size:>14} bytes"
                        for kind, number, size in found.kinds
                    ),
                    f"leftovers {found.leftovers:>8} files of writers that were killed, or still write",
                    *(
                        f"other     {name}: results of another version; gc removes them"
                        for name in found.others
                    ),
                ],
            )
            return 0
        case "verify":
            faults = list(damaged(path))
            total = sum(number for _, number, _ in contents(path).kinds)
            _write(
                options.json,
                {
                    "entries": total,
                    "damaged": [{"path": str(item.path), "fault": item.fault} for item in faults],
                },
                [
                    *(f"{item.path} {item.fault}" for item in faults),
                    f"{len(faults)} of {total} entries are damaged"
                    + ("; the next audit that wants them makes them again" if faults else ""),
                ],
            )
            return 1 if faults else 0
        case _:
            older = None if options.older_than is None else options.older_than * _DAY_S
            gone = collect(path, older_than_s=older)
            _write(
                options.json,
                dataclasses.asdict(gone),
                [
                    f"removed {gone.damaged} damaged and {gone.unused} unused entries, {gone.leftovers}"
                    f" leftovers and {gone.others} directories of other formats: {gone.bytes} bytes"
                ],
            )
            return 0


def _write(as_json: bool, value: object, lines: list[str]) -> None:
    text = json.dumps(value, indent=2) if as_json else "\n".join(lines)
    sys.stdout.write(f"{text}\n")
