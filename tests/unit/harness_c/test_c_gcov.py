"""Lines that the harness of a C function says were run, beside what gcov counts for the same calls."""

from __future__ import annotations

import json

import pytest

from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.core.records import Inconclusive, InputState, SourceFunction
from pytest_funcmem.harness.compiled.c.toolkit import CToolkit
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.languages.c import CFrontend

pytestmark = pytest.mark.docker

KIT = CToolkit()
FILE = """\
static int steps(unsigned n)
{
    int count = 0;

    while (n != 1 && count < 50) {
        if (n % 2 == 0)
            n /= 2;
        else
            n = (3 * n + 1) & 0xffff;
        count++;
    }
    return count;
}

int kind(int c)
{
    switch (c & 3) {
    case 0:
        return 10;
    case 1:
        c += 2;
        /* fall through */
    case 2:
        c ^= 5;
        break;
    default:
        goto odd;
    }
    if (c > 100 &&
        c < 1000 &&
        (c & 8))
        return c
            & 255;
    return -1;
odd:
    return c < 0 ? -2
                 : 2;
}

int words(const char *text, int minimum)
{
    int found = 0, length = 0;
    for (; text && *text; text++) {
        if (*text == ' ' || *text == ',') {
            found += length >= (minimum & 3);
            length = 0;
            continue;
        }
        length++;
    }
    return found;
}

int bits(a, b)
    unsigned a, b;
{
    int n = 0; unsigned x = a ^ b;
    do
        n += x & 1;
    while (x >>= 1);
    if (n == 0) { return -1; }
    return n;
}
"""
COUNT = """\
set -e
gcc -w -O0 --coverage -c -o calls.o calls.c
gcc --coverage -o calls calls.o
n=0
while [ $n -lt $1 ]; do
    rm -f calls.gcda
    ./calls $n >&2
    gcov --json-format --stdout calls.gcda
    echo
    n=$((n + 1))
done
"""


def counted(function: SourceFunction, calls: list[str], sandbox: Sandbox) -> list[dict[int, int]]:
    """For each call, how often gcov saw each line, relative to the signature's."""
    cases = "".join(f"    case {number}: {call}; break;\n" for number, call in enumerate(calls))
    main = (
        f"#include <stdlib.h>\nint main(int n, char **v)\n{{\n    switch (atoi(v[1])) {{\n{cases}    }}\n}}\n"
    )
    result = sandbox.run(
        SandboxTask(
            command=("sh", "count.sh", str(len(calls))),
            files={"calls.c": (FILE + main).encode(), "count.sh": COUNT.encode()},
            limits=Limits(wall_s=60.0),
            language="c",
        )
    )
    assert result.exit_code == 0, result.stderr
    runs = [json.loads(line)["files"][0]["lines"] for line in result.stdout.splitlines() if line.strip()]
    last = function.line + function.code.count("\n")
    return [
        {
            line["line_number"] - function.line: line["count"]
            for line in lines
            if function.line <= line["line_number"] <= last
        }
        for lines in runs
    ]


@pytest.mark.parametrize("name", ["steps", "kind", "words", "bits"])
def test_the_same_lines_are_run_as_gcov_counts(sandbox: Sandbox, name: str) -> None:
    function = next(item for item in CFrontend().scan(FILE, path="a.c").functions if item.qualname == name)
    made = KIT.prepare(function, sandbox, check_time=lambda: None)
    assert not isinstance(made, Inconclusive), made
    (run,) = KIT.execute(
        sandbox,
        [original_program(function, made.scaffold)],
        [[InputState(seed=seed) for seed in range(16)]],
        coverage=True,
        state_timeout_s=1.0,
    )
    states = [
        (output, shown)
        for output, shown in zip(run.outputs, run.shown, strict=True)
        if output.outcome == "returned"
    ]
    assert len(states) >= 8
    theirs = counted(function, [f"{name}({', '.join(shown)})" for _, shown in states], sandbox)
    executable = set(run.executable_lines)
    for (output, shown), counts in zip(states, theirs, strict=True):
        known = executable & counts.keys()
        assert set(output.lines) & known == {line for line in known if counts[line]}, shown
    end = function.code.count("\n")  # gcov leaves the closing brace out, and has labels besides
    assert executable - {end} <= set(theirs[0])
