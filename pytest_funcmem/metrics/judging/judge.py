"""``judge:PROMPT@SPEC``: a language model's score of how alike two functions are.

Answers are stored as they came, so a better reading of them costs nothing. An answer without a score in form
is counted and gives no figure, never 0. Under a cost cap nothing is asked that might exceed it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import CodePair, Score, Store
from pytest_funcmem.core.records import Json
from pytest_funcmem.metrics.judging.answers import read_answer
from pytest_funcmem.metrics.judging.engines import ChatEngine, Question, Reply, open_engine
from pytest_funcmem.metrics.judging.prices import Price, Purse
from pytest_funcmem.metrics.judging.prompts import PROMPTS
from pytest_funcmem.metrics.notes import blank_note

__all__ = ["ANSWER_TOKENS", "Judge", "JudgeTally"]

ANSWER_TOKENS = 2048
"""Most tokens of an answer; models that think before they answer count that too."""

QUESTION_LIMIT = 100_000
"""Characters of a question. A longer one is not asked: that gives no figure."""

_TOGETHER = 64
_TOGETHER_IN_BATCHES = 5_000
_CHARACTERS_PER_TOKEN = 2.0  # few, so that a cost is rather thought too high


@dataclass(slots=True, kw_only=True)
class JudgeTally:
    """What a judge did so far.

    Attributes:
        asked: Questions that went to the model.
        stored: Questions whose answer was in the store.
        failed: Pairs without a figure because the model did not answer, or not in form.
        capped: Pairs that were not asked because of the cost cap.
        dollars: What the questions cost, by the price that is known; 0 without one.
    """

    asked: int = 0
    stored: int = 0
    failed: int = 0
    capped: int = 0
    dollars: float = 0.0


class Judge:
    """The metric; see ``Metric``.

    Args:
        name: What stands after ``judge:``, as ``PROMPT@SPEC``.
        store: Keeps answers; None to ask each time.
        max_cost: Dollars that may be spent; None for no cap.
        price: What the model costs, where the table does not say or is out of date.
        batch: Whether questions go to the batch endpoint (anthropic only).
        engine: Answers in place of what SPEC names.
        device: Torch device of a judge on this machine.

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
        max_cost: float | None = None,
        price: Price | None = None,
        batch: bool = False,
        engine: ChatEngine | None = None,
        device: str = "auto",
    ) -> None:
        self.name = f"judge:{name}"
        prompt, at, spec = name.partition("@")
        if prompt not in PROMPTS or not at or not spec:
            raise UsageError(
                f"{self.name!r} names no judge.",
                expected="judge:PROMPT@SPEC, where PROMPT is one of " + ", ".join(sorted(PROMPTS)),
                remedy="SPEC is anthropic:MODEL, openai:BASE_URL#MODEL or hf:PATH_OR_ID.",
            )
        self._prompt = PROMPTS[prompt]
        self._store = store
        self._engine = engine or open_engine(spec, batch=batch, device=device, store=store)
        self._price = price or self._engine.price
        self._together = _TOGETHER_IN_BATCHES if batch else _TOGETHER
        if max_cost is not None and self._price is None:
            self._engine.close()
            raise UsageError(
                f"What {spec} costs is not known, so a cost cap cannot be kept.",
                where=self.name,
                remedy="Give its price: --price INPUT,OUTPUT in dollars for a million tokens.",
            )
        self._purse = Purse(max_cost)
        self.tally = JudgeTally()
        self._signature = (
            f"judge|prompt:{prompt} {self._prompt.version}|model:{self._engine.identity}"
            f"|temperature:0|first:{ANSWER_TOKENS} tokens|version:1"
        )

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        scores: list[Score] = []
        rest = iter(pairs)
        while some := tuple(itertools.islice(rest, self._together)):
            scores += self._some(some)
        return tuple(scores)

    def close(self) -> None:
        """Free the engine."""
        self._engine.close()

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
                self.tally.failed += 1
                note = f"judge: not asked, since the question has more than {QUESTION_LIMIT} characters"
                scores[number] = Score(value=None, signature=self._signature, note=note)
                continue
            key = digest(["judge", self._engine.identity, ANSWER_TOKENS, system, user])
            questions[key] = Question(system=system, user=user)
            wanted.setdefault(key, []).append(number)
        for key, reply in self._replies(questions).items():
            for number in wanted[key]:
                scores[number] = self._read(reply)
        return [scores[number] for number in range(len(pairs))]

    def _replies(self, questions: dict[str, Question]) -> dict[str, Reply | None]:
        """Replies by key, from the store or the engine; None where the cost cap left no room."""
        replies: dict[str, Reply | None] = {}
        held: dict[str, float] = {}
        for key, question in questions.items():
            kept = _from_store(self._store.get("judge", key)) if self._store is not None else None
            if kept is not None:
                self.tally.stored += 1
                replies[key] = kept
                continue
            most = self._most(question)
            if self._purse.hold(most):
                held[key] = most
            else:
                replies[key] = None
        asked = list(held)

        def answered(number: int, reply: Reply) -> None:
            # At once, from whatever thread: should a later question break the run, this one stays answered.
            key = asked[number]
            replies[key] = reply
            self._purse.settle(held[key], self._cost(reply))
            if self._store is not None and reply.is_final:
                self._store.put("judge", key, _for_store(reply))

        if asked:
            try:
                self._engine.ask([questions[key] for key in asked], ANSWER_TOKENS, answered)
            finally:
                self.tally.asked += sum(key in replies for key in asked)
                self.tally.dollars = self._purse.spent
        return replies

    def _most(self, question: Question) -> float:
        if self._price is None:
            return 0.0
        tokens = int((len(question.system) + len(question.user)) / _CHARACTERS_PER_TOKEN) + 50
        return self._price.of(tokens, ANSWER_TOKENS)

    def _cost(self, reply: Reply) -> float:
        return self._price.of(reply.input_tokens, reply.output_tokens) if self._price is not None else 0.0

    def _read(self, reply: Reply | None) -> Score:
        if reply is None:
            self.tally.capped += 1
            note = f"judge: not asked, since it might have cost more than ${self._purse.limit:g} in all"
            return Score(value=None, signature=self._signature, note=note)
        failure = reply.failure
        if reply.text is not None:
            answer = read_answer(reply.text, key=self._prompt.key)
            if answer.score is not None:
                return Score(value=answer.score, signature=self._signature)
            failure = answer.failure
        self.tally.failed += 1
        return Score(value=None, signature=self._signature, note=f"judge failed: {failure}")


def _for_store(reply: Reply) -> Json:
    return {
        "text": reply.text,
        "failure": reply.failure,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
    }


def _from_store(value: Json | None) -> Reply | None:
    """A stored reply; None where it is not one, which is then asked for again."""
    if not isinstance(value, dict):
        return None
    text, failure = value.get("text"), value.get("failure")
    tokens = [value.get(name) for name in ("input_tokens", "output_tokens")]
    if not (text is None or isinstance(text, str)) or not isinstance(failure, str):
        return None
    if not all(isinstance(count, int) for count in tokens):
        return None
    return Reply(
        text=text, failure=failure, input_tokens=int(tokens[0] or 0), output_tokens=int(tokens[1] or 0)
    )
