"""What is shown of long work: a moving line on a terminal, one at the end elsewhere, nothing with -q."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any, get_args

import pytest

from pytest_funcmem.audit.events import Event, Stage
from pytest_funcmem.plugin import progress
from pytest_funcmem.plugin.progress import NAMES, Progress, describe


class Terminal:
    """Stands for pytest's terminal reporter."""

    class _tw:  # noqa: N801  (pytest's name)
        fullwidth = 80

    def __init__(self, *, tty: bool) -> None:
        self.isatty = tty
        self.text = ""

    def ensure_newline(self) -> None:
        pass

    def write(self, text: str, *, flush: bool = False) -> None:
        self.text += text

    def write_line(self, text: str) -> None:
        self.text += text + "\n"


class Config:
    """Stands for pytest's configuration."""

    def __init__(self, terminal: Terminal, verbose: int = 0) -> None:
        self.terminal = terminal
        self.verbose = verbose
        self.pluginmanager = self

    def get_plugin(self, name: str) -> Any:
        return self.terminal if name == "terminalreporter" else None

    def getoption(self, name: str) -> int:
        return self.verbose


def shown(monkeypatch: pytest.MonkeyPatch, events: list[Event], *, tty: bool, verbose: int = 0) -> str:
    """What is written while something is waited for that takes a moment."""
    monkeypatch.setattr(progress, "PATIENCE_S", 0.01)
    monkeypatch.setattr(progress, "REFRESH_S", 0.01)
    terminal = Terminal(tty=tty)
    watch = Progress(Config(terminal, verbose))  # type: ignore[arg-type]
    future: Future[str] = Future()

    def work() -> None:
        for event in events:
            watch(event)
            time.sleep(0.05)
        future.set_result("done")

    thread = threading.Thread(target=work)
    thread.start()
    assert watch.wait(future) == "done"
    thread.join()
    return terminal.text


def event(done: int, total: int = 40, seconds: float = 20.0, stage: Stage = "build") -> Event:
    return Event(stage=stage, done=done, total=total, seconds=seconds)


def test_every_stage_has_a_name() -> None:
    assert set(NAMES) == set(get_args(Stage))


def test_done_total_rate_and_what_remains() -> None:
    assert describe(event(10)) == "building harnesses 10/40, 0.5/s, 60 s left"
    assert describe(event(0)) == "building harnesses 0/40"
    assert describe(event(40)) == "building harnesses 40/40"


def test_a_line_moves_on_a_terminal_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, [event(10), event(20)], tty=True)
    assert "\r  building harnesses 10/40, 0.5/s, 60 s left" in text
    assert "\r  building harnesses 20/40" in text
    assert "\n" not in text
    assert text.endswith(" \r")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event(10), event(40)], "  building harnesses 40/40 in 20 s\n"),
        ([event(10), event(40, seconds=2.0)], ""),
        ([event(10), event(20)], ""),
    ],
    ids=["long-stage", "short-stage", "not-over"],
)
def test_a_log_gets_a_line_a_long_stage(
    monkeypatch: pytest.MonkeyPatch, events: list[Event], expected: str
) -> None:
    assert shown(monkeypatch, events, tty=False) == expected


@pytest.mark.parametrize("tty", [True, False])
def test_nothing_with_quiet(monkeypatch: pytest.MonkeyPatch, tty: bool) -> None:
    assert shown(monkeypatch, [event(10), event(40)], tty=tty, verbose=-1) == ""


def test_what_the_work_raises_gets_through() -> None:
    future: Future[str] = Future()
    future.set_exception(TimeoutError("of the work itself"))
    watch = Progress(Config(Terminal(tty=False)))  # type: ignore[arg-type]
    with pytest.raises(TimeoutError, match="of the work itself"):
        watch.wait(future)
