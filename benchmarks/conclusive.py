"""How many functions of a data set get a valid harness without a language model, how fast, and how good.

    python benchmarks/conclusive.py DATASET [--language L] [--limit N] [--budget S] [--seed N] [--workers N]

Functions are drawn by seed where a limit is given. Seconds are those of one function on one worker, waiting
for the sandbox included; processor seconds are those of this process and all below it, and under Docker those
of the tasks as well. Those of single functions are known with one worker only. The error rates of Python
need libcst (the extra ``benchmarks``). The table is for people; the last line is JSON.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from process_tree import MemoryWatch, processor_seconds

from pytest_funcmem.audit.world import programs_of
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox, SandboxResult, SandboxTask
from pytest_funcmem.core.records import Harness, Inconclusive, SourceFunction
from pytest_funcmem.corpora import read_sources, sample
from pytest_funcmem.harness.builder_process import ProcessBuilder
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.store.codec import encode
from pytest_funcmem.verdict.rates import rate

if TYPE_CHECKING:
    from conclusive_errors import Errors

KINDS = ("equivalent", "strangers", "siblings", "stubs", "mutants")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What building for one function gave."""

    function: SourceFunction
    harness: Harness | Inconclusive
    seconds: float
    cpu_s: float | None = None

    @property
    def is_conclusive(self) -> bool:
        """Whether there is a valid harness."""
        return isinstance(self.harness, Harness)

    @property
    def kind(self) -> str:
        """Function, method or nested, with what else it is; from the text of the signature alone."""
        head = self.function.text[self.function.definition_start : self.function.signature_end]
        words = ["method" if "." in self.function.qualname else "function"]
        if "@staticmethod" in head or "@classmethod" in head:
            words = ["class or static method"]
        elif "@property" in head or ".setter" in head:
            words = ["property"]
        if self.function.signature.startswith("async"):
            words.insert(0, "async")
        if "yield" in self.function.body:
            words.append("(generator)")
        return " ".join(words)


class CountedSandbox:
    """A sandbox whose tasks' processor seconds are added up, where no process of it is below this one."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.name = sandbox.name
        self.workers = sandbox.workers
        self.cpu_s = 0.0
        self._sandbox = sandbox

    def run(self, task: SandboxTask) -> SandboxResult:
        """Run a task; see ``Sandbox.run``."""
        result = self._sandbox.run(task)
        if self.name == "docker":
            self.cpu_s += result.cpu_s or 0.0
        return result

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)


def build_all(
    functions: Sequence[SourceFunction], sandbox: Sandbox, settings: Settings, workers: int
) -> list[Built]:
    """Build a harness for every function, some at one time, and give them in order."""
    builder = ProcessBuilder(f"local/{functions[0].language}", settings)
    counted = CountedSandbox(sandbox)
    done = 0
    lock = threading.Lock()

    def one(function: SourceFunction) -> Built:
        nonlocal done
        started, used = time.monotonic(), processor_seconds() + counted.cpu_s
        harness = builder.build(function, cast(Sandbox, counted), seed=settings.seed)
        built = Built(
            function=function,
            harness=harness,
            seconds=time.monotonic() - started,
            cpu_s=processor_seconds() + counted.cpu_s - used if workers == 1 else None,
        )
        with lock:
            done += 1
            said = "conclusive" if isinstance(harness, Harness) else f"{harness.reason}: {harness.detail}"
            print(
                f"{done:4}/{len(functions)} {built.seconds:6.1f} s {function.key}: {said[:200]}", flush=True
            )
        return built

    try:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, functions))
    finally:
        builder.close()


def measure_errors(
    built: Sequence[Built], sandbox: Sandbox, settings: Settings, workers: int, kinds: Collection[str]
) -> Errors:
    """Score rewritings, strangers, siblings, stubs and mutants on every harness."""
    from conclusive_errors import Errors, measure

    if built[0].function.language != "python":
        from compiled_errors import measure

    others = [item.function for item in built]

    def one(item: Built) -> Errors:
        if not isinstance(item.harness, Harness):
            return Errors()
        return measure(
            item.function,
            item.harness,
            others,
            sandbox,
            seed=settings.seed,
            tau=settings.tau_func,
            kinds=kinds,
        )

    errors = Errors()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for found in pool.map(one, built):
            errors.add(found)
    return errors


def error_rates(errors: Errors, tau: float) -> tuple[dict[str, object], list[str]]:
    """The rates for the last line, and the same for people, with intervals."""
    figures: dict[str, object] = {}
    lines = []
    for kind, scores in errors.scores.items():
        if not scores:
            continue
        flagged, total = errors.flagged(kind, tau)
        figures[f"{kind}_flagged"] = [flagged, total]
        lines.append(f"{kind} at {tau:g} or more: {flagged} of {total}, {_interval(flagged, total)}")
    apart, total = errors.told_apart("mutants")
    if total:
        figures["mutants_told_apart"] = [apart, total]
        lines.append(f"mutants told apart by some state: {apart} of {total}, {_interval(apart, total)}")
    if errors.bleu:
        figures["equivalent_bleu_median"] = round(statistics.median(errors.bleu), 4)
    return figures, [*lines, *sorted(errors.worst)]


def _interval(count: int, total: int) -> str:
    """A share with its interval, for people."""
    found = rate(count, total)
    return "none" if found.value is None else f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"


def _ninth_tenth(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(0.9 * len(values)) - 1)]


def summary(built: Sequence[Built], *, peak_mb: float) -> dict[str, object]:
    """The figures of the last line, by name."""
    harnesses = [item.harness for item in built if isinstance(item.harness, Harness)]
    reasons = Counter(item.harness.reason for item in built if isinstance(item.harness, Inconclusive))
    kinds: dict[str, list[bool]] = defaultdict(list)
    for item in built:
        kinds[item.kind].append(item.is_conclusive)
    seconds = [item.seconds for item in built]
    used = [item.cpu_s for item in built if item.cpu_s is not None]
    strengths = [item.evidence.strength for item in harnesses if item.evidence.strength is not None]
    interval = rate(len(harnesses), len(built))
    return {
        "n": len(built),
        "conclusive": len(harnesses),
        "interval": [round(interval.low, 4), round(interval.high, 4)],
        "median_s": round(statistics.median(seconds), 2),
        "p90_s": round(_ninth_tenth(seconds), 2),
        "cpu_median_s": round(statistics.median(used), 2) if used else None,
        "cpu_p90_s": round(_ninth_tenth(used), 2) if used else None,
        "peak_mb": round(peak_mb),
        "strength_median": round(statistics.median(strengths), 4) if strengths else None,
        "strength": [
            sum(item.evidence.mutants_killed for item in harnesses),
            sum(item.evidence.mutants for item in harnesses),
        ],
        "mock_share": _mock_share(harnesses),
        "mocked": [sum(1 for item in harnesses if item.evidence.mocked_states), len(harnesses)],
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        "by_kind": {kind: [sum(found), len(found)] for kind, found in sorted(kinds.items())},
    }


def _mock_share(harnesses: Sequence[Harness]) -> float | None:
    """Share of the harnesses in which some state rests on a mocked value."""
    if not harnesses:
        return None
    return round(sum(1 for item in harnesses if item.evidence.mocked_states) / len(harnesses), 4)


def table(figures: Mapping[str, object]) -> str:
    """The figures for people, one a line."""
    lines = [f"{name:20} {value}" for name, value in figures.items()]
    kinds = figures.get("by_kind")
    for kind, (count, total) in kinds.items() if isinstance(kinds, dict) else ():
        lines.append(f"{kind:28} conclusive {count} of {total}, {_interval(count, total)}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--language", default="python")
    parser.add_argument("--limit", type=int, help="functions to draw; all by default")
    parser.add_argument("--budget", type=float, default=Settings().budget, help="seconds a function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--sandbox", default="auto", help="auto, docker or namespace")
    parser.add_argument("--no-errors", action="store_true", help="measure no error rates")
    parser.add_argument("--no-mutants", action="store_true", help="leave out the mutants, the longest part")
    parser.add_argument("--details", type=Path, help="file for one JSON object a function")
    options = parser.parse_args()
    settings = Settings(budget=options.budget, seed=options.seed)
    corpus = read_sources([options.dataset], min_lines=settings.min_lines, max_lines=settings.max_lines)
    functions = [item for item in corpus.functions if item.language == options.language]
    if options.limit is not None:
        functions = list(sample(functions, options.limit, seed=options.seed))
    if not functions:
        raise SystemExit(f"no function in {options.language} in {options.dataset}")
    # Compilers are in the images of Docker alone.
    with (
        MemoryWatch() as memory,
        open_sandbox(
            options.sandbox if options.language == "python" else "docker",
            programs=programs_of(options.language),
            language=options.language,
            workers=options.workers,
        ) as sandbox,
    ):
        built = build_all(functions, sandbox, settings, options.workers)
        rates: dict[str, object] = {}
        if not options.no_errors:
            kinds = [kind for kind in KINDS if kind != "mutants" or not options.no_mutants]
            errors = measure_errors(built, sandbox, settings, options.workers, kinds)
            rates, lines = error_rates(errors, settings.tau_func)
            print("\n".join(lines))
    if options.details is not None:
        with options.details.open("w", encoding="utf-8") as file:
            for item in built:
                line = {"key": item.function.key, "seconds": item.seconds, "cpu_s": item.cpu_s}
                line["harness"] = encode(item.harness)
                file.write(json.dumps(line) + "\n")
    figures = {"language": options.language, **summary(built, peak_mb=memory.peak_mb), **rates}
    figures["harnesses_sha256"] = digest([encode(item.harness) for item in built])
    print(table(figures))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
