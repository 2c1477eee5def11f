"""First-order mutants of a Python original that a long random search shows not to be equivalent.

Used by ``conclusive_errors.py``. The search is another one than the builder's: other seeds, more states, and
every valid state counts, not only the ten of the harness.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, InputState
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.local.analysis import Analysis
from pytest_funcmem.harness.local.literals import mine
from pytest_funcmem.harness.local.mutants import make_mutants
from pytest_funcmem.harness.local.search import Search
from pytest_funcmem.harness.local.settings import LocalBuilderSettings
from pytest_funcmem.harness.local.states import StatePlan
from pytest_funcmem.harness.outputs import same_output
from pytest_funcmem.harness.python_runs import Run, run_together, was_run

__all__ = ["different", "fresh_mutants"]

MUTANTS = 6
PROVED_MUTANTS = 20

_SEARCHES = 2
_SETTINGS = LocalBuilderSettings(first_states=25, rounds=12)
_TIMEOUT_S = 3.0
_CPU_S = 1.0


def fresh_mutants(analysis: Analysis, generator: random.Random) -> dict[str, str]:
    """First-order mutants beyond those that chose the states, by name."""
    used = {mutant.code for mutant in make_mutants(analysis.source, analysis.node, limit=PROVED_MUTANTS)}
    every = make_mutants(analysis.source, analysis.node, limit=200)
    fresh = [mutant for mutant in every if mutant.code not in used]
    # Small functions have no mutants but those that chose the states.
    counts: Counter[str] = Counter()
    found = {}
    for mutant in generator.sample(fresh, min(MUTANTS, len(fresh))):
        counts[mutant.sort] += 1
        found[f"{mutant.sort} {counts[mutant.sort]}"] = mutant.code
    return found


def different(
    analysis: Analysis, harness: Harness, mutants: Mapping[str, str], sandbox: Sandbox, *, seed: int
) -> set[str]:
    """Names of the mutants that some state of a long random search tells apart from the original."""
    states = _searched(analysis, harness, sandbox, seed) if mutants else []
    if not states:
        return set()

    def run(code: str | None) -> Run:
        program = (
            original_program(analysis.source, harness.scaffold)
            if code is None
            else spliced_program(analysis.source, harness.scaffold, code)
        )
        return Run(program=program, states=states, state_timeout_s=_TIMEOUT_S, state_cpu_s=_CPU_S)

    names = list(mutants)
    first, again, *others = run_together(
        sandbox, [run(None), run(None), *(run(mutants[name]) for name in names)]
    )
    steady = [
        place
        for place, (a, b) in enumerate(zip(first.outputs, again.outputs, strict=True))
        if same_output(a, b, float_tolerance=1e-9)
    ]
    return {
        name
        for name, other in zip(names, others, strict=True)
        if any(
            was_run(other.outputs[place])
            and not same_output(first.outputs[place], other.outputs[place], float_tolerance=1e-9)
            for place in steady
        )
    }


def _searched(analysis: Analysis, harness: Harness, sandbox: Sandbox, seed: int) -> Sequence[InputState]:
    """Valid states of searches with other seeds, under the harness's own scaffold."""
    plan = StatePlan.of(analysis, mine(analysis))
    found: dict[InputState, None] = {}
    for number in range(_SEARCHES):
        settings = replace(_SETTINGS, round_states=40 + 10 * number)
        search = Search(plan, harness.scaffold, sandbox, settings, seed=seed + 7_919 * (number + 1))
        found.update(dict.fromkeys(trial.state for trial in search.run().valid))
    return list(found)
