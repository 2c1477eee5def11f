"""Kills audits at random moments, over and over, and holds what is left against an audit that nobody killed.

``python kill_audits.py DIRECTORY KILLS SEED -- PYTEST-ARGUMENTS`` prints one JSON object. Audits come in
pairs on one store. Each is a fork of this process, which has imported before all that an audit imports, so
that the moments fall into audits and not into their start. A store begins with three quarters of a finished
one's entries, drawn at random, so that some kills fall into building and others into judging or reporting.
After eight kills an audit is left alone; its report is compared, as is that of any audit that ends before its
kill, and the next store is begun.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_funcmem.store.directory_store import read_entry
from pytest_funcmem.store.upkeep import damaged

COMPANY = 2  # audits at once on one store
KEPT = 0.75
KILLS = 8  # of audits on one store, unless one of them ends before
NEVER_S = 600.0


@dataclass(slots=True)
class Tally:
    """What the loop found."""

    killed: int = 0
    completed: int = 0
    reports_equal: int = 0
    entries_kept: int = 0
    entries_lost: int = 0
    entries_damaged: int = 0
    stores: int = 0
    seconds_alone: float = 0.0
    seconds: float = 0.0


class Loop:
    """Audits on stores below one directory.

    Args:
        place: The directory.
        arguments: Of pytest, for every audit.
        draw: Decides with what a store begins.
    """

    def __init__(self, place: Path, arguments: Sequence[str], draw: random.Random) -> None:
        self.place = place
        self.arguments = arguments
        self.draw = draw
        self.done = Tally()
        self.code, self.expected = self._whole(place / "whole")

    def _whole(self, store: Path) -> tuple[int, list[object]]:
        """An audit that nobody kills: its exit code and its report.

        What it imported is imported here too, so that the forks to come need not.
        """
        modules, report = self.place / "modules.txt", self.place / "whole.jsonl"
        code = os.waitstatus_to_exitcode(os.waitpid(self._start(store, report, modules), 0)[1])
        for name in modules.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(Exception):  # what cannot be imported by itself is left to the forks
                importlib.import_module(name)
        return code, without_times(report)

    def _start(self, store: Path, report: Path, modules: Path | None = None) -> int:
        """Start an audit in a process of its own; returns its id."""
        pid = os.fork()
        if pid:
            return pid
        os.setsid()
        log = os.open(self.place / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(self.place)
        import pytest

        own = [f"--funcmem-store={store}", f"--funcmem-report=json:{report}", "-p", "no:cacheprovider"]
        code = pytest.main([*self.arguments, *own])
        if modules is not None:
            modules.write_text("\n".join(sorted(sys.modules)), encoding="utf-8")
        os._exit(int(code))

    def begin(self) -> Path:
        """A new store, with some of the finished one's entries."""
        store = self.place / f"store-{self.done.stores}"
        self.done.stores += 1
        for path in sorted((self.place / "whole").rglob("*.json")):
            if self.draw.random() < KEPT:
                place = store / path.relative_to(self.place / "whole")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
        return store

    def together(self, store: Path, moments_s: Sequence[float]) -> bool:
        """Audits at once on one store, each killed at its moment; returns whether any ended before."""
        before = finished(store)
        began = time.monotonic()
        running = {}
        for number, moment_s in enumerate(moments_s):
            report = self.place / f"report-{number}.jsonl"
            running[self._start(store, report)] = (began + moment_s, report)
        completed = 0
        while running:
            for pid, (moment, report) in list(running.items()):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended and time.monotonic() >= moment:
                    os.kill(pid, signal.SIGKILL)
                    ended, status = os.waitpid(pid, 0)
                if not ended:
                    continue
                del running[pid]
                if os.WIFSIGNALED(status):
                    self.done.killed += 1
                    continue
                completed += 1
                same = os.waitstatus_to_exitcode(status) == self.code
                self.done.reports_equal += same and without_times(report) == self.expected
            time.sleep(0.002)
        self.done.completed += completed
        after = finished(store)
        lost = [path for path, value in before.items() if after.get(path) != value]
        self.done.entries_lost += len(lost)
        self.done.entries_kept += len(before) - len(lost)
        if store.joinpath("v1").is_dir():
            self.done.entries_damaged += len(list(damaged(store)))
        # For whoever follows a long loop, or has to end it.
        (self.place / "progress.json").write_text(json.dumps(asdict(self.done)) + "\n", encoding="utf-8")
        return completed > 0


def finished(store: Path) -> dict[Path, object]:
    """The values in a store, by path."""
    found = {}
    for path in store.rglob("*.json"):
        entry = json.loads(path.read_bytes())
        found[path] = read_entry(path.read_bytes(), entry["kind"], entry["key"])[0]
    return found


def without_times(report: Path) -> list[object]:
    """The lines of a report, but for its times."""
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for key in ("seconds", "started", "finished"):
            line.pop(key, None)
    return lines


def main() -> None:
    """Run the loop."""
    place, kills, draw = Path(sys.argv[1]), int(sys.argv[2]), random.Random(sys.argv[3])
    began = time.monotonic()
    loop = Loop(place, sys.argv[5:], draw)
    done = loop.done
    started = time.monotonic()
    loop.together(loop.begin(), [NEVER_S])
    done.seconds_alone = round(time.monotonic() - started, 2)
    while done.killed < kills:
        store, wanted = loop.begin(), min(kills, done.killed + KILLS)
        completed = False
        while done.killed < wanted and not completed:
            company = min(COMPANY, wanted - done.killed)
            moments_s = [draw.uniform(0.0, 1.2 * done.seconds_alone) for _ in range(company)]
            completed = loop.together(store, moments_s)
        loop.together(store, [NEVER_S])
    done.seconds = round(time.monotonic() - began, 1)
    sys.stdout.write(json.dumps(asdict(done)) + "\n")


if __name__ == "__main__":
    main()
