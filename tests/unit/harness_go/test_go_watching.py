"""A process may go on by what it used of the processor: the clock only ends what waits."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_funcmem.harness.runner.go import watching
from pytest_funcmem.harness.runner.go.watching import Watch


@contextmanager
def process(code: str) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read(1)
    yield child
    child.kill()
    child.communicate()


def seconds_until_late(watch: Watch, most: float) -> float:
    start = time.monotonic()
    while watch.left() > 0 and time.monotonic() - start < most:
        time.sleep(0.01)
    return time.monotonic() - start


def test_one_that_works_ends_by_the_processor() -> None:
    with process("import os; os.write(1, b'.')\nwhile True: pass") as child:
        watch = Watch(child.pid, 0.2)
        before = time.clock_gettime((~child.pid << 3) | 2)
        seconds_until_late(watch, 30.0)
        used = time.clock_gettime((~child.pid << 3) | 2) - before
        assert used >= 0.2
        watch.begin(1000.0)
        assert 0 < watch.left() <= watching._IDLE_S


def test_one_that_waits_ends_by_the_clock() -> None:
    with process("import os, time; os.write(1, b'.'); time.sleep(600)") as child:
        watch = Watch(child.pid, 100.0)
        assert seconds_until_late(watch, 30.0) == pytest.approx(watching._IDLE_S, abs=10.0)


def test_one_that_works_now_and_then_ends_after_a_multiple_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with process("import os, time; os.write(1, b'.')\nwhile True: time.sleep(0.01)") as child:
        watch = Watch(child.pid, 5.0)
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 9 * 5.0)
        monkeypatch.setattr(watch, "_moved", now + 9 * 5.0)
        assert watch.left() > 0
        monkeypatch.setattr(time, "monotonic", lambda: now + 11 * 5.0)
        monkeypatch.setattr(watch, "_moved", now + 11 * 5.0)
        assert watch.left() <= 0


def test_one_whose_use_nobody_knows_ends_by_the_clock() -> None:
    with process("import os; os.write(1, b'.')") as child:
        child.wait()
        watch = Watch(child.pid, 0.2)
        assert seconds_until_late(watch, 30.0) == pytest.approx(0.2, abs=10.0)
