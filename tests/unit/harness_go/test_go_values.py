"""What states are shown as, what made functions do, and what stands for names that seem to be constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_funcmem.core.records import InputState

Prepare = Callable[[str, str], Any]
States = Callable[[int], list[InputState]]

pytestmark = pytest.mark.docker

FILE = """package some

import (
	"bufio"
	"io"
	"math/big"
	"strings"
	goflag "flag"
)

type command struct {
	name string
	run  func(int) string
}

func Flags() *goflag.FlagSet { return nil }

func Install(c *command, prefix string) {
	if c.run == nil {
		c.run = func(n int) string {
			if n > 2 {
				return prefix + c.name
			}
			return strings.Repeat(prefix, n&3)
		}
	}
}

func Count(r io.Reader, limit *big.Int) int {
	scanner, found := bufio.NewScanner(r), 0
	for scanner.Scan() {
		found += len(scanner.Text())
	}
	return found + limit.Sign()
}

type packet struct {
	kind Kind
	data []byte
}

func Pack(kind Kind, extra int) *packet {
	p := &packet{kind: Plain, data: make([]byte, headerSize+extra&3)}
	if kind == Sealed {
		p.kind = Sealed
	} else if kind != Plain && p.kind != Sealed {
		p.kind = Other
	}
	return p
}
"""


def test_readers_and_numbers_are_shown_by_what_they_hold(prepare: Prepare, some_states: States) -> None:
    (run,) = prepare(FILE, "Count").run(some_states(30), coverage=True)
    readers = {shown[0] for shown in run.shown}
    assert len(readers) > 10
    assert all(shown.startswith("&strings.Reader{s: ") for shown in readers)
    assert all(shown[1].startswith("&big.Int(") for shown in run.shown)


def test_a_function_that_was_made_is_told_by_what_it_does(prepare: Prepare, some_states: States) -> None:
    case = prepare(FILE, "Install")
    (run,) = case.run(some_states(60), coverage=True)
    assert {line for one in run.outputs for line in one.lines} == {1, 2, 3, 4, 6}
    told = [str(one.arguments["0"]) for one in run.outputs if 3 in one.lines]
    assert len(set(told)) > 1
    assert all("['object', 'func(int) string', [], ['list', [" in one for one in told)


def test_what_seems_to_be_constants_differs(prepare: Prepare, some_states: States) -> None:
    case = prepare(FILE, "Pack")
    stubs = dict(case.prepared.scaffold.files)["stubs.go"]
    values = [line.split(" = ")[1] for line in stubs.splitlines() if line.startswith("const ")]
    assert len(values) == len(set(values)) == 4
    assert "type Kind int" in stubs
    (run,) = case.run(some_states(40), coverage=True)
    kinds = {str(one.value) for one in run.outputs if one.outcome == "returned"}
    assert len(kinds) >= 3


GENERIC = """package some

import "example.org/kit/set"

type index struct {
	words set.Set[string]
	byLen map[int]*list[string]
}

func (x *index) Add(words []string, most int) int {
	added := set.New[string]()
	for _, word := range words {
		if len(word) > most || x.words.Contains(word) {
			continue
		}
		added.Insert(word)
		x.words.Insert(word)
		if x.byLen[len(word)] == nil {
			x.byLen[len(word)] = &list[string]{}
		}
	}
	return added.Len()
}
"""


def test_instances_of_generics_that_are_missing_are_made_up(prepare: Prepare, some_states: States) -> None:
    case = prepare(GENERIC, "index.Add")
    mocks = set(case.prepared.scaffold.mocks)
    assert {"set.Set[string]", "set.New[string]", "list[string]"} <= mocks
    states = some_states(40)
    (original,) = case.run(states, coverage=True)
    assert {line for one in original.outputs for line in one.lines} >= {1, 2, 3, 4, 6, 7, 8, 12}
    assert "set.Set[string].Insert" in {call["path"] for one in original.outputs for call in one.calls}
    code = case.function.code
    same, other = case.run(states, code.replace("added", "fresh"), code.replace("> most", ">= most"))
    assert (same.loaded, other.loaded) == (True, True), same.load_detail
    assert [one.calls for one in same.outputs] == [one.calls for one in original.outputs]
    assert [one.calls for one in other.outputs] != [one.calls for one in original.outputs]
