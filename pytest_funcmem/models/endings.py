"""Knows when the function that a model is writing has ended, by asking the function's language.

Knows nothing of tokens. Front ends are loaded when the first completion of their language asks.
"""

from __future__ import annotations

import threading
from typing import cast

from pytest_funcmem.core.protocols import LanguageFrontend
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.core.registry import load

__all__ = ["FunctionEndings"]


class FunctionEndings:
    """Asks the front end of a function's language whether a completion has ended it.

    Safe to call from several threads: parsers are not, so one question is asked at a time.
    """

    def __init__(self) -> None:
        self._frontends: dict[str, LanguageFrontend] = {}
        self._lock = threading.Lock()

    def ended(self, function: SourceFunction, completion: str) -> bool:
        """Whether more text could no longer change the function."""
        with self._lock:
            frontend = self._frontends.get(function.language)
            if frontend is None:
                frontend = cast(
                    LanguageFrontend,
                    load("language", function.language, purpose=f"to read {function.language} code")(),
                )
                self._frontends[function.language] = frontend
            return frontend.function_ended(function, completion)
