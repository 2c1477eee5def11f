"""``judge:PROMPT@SPEC``: a language model's score of how alike two functions are.

An answer without a score in form is counted and gives no figure, never 0.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import CodePair, Score, Store
from pytest_funcmem.core.records import Language
from pytest_funcmem.metrics.judging.answers import read_answer
from pytest_funcmem.metrics.judging.asking import ANSWER_TOKENS, Asker, AskerSettings, JudgeTally
from pytest_funcmem.metrics.judging.engines import ChatEngine, Question, Reply
from pytest_funcmem.metrics.judging.prompts import PROMPTS
from pytest_funcmem.metrics.notes import blank_note

__all__ = ["QUESTION_LIMIT", "Judge"]

QUESTION_LIMIT = 100_000
"""Characters of a question. A longer one is not asked: that gives no figure."""

_TOGETHER = 64
_TOGETHER_IN_BATCHES = 5_000


class Judge:
    """The metric; see ``Metric``.

    Args:
        name: What stands after ``judge:``, as ``PROMPT@SPEC``.
        store: Keeps answers; None to ask each time.
        settings: How the model is asked.
        engine: Answers in place of what SPEC names.

    Raises:
        UsageError: There is no such prompt, or there is a cost cap and no price.
        ModelSpecError: SPEC names nothing that can judge.
        MissingExtraError: A package that it needs is not installed.
    """

    def __init__(
        self,
        name: str,
        *,
        store: Store | None = None,
        settings: AskerSettings | None = None,
        engine: ChatEngine | None = None,
    ) -> None:
        self.name = f"judge:{name}"
        prompt, at, spec = name.partition("@")
        if prompt not in PROMPTS or not at or not spec:
            raise UsageError(
                f"{self.name!r} names no judge.",
                expected="judge:PROMPT@SPEC, where PROMPT is one of " + ", ".join(sorted(PROMPTS)),
                remedy="SPEC is anthropic:MODEL, openai:BASE_URL#MODEL or hf:PATH_OR_ID.",
            )
        settings = settings or AskerSettings()
        self._prompt = PROMPTS[prompt]
        self._asker = Asker(spec, where=self.name, store=store, settings=settings, engine=engine)
        self._last = threading.local()
        self._together = _TOGETHER_IN_BATCHES if settings.batch else _TOGETHER
        self._signature = (
            f"judge|prompt:{prompt} {self._prompt.version}|model:{self._asker.identity}"
            f"|temperature:0 where taken|first:{ANSWER_TOKENS} tokens|version:1"
        )

    @property
    def tally(self) -> JudgeTally:
        """What became of the questions so far."""
        return self._asker.tally

    @property
    def last_cost(self) -> float | None:
        """Dollars of this thread's last call; None where nothing was asked, or at a price not known."""
        return self._last.dollars if hasattr(self._last, "dollars") else None

    def signature(self, language: Language) -> str:
        """How figures are computed; see ``Metric.signature``."""
        return self._signature

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        scores: list[Score] = []
        rest = iter(pairs)
        self._last.dollars = None
        while some := tuple(itertools.islice(rest, self._together)):
            scores += self._some(some)
            cost = self._asker.last_cost
            if cost is not None:
                self._last.dollars = (self._last.dollars or 0.0) + cost
        return tuple(scores)

    def close(self) -> None:
        """Free the engine."""
        self._asker.close()

    def _some(self, pairs: Sequence[CodePair]) -> list[Score]:
        scores: dict[int, Score] = {}
        wanted: dict[str, list[int]] = {}
        questions: dict[str, Question] = {}
        for number, pair in enumerate(pairs):
            if blank := blank_note(pair):
                scores[number] = Score(value=0.0, signature=self._signature, note=blank)
                continue
            system, user = self._prompt.texts(pair)
            if len(user) > QUESTION_LIMIT:
                self._asker.count_failure()
                note = f"judge: not asked, since the question has more than {QUESTION_LIMIT} characters"
                scores[number] = Score(value=None, signature=self._signature, note=note)
                continue
            question = Question(system=system, user=user)
            key = self._asker.key(question)
            questions[key] = question
            wanted.setdefault(key, []).append(number)
        for key, reply in self._asker.replies(questions).items():
            for number in wanted[key]:
                scores[number] = self._read(reply)
        return [scores[number] for number in range(len(pairs))]

    def _read(self, reply: Reply | None) -> Score:
        if reply is None:
            note = f"judge: not asked, since it might have cost more than ${self._asker.limit:g} in all"
            return Score(value=None, signature=self._signature, note=note)
        failure = reply.failure
        if reply.text is not None:
            answer = read_answer(reply.text, key=self._prompt.key)
            if answer.score is not None:
                return Score(value=answer.score, signature=self._signature)
            failure = answer.failure
        self._asker.count_failure()
        return Score(value=None, signature=self._signature, note=f"judge failed: {failure}")
