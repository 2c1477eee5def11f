"""Shows that long work moves, while the main thread waits for a record.

On a terminal one line that is rewritten; elsewhere one line for each long stage when it ends; with ``-q``
nothing.
"""

from __future__ import annotations

import math
import textwrap
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TypeVar

import pytest

from pytest_funcmem.audit.events import Event

__all__ = ["Progress"]

PATIENCE_S = 0.3  # a wait shorter than this shows nothing
REFRESH_S = 0.2
LONG_STAGE_S = 10.0  # off a terminal, a stage that took less is not worth a line

NAMES = {
    "load": "loading models",
    "prompts": "cutting prompts",
    "target": "completing with the target",
    "reference": "completing with the reference",
    "sandbox": "opening the sandbox",
    "build": "building harnesses",
    "run": "running candidates",
}

T = TypeVar("T")


class Progress:
    """Listens to an audit and shows how far it is.

    Events arrive from the pipeline's threads; only ``wait``, in the main thread, writes.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._latest: dict[str, Event] = {}
        self._told: set[str] = set()
        self._width = 0

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        self._latest[event.stage] = event

    def say(self, text: str) -> None:
        """Write one paragraph between items, unless the user asked for less output."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self._config.getoption("verbose") < 0:
            return
        reporter.ensure_newline()
        for line in textwrap.wrap(text, width=100, initial_indent="funcmem: ", subsequent_indent="  "):
            reporter.write_line(line)

    def wait(self, future: Future[T], *, timeout_s: float | None = None) -> T | None:
        """Wait for a future, showing progress meanwhile; Ctrl-C gets through.

        Args:
            future: What to wait for.
            timeout_s: Longest wait in seconds; None waits for ever.

        Returns:
            The result; None where the time ran out.
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        try:
            return future.result(timeout=max(0.0, min(PATIENCE_S, deadline - time.monotonic())))
        except FutureTimeoutError:
            if future.done():
                raise  # the work itself raised it
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if reporter is None or self._config.getoption("verbose") < 0:
            return self._wait_silently(future, deadline)
        if capture is None:
            return self._wait_showing(future, reporter, deadline)
        with capture.global_and_fixture_disabled():
            return self._wait_showing(future, reporter, deadline)

    def _wait_silently(self, future: Future[T], deadline: float) -> T | None:
        try:
            return future.result(None if deadline == math.inf else max(0.0, deadline - time.monotonic()))
        except FutureTimeoutError:
            if future.done():
                raise
            return None

    def _wait_showing(
        self, future: Future[T], reporter: pytest.TerminalReporter, deadline: float
    ) -> T | None:
        tty = reporter.isatty
        try:
            while time.monotonic() < deadline:
                if tty:
                    self._rewrite(reporter)
                else:
                    self._tell_ended(reporter)
                try:
                    return future.result(timeout=REFRESH_S)
                except FutureTimeoutError:
                    if future.done():
                        raise
            return None
        finally:
            if tty:
                self._erase(reporter)
            else:
                self._tell_ended(reporter)

    def _rewrite(self, reporter: pytest.TerminalReporter) -> None:
        parts = [describe(event) for event in list(self._latest.values()) if 0 <= event.done < event.total]
        line = ("  " + " | ".join(parts))[: max(20, reporter._tw.fullwidth - 1)]
        if not parts:
            return
        reporter.ensure_newline()
        reporter.write("\r" + line.ljust(self._width), flush=True)
        self._width = len(line)

    def _erase(self, reporter: pytest.TerminalReporter) -> None:
        if self._width:
            reporter.write("\r" + " " * self._width + "\r", flush=True)
            self._width = 0

    def _tell_ended(self, reporter: pytest.TerminalReporter) -> None:
        for stage, event in list(self._latest.items()):
            if stage not in self._told and event.done == event.total and event.seconds >= LONG_STAGE_S:
                self._told.add(stage)
                reporter.ensure_newline()
                reporter.write_line(f"  {describe(event)} in {event.seconds:.0f} s")


def describe(event: Event) -> str:
    """One phrase: stage, done, total, rate and what remains."""
    text = f"{NAMES[event.stage]} {event.done}/{event.total}"
    if 0 < event.done < event.total and event.seconds >= 1:
        rate = event.done / event.seconds
        text += f", {rate:.1f}/s, {(event.total - event.done) / rate:.0f} s left"
    return text
