"""Takes functions up the ladder, each of them up every level, and counts how many get how far.

What is paid for is kept: answers by their question, harnesses under the key that an audit uses too, so that a
run that was killed, or stopped by its cost cap, goes on where it was.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_funcmem.audit.keys import harness_key
from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Builder, Sandbox, Store
from pytest_funcmem.core.records import Harness, Inconclusive, Json, Rate, SourceFunction
from pytest_funcmem.harness.ladder.alone import available_imports
from pytest_funcmem.harness.ladder.asking import Asker, CapReachedError, Cost
from pytest_funcmem.harness.ladder.levels import (
    GENERATED_LEVELS,
    Climb,
    Level,
    LevelResult,
    Step,
    climb,
    result_of,
)
from pytest_funcmem.harness.validate import HarnessConditions
from pytest_funcmem.store.codec import encode
from pytest_funcmem.studies.ladder_agent import AgentLevel
from pytest_funcmem.verdict.rates import rate

__all__ = ["FunctionLadder", "LadderStudy", "LevelCount", "study_ladder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionLadder:
    """How far one function got.

    Attributes:
        key: The function, as node ids name it.
        results: By level.
        costs: By what a model was asked for; each was paid once.
    """

    key: str
    results: Mapping[Level, LevelResult]
    costs: Mapping[Step, Cost] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCount:
    """One level over all functions.

    Attributes:
        conclusive: Share of the functions on which the paper's three conditions hold.
        proved: Share of the functions whose harness passes the self-proofs too.
        reasons: Functions that are not proved, by reason, most frequent first.
        cost: What the level rests on; None where no model is asked for it.
    """

    level: Level
    conclusive: Rate
    proved: Rate
    reasons: Mapping[str, int]
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStudy:
    """The whole ladder.

    Attributes:
        levels: In order.
        functions: Those that were taken up every level.
        left_out: Functions that the cost cap left no room for; they count nowhere.
        model: Which model answered; None where none was asked.
        sandbox: Name of the sandbox.
        lacking: Common imports that the sandbox lacks.
        conditions: When a harness is valid.
        seed: Of the sample and of the builders.
        cost: Of all questions and agents together, each counted once, whenever it was paid.
    """

    levels: tuple[LevelCount, ...]
    functions: tuple[FunctionLadder, ...]
    left_out: int
    model: str | None
    sandbox: str
    lacking: tuple[str, ...]
    conditions: HarnessConditions
    seed: int
    cost: Cost

    def as_json(self) -> Json:
        """The study as JSON."""
        return {
            "kind": "ladder",
            "format_version": 1,
            "functions": len(self.functions),
            "left_out": self.left_out,
            "model": self.model,
            "sandbox": self.sandbox,
            "imports_lacking": list(self.lacking),
            "seed": self.seed,
            "conditions": {
                "inputs": self.conditions.inputs,
                "min_inputs": self.conditions.min_inputs,
                "min_coverage": self.conditions.min_coverage,
                "min_outputs": self.conditions.min_outputs,
                "tau_func": self.conditions.tau_func,
            },
            "intervals": "95 %, Clopper-Pearson",
            "cost": _cost_json(self.cost),
            "levels": [
                {
                    "level": count.level,
                    "conclusive": _rate_json(count.conclusive),
                    "proved": _rate_json(count.proved),
                    "reasons": dict(count.reasons),
                    "cost": None if count.cost is None else _cost_json(count.cost),
                }
                for count in self.levels
            ],
            "rows": [
                {
                    "function": row.key,
                    "levels": {
                        level: {
                            "conclusive": result.conclusive,
                            "proved": result.proved,
                            "reason": result.reason,
                            "detail": result.detail,
                        }
                        for level, result in row.results.items()
                    },
                }
                for row in self.functions
            ],
        }


def study_ladder(
    functions: Sequence[SourceFunction],
    levels: Sequence[Level],
    *,
    sandbox: Sandbox,
    world: Json,
    store: Store,
    settings: Settings,
    asker: Asker | None,
    model: str | None,
    builders: Mapping[Level, Builder],
    workers: int,
    agent: Callable[[], AgentLevel] | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> LadderStudy:
    """Take Python functions up the ladder.

    Args:
        functions: The originals.
        levels: Which, in their order.
        sandbox: Open, with the Python runner.
        world: What of the sandbox can change an output, for keys.
        store: Keeps harnesses.
        settings: Conditions, budget and seed.
        asker: The model of the generated levels; None where none of them is wanted.
        model: Which model, for the study; None where none is asked.
        builders: Of the built levels that are wanted.
        workers: Functions at one time.
        agent: Makes the agent's level, once all others are done and what they cost is known; None where it
            is not wanted.
        progress: Told of every function.

    Raises:
        EngineError: The model failed; what it answered is stored.
        SandboxError: The sandbox failed.
        StoreError: A result could not be stored.
    """
    conditions = HarnessConditions.from_settings(settings)
    generated = [level for level in GENERATED_LEVELS if level in levels]
    there, lacking = available_imports(sandbox) if generated else ((), ())
    run = _Run(sandbox, world, store, settings, conditions, asker, builders, there)
    rows = _in_threads(functions, lambda function: run.one(function, generated), run.stop, workers, progress)
    if agent is not None:
        hired = _Hired(agent(), functions, rows)
        rows = _in_threads(functions, hired.one, hired.stop, workers, progress)
    done = tuple(row for row in rows if row is not None)
    cost = sum((cost for row in done for cost in row.costs.values()), Cost())
    cost = sum((row.results["agent"].cost or Cost() for row in done if "agent" in row.results), cost)
    return LadderStudy(
        levels=tuple(_counted(level, done) for level in levels),
        functions=done,
        left_out=len(functions) - len(done),
        model=model,
        sandbox=sandbox.name,
        lacking=lacking,
        conditions=conditions,
        seed=settings.seed,
        cost=cost,
    )


class _Run:
    """What all functions of a study share."""

    def __init__(
        self,
        sandbox: Sandbox,
        world: Json,
        store: Store,
        settings: Settings,
        conditions: HarnessConditions,
        asker: Asker | None,
        builders: Mapping[Level, Builder],
        imports: Sequence[str],
    ) -> None:
        self._sandbox = sandbox
        self._world = world
        self._store = store
        self._settings = settings
        self._conditions = conditions
        self._asker = asker
        self._builders = builders
        self._imports = imports
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Begin nothing more, and give up what is being asked."""
        self._stopped.set()
        if self._asker is not None:
            self._asker.stop()

    def one(self, function: SourceFunction, generated: Sequence[Level]) -> FunctionLadder | None:
        """One function on every level; None where the cost cap left no room for it."""
        if self._stopped.is_set():
            return None
        climbed = Climb(results={}, costs={}, inputs=0)
        if generated and self._asker is not None:
            try:
                climbed = climb(
                    function, generated, self._asker, self._sandbox, self._conditions, self._imports
                )
            except CapReachedError:
                self._stopped.set()  # all levels are counted over the same functions
                return None
        built = {
            level: result_of(self._built(function, builder)) for level, builder in self._builders.items()
        }
        return FunctionLadder(key=function.key, results={**climbed.results, **built}, costs=climbed.costs)

    def _built(self, function: SourceFunction, builder: Builder) -> Harness | Inconclusive:
        maker = f"{builder.name}/{builder.version}"
        key = harness_key(function, maker, self._settings, world=self._world)
        kept: Any = reuse(self._store, "harness", key, Harness | Inconclusive)
        if kept is not None:
            found: Harness | Inconclusive = kept
            return found
        built = builder.build(function, self._sandbox, seed=self._settings.seed)
        if not (isinstance(built, Inconclusive) and built.reason == "budget"):
            self._store.put("harness", key, encode(built))
        return built


class _Hired:
    """The agent's level of functions that were taken up all others."""

    def __init__(
        self, level: AgentLevel, functions: Sequence[SourceFunction], rows: Sequence[FunctionLadder | None]
    ) -> None:
        self._level = level
        self._rows = {function.key: row for function, row in zip(functions, rows, strict=True)}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Begin nothing more, and give up what is under way."""
        self._stopped.set()
        self._level.stop()

    def one(self, function: SourceFunction) -> FunctionLadder | None:
        """One function with its agent's level; None where the cost cap left no room for it."""
        row = self._rows[function.key]
        if row is None or self._stopped.is_set():
            return None
        try:
            result = self._level.measure(function)
        except CapReachedError:
            self._stopped.set()
            return None
        return replace(row, results={**row.results, "agent": result})


def _in_threads(
    functions: Sequence[SourceFunction],
    one: Callable[[SourceFunction], FunctionLadder | None],
    stop: Callable[[], None],
    workers: int,
    progress: Callable[[str], None],
) -> list[FunctionLadder | None]:
    """What becomes of each function, in order; ``stop`` is called where one of them breaks the run."""
    rows: list[FunctionLadder | None] = []
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="funcmem-ladder") as pool:
        pending = [pool.submit(one, function) for function in functions]
        try:
            for number, future in enumerate(pending, start=1):
                row = future.result()
                rows.append(row)
                if row is not None:
                    progress(f"{number}/{len(functions)} {row.key}: {_said(row)}")
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return rows


def _counted(level: Level, rows: Sequence[FunctionLadder]) -> LevelCount:
    results = [row.results[level] for row in rows]
    reasons = Counter(result.reason for result in results if not result.proved)
    asked = [result.cost for result in results if result.cost is not None]
    return LevelCount(
        level=level,
        conclusive=rate(sum(result.conclusive for result in results), len(results)),
        proved=rate(sum(result.proved for result in results), len(results)),
        reasons=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        cost=sum(asked, Cost()) if asked else None,
    )


def _said(row: FunctionLadder) -> str:
    def shown() -> Iterator[str]:
        for level, result in row.results.items():
            yield f"{level} {'proved' if result.proved else result.reason}"

    return ", ".join(shown())


def _cost_json(cost: Cost) -> Json:
    usage = cost.usage
    tokens = {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }
    return {"tokens": tokens, "dollars": None if cost.dollars is None else round(cost.dollars, 10)}


def _rate_json(found: Rate) -> Json:
    return {
        "numerator": found.numerator,
        "denominator": found.denominator,
        "value": found.value,
        "interval": [found.low, found.high],
    }
