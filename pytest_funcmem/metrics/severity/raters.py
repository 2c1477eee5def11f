"""What rates functions: the syntax tree, a language model, or a file of labels made elsewhere.

A rating that a model does not give in form is a counted failure and no rating; nothing is left out for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.records import Severity, SourceFunction
from pytest_funcmem.metrics.judging.answers import read_rating
from pytest_funcmem.metrics.judging.asking import ANSWER_TOKENS, Asker, AskerSettings, JudgeTally
from pytest_funcmem.metrics.judging.engines import ChatEngine, Question, Reply
from pytest_funcmem.metrics.judging.prompts import LANGUAGE_NAMES
from pytest_funcmem.metrics.severity.features import LocalRater

__all__ = ["JudgeRater", "LabelRater", "Rater", "open_rater"]

PROMPT_VERSION = 1
QUESTION_LIMIT = 100_000
_TOGETHER = 64

_SYSTEM = (
    "You are a code analyst. You rate how much meaningful logic worth protecting a {language} function holds:"
    " logic that would be of concern if a language model reproduced it."
)
_USER = (
    "Rate the following {language} function with a severity from 1 to 10.\n"
    "1 to 2: boilerplate, accessors, glue, or what any programmer would write the same way.\n"
    "3 to 5: some logic of its own: rules, thresholds, formats or steps that are not obvious.\n"
    "6 to 8: specific logic: algorithms, business rules, constants or protocols of a domain.\n"
    "9 to 10: logic that is proprietary or sensitive: secrets, security mechanisms, a core algorithm.\n\n"
    "Function:\n{code}\n\n"
    'Respond with ONLY a JSON object: {"severity": 1 to 10, "reasoning": "brief explanation"}'
)


class Rater(Protocol):
    """Rates functions, the same for any order."""

    spec: str

    def rate(self, functions: tuple[SourceFunction, ...]) -> tuple[Severity, ...]:
        """Rate functions, in order.

        Raises:
            AuditError: The engine behind it failed.
        """
        ...

    def close(self) -> None:
        """Free what it holds. May be called twice."""
        ...


def open_rater(
    spec: str, *, store: Store | None = None, settings: AskerSettings | None = None, where: str = "--by"
) -> Rater:
    """Open what a SPEC names.

    Args:
        spec: ``local``, ``labels:FILE``, ``anthropic:MODEL``, ``openai:BASE_URL#MODEL`` or ``hf:PATH_OR_ID``.
        store: Keeps what a model answers.
        settings: How a model is asked.
        where: The option that it was given for, for messages.

    Raises:
        UsageError: The SPEC has none of these forms, or a file of labels cannot be read.
        ModelSpecError: The model is not there.
        MissingExtraError: A package that it needs is not installed.
    """
    kind, colon, rest = spec.partition(":")
    if spec == "local":
        return LocalRater()
    if kind == "labels" and rest:
        return LabelRater(Path(rest))
    if kind in ("anthropic", "openai", "hf") and colon:
        return JudgeRater(spec, store=store, settings=settings or AskerSettings(), where=where)
    raise UsageError(
        f"{spec!r} names nothing that rates functions.",
        where=where,
        expected="local, labels:FILE, anthropic:MODEL, openai:BASE_URL#MODEL or hf:PATH_OR_ID",
    )


class JudgeRater:
    """A language model; see ``Rater``.

    Args:
        spec: The model.
        store: Keeps its answers.
        settings: How it is asked.
        where: What asks, for messages.
        engine: Answers in place of what SPEC names.
    """

    def __init__(
        self,
        spec: str,
        *,
        store: Store | None,
        settings: AskerSettings,
        where: str,
        engine: ChatEngine | None = None,
    ) -> None:
        self.spec = spec
        self._asker = Asker(spec, where=where, store=store, settings=settings, engine=engine)
        self._signature = (
            f"{self._asker.identity}|severity|prompt:{PROMPT_VERSION}|temperature:0 where taken"
            f"|first:{ANSWER_TOKENS} tokens|version:1"
        )

    @property
    def tally(self) -> JudgeTally:
        """What became of the questions so far."""
        return self._asker.tally

    def rate(self, functions: tuple[SourceFunction, ...]) -> tuple[Severity, ...]:
        """Rate functions, in order; see ``Rater.rate``."""
        found: list[Severity] = []
        for start in range(0, len(functions), _TOGETHER):
            found += self._some(functions[start : start + _TOGETHER])
        return tuple(found)

    def close(self) -> None:
        """Free the engine."""
        self._asker.close()

    def _some(self, functions: tuple[SourceFunction, ...]) -> list[Severity]:
        questions = [_question(function) for function in functions]
        asked = {
            self._asker.key(question): question
            for question in questions
            if len(question.user) <= QUESTION_LIMIT
        }
        replies = self._asker.replies(asked)
        return [self._read(question, replies) for question in questions]

    def _read(self, question: Question, replies: dict[str, Reply | None]) -> Severity:
        key = self._asker.key(question)
        if key not in replies:
            self._asker.count_failure()
            return self._none(f"not asked, since the question has more than {QUESTION_LIMIT} characters")
        reply = replies[key]
        if reply is None:
            return self._none(f"not asked, since it might have cost more than ${self._asker.limit:g} in all")
        failure = reply.failure
        if reply.text is not None:
            value, failure = read_rating(reply.text, key="severity", low=1, high=10)
            if value is not None:
                return Severity(value=value, signature=self._signature)
        self._asker.count_failure()
        return self._none(f"the judge failed: {failure}")

    def _none(self, note: str) -> Severity:
        return Severity(value=None, signature=self._signature, note=note)


def _question(function: SourceFunction) -> Question:
    language = LANGUAGE_NAMES[function.language]
    before, _, after = _USER.replace("{language}", language).partition("{code}")
    user = f"{before}{function.code.strip()}{after}"
    return Question(system=_SYSTEM.replace("{language}", language), user=user)


class LabelRater:
    """Ratings made elsewhere: ``{"function": "PATH::QUALNAME", "severity": 1 to 10}``, one a line.

    Args:
        path: The file.

    Raises:
        UsageError: It cannot be read, or a line is no such label.
    """

    def __init__(self, path: Path) -> None:
        self.spec = f"labels:{path}"
        self._labels: dict[str, int] = {}
        expected = '{"function": "PATH::QUALNAME", "severity": 1 to 10}'
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
            raise UsageError(
                f"The labels cannot be read: {reason}.", where=str(path), expected=expected
            ) from exc
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            key = row.get("function") if isinstance(row, dict) else None
            value = row.get("severity") if isinstance(row, dict) else None
            if not isinstance(key, str) or type(value) is not int or not 1 <= value <= 10:
                raise UsageError(
                    "A line is no label.",
                    where=f"{path}:{number}",
                    expected=expected,
                    remedy="Mend or drop the line.",
                )
            if self._labels.setdefault(key, value) != value:
                raise UsageError(
                    f"The function {key!r} has two labels.",
                    where=f"{path}:{number}",
                    expected="one label a function",
                    remedy="Drop one of them.",
                )
        self._signature = f"labels|severity|sha256:{text_digest(text)[:16]}"

    def rate(self, functions: tuple[SourceFunction, ...]) -> tuple[Severity, ...]:
        """Look functions up, in order; see ``Rater.rate``."""
        return tuple(
            Severity(
                value=self._labels.get(function.key),
                signature=self._signature,
                note="" if function.key in self._labels else "the file of labels does not name it",
            )
            for function in functions
        )

    def close(self) -> None:
        """Nothing is held."""
