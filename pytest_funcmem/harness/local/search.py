"""Searches for input states that run validly and reach the lines of the original.

A first batch comes from the strategies; rounds follow that turn the conditions before missed lines. The
search is bounded by counts and driven by one seed: the clock can end it, never bend it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, OutputState, Scaffold
from pytest_funcmem.harness.execution import Execution, Question, original_program
from pytest_funcmem.harness.local.batches import STYLES, Batches
from pytest_funcmem.harness.local.scaffolds import narrowed
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.states import StatePlan, Style
from pytest_funcmem.harness.local.trials import Found, Trial, made_up_parts, suffices
from pytest_funcmem.harness.outputs import output_digest, validity
from pytest_funcmem.harness.python_runs import Run, run_together, was_run
from pytest_funcmem.harness.validate import rests_on_mocks

__all__ = ["Search"]

_CHUNK = 48
_MAX_TIMEOUTS = 3
_TIMEOUT_S = 3.0
_CPU_S = 0.4
_PATIENCE = 4
_PLAIN_ROUNDS = 3
_CONCRETE_ROUNDS = 2
_QUOTED = re.compile(r"'[^']*'|<[^>]*>|\d+")


class Search:
    """One search.

    Args:
        plan: Parts of the states.
        scaffold: What surrounds the function.
        sandbox: An open sandbox.
        settings: Bounds.
        seed: Seed of all choices.
    """

    def __init__(
        self,
        plan: StatePlan,
        scaffold: Scaffold,
        sandbox: Sandbox,
        settings: LocalBuilderSettings,
        *,
        seed: int,
    ) -> None:
        self._plan = plan
        self._scaffold = scaffold
        self._program = original_program(plan.analysis.source, scaffold)
        self._timeouts = 0
        self._batches = Batches(plan, settings, seed)
        self._sandbox = sandbox
        self._settings = settings
        self._known: set[InputState] = set()
        self._trials: list[Trial] = []
        self._reached: set[int] = set()
        # Loading the file alone tells what need not be made up.
        self._first = self._execute([])
        self._executable = frozenset(self._first.executable_lines)
        lost = [name for skipped in self._first.skipped for name in skipped.names]
        self._scaffold = narrowed(plan.analysis, scaffold, self._first.fabricated, lost)
        self._program = original_program(plan.analysis.source, self._scaffold)

    def run(self) -> Found:
        """Search until every line is reached or the bounds are."""
        settings = self._settings
        for style in STYLES if self._first.loaded else ():
            modes = [mode for mode in self._plan.receivers if mode != "fabricated" or style == "fabricated"]
            self._try(
                [
                    state
                    for mode in modes
                    for state in self._batches.fresh(mode, style, settings.first_states, "first")
                ]
            )
            if style == "typed":
                self._go_on_plainly()
            if self._stuck() or (self._is_good() and not self._missed()):
                break
        idle = 0
        for number in range(settings.rounds):
            if self._stuck() or idle >= self._patience() or (not self._missed() and self._enough()):
                break
            before = self._progress()
            self._try(self._guided(number, STYLES))
            idle = idle + 1 if before == self._progress() else 0
        for number in range(_CONCRETE_ROUNDS):
            valid_trials = [trial for trial in self._trials if not trial.problem]
            given = [trial for trial in valid_trials if not made_up_parts(trial.state)]
            if self._stuck() or len(given) == len(valid_trials) or suffices(given, valid_trials, settings):
                break
            self._try(self._batches.concrete(number, self._trials))
        return Found(trials=tuple(self._trials), first=self._first, scaffold=self._scaffold)

    def _go_on_plainly(self) -> None:
        """Where plain values do, look a little longer before anything is made up."""
        for number in range(_PLAIN_ROUNDS):
            valid = [trial for trial in self._trials if not trial.problem]
            made_up = any(rests_on_mocks(trial.state, trial.questions) for trial in self._trials)
            if self._stuck() or made_up or not self._missed() or 3 * len(valid) < len(self._trials):
                break
            self._try(self._guided(-1 - number, STYLES[:1]))

    def _patience(self) -> int:
        """Rounds without progress after which the search ends."""
        if self._is_good() and self._enough():
            return _PATIENCE // 2
        valid = any(not trial.problem for trial in self._trials)
        return _PATIENCE if valid else 2 * _PATIENCE

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
        return not self._first.loaded or self._timeouts > 2 * _MAX_TIMEOUTS

    def _guided(self, number: int, styles: Sequence[Style]) -> list[InputState]:
        return self._batches.guided(
            number, self._trials, reached=self._reached, missed=self._missed(), styles=styles
        )

    def _try(self, states: Sequence[InputState]) -> None:
        new = [state for state in dict.fromkeys(states) if state not in self._known]
        self._known.update(new)
        for start in range(0, len(new), _CHUNK):
            chunk = new[start : start + _CHUNK]
            execution = self._execute(chunk)
            if not execution.loaded:
                return
            for state, output, questions in zip(chunk, execution.outputs, execution.questions, strict=True):
                if was_run(output):
                    self._timeouts += output.outcome in ("timeout", "memory", "missing") and (
                        not output.detail.startswith("it asked")
                    )
                    self._note(state, output, questions)
            if not all(was_run(output) for output in execution.outputs):
                return

    def _execute(self, states: Sequence[InputState]) -> Execution:
        # Inputs that never end are found by the dozen or not at all: the rest of the batch is left out.
        run = Run(
            program=self._program,
            states=states,
            coverage=True,
            state_timeout_s=_TIMEOUT_S,
            state_cpu_s=_CPU_S,
            patience=_MAX_TIMEOUTS,
        )
        return run_together(self._sandbox, [run])[0]

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
