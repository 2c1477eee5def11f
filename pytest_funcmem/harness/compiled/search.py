"""Searches for input states of a compiled function, as sequences of integers that its driver reads.

The first batch asks for telling values everywhere; rounds follow that change what went somewhere new. It is
driven by one seed and bounded by counts, and knows nothing of the language.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, Json, OutputState, SourceFunction
from pytest_funcmem.harness.compiled.settings import CompiledBuilderSettings
from pytest_funcmem.harness.compiled.toolkit import Prepared, Toolkit
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.harness.execution_records import ENDLESS, Execution
from pytest_funcmem.harness.outputs import output_digest, validity

__all__ = ["Found", "Search", "Trial", "input_digest"]

_SMALL = 12
_LARGEST = 2**31 - 1
_MAX_TIMEOUTS = 12
_MAX_CHOICES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One input state that was run.

    Attributes:
        state: With the choices that it was run on.
        output: What the original did.
        order: Position among all states tried.
        lines: Executable lines of the function that it reached.
        features: Numbers that tell its path finer.
        problem: Why it is not valid; "" if it is.
        digest: Digest of its result and effects.
        shown: What the choices made.
        used: Choices that it asked for.
        made_up: Whether something made up was asked for an answer.
    """

    state: InputState
    output: OutputState
    order: int
    lines: frozenset[int]
    features: frozenset[int]
    problem: str
    digest: str
    shown: tuple[str, ...]
    used: int
    made_up: bool

    @property
    def raises(self) -> bool:
        """Whether the original raises on it."""
        return self.output.outcome == "raised"

    @property
    def cost(self) -> tuple[int, ...]:
        """Dearer is worse: raising, made up, long, late."""
        return self.raises, self.made_up, sum(map(len, self.shown)), self.order

    @property
    def reached(self) -> frozenset[int]:
        """Every line that was executed."""
        return frozenset(self.output.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the search found.

    Attributes:
        trials: Every state that was run, in order.
        first: The first run, which tells how loading went.
    """

    trials: tuple[Trial, ...]
    first: Execution

    @property
    def valid(self) -> tuple[Trial, ...]:
        """The valid ones, in order, the first of those that give the function the same."""
        distinct: dict[str, Trial] = {}
        for trial in self.trials:
            if not trial.problem:
                distinct.setdefault(input_digest(trial.shown, trial.output), trial)
        return tuple(distinct.values())


def input_digest(shown: Sequence[str], output: OutputState) -> str:
    """Digest of what a function was given: its arguments, and what made-up things answered."""
    answers: list[Json] = [[call["path"], call["answer"]] for call in output.calls]
    return digest([list(shown), answers])


class Search:
    """One search.

    Args:
        function: The original.
        prepared: What surrounds it.
        toolkit: Of its language.
        sandbox: An open sandbox.
        settings: Bounds.
        seed: Seed of all choices.
        check_time: Called between runs; raises where the budget is used up.
        given: Input states to begin with.
    """

    def __init__(
        self,
        function: SourceFunction,
        prepared: Prepared,
        toolkit: Toolkit,
        sandbox: Sandbox,
        settings: CompiledBuilderSettings,
        *,
        seed: int,
        check_time: Callable[[], None],
        given: Sequence[InputState] = (),
    ) -> None:
        self._given = tuple(given)
        self._program = original_program(function, prepared.scaffold)
        self._prepared = prepared
        self._toolkit = toolkit
        self._sandbox = sandbox
        self._settings = settings
        self._seed = seed
        self._check_time = check_time
        self._trials: list[Trial] = []
        self._known: set[InputState] = set()
        self._first: Execution | None = None
        self._seen: Counter[int] = Counter()  # features of valid trials, and how many reach each
        self._reached: set[int] = set()  # lines that valid trials reach
        self._anywhere: set[int] = set()  # features that any trial reached
        self._timeouts = 0

    def run(self) -> Found:
        """Search until nothing new comes."""
        settings = self._settings
        first = self._fresh(settings.first_states, random.Random(self._derived("first")))
        self._try([*self._given, *first])
        idle = 0
        for number in range(settings.rounds + settings.further_rounds):
            patience, most = settings.patience, settings.rounds
            if not self._is_whole():
                patience, most = 2 * patience, most + settings.further_rounds
            elif self._is_enough():
                break
            if self._stuck() or idle >= patience or number >= most:
                break
            before = self._progress()
            generator = random.Random(self._derived(f"round {number}"))
            fresh = settings.round_states // 6
            self._try(
                [
                    *self._fresh(fresh, generator),
                    *self._changed(settings.round_states - fresh, generator),
                ]
            )
            idle = idle + 1 if self._progress() == before else 0
        if self._first is None:
            raise AssertionError("no state was run")
        return Found(trials=tuple(self._trials), first=self._first)

    def near(self, wanted: Sequence[frozenset[int] | None], count: int, label: str) -> list[InputState]:
        """Neighbours of valid states that reach some lines, for each set of lines in turn; none was tried.

        Args:
            wanted: Sets of lines, relative to the signature's; None where any state will do.
            count: Most states.
            label: What the choices are derived from.
        """
        generator = random.Random(self._derived(label))
        valid = sorted(
            (trial for trial in self._trials if not trial.problem),
            key=lambda trial: (self._commonness(trial), trial.order),
        )
        bases = [[trial for trial in valid if lines is None or trial.reached & lines] for lines in wanted]
        bases = [some for some in bases if some]
        states = []
        for number in range(count if bases else 0):
            some = bases[number % len(bases)]
            states.append(self._mutated(some[int(len(some) * generator.random() ** 2)], generator))
        return [state for state in dict.fromkeys(states) if state not in self._known]

    def note(self, states: Sequence[InputState], run: Execution) -> list[Trial]:
        """Add what a run of the original did on states that were not tried before."""
        self._known.update(states)
        executable = frozenset((self._first or run).executable_lines)
        noted = []
        for number, (state, output) in enumerate(zip(states, run.outputs, strict=True)):
            _, problem = validity(output, output)
            trial = Trial(
                state=state,
                output=output,
                order=len(self._trials),
                lines=frozenset(output.lines) & executable,
                features=frozenset(run.features[number]) if run.features else frozenset(),
                problem=problem,
                digest=output_digest(output),
                shown=run.shown[number] if run.shown else (),
                used=run.choices_used[number] if run.choices_used else 0,
                made_up=bool(run.made_up) and run.made_up[number],
            )
            noted.append(trial)
            self._trials.append(trial)
            self._anywhere |= trial.features
            if not problem:
                self._seen.update(trial.features)
                self._reached |= trial.lines
            self._timeouts += output.outcome == "timeout" and output.detail != ENDLESS
        return noted

    def _stuck(self) -> bool:
        return (self._first is not None and not self._first.loaded) or self._timeouts > _MAX_TIMEOUTS

    def _is_whole(self) -> bool:
        """Whether valid states reach every line."""
        return self._first is None or self._reached >= set(self._first.executable_lines)

    def _is_enough(self) -> bool:
        """Whether the language wants no more of a search that reaches every line."""
        enough = self._prepared.enough
        if enough is None or self._first is None:
            return False
        valid = Found(trials=tuple(self._trials), first=self._first).valid
        return len({trial.digest for trial in valid}) >= enough

    def _progress(self) -> tuple[int, ...]:
        valid = {trial.digest for trial in self._trials if not trial.problem}
        return len(self._reached), len(self._seen), len(self._anywhere), min(len(valid), self._settings.pool)

    # ----------------------------------------------------------------------------------------- batches

    def _fresh(self, count: int, generator: random.Random) -> list[InputState]:
        """States that begin anew: all the same choice, all small ones, special ones, all left to the seed."""
        length = max(1, min(self._prepared.choices, _MAX_CHOICES))
        states = []
        for number in range(count):
            style = number % 4
            if style == 0 and number < 4 * _SMALL:
                choices = [number // 4] * length
            elif style == 1:
                choices = [generator.randrange(_SMALL) for _ in range(length)]
            elif style == 2:
                choices = [self._choice(generator) for _ in range(length)]
            else:
                choices = []
            states.append(InputState(choices=tuple(choices), seed=generator.randrange(1000)))
        return states

    def _choice(self, generator: random.Random) -> int:
        special = self._prepared.special
        kind = generator.randrange(4)
        if kind == 0 and special:
            return generator.choice(special)
        if kind <= 1:
            return generator.randrange(_SMALL)
        if kind == 2:
            return generator.randrange(256)
        return generator.randrange(_LARGEST)

    def _changed(self, count: int, generator: random.Random) -> list[InputState]:
        """Neighbours of states that went where few went; of failing ones that went where no valid one did."""
        valid = [trial for trial in self._trials if not trial.problem]
        beyond = [
            trial
            for trial in self._trials
            if trial.problem and (trial.lines - self._reached or trial.features - self._seen.keys())
        ]
        if not valid and not beyond:
            beyond = sorted(self._trials, key=lambda trial: (-len(trial.lines), trial.order))[:20]
        if not valid and not beyond:
            return self._fresh(count, generator)
        beyond.sort(key=lambda trial: (-len(trial.lines - self._reached), trial.order))
        rare = sorted(valid, key=lambda trial: (self._commonness(trial), trial.order))
        states = []
        for number in range(count):
            bases = beyond if beyond and (not valid or number % 4 == 0) else rare
            # Rare ones more often than common ones, yet all of them sometimes.
            base = bases[int(len(bases) * generator.random() ** 2)]
            states.append(self._mutated(base, generator))
        return states

    def _commonness(self, trial: Trial) -> int:
        return min((self._seen[feature] for feature in trial.features), default=0)

    def _mutated(self, base: Trial, generator: random.Random) -> InputState:
        wanted = min(_MAX_CHOICES, max(1, base.used or self._prepared.choices))
        choices = list(base.state.choices[:wanted])
        # What the seed decided so far stays decided by it; a few places behind the last one may be set.
        kind = generator.randrange(10)
        if kind == 0:
            return replace(base.state, seed=generator.randrange(1000))
        if kind == 1 and len(self._trials) > 1:
            other = generator.choice(self._trials).state.choices
            cut = generator.randrange(wanted + 1)
            choices = [*choices[:cut], *other[cut:wanted]]
        elif kind == 2 and len(choices) > 1:
            source, place = generator.randrange(len(choices)), generator.randrange(len(choices))
            choices[place] = choices[source]
        elif kind == 8 and len(choices) > 1:
            del choices[generator.randrange(len(choices))]
        elif kind == 9 and choices:
            choices.insert(generator.randrange(len(choices) + 1), self._choice(generator))
        else:
            for _ in range(1 + (generator.randrange(3) if kind in (5, 6, 7) else 0)):
                place = generator.randrange(wanted)
                while len(choices) <= place:
                    choices.append(generator.randrange(_LARGEST))
                near = choices[place] + generator.choice((-1, 1))
                choices[place] = (
                    near if generator.random() < 0.2 and 0 <= near <= _LARGEST else self._choice(generator)
                )
        return replace(base.state, choices=tuple(choices))

    # ----------------------------------------------------------------------------------------- running

    def _try(self, states: Sequence[InputState]) -> None:
        new = [state for state in dict.fromkeys(states) if state not in self._known]
        if not new:
            return
        self._check_time()
        (run,) = self._toolkit.execute(
            self._sandbox,
            [self._program],
            [new],
            coverage=True,
            state_timeout_s=self._settings.state_timeout_s,
        )
        if self._first is None:
            self._first = run
        self.note(new, run)

    def _derived(self, label: str) -> int:
        return int(digest([self._seed, label])[:15], 16)
