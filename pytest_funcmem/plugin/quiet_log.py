"""Keeps this package's log out of pytest's reports while an audit is masked: its messages may quote code."""

from __future__ import annotations

import logging

__all__ = ["QuietLog"]


class QuietLog:
    """Switches the log off and on again; may be stopped without having been started."""

    def __init__(self) -> None:
        self._logger = logging.getLogger("pytest_funcmem")
        self._handler = logging.NullHandler()
        self._started = False

    def start(self) -> None:
        """Let no message of this package reach a handler of pytest's or standard error."""
        self._logger.addHandler(self._handler)  # without any handler, warnings would go to standard error
        self._logger.propagate = False
        self._started = True

    def stop(self) -> None:
        """Let messages through again."""
        if self._started:
            self._logger.propagate = True
            self._logger.removeHandler(self._handler)
            self._started = False
