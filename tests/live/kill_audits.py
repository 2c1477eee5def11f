"""Kills audits at random moments, over and over, and holds what is left against an audit that nobody killed.

``python kill_audits.py DIRECTORY KILLS SEED -- PYTEST-ARGUMENTS`` prints one JSON object. Each audit is a
fork of this process, which has imported everything before, so that the moments fall into the audit and not
into imports. A store is used until an audit on it is not killed in time; its report is compared, and a new
store is begun.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from pytest_funcmem.store.upkeep import damaged


def fork_audit(place: Path, store: Path, report: Path, arguments: list[str]) -> int:
    """Start an audit in a process of its own; returns its id."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    log = os.open(place / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(place)
    import pytest

    code = pytest.main(
        [*arguments, f"--funcmem-store={store}", f"--funcmem-report=json:{report}", "-p", "no:cacheprovider"]
    )
    os._exit(int(code))


def finished(store: Path) -> dict[str, bytes]:
    """The entries of a store, by path."""
    return {str(path): path.read_bytes() for path in store.rglob("*.json")}


def without_times(report: Path) -> list[object]:
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for key in ("seconds", "started", "finished"):
            line.pop(key, None)
    return lines


def main() -> None:
    place, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    arguments = sys.argv[5:]
    draw = random.Random(seed)
    # What every audit imports is imported once, before the first fork; no thread is started by it.
    import hypothesis  # noqa: F401
    import sacrebleu  # noqa: F401
    import scipy.special  # noqa: F401

    import pytest_funcmem.plugin.session  # noqa: F401

    report = place / "whole.jsonl"
    began = time.monotonic()
    code = os.waitstatus_to_exitcode(os.waitpid(fork_audit(place, place / "whole", report, arguments), 0)[1])
    duration = time.monotonic() - began
    expected = without_times(report)
    done = {"killed": 0, "completed": 0, "entries_kept": 0, "entries_lost": 0, "entries_damaged": 0}
    done["reports_equal"] = 0
    number = 0
    store = place / "store-0"
    while done["killed"] < kills:
        before = finished(store)
        report = place / f"report-{number}.jsonl"
        pid = fork_audit(place, store, report, arguments)
        deadline = time.monotonic() + draw.uniform(0.0, 1.1 * duration)
        status = None
        while status is None and time.monotonic() < deadline:
            found, code_now = os.waitpid(pid, os.WNOHANG)
            status = code_now if found else None
            time.sleep(0.002)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        after = finished(store)
        lost = [path for path, raw in before.items() if after.get(path) != raw]
        done["entries_lost"] += len(lost)
        done["entries_kept"] += len(before) - len(lost)
        if store.joinpath("v1").is_dir():
            done["entries_damaged"] += len(list(damaged(store)))
        if os.WIFSIGNALED(status):
            done["killed"] += 1
            # For whoever follows a long loop, or has to end it.
            (place / "progress.json").write_text(json.dumps(done) + "\n", encoding="utf-8")
            continue
        done["completed"] += 1
        same = os.waitstatus_to_exitcode(status) == code and without_times(report) == expected
        done["reports_equal"] += same
        number += 1
        store = place / f"store-{number}"
    # The last store, however far it came, ends in the same report as well.
    report = place / "last.jsonl"
    status = os.waitpid(fork_audit(place, store, report, arguments), 0)[1]
    done["completed"] += 1
    done["reports_equal"] += os.waitstatus_to_exitcode(status) == code and without_times(report) == expected
    result = {**done, "stores": number + 1, "seconds_alone": round(duration, 2)}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
