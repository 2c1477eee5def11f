"""Lines that the harness of a Rust function says were run, beside what the compiler's own coverage counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.core.records import InputState, SourceFunction
from pytest_funcmem.harness.compiled.rust.toolkit import RustToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.languages.rust import RustFrontend
from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

pytestmark = pytest.mark.docker

KIT = RustToolkit()
FILE = """\
fn steps(start: u32) -> u32 {
    let mut n = start;
    let mut count = 0;

    while n > 1 && count < 50 {
        if n % 2 == 0 {
            n /= 2;
        } else {
            n = (3 * n + 1) & 0xffff;
        }
        count += 1;
    }
    count
}

fn kind(c: i32, text: &str) -> i32 {
    // Comments are no lines that run.
    let mut found = match c & 3 {
        0 => return 10,
        1 => {
            c ^ 5
        }
        2 if c < 40 =>
            -2,
        _ => c >> 1,
    };
    if found > 100
        && found < 1000
        && found & 8 != 0
    {
        return found
            & 255;
    } else if let Some(rest) = text.strip_prefix('a') {
        found = rest.len() as i32;
    } else if text.is_empty() { return -2; }
    found
}

fn words(text: &str, least: usize) -> usize {
    let (mut found, mut length) = (0, 0);
    'outer: for part in text.split(',') {
        for letter in part.chars() {
            if letter == ' ' {
                continue 'outer;
            }
            if letter == 'x' {
                break 'outer;
            }
            length += 1;
        }
        loop {
            if length <= least & 3 {
                break;
            }
            found += 1;
            length -= 1;
        }
    }
    found
}

fn chosen(values: &[i32], least: Option<i32>) -> Result<Vec<i32>, String> {
    let Some(least) = least else {
        return Err(String::from("none"));
    };
    let wanted = |value: i32| {
        if value < least {
            return false;
        }
        value % 2 == 0
    };
    let mut found = Vec::new();
    for &value in values {
        let half = value.checked_div(least & 7).ok_or_else(|| {
            let text = "zero";
            text.to_string()
        })?;
        if wanted(value) {
            found.push(half);
        }
    }
    let most = unsafe {
        let first = found.as_ptr();
        if found.is_empty() { 0 } else { *first }
    };
    found.push(most);
    Ok(found)
}
"""
COUNT = """\
set -e
rustc --edition=2021 -Awarnings -Cinstrument-coverage -o calls calls.rs
n=0
while [ $n -lt $1 ]; do
    LLVM_PROFILE_FILE=one.profraw ./calls $n
    /usr/bin/llvm-profdata-@V@ merge -sparse one.profraw -o one.profdata
    /usr/bin/llvm-cov-@V@ export --format=lcov --instr-profile=one.profdata calls | grep ^DA: | tr '\\n' ' '
    echo
    n=$((n + 1))
done
"""


@pytest.fixture(scope="module")
def llvm(rust_sandbox: Sandbox) -> str:
    """Which LLVM the compiler has."""
    result = rust_sandbox.run(
        SandboxTask(command=("rustc", "-vV"), files={}, limits=Limits(), language="rust")
    )
    found = re.search(rb"LLVM version: (\d+)", result.stdout)
    assert found is not None, result
    return found[1].decode()


@pytest.fixture(scope="module")
def sandbox(docker_engine: None, llvm: str) -> Iterator[Sandbox]:
    """The image for Rust with the tools beside that read what the compiler counts."""
    packages = (f"llvm-{llvm}",)
    with DockerSandbox(programs=KIT.programs, language="rust", workers=1, packages=packages) as opened:
        yield opened


def counted(function: SourceFunction, calls: list[str], sandbox: Sandbox, llvm: str) -> list[dict[int, int]]:
    """For each call, how often the compiler's counters saw each line, relative to the signature's."""
    arms = "".join(f"        {number} => {{ let _ = {call}; }}\n" for number, call in enumerate(calls))
    which = "std::env::args().nth(1).unwrap().parse::<usize>().unwrap()"
    main = f"fn main() {{\n    match {which} {{\n{arms}        _ => (),\n    }}\n}}\n"
    result = sandbox.run(
        SandboxTask(
            command=("sh", "count.sh", str(len(calls))),
            files={"calls.rs": (FILE + main).encode(), "count.sh": COUNT.replace("@V@", llvm).encode()},
            limits=Limits(wall_s=120.0),
            language="rust",
        )
    )
    assert result.exit_code == 0, result.stderr
    last = function.line + function.code.count("\n")
    return [
        {
            int(line) - function.line: int(count)
            for line, count in re.findall(r"DA:(\d+),(\d+)", run)
            if function.line <= int(line) <= last
        }
        for run in result.stdout.decode().splitlines()
    ]


# What is judged otherwise, by line: a line of which a condition ran and the statement behind it did not (line
# 19 of "kind"), and one that has nothing but "loop".
UNLIKE = {"kind": {19}, "words": {12}}
# What the compiler counts beside statements, by line: what ends a block or goes on with an expression, a
# condition after "else", the pattern of a match.
BESIDE = {
    "steps": {7, 9, 13},
    "kind": {7, 12, 13, 16, 17, 21},
    "words": {6, 9, 15, 21},
    "chosen": {7, 9, 15, 18, 26},
}


def _call(name: str, shown: Sequence[str]) -> str:
    """Arguments as they are shown, borrowed where they are lists."""
    return f"{name}({', '.join('&' + text if text.startswith('[') else text for text in shown)})"


@pytest.mark.parametrize("name", ["steps", "kind", "words", "chosen"])
def test_the_same_lines_are_run_as_the_compiler_counts(sandbox: Sandbox, llvm: str, name: str) -> None:
    scan = RustFrontend().scan(FILE, path="src/lib.rs")
    function = next(item for item in scan.functions if item.qualname == name)
    made = KIT.prepare(function, sandbox, check_time=lambda: None)
    assert isinstance(made, Prepared), made
    states = [InputState(seed=number) for number in range(50)]
    (run,) = KIT.execute(
        sandbox, [original_program(function, made.scaffold)], [states], coverage=True, state_timeout_s=5.0
    )
    known = [
        (output, shown)
        for output, shown in zip(run.outputs, run.shown, strict=True)
        if output.outcome == "returned" and not any("..." in text for text in shown)
    ]
    assert len(known) >= 20
    theirs = counted(function, [_call(name, shown) for _, shown in known], sandbox, llvm)
    executable = set(run.executable_lines) - UNLIKE.get(name, set())
    assert executable <= set(theirs[0])
    assert set(theirs[0]) - executable - UNLIKE.get(name, set()) == BESIDE[name] | {0}
    for (output, shown), counts in zip(known, theirs, strict=True):
        assert set(output.lines) & executable == {line for line in executable if counts[line]}, shown
    assert {line for output, _ in known for line in output.lines} >= executable, "more states are wanted"
