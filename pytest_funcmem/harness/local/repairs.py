"""Repairs input states on which the function failed, as far as the message tells what was wrong."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import replace

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.local.changes import Changes
from pytest_funcmem.harness.local.construction import class_path
from pytest_funcmem.harness.local.edits import slots_of, with_constant, with_slot
from pytest_funcmem.harness.local.solving import (
    WRONG_KIND,
    answered,
    misfit,
    suspect,
    wanted_value,
)
from pytest_funcmem.harness.local.states import StatePlan
from pytest_funcmem.harness.local.trials import Trial

__all__ = ["Repairs"]


class Repairs:
    """Repairs of the input states of one function.

    Args:
        plan: Parts of the states.
        changes: Changes where a message tells nothing.
    """

    def __init__(self, plan: StatePlan, changes: Changes) -> None:
        self._plan = plan
        self._changes = changes

    def repaired(self, trial: Trial, generator: random.Random) -> InputState:
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
                    state = self._changes.edited(
                        state, None, generator, constants=[item.operand for item in keys]
                    )
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
                state = self._changes.solved(state, question, trial, generator)
            elif choice == 2 and state.answers:
                place = generator.randrange(len(state.answers))
                state = replace(state, answers=state.answers[:place] + state.answers[place + 1 :])
            else:
                state = self._changes.edited(state, None, generator)
        return state

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
