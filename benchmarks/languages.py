"""Time to compile and run one small function on 10 inputs, by language, each in its own Docker image.

    python benchmarks/languages.py [--rounds N] [LANGUAGE ...]

Prints a table, and last one line of JSON: ``{"median_ms": {language: milliseconds}}``. Beside the wall clock
the table shows the processor time that the containers used for each candidate, which other work on the
machine changes little. Images that are missing are built first, which is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox, connect
from pytest_funcmem.sandbox.images.build import ensure_image
from pytest_funcmem.sandbox.toolchains.compile_run import PROGRAMS, compile_and_run
from pytest_funcmem.sandbox.toolchains.recipes import RECIPES
from pytest_funcmem.sandbox.toolchains.warm_javac import WarmJavac

SOURCES: Mapping[str, tuple[str, str]] = {
    "c": (
        "main.c",
        """\
#include <stdio.h>
static int steps(long n) { int k = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }
int main(void) { long n; while (scanf("%ld", &n) == 1) printf("%d\\n", steps(n)); return 0; }
""",
    ),
    "java": (
        "Main.java",
        """\
import java.util.Scanner;
public class Main {
    static int steps(long n) {
        int k = 0;
        while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; k++; }
        return k;
    }
    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLong()) System.out.println(steps(in.nextLong()));
    }
}
""",
    ),
    "rust": (
        "main.rs",
        """\
use std::io::Read;
fn steps(mut n: u64) -> u32 {
    let mut k = 0;
    while n != 1 { n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; k += 1; }
    k
}
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    for word in text.split_whitespace() { println!("{}", steps(word.parse().unwrap())); }
}
""",
    ),
    "go": (
        "main.go",
        """\
package main
import "fmt"
func steps(n int) int { k := 0; for n != 1 { if n%2 == 0 { n /= 2 } else { n = 3*n + 1 }; k++ }; return k }
func main() { var n int; for { if _, err := fmt.Scan(&n); err != nil { return }; fmt.Println(steps(n)) } }
""",
    ),
}
INPUTS = "".join(f"{n}\n" for n in range(1, 11)).encode()
OUTPUTS = b"0\n1\n7\n2\n5\n8\n16\n3\n19\n6\n"
WARM_UP = 2


def measure(
    client: Any, language: str, compiler: str, rounds: int, *, warm: bool
) -> tuple[list[float], float]:
    """Wall-clock milliseconds of each round, and mean processor milliseconds of the containers."""
    image = ensure_image(client, language=language, progress=lambda line: sys.stderr.write(f"{line}\n"))
    name, text = SOURCES[language]
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(DockerSandbox(programs=PROGRAMS, workers=1, image=image))
        javac = stack.enter_context(WarmJavac(client, image)) if warm else None
        milliseconds = []
        used = 0.0
        for number in range(WARM_UP + rounds):
            if number == WARM_UP:
                used = processor_ms(client)
            # A different text each time, so that nothing can be remembered.
            files = {name: f"{text}// {number}\n".encode()}
            run = compile_and_run(sandbox, language, files, INPUTS, compiler=compiler, javac=javac)
            if run.result is None or run.result.stdout != OUTPUTS:
                raise SystemExit(f"{language} with {compiler}: {run}")
            if number >= WARM_UP:
                milliseconds.append(run.seconds * 1000)
        return milliseconds, (processor_ms(client) - used) / rounds


def processor_ms(client: Any) -> float:
    """Processor time that this process's containers have used so far."""
    label = f"org.pytest-funcmem.owner={os.getpid()}"
    containers = client.containers.list(filters={"label": label})
    stats = [client.api.stats(one.id, stream=False, one_shot=True) for one in containers]
    return sum(stat["cpu_stats"]["cpu_usage"]["total_usage"] for stat in stats) / 1e6


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("languages", nargs="*", default=list(SOURCES), metavar="LANGUAGE")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    options = parser.parse_args(arguments)
    client = connect()
    medians: dict[str, float] = {}
    print(f"{options.rounds} rounds each; load of this machine {os.getloadavg()[0]:.1f}")
    print(f"{'':<22} {'median ms':>10} {'least ms':>10} {'processor ms':>13}")
    for recipe in RECIPES:
        if recipe.language not in options.languages:
            continue
        ways = (True, False) if recipe.language == "java" else (False,)
        for warm in ways:
            times, used = measure(client, recipe.language, recipe.compiler, options.rounds, warm=warm)
            label = f"{recipe.language}, {'warm ' if warm else ''}{recipe.compiler}"
            median = statistics.median(times)
            print(f"{label:<22} {median:>10.0f} {min(times):>10.0f} {used:>13.0f}", flush=True)
            medians.setdefault(recipe.language, round(median, 1))
    client.close()
    print(json.dumps({"median_ms": medians}))


if __name__ == "__main__":
    main()
