"""Lines that the harness of a Go function says were run, beside what the cover tool of Go counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.core.records import InputState, SourceFunction

pytestmark = pytest.mark.docker

FILE = """\
package lines

import "strings"

func steps(n int) int {
	count := 0

	for n > 1 && count < 50 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = (3*n + 1) & 0xffff
		}
		count++
	}
	return count
}

func kind(c int, text string) int {
	// Comments are no lines that run.
	switch c & 3 {
	case 0:
		return 10
	case 1:
		c += 2

		fallthrough
	case 2:
		c ^= 5
	default:
		goto odd
	}
	if c > 100 &&
		c < 1000 &&
		c&8 != 0 {
		return c &
			255
	} else if strings.HasPrefix(text, "a") {
		c = len(
			text)
	} else if text == "" { return -2 }
	return c
odd:
	if c < 0 {
		return -2
	}
	return 2
}

func words(text string, least int) (found int) {
	length := 0; defer func() {
		if length > 2 {
			found++
		}
	}()
outer:
	for _, part := range strings.Split(text, ",") {
		for _, r := range part {
			if r == ' ' {
				continue outer
			}
			if r == 'x' {
				break outer
			}
			length++
		}
		if length >= least&3 {
			found += length
		}
	}
	return
}

func waited(values []int, wanted map[string]int) (int, bool) {
	line := make(chan int, 8)
	go func() {
		defer close(line)
		for _, value := range values {
			line <- value
		}
	}()
	sum := 0
	add := func(n int) bool {
		if n < 0 {
			return false
		}
		sum += n
		return true
	}
	for {
		select {
		case n, ok := <-line:
			if !ok {
				return sum, len(wanted) > 0
			}
			if !add(n) {
				if n, ok := wanted["a"]; ok {
					return n, true
				}
				return sum, false
			}
		}
	}
}

func sort3(kind any) (text string) {
	switch kind := kind.(type) {
	case nil:
		return "nothing"
	case bool:
		text = "plain"
	case string:
		for i := range kind {
			text = kind[i:] + text
		}
	case []string:
		if len(kind) > 1 { text = kind[1]; break }
		text = "short"
	}
	{
		text += "!"
		if text == "plain!" {
			return
		}
	}
	return text + "?"
}
"""
COUNT = """\
set -e
export GOROOT=/usr/local/go
cfg=/opt/funcmem/importcfg
/opt/funcmem/tools/cover -mode=count -var=Counted -o counted.go lines.go
/opt/funcmem/tools/compile -p main -complete -pack -importcfg $cfg -o main.a counted.go main.go
/opt/funcmem/tools/link -importcfg $cfg -o calls main.a
./calls
"""
MAIN = """\
package main

import (
	"encoding/json"
	"os"
)

func main() {
	calls := []func(){
@CALLS@	}
	out := json.NewEncoder(os.Stdout)
	out.Encode(Counted.Pos)
	for _, call := range calls {
		Counted.Count = [len(Counted.Count)]uint32{}
		call()
		out.Encode(Counted.Count)
	}
}
"""


def counted(function: SourceFunction, calls: list[str], sandbox: Sandbox) -> list[dict[int, int]]:
    """For each call, how often the cover tool saw each line of the function, relative to the signature's."""
    text = "".join(f"\t\tfunc() {{ {call} }},\n" for call in calls)
    result = sandbox.run(
        SandboxTask(
            command=("sh", "count.sh"),
            files={
                "lines.go": FILE.replace("package lines", "package main", 1).encode(),
                "main.go": MAIN.replace("@CALLS@", text).encode(),
                "count.sh": COUNT.encode(),
            },
            limits=Limits(wall_s=60.0),
            language="go",
        )
    )
    assert result.exit_code == 0, result.stderr
    positions, *runs = (json.loads(line) for line in result.stdout.splitlines())
    lines = FILE.split("\n")
    last = function.line + function.code.count("\n")
    found: list[dict[int, int]] = [{} for _ in runs]
    for block in range(len(positions) // 3):
        first, end, columns = positions[3 * block : 3 * block + 3]
        for number in range(max(first, function.line + 1), min(end, last) + 1):
            line = lines[number - 1]
            left = columns & 0xFFFF if number == first else 1
            right = columns >> 16 if number == end else len(line) + 1
            if not line[left - 1 : right - 1].strip(" \t{};"):
                continue  # the block only begins or ends there
            for counts, run in zip(found, runs, strict=True):
                counts[number - function.line] = counts.get(number - function.line, 0) + run[block]
    return found


@pytest.mark.parametrize("name", ["steps", "kind", "words", "waited", "sort3"])
def test_the_same_lines_are_run_as_the_cover_tool_counts(
    prepare: Callable[[str, str], Any], some_states: Callable[[int], list[InputState]], name: str
) -> None:
    case = prepare(FILE, name)
    (run,) = case.run(some_states(120), coverage=True)
    states = [
        (output, shown)
        for output, shown in zip(run.outputs, run.shown, strict=True)
        if output.outcome == "returned"
    ]
    assert len(states) >= 20
    theirs = counted(case.function, [f"{name}({', '.join(shown)})" for _, shown in states], case.sandbox)
    executable = set(run.executable_lines)
    assert executable <= set(theirs[0])
    for (output, shown), counts in zip(states, theirs, strict=True):
        assert set(output.lines) & executable == {line for line in executable if counts[line]}, shown
    assert {line for output, _ in states for line in output.lines} >= executable - {0}, (
        "more states are wanted"
    )
