"""Proposes batches of input states: fresh ones from the strategies, then ones near what was run.

Everything is drawn from one seed and a label, so that a batch depends on what was run before and on nothing
else. It runs nothing.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence, Set
from dataclasses import replace

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.local.changes import MAX_STATE_TEXT, Changes, crossed
from pytest_funcmem.harness.local.drawing import draw
from pytest_funcmem.harness.local.edits import share
from pytest_funcmem.harness.local.guards import Wish, wishes
from pytest_funcmem.harness.local.repairs import Repairs
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.solving import FILES, with_file
from pytest_funcmem.harness.local.states import ReceiverMode, StatePlan, Style
from pytest_funcmem.harness.local.trials import Trial, made_up_parts, size_of

__all__ = ["STYLES", "Batches"]

STYLES: tuple[Style, ...] = ("typed", "mixed", "fabricated")

_KEPT_RECEIVER = 0.5
_DEEPEST = 12
_CROSSED = 0.12
_VALID_FIRST = 0.7


class Batches:
    """Proposals for one function.

    Args:
        plan: Parts of the states.
        settings: Sizes of the batches.
        seed: Seed of all choices.
    """

    def __init__(self, plan: StatePlan, settings: LocalBuilderSettings, seed: int) -> None:
        self._plan = plan
        self._settings = settings
        self._seed = seed
        self._changes = Changes(plan)
        self._repairs = Repairs(plan, self._changes)

    def fresh(self, mode: ReceiverMode, style: Style, count: int, label: str) -> list[InputState]:
        """States drawn from the strategies, all with the receiver and the arguments made in one way."""
        seed = self._derived(f"{label}/{mode}/{style}")
        if self._plan.is_empty:
            start = 0 if label == "first" else seed % 1000
            return [InputState(receiver=None, seed=start + number) for number in range(count)]
        states = draw(self._plan.strategy(mode, style), seed=seed, count=count)
        generator = random.Random(seed)
        if style != "typed":
            states = [replace(state, seed=generator.randrange(1000)) for state in states]
        if style == "fabricated" and len(states) < count:
            states += [
                replace(states[place % len(states)], seed=generator.randrange(1000))
                for place in range(count - len(states))
                if states
            ]
        if self._plan.reads_files:
            states = [self._with_files(state, generator) for state in states]
        if not self._plan.related:
            return states
        return [state if place % 3 else self._shared(state, generator) for place, state in enumerate(states)]

    def _with_files(self, state: InputState, generator: random.Random) -> InputState:
        """Files where the arguments name some."""
        texts = [ast.literal_eval(text) for text in self._plan.pool.strings]
        parts = (state.receiver or "", *state.arguments, *(text for _, text in state.keywords))
        for name in [name for part in parts for name in re.findall(r"'([\w./-]{1,40})'", part)][:3]:
            choice = generator.randrange(6)
            known = f"{generator.choice(texts)}\nand more\n" if texts and choice == 0 else ""
            if choice < 4:
                state = with_file(state, name, known or generator.choice(FILES))
            elif choice == 4:
                state = with_file(with_file(state, f"{name}/a.txt", "one\n"), f"{name}/sub/b.py", "x = 1\n")
        return state

    def _shared(self, state: InputState, generator: random.Random) -> InputState:
        for _ in range(3):
            state = share(self._plan.analysis, state, generator)
        return state

    def guided(
        self,
        number: int,
        trials: Sequence[Trial],
        *,
        reached: Set[int],
        missed: Set[int],
        styles: Sequence[Style],
    ) -> list[InputState]:
        """States near known ones, changed where the conditions before missed lines look.

        Args:
            number: Of the round.
            trials: What was run so far.
            reached: Lines that some valid state reached.
            missed: Executable lines that none reached.
            styles: Ways to make arguments of fresh states.
        """
        generator = random.Random(self._derived(f"round/{number}"))
        found = wishes(self._plan.analysis, missed)
        valid = [trial for trial in trials if not trial.problem]
        invalid = [trial for trial in trials if trial.problem and not trial.problem.startswith("timeout")]
        # Those that went where no valid one has been are closest to something new.
        invalid = sorted(
            invalid, key=lambda trial: (-len(trial.lines - reached), -len(trial.lines), -trial.order)
        )[:_DEEPEST]
        beyond = any(trial.lines - reached for trial in invalid)
        count = self._settings.round_states
        few = len(valid) < self._settings.min_inputs
        repairs = 0 if not invalid else count * 3 // 5 if few else count // 2 if beyond else count // 8
        fresh = count // 10
        states: list[InputState] = [
            self._repairs.repaired(generator.choice(invalid), generator) for _ in range(repairs)
        ]
        for place in range(count - repairs - fresh):
            bases = valid or trials
            if not bases:
                break
            wish = found[place % len(found)] if found else None
            base = self._base(trials, wish, generator)
            if generator.random() < _CROSSED and len(valid) > 1:
                other = generator.choice(valid).state
                states.append(crossed(base.state, other, generator))
            else:
                states.append(self._changes.changed(base, wish, generator))
        modes = self._plan.receivers
        for place in range(2):
            mode = modes[(number + place) % len(modes)]
            style: Style = (
                "fabricated" if mode == "fabricated" else styles[(number // 2 + place) % len(styles)]
            )
            states += self.fresh(mode, style, fresh // 2, f"fresh/{number}/{place}")
        return [state for state in states if size_of(state) <= MAX_STATE_TEXT]

    def _base(self, trials: Sequence[Trial], wish: Wish | None, generator: random.Random) -> Trial:
        valid = [trial for trial in trials if not trial.problem]
        if wish is not None:
            lines = range(wish.line, wish.last + 1)
            for bases in (valid, trials):
                near = [trial for trial in bases if any(line in trial.lines for line in lines)]
                if near and (bases is not valid or generator.random() < _VALID_FIRST):
                    return generator.choice(near)
        return generator.choice(valid or trials)

    def concrete(self, number: int, trials: Sequence[Trial]) -> list[InputState]:
        """States that do the same with given arguments where valid ones have made-up ones.

        How a made-up argument is asked is a matter of how a function is written; given ones judge better.
        """
        generator = random.Random(self._derived(f"concrete/{number}"))
        bases = [trial for trial in trials if not trial.problem and made_up_parts(trial.state)]
        donors = [trial.state for trial in trials if not made_up_parts(trial.state)]
        states: list[InputState] = []
        for _ in range(self._settings.round_states if donors and bases else 0):
            base, donor = generator.choice(bases).state, generator.choice(donors)
            keep = base.receiver is not None and (
                "fabricated(" not in base.receiver or generator.random() < _KEPT_RECEIVER
            )
            states.append(
                replace(
                    donor,
                    receiver=base.receiver if keep else donor.receiver,
                    setup=base.setup or donor.setup,
                    answers=base.answers,
                    seed=base.seed,
                    files=base.files or donor.files,
                    environment=base.environment,
                )
            )
        return states

    def _derived(self, label: str) -> int:
        return int(digest([self._seed, label, self._plan.analysis.source.code])[:15], 16)
