"""Searches for input states that run validly and reach the lines of the original.

A first batch comes from the strategies; rounds follow that turn the conditions before missed lines. The
search is bounded by counts and driven by one seed: the clock can end it, never bend it.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, OutputState, Scaffold
from pytest_funcmem.harness.execution import Execution, Question, execute, original_program
from pytest_funcmem.harness.local.construction import class_path
from pytest_funcmem.harness.local.drawing import draw
from pytest_funcmem.harness.local.edits import change, share, slots_of, with_constant, with_slot
from pytest_funcmem.harness.local.guards import Wish, wishes
from pytest_funcmem.harness.local.scaffolds import narrowed
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.solving import (
    FILES,
    MAX_ANSWERS,
    WRONG_KIND,
    answered,
    bad_value,
    is_guarding,
    misfit,
    solution,
    suspect,
    varied,
    wanted_value,
    with_file,
)
from pytest_funcmem.harness.local.states import ReceiverMode, StatePlan, Style
from pytest_funcmem.harness.outputs import output_digest, validity
from pytest_funcmem.harness.validate import rests_on_mocks

__all__ = ["Found", "Search", "Trial", "made_up_parts", "size_of", "suffices"]

_CHUNK = 30
_MAX_TIMEOUTS = 3
_SEARCH_TIMEOUT_S = 1.0
_MAX_STATE_TEXT = 1500
_STYLES: tuple[Style, ...] = ("typed", "mixed", "fabricated")
_PATIENCE = 4
_PLAIN_ROUNDS = 3
_CONCRETE_ROUNDS = 2
_KEPT_RECEIVER = 0.5
_DEEPEST = 12
_CROSSED = 0.12
_VALID_FIRST = 0.7
_BY_QUESTIONS = 0.75
_BY_BAD_VALUES = 0.35
_VARIED = 0.1
_QUOTED = re.compile(r"'[^']*'|<[^>]*>|\d+")


def _crossed(one: InputState, other: InputState, generator: random.Random) -> InputState:
    """A state with parts of two."""
    answers = dict(other.answers)
    answers.update(one.answers)
    kept = tuple(answers.items())[-MAX_ANSWERS:]
    if generator.random() < 0.5 and len(one.arguments) == len(other.arguments):
        arguments = tuple(generator.choice(pair) for pair in zip(one.arguments, other.arguments, strict=True))
        one = replace(one, arguments=arguments, receiver=generator.choice((one.receiver, other.receiver)))
    return replace(one, answers=kept, files=one.files or other.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One input state that was run.

    Attributes:
        order: Position among all states tried.
        lines: Executable lines of the function that it reached.
        problem: Why it is not valid; "" if it is.
        digest: Digest of its result and effects.
        questions: What it asked of the mocked world.
    """

    state: InputState
    output: OutputState
    order: int
    lines: frozenset[int]
    problem: str
    digest: str
    questions: tuple[Question, ...] = ()

    @property
    def reached(self) -> frozenset[int]:
        """Every line that was executed, the docstring's and the signature's included."""
        return frozenset(self.output.lines)

    @property
    def raises(self) -> bool:
        """Whether the original raises on it."""
        return self.output.outcome == "raised"

    @property
    def cost(self) -> tuple[int, ...]:
        """Dearer is worse: raising, made up, long, late."""
        mocked = rests_on_mocks(self.state, self.questions)
        return self.raises, mocked, made_up_parts(self.state), size_of(self.state), self.order


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the search found.

    Attributes:
        trials: Every state that was run, in order.
        first: The first run, which tells how loading went.
        scaffold: What has to surround the function, and no more.
    """

    trials: tuple[Trial, ...]
    first: Execution
    scaffold: Scaffold

    @property
    def valid(self) -> tuple[Trial, ...]:
        """The valid ones, in order."""
        return tuple(trial for trial in self.trials if not trial.problem)


def size_of(state: InputState) -> int:
    """Characters that a person has to read to understand a state."""
    parts = [
        *state.setup,
        state.receiver or "",
        *state.arguments,
        *(text for _, text in state.keywords),
        *(text for pair in (*state.answers, *state.files, *state.environment) for text in pair),
        state.stdin,
    ]
    return sum(len(part) for part in parts)


def made_up_parts(state: InputState) -> int:
    """How many arguments of a state, its receiver included, are made up or have made-up parts."""
    texts = (state.receiver or "", *state.arguments, *(text for _, text in state.keywords))
    return sum("fabricated(" in text for text in texts)


def suffices(kept: Sequence[Trial], trials: Sequence[Trial], settings: LocalBuilderSettings) -> bool:
    """Whether some of the valid states reach what all do, and differ enough to make a harness."""
    calm = [trial for trial in kept if not trial.raises]
    missing = {line for trial in trials for line in trial.lines} - {
        line for item in kept for line in item.lines
    }
    enough = len(calm) >= settings.inputs and len({trial.digest for trial in calm}) > settings.min_outputs
    return enough and not missing


class Search:
    """One search.

    Args:
        plan: Parts of the states.
        scaffold: What surrounds the function.
        sandbox: An open sandbox.
        settings: Bounds.
        seed: Seed of all choices.
        check_time: Called between runs; raises where the budget is used up.
    """

    def __init__(
        self,
        plan: StatePlan,
        scaffold: Scaffold,
        sandbox: Sandbox,
        settings: LocalBuilderSettings,
        *,
        seed: int,
        check_time: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._scaffold = scaffold
        self._program = original_program(plan.analysis.source, scaffold)
        self._timeouts = 0
        self._styles = _STYLES
        self._sandbox = sandbox
        self._settings = settings
        self._seed = seed
        self._check_time = check_time
        self._known: set[InputState] = set()
        self._trials: list[Trial] = []
        self._first: Execution | None = None
        self._reached: set[int] = set()
        self._executable: frozenset[int] = frozenset()
        self._constants = (*plan.pool.strings, *plan.pool.numbers)

    def run(self) -> Found:
        """Search until every line is reached or the bounds are."""
        settings = self._settings
        for style in _STYLES:
            for mode in self._plan.receivers:
                if self._stuck():
                    break
                if mode == "fabricated" and style != "fabricated":
                    continue
                self._try(self._fresh(mode, style, settings.first_states, "first"))
            if style == "typed":
                self._go_on_plainly()
            if self._stuck() or (self._is_good() and not self._missed()):
                break
        self._styles = _STYLES
        idle = 0
        for number in range(settings.rounds):
            valid = any(not trial.problem for trial in self._trials)
            if (
                self._stuck()
                or idle == (_PATIENCE if valid else 2 * _PATIENCE)
                or (not self._missed() and self._enough())
            ):
                break
            before = self._progress()
            self._try(self._guided(number))
            idle = idle + 1 if before == self._progress() else 0
        for number in range(_CONCRETE_ROUNDS):
            valid_trials = [trial for trial in self._trials if not trial.problem]
            given = [trial for trial in valid_trials if not made_up_parts(trial.state)]
            if self._stuck() or len(given) == len(valid_trials) or suffices(given, valid_trials, settings):
                break
            self._try(self._concrete(valid_trials, number))
        if self._first is None:
            self._try([InputState()])
        if self._first is None:
            raise RuntimeError("a batch of one state was not run")
        return Found(trials=tuple(self._trials), first=self._first, scaffold=self._scaffold)

    def _concrete(self, valid: Sequence[Trial], number: int) -> list[InputState]:
        """States that do the same with given arguments where valid ones have made-up ones.

        How a made-up argument is asked is a matter of how a function is written; given ones judge better.
        """
        generator = random.Random(self._derived(f"concrete/{number}"))
        bases = [trial for trial in valid if made_up_parts(trial.state)]
        donors = [trial.state for trial in self._trials if not made_up_parts(trial.state)]
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

    def _go_on_plainly(self) -> None:
        """Where plain values do, look a little longer before anything is made up."""
        self._styles = _STYLES[:1]
        for number in range(_PLAIN_ROUNDS):
            valid = [trial for trial in self._trials if not trial.problem]
            made_up = any(rests_on_mocks(trial.state, trial.questions) for trial in self._trials)
            if self._stuck() or made_up or not self._missed() or 3 * len(valid) < len(self._trials):
                break
            self._try(self._guided(-1 - number))

    def _progress(self) -> tuple[int, int, int, int]:
        valid = [trial for trial in self._trials if not trial.problem]
        deepest = max((len(trial.lines) for trial in self._trials), default=0)
        # A new sort of failure is a step on the way, too.
        sorts = {_QUOTED.sub("", trial.problem) for trial in self._trials}
        return len(self._reached), min(len(valid), self._settings.min_inputs), deepest, min(len(sorts), 12)

    def _is_good(self) -> bool:
        valid = sum(1 for trial in self._trials if not trial.problem)
        return valid >= self._settings.inputs and self._coverage() >= self._settings.min_coverage

    def _stuck(self) -> bool:
        """Whether going on is of no use: nothing loads, or nearly everything runs out of time."""
        return (self._first is not None and not self._first.loaded) or self._timeouts > 2 * _MAX_TIMEOUTS

    # ----------------------------------------------------------------------------------------- batches

    def _fresh(self, mode: ReceiverMode, style: Style, count: int, label: str) -> list[InputState]:
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

    def _guided(self, number: int) -> list[InputState]:
        """States near known ones, changed where the conditions before missed lines look."""
        generator = random.Random(self._derived(f"round/{number}"))
        found = wishes(self._plan.analysis, self._missed())
        valid = [trial for trial in self._trials if not trial.problem]
        invalid = [
            trial for trial in self._trials if trial.problem and not trial.problem.startswith("timeout")
        ]
        # Those that went where no valid one has been are closest to something new.
        invalid = sorted(
            invalid, key=lambda trial: (-len(trial.lines - self._reached), -len(trial.lines), -trial.order)
        )[:_DEEPEST]
        beyond = any(trial.lines - self._reached for trial in invalid)
        count = self._settings.round_states
        few = len(valid) < self._settings.min_inputs
        repairs = 0 if not invalid else count * 3 // 5 if few else count // 2 if beyond else count // 8
        fresh = count // 10
        states: list[InputState] = [
            self._repaired(generator.choice(invalid), generator) for _ in range(repairs)
        ]
        for place in range(count - repairs - fresh):
            bases = valid or self._trials
            if not bases:
                break
            wish = found[place % len(found)] if found else None
            base = self._base(wish, generator)
            if generator.random() < _CROSSED and len(valid) > 1:
                other = generator.choice(valid).state
                states.append(_crossed(base.state, other, generator))
            else:
                states.append(self._changed(base, wish, generator))
        modes = self._plan.receivers
        for place in range(2):
            mode = modes[(number + place) % len(modes)]
            style: Style = (
                "fabricated" if mode == "fabricated" else _STYLES[(number // 2 + place) % len(_STYLES)]
            )
            states += self._fresh(mode, style, fresh // 2, f"fresh/{number}/{place}")
        return [state for state in states if size_of(state) <= _MAX_STATE_TEXT]

    def _base(self, wish: Wish | None, generator: random.Random) -> Trial:
        valid = [trial for trial in self._trials if not trial.problem]
        if wish is not None:
            lines = range(wish.line, wish.last + 1)
            for bases in (valid, self._trials):
                near = [trial for trial in bases if any(line in trial.lines for line in lines)]
                if near and (bases is not valid or generator.random() < _VALID_FIRST):
                    return generator.choice(near)
        return generator.choice(valid or self._trials)

    def _changed(self, base: Trial, wish: Wish | None, generator: random.Random) -> InputState:
        state = base.state
        for _ in range(generator.choice((1, 1, 1, 2, 3))):
            questions = self._asked(base, wish)
            if wish is not None and wish.raises and generator.random() < _BY_BAD_VALUES:
                state = self._spoilt(state, wish, generator)
            elif state.answers and generator.random() < _VARIED:
                state = varied(state, generator.choice(state.answers)[0], generator)
            elif questions and generator.random() < _BY_QUESTIONS:
                question = generator.choice(questions)
                state = self._solved(state, question, base, generator, wish)
            else:
                state = self._edited(state, wish, generator)
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

    def _solved(
        self,
        state: InputState,
        question: Question,
        base: Trial,
        generator: random.Random,
        wish: Wish | None = None,
    ) -> InputState:
        pool = self._plan.pool
        raises = wish.raises if wish is not None else ()
        none = wish is not None and wish.none and generator.random() < 0.6
        kinds = wish.kinds if wish is not None and generator.random() < 0.6 else ()
        texts, numbers = pool.strings, pool.numbers
        return solution(state, question, base.questions, texts, numbers, generator, raises, none, kinds)

    def _edited(
        self,
        state: InputState,
        wish: Wish | None,
        generator: random.Random,
        constants: Sequence[str] = (),
    ) -> InputState:
        slots = slots_of(self._plan.analysis, state)
        names = [name for name in (wish.names if wish is not None else slots) if name in slots] or list(slots)
        if not names:
            return replace(state, seed=generator.randrange(1000))
        slot = generator.choice(slots[generator.choice(names)])
        if wish is not None and wish.kinds and slot[0] != "receiver" and generator.random() < 0.6:
            kind = generator.choice(wish.kinds)
            return with_slot(state, slot, self._record(generator) if kind[0] == "{" else kind)
        constants = constants or (wish.constants if wish is not None else ()) or self._constants
        changed = change(state, slot, constants, generator)
        return changed if size_of(changed) <= _MAX_STATE_TEXT else state

    def _without_helper(self, state: InputState, trial: Trial, generator: random.Random) -> InputState | None:
        """The state with a helper of the file made up, where that cannot live; None where none failed."""
        names = [question.operand for question in trial.questions if question.kind == "helper"]
        analysis = self._plan.analysis
        if not names or names[0] == analysis.node.name or len(state.setup) > 3:
            return None
        name, owner = names[0], analysis.owner
        if isinstance(analysis.definitions.get(name), ast.FunctionDef | ast.AsyncFunctionDef):
            statement = f"{name} = fabricated({name!r})"
        elif owner is not None and any(getattr(item, "name", "") == name for item in owner.body):
            statement = f"{class_path(analysis)}.{name} = fabricated({'self.' + name!r})"
        else:
            return None
        return None if statement in state.setup else replace(state, setup=(*state.setup, statement))

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

    def _local(self, trial: Trial, generator: random.Random) -> str | None:
        """A made-up value that a local variable on the failing line holds."""
        node = self._plan.analysis.node
        lines = self._plan.analysis.source.text.split("\n")
        found = []
        for question in trial.questions:
            if question.kind == "local":
                text = lines[min(node.lineno - 1 + question.line, len(lines) - 1)]
                if re.search(rf"\b{re.escape(question.operand)}\b", text):
                    found.append(question.path)
        return generator.choice(found) if found else None

    def _repaired(self, trial: Trial, generator: random.Random) -> InputState:
        """A state without what went wrong on another one, as far as the message tells."""
        state = trial.state
        pool = self._plan.pool
        for _ in range(generator.choice((1, 1, 2))):
            keys = [question for question in trial.questions if question.kind == "key"]
            if keys and generator.random() < 0.8:
                question = generator.choice(keys)
                if question.path:
                    state = answered(state, question.path, question.operand)
                else:
                    state = self._edited(state, None, generator, constants=[item.operand for item in keys])
                continue
            replaced = self._without_helper(state, trial, generator)
            if replaced is not None and generator.random() < 0.4:
                state = replaced
                continue
            path = suspect(trial.problem, state, trial.questions) or self._local(trial, generator)
            if path is not None and generator.random() < 0.8:
                text = wanted_value(
                    trial.problem, path, trial.questions, pool.strings, pool.numbers, generator
                )
                state = answered(state, path, text)
                continue
            slots = slots_of(self._plan.analysis, state)
            literal = misfit(trial.problem)
            if literal is not None and generator.random() < 0.7:
                text = wanted_value(trial.problem, "", (), pool.strings, pool.numbers, generator)
                places = [slot for found in slots.values() for slot in found]
                state = with_constant(state, places, literal, text)
                continue
            choice = generator.randrange(5)
            lacks = WRONG_KIND.search(trial.problem) is not None
            if slots and (choice == 0 or (lacks and generator.random() < 0.6)):
                name = generator.choice(list(slots))
                slot = generator.choice(slots[name])
                if slot[0] != "receiver":
                    state = with_slot(state, slot, f"fabricated({name!r})")
                elif "class" not in self._plan.receivers:
                    kinds = [f"stand_in({class_path(self._plan.analysis)})", "fabricated('self')"]
                    state = replace(state, receiver=generator.choice(kinds))
            elif choice in (1, 4) and trial.questions:
                failed = {question.line for question in trial.questions if question.kind == "error"}
                near = [q for q in trial.questions if q.line in failed and q.kind != "error"]
                files = [q for q in trial.questions if q.kind in ("file", "directory")]
                groups = [group for group in (near, near, files, trial.questions) if group]
                question = generator.choice(generator.choice(groups))
                state = self._solved(state, question, trial, generator)
            elif choice == 2 and state.answers:
                place = generator.randrange(len(state.answers))
                state = replace(state, answers=state.answers[:place] + state.answers[place + 1 :])
            else:
                state = self._edited(state, None, generator)
        return state

    # ------------------------------------------------------------------------------------------- runs

    def _try(self, states: Sequence[InputState]) -> None:
        new = [state for state in dict.fromkeys(states) if state not in self._known]
        self._known.update(new)
        timeouts = 0
        for start in range(0, len(new), _CHUNK):
            # Inputs that never end are found by the dozen or not at all: the rest of the batch is left out.
            if timeouts >= _MAX_TIMEOUTS:
                return
            self._check_time()
            chunk = new[start : start + _CHUNK]
            run = execute(
                self._sandbox, self._program, chunk, coverage=True, state_timeout_s=_SEARCH_TIMEOUT_S
            )
            if self._first is None:
                self._first = run
                self._executable = frozenset(run.executable_lines)
                self._narrow(run)
            if not run.loaded:
                return
            for state, output, questions in zip(chunk, run.outputs, run.questions, strict=True):
                slow = output.outcome in ("timeout", "memory", "missing") and not output.detail.startswith(
                    "it asked"
                )
                timeouts += slow
                self._timeouts += slow
                self._note(state, output, questions)

    def _narrow(self, run: Execution) -> None:
        """Let go of what need not be made up, once it is known what is there."""
        lost = [name for skipped in run.skipped for name in skipped.names]
        self._scaffold = narrowed(self._plan.analysis, self._scaffold, run.fabricated, lost)
        self._program = original_program(self._plan.analysis.source, self._scaffold)

    def _note(self, state: InputState, output: OutputState, questions: tuple[Question, ...]) -> None:
        valid, problem = validity(output, output)
        lines = frozenset(output.lines) & self._executable
        if valid:
            self._reached |= lines
        self._trials.append(
            Trial(
                state=state,
                output=output,
                order=len(self._trials),
                lines=lines,
                problem="" if valid else problem,
                digest=output_digest(output) if valid else "",
                questions=questions,
            )
        )

    def _missed(self) -> set[int]:
        return set(self._executable) - self._reached

    def _coverage(self) -> float:
        return len(self._reached) / len(self._executable) if self._executable else 0.0

    def _enough(self) -> bool:
        valid = [trial for trial in self._trials if not trial.problem]
        calm = [trial for trial in valid if not trial.raises]
        return len(calm) >= self._settings.inputs and len({trial.digest for trial in valid}) >= 3

    def _derived(self, label: str) -> int:
        return int(digest([self._seed, label, self._plan.analysis.source.code])[:15], 16)
