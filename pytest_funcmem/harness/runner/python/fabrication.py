"""The choices of an input state: what made-up objects answer, and what was asked of them.

What a made-up object answers is drawn from the state's seed and the object's path
(``client.get('/a').status``), unless the state's answers say otherwise. What was asked is noted down, so that
a search can see which answers a branch hangs on. It knows nothing of the audited file.
"""

from __future__ import annotations

import hashlib
import sys
import types
from collections.abc import Callable
from typing import Any

MAX_ASKED = 400  # questions that are reported for one state
MAX_QUESTIONS = 4_000  # questions after which a run counts as endless


class EndlessError(BaseException):
    """More was asked than any sensible run asks."""


class Raising:
    """An answer that is no value but an exception."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Fabrication:
    """The answers of one input state, and what was asked."""

    # Set by the modules that know how to make things.
    unanswered: Callable[[str, str], Any]
    named: Callable[[str, str, str], Any]
    class_for: Callable[[str, str, str, type[Any] | None], type[Any]]
    expressions: dict[str, Any]

    def __init__(self) -> None:
        self.enabled = False
        self.modules: set[str] = set()
        self.exceptions: set[str] = set()
        self.inherited: set[str] = set()
        self.made_modules: list[str] = []
        self.classes: dict[str, type[Any]] = {}
        self.preloaded: list[Any] = []
        self.loading = False
        self.codes: dict[int, int] = {}
        self.begin(0, {}, {})

    def begin(self, seed: int, answers: dict[str, str], space: dict[str, Any]) -> None:
        """Begin a state."""
        self.seed = seed
        self.answers = answers
        self.space = space
        self.given: dict[str, Any] = {}
        self.current = ""
        self.forget()
        for made in self.preloaded:
            object.__getattribute__(made, "_fabricated_made").clear()

    def forget(self) -> None:
        """Forget what was asked while the state was built."""
        self.asked: dict[tuple[str, str, str, int], None] = {}
        self.questions = 0
        self.truths: dict[str, int] = {}
        self.held: dict[tuple[int, str], Any] = {}

    def note(self, fabricated: Any, kind: str, operand: str = "") -> None:
        """Note a question, with the line of the function under test that asked it."""
        self.note_path(short_path(fabricated), kind, operand)

    def note_path(self, path: str, kind: str, operand: str = "") -> None:
        """Note a question about a path."""
        self.questions += 1
        if self.questions > MAX_QUESTIONS:
            raise EndlessError
        if len(self.asked) < MAX_ASKED:
            frame: types.FrameType | None = sys._getframe(1)
            while frame is not None and id(frame.f_code) not in self.codes:
                frame = frame.f_back
            line = frame.f_lineno - self.codes[id(frame.f_code)] if frame is not None else -1
            self.asked.setdefault((path, kind, operand[:200], line))

    def chance(self, path: str, question: str, count: int) -> int:
        """A number below ``count`` that the state's seed, the path and the question decide."""
        drawn = hashlib.sha256(f"{self.seed} {path} {question}".encode("utf-8", "backslashreplace")).digest()
        return int.from_bytes(drawn[:6], "big") % count

    def decided(self, question: str) -> Any:
        """What the state's answers say to a question about an object; None if nothing."""
        text = self.answers.get(question)
        return None if text is None else self.evaluate(text)

    def evaluate(self, text: str) -> Any:
        """The value of an answer's expression."""
        code = compile(text.strip(), "<answer>", "eval", dont_inherit=True)
        return eval(code, {**self.space, **self.expressions})

    def value(self, full: str, *shorts: str) -> Any:
        """What stands at a path: the state's answer, or a fabricated object.

        Raises:
            BaseException: The answer is that exception.
        """
        if full in self.given:
            found = self.given[full]
        else:
            self.current = full
            text = next((self.answers[key] for key in (full, *shorts) if key in self.answers), None)
            found = self.unanswered(full, shorts[0]) if text is None else self.evaluate(text)
            self.given[full] = found
        if isinstance(found, Raising):
            raise found.error
        return found


class MadeUp:
    """What made-up objects carry: where they stand, what was set on them, and what they were asked for."""

    __slots__ = (
        "_fabricated_class",
        "_fabricated_full",
        "_fabricated_made",
        "_fabricated_next",
        "_fabricated_set",
        "_fabricated_short",
    )


def full_path(value: Any) -> str:
    """Where a made-up object stands, with the arguments of calls."""
    found: str = object.__getattribute__(value, "_fabricated_full")
    return found


def short_path(value: Any) -> str:
    """Where a made-up object stands, without the arguments of calls."""
    found: str = object.__getattribute__(value, "_fabricated_short")
    return found


def set_on(value: Any) -> dict[str, Any]:
    """Attributes and items that were set on a made-up object."""
    found: dict[str, Any] = object.__getattribute__(value, "_fabricated_set")
    return found


fabrication = Fabrication()
