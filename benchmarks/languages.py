"""What a language costs: milliseconds a candidate on a harness of 10 states, and functions found in a corpus.

    python benchmarks/languages.py [--rounds N] [--corpora DIRECTORY] [LANGUAGE ...]

For each compiled language the local builder makes a harness for one small function in Docker; a candidate is
then compiled and run on its states, a different text each time, so that nothing can be remembered. Beside the
wall clock the table shows the processor time that the containers used, which other work on the machine
changes little. With ``--corpora``, the files ``LANGUAGE.jsonl`` of that directory are read, and the functions
that their rows list are looked for. Images that are missing are built first, which is not counted.

The last line is JSON: ``{"median_ms": {language: milliseconds}, "extracted": {language: [found, listed]}}``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pytest_funcmem.audit.world import programs_of
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Harness, Language
from pytest_funcmem.core.registry import load
from pytest_funcmem.corpora import read_sources
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox, connect

SOURCES: Mapping[Language, str] = {
    "c": """\
#include <string.h>

int fare(int zone, int age, const char *ticket) {
    int cents = 240;
    if (zone > 3) {
        cents += 80 * (zone - 3);
    }
    if (age < 14 || age > 66) {
        cents = cents / 2;
    }
    if (strcmp(ticket, "day") == 0) {
        cents *= 3;
    }
    return cents;
}
""",
    "java": """\
public class Tariff {
    static int fare(int zone, int age, String ticket) {
        int cents = 240;
        if (zone > 3) {
            cents += 80 * (zone - 3);
        }
        if (age < 14 || age > 66) {
            cents = cents / 2;
        }
        if (ticket.equals("day")) {
            cents *= 3;
        }
        return cents;
    }
}
""",
    "rust": """\
fn fare(zone: i32, age: i32, ticket: &str) -> i32 {
    let mut cents = 240;
    if zone > 3 {
        cents += 80 * (zone % 100 - 3);
    }
    if age < 14 || age > 66 {
        cents /= 2;
    }
    if ticket == "day" {
        cents *= 3;
    }
    cents
}
""",
    "go": """\
package tariff

func fare(zone int, age int, ticket string) int {
\tcents := 240
\tif zone > 3 {
\t\tcents += 80 * (zone - 3)
\t}
\tif age < 14 || age > 66 {
\t\tcents /= 2
\t}
\tif ticket == "day" {
\t\tcents *= 3
\t}
\treturn cents
}
""",
}
WARM_UP = 2


def measure(client: Any, language: Language, rounds: int) -> tuple[list[float], float]:
    """Wall-clock milliseconds of each round, and mean processor milliseconds of the containers."""
    (function,) = load("language", language)().scan(SOURCES[language], path="fare").functions
    builder = load("builder", f"local/{language}").from_settings(Settings(budget=300.0))
    sandbox = DockerSandbox(
        programs=programs_of(language),
        workers=1,
        language=language,
        progress=lambda line: sys.stderr.write(f"{line}\n"),
    )
    with sandbox:
        harness = builder.build(function, sandbox, seed=0)
        if not isinstance(harness, Harness):
            raise SystemExit(f"{language}: no harness, {harness.reason}: {harness.detail}")
        code = function.text[function.signature_start : function.end]
        milliseconds: list[float] = []
        used = 0.0
        for number in range(WARM_UP + rounds):
            if number == WARM_UP:
                used = processor_ms(client)
            changed = code.replace("240", f"240 /* {number} */", 1)
            started = time.monotonic()
            run = execute(
                sandbox,
                spliced_program(function, harness.scaffold, changed),
                harness.states,
                coverage=False,
                state_timeout_s=harness.state_timeout_s,
            )
            spent = (time.monotonic() - started) * 1000
            score, _ = similarity(harness.expected, run.outputs)
            if score != 1.0 or changed == code:
                raise SystemExit(f"{language}: the original scores {score} against itself: {run.load_detail}")
            if number >= WARM_UP:
                milliseconds.append(spent)
        return milliseconds, (processor_ms(client) - used) / rounds


def processor_ms(client: Any) -> float:
    """Processor time that this process's containers have used so far."""
    label = f"org.pytest-funcmem.owner={os.getpid()}"
    containers = client.containers.list(filters={"label": label})
    stats = [client.api.stats(one.id, stream=False, one_shot=True) for one in containers]
    return sum(stat["cpu_stats"]["cpu_usage"]["total_usage"] for stat in stats) / 1e6


def extracted(path: Path, language: Language) -> tuple[int, int]:
    """Of the functions that the rows of a data set list, how many are found where they are listed."""
    listed = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            listed += len(json.loads(line).get("functions") or ())
    corpus = read_sources([path], min_lines=1, max_lines=10_000)
    return sum(function.language == language for function in corpus.functions), listed


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("languages", nargs="*", default=list(SOURCES), metavar="LANGUAGE")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--corpora", type=Path, help="directory with one data set a language")
    options = parser.parse_args(arguments)
    client = connect()
    medians: dict[str, float] = {}
    print(f"{options.rounds} rounds each; load of this machine {os.getloadavg()[0]:.1f}")
    print(f"{'':<10} {'median ms':>10} {'least ms':>10} {'processor ms':>13}")
    for language in SOURCES:
        if language in options.languages:
            times, used = measure(client, language, options.rounds)
            medians[language] = round(statistics.median(times), 1)
            print(f"{language:<10} {medians[language]:>10.0f} {min(times):>10.0f} {used:>13.0f}", flush=True)
    client.close()
    figures: dict[str, object] = {"median_ms": medians}
    if options.corpora is not None:
        found = {
            language: extracted(options.corpora / f"{language}.jsonl", language)
            for language in get_args(Language)
        }
        for language, (count, listed) in found.items():
            print(f"{language:<10} {count} of {listed} listed functions found")
        figures["extracted"] = {language: list(counts) for language, counts in found.items()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
