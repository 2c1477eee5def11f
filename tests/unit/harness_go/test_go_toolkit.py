"""Go functions prepared, compiled and run in their image."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_funcmem.core.protocols import SandboxResult
from pytest_funcmem.core.records import Inconclusive, InputState, SourceFunction
from pytest_funcmem.harness.compiled.go.toolkit import GoToolkit
from pytest_funcmem.harness.values import UNCHANGED

Prepare = Callable[[str, str], Any]
States = Callable[[int], list[InputState]]

pytestmark = pytest.mark.docker

WORDS = """package words

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"example.com/metrics"
)

var ErrEmpty = errors.New("empty")

var seen int

type Counter struct {
	counts map[string]int
	last   time.Time
	log    metrics.Logger
}

func (c *Counter) Add(text string, least int) (int, error) {
	seen++
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0, ErrEmpty
	}
	if least > 50 {
		panic("too much")
	}
	c.last = time.Now()
	c.log.Note("added", len(words))
	fmt.Println("words", len(words))
	fmt.Fprintln(os.Stderr, "least", least)
	return len(words) + metrics.Weight(words[0]), nil
}
"""


def outputs(case: Any, states: list[InputState]) -> Any:
    (run,) = case.run(states)
    assert run.loaded, run.load_detail
    return run.outputs


def test_a_method_shows_all_that_it_did(prepare: Prepare, some_states: States) -> None:
    case = prepare(WORDS, "Counter.Add")
    assert {"metrics.Logger", "metrics.Weight"} <= set(case.prepared.scaffold.mocks)
    found = outputs(case, some_states(60))
    returned = [one for one in found if one.outcome == "returned" and one.value[1][1] is None]
    assert returned
    for one in returned:
        assert one.value[0] == "tuple"
        assert one.stdout.startswith("words ")
        assert one.stderr.startswith("least ")
        assert [call["path"] for call in one.calls] == ["metrics.Logger.Note", "metrics.Weight"]
        assert one.receiver != UNCHANGED
        assert one.arguments == {"0": UNCHANGED, "1": UNCHANGED}
        assert list(one.module_globals) == ["seen"]
    failed = [one for one in found if one.outcome == "returned" and one.value[1][1] is not None]
    assert [(one.receiver, one.calls) for one in failed] == [(UNCHANGED, ())] * len(failed) != []
    panicked = [one for one in found if one.outcome == "raised"]
    assert panicked
    for one in panicked:
        assert one.exception["message"] == "too much"
        assert one.exception["origin"] == "function"
        assert (one.exception["own"], one.exception["authored"]) == (True, True)


def test_the_same_state_gives_the_same_output_every_time(prepare: Prepare, some_states: States) -> None:
    case = prepare(WORDS, "Counter.Add")
    states = some_states(12)
    assert outputs(case, states) == outputs(case, states)


def test_programs_run_beside_one_that_does_not_compile(prepare: Prepare, some_states: States) -> None:
    case = prepare(WORDS, "Counter.Add")
    original = case.function.code
    states = some_states(6)
    same, broken, other = case.run(
        states,
        original,
        original.replace("seen++", "seen += absent"),
        original.replace("seen++", "seen += 2"),
    )
    assert (same.loaded, broken.loaded, other.loaded) == (True, False, True)
    assert "undefined: absent" in broken.load_detail
    assert {one.outcome for one in broken.outputs} == {"unloadable"}
    (alone,) = case.run(states)
    assert same.outputs == alone.outputs
    assert all(
        mine.module_globals != theirs.module_globals
        for mine, theirs in zip(same.outputs, other.outputs, strict=True)
    )


def test_lines_and_features_tell_where_a_run_went(prepare: Prepare, some_states: States) -> None:
    case = prepare(WORDS, "Counter.Add")
    (run,) = case.run(some_states(30), coverage=True)
    assert run.executable_lines == (1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13)
    assert {line for one in run.outputs for line in one.lines} == set(run.executable_lines)
    assert all(run.features)
    assert min(run.choices_used) > 0
    assert all(shown[0].startswith("&Counter{") for shown in run.shown)


HARD = """package hard

func Try(kind int) int {
	values := []int{1, 2, 3}
	switch kind {
	case 1:
		for {
			kind++
		}
	case 2:
		return Try(kind + 0)
	case 3:
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			all[len(all)-1][5] = 1
		}
	case 5:
		return values[kind]
	case 10:
		var channel chan int
		return <-channel
	}
	return kind * 2
}
"""


def test_what_ends_badly_does_not_spoil_the_next_state(prepare: Prepare) -> None:
    case = prepare(HARD, "Try")
    (run,) = case.run([InputState(choices=(n,)) for n in range(20)])
    outcomes: dict[str, str] = {}
    for shown, one in zip(run.shown, run.outputs, strict=True):
        if one.outcome == "returned":
            assert one.value == 2 * int(shown[0])
        elif one.outcome == "raised":
            assert (one.exception["own"], one.exception["authored"]) == (True, False)
        outcomes[one.outcome] = one.detail
    assert set(outcomes) == {"returned", "raised", "timeout", "memory", "signal"}


CLOCK = """package clock

import (
	"math/rand"
	"os"
	"time"
)

func Tell(names map[string]int) (string, int64, int, string) {
	start := time.Now()
	time.Sleep(3 * time.Hour)
	first := ""
	for name := range names {
		first = name
		break
	}
	return first, int64(time.Since(start) / time.Hour), rand.Intn(1000), os.Getenv("SHOP_HOME")
}
"""


def test_clock_chance_and_the_order_of_maps_are_fixed_by_the_state(
    prepare: Prepare, some_states: States
) -> None:
    case = prepare(CLOCK, "Tell")
    states = some_states(10)
    first = outputs(case, states)
    assert first == outputs(case, states)
    assert {one.value[1][1] for one in first} == {3}
    assert len({one.value[1][2] for one in first}) > 5
    assert len({one.value[1][3] for one in first}) > 2


def test_a_candidate_finds_nothing_that_the_original_does_not_ask_for(
    prepare: Prepare, some_states: States
) -> None:
    case = prepare(WORDS, "Counter.Add")
    body = (
        "func (c *Counter) Add(text string, least int) (int, error) {\n\treturn metrics.Other(text), nil\n}"
    )
    (run,) = case.run(some_states(2), body)
    assert not run.loaded
    assert "metrics__Other" in run.load_detail


HALF = """package p

func broken( {
	if }

func Twice(n int) int {
	return 2 * helper(n)
}

func helper(n int) int { return n + 1 }
"""


def test_a_file_that_does_not_parse_elsewhere_still_gives_its_functions(prepare: Prepare) -> None:
    case = prepare(HALF, "Twice")
    (run,) = case.run([InputState(choices=(1,))])
    assert run.outputs[0].value == 2 * (int(run.shown[0][0]) + 1)


def test_what_comes_back_damaged_is_no_scaffold(go_function: Callable[[str, str], SourceFunction]) -> None:
    function = go_function(HARD, "Try")
    for record in (
        b"",
        b"[]",
        b"{",
        b'{"ok": true, "files": [["../x.go", ""]]}',
        b'{"ok": true, "files": 3}',
    ):
        result = SandboxResult(
            outcome="ended", records=(record,), stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
        )
        found = GoToolkit().prepare(
            function, SimpleNamespace(run=lambda task, result=result: result), check_time=lambda: None
        )
        assert isinstance(found, Inconclusive)
        assert found.reason == "load_failed"
