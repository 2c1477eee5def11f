"""Makes new input states out of ones that were run: by answering otherwise, by other values, by crossing.

It is driven by the generator that it is given and runs nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import Question
from pytest_funcmem.harness.local.edits import change, share, slots_of, with_slot
from pytest_funcmem.harness.local.guards import Wish
from pytest_funcmem.harness.local.solving import (
    MAX_ANSWERS,
    answered,
    bad_value,
    is_guarding,
    solution,
    varied,
)
from pytest_funcmem.harness.local.states import StatePlan
from pytest_funcmem.harness.local.trials import Trial, size_of

__all__ = ["MAX_STATE_TEXT", "Changes", "crossed"]

MAX_STATE_TEXT = 1500
"""Characters of the longest state that is worth running."""

_BY_QUESTIONS = 0.75
_BY_BAD_VALUES = 0.35
_VARIED = 0.1
_BY_OPTIONS = 0.5
_BY_TRUTH = 0.15
_LEFT_OUT = 0.25
_TRUTHS = ("None", "False", "''", "0", "[]", "{}", "True", "1", "'x'", "['a']", "{'a': 1}")
"""Values that a condition tells apart, false ones and true ones."""


def crossed(one: InputState, other: InputState, generator: random.Random) -> InputState:
    """A state with parts of two."""
    answers = dict(other.answers)
    answers.update(one.answers)
    kept = tuple(answers.items())[-MAX_ANSWERS:]
    if generator.random() < 0.5 and len(one.arguments) == len(other.arguments):
        arguments = tuple(generator.choice(pair) for pair in zip(one.arguments, other.arguments, strict=True))
        one = replace(one, arguments=arguments, receiver=generator.choice((one.receiver, other.receiver)))
    return replace(one, answers=kept, files=one.files or other.files)


class Changes:
    """Changes of the input states of one function.

    Args:
        plan: Parts of the states.
    """

    def __init__(self, plan: StatePlan) -> None:
        self._plan = plan
        self._constants = (*plan.pool.strings, *plan.pool.numbers)
        # Keywords that the function looks for among those that it takes by ``**``, by the parameter's name.
        self._options = {
            parameter.name: tuple(
                name for text, _ in shape.fields if (name := text.strip("'\"")).isidentifier()
            )
            for parameter, shape in plan.shapes
            if parameter.kind == "var_keyword"
        }

    def changed(self, base: Trial, wish: Wish | None, generator: random.Random) -> InputState:
        """A state that was run, changed once to three times where the wish tells."""
        state = base.state
        for _ in range(generator.choice((1, 1, 1, 2, 3))):
            questions = self._asked(base, wish)
            if wish is not None and wish.raises and generator.random() < _BY_BAD_VALUES:
                state = self._spoilt(state, wish, generator)
            elif state.answers and generator.random() < _VARIED:
                state = varied(state, generator.choice(state.answers)[0], generator)
            elif questions and generator.random() < _BY_QUESTIONS:
                question = generator.choice(questions)
                state = self.solved(state, question, base, generator, wish)
            else:
                state = self.edited(state, wish, generator)
        if self._plan.related and generator.random() < 0.3:
            state = share(self._plan.analysis, state, generator)
        if self._plan.variables and generator.random() < 0.2:
            name = generator.choice(self._plan.variables)
            value = generator.choice(("1", "", "true", "/tmp/x", "value"))
            kept = [item for item in state.environment if item[0] != name]
            state = replace(state, environment=(*kept, (name, value)))
        if generator.random() < 0.1 or (self._plan.draws and generator.random() < 0.3):
            state = replace(state, seed=generator.randrange(1000))
        return state

    def _asked(self, base: Trial, wish: Wish | None) -> list[Question]:
        """Questions that the way to the missed line may hang on."""
        if wish is None:
            return [question for question in base.questions if question.kind not in ("attribute", "error")]
        near = [question for question in base.questions if wish.line <= question.line <= wish.last]
        if wish.raises:
            calls = [question for question in base.questions if question.kind in ("call", "outside")]
            return [question for question in near if question in calls] or calls
        # The value may have been called for before, or be part of what was.
        before = [question for question in base.questions if question.line in wish.origins]
        guarding = [question for question in near if is_guarding(question)]
        if wish.none or wish.kinds:
            return guarding + [question for question in (*near, *before) if question not in guarding]
        if guarding:
            return guarding * 3 + before
        if near or before:
            return near + before
        return [
            q for q in base.questions if q.line <= wish.last and q.kind not in ("attribute", "call", "error")
        ]

    def solved(
        self,
        state: InputState,
        question: Question,
        base: Trial,
        generator: random.Random,
        wish: Wish | None = None,
    ) -> InputState:
        """The state with a question answered the other way."""
        pool = self._plan.pool
        raises = wish.raises if wish is not None else ()
        none = wish is not None and wish.none and generator.random() < 0.6
        kinds = wish.kinds if wish is not None and generator.random() < 0.6 else ()
        texts, numbers = pool.strings, pool.numbers
        return solution(state, question, base.questions, texts, numbers, generator, raises, none, kinds)

    def edited(
        self,
        state: InputState,
        wish: Wish | None,
        generator: random.Random,
        constants: Sequence[str] = (),
    ) -> InputState:
        """The state with another value in one place."""
        if wish is not None:
            for parameter, options in self._options.items():
                if parameter in wish.names and options and generator.random() < _BY_OPTIONS:
                    return self._with_option(state, generator.choice(options), wish, generator)
        slots = slots_of(self._plan.analysis, state)
        names = [name for name in (wish.names if wish is not None else slots) if name in slots] or list(slots)
        if not names:
            return replace(state, seed=generator.randrange(1000))
        slot = generator.choice(slots[generator.choice(names)])
        if wish is not None and wish.kinds and slot[0] != "receiver" and generator.random() < 0.6:
            kind = generator.choice(wish.kinds)
            return with_slot(state, slot, self._record(generator) if kind[0] == "{" else kind)
        if wish is not None and slot[0] != "receiver" and generator.random() < _BY_TRUTH:
            return with_slot(state, slot, generator.choice(_TRUTHS))
        constants = constants or (wish.constants if wish is not None else ()) or self._constants
        changed = change(state, slot, constants, generator)
        return changed if size_of(changed) <= MAX_STATE_TEXT else state

    def _with_option(self, state: InputState, name: str, wish: Wish, generator: random.Random) -> InputState:
        """The state with another value of a keyword that ``**`` takes, or without it."""
        kept = tuple(item for item in state.keywords if item[0] != name)
        if len(kept) < len(state.keywords) and generator.random() < _LEFT_OUT:
            return replace(state, keywords=kept)
        value = generator.choice((*_TRUTHS, *wish.constants[:8]))
        return replace(state, keywords=(*kept, (name, value)))

    def _spoilt(self, state: InputState, wish: Wish, generator: random.Random) -> InputState:
        """A state with a value on which the guarded code may fail."""
        value = bad_value(wish.raises, generator)
        keys = [key for key, _ in state.answers]
        slots = [slot for found in slots_of(self._plan.analysis, state).values() for slot in found]
        slots = [slot for slot in slots if slot[0] != "receiver"]
        choice = generator.randrange(len(keys) + len(slots)) if keys or slots else -1
        if choice < 0:
            return state
        if choice < len(keys):
            return answered(state, keys[choice], value)
        return with_slot(state, slots[choice - len(keys)], value)

    def _record(self, generator: random.Random) -> str:
        """Source of a dictionary with keys that the file knows."""
        keys = [text for text in self._plan.pool.strings if len(text) < 30] or ["'a'", "'b'"]
        chosen = generator.sample(keys, min(len(keys), generator.choice((1, 1, 2, 3))))
        values = ("'x'", "3", "['a', 'b']", "{'a': 1}", "None", f"[{{{keys[0]}: 'y'}}]", "''")
        return "{" + ", ".join(f"{key}: {generator.choice(values)}" for key in chosen) + "}"
