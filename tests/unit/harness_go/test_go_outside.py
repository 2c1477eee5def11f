"""Other machines, other programs and other goroutines are made up, as the state says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_funcmem.core.records import InputState

Prepare = Callable[[str, str], Any]
States = Callable[[int], list[InputState]]

pytestmark = pytest.mark.docker

OUTSIDE = """package outside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

func Fetch(name string) (map[string]int, error) {
	resp, err := http.Post("http://example.com/"+name, "text/plain", strings.NewReader(name))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	body, _ := io.ReadAll(resp.Body)
	found := map[string]int{}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, err
	}
	return found, nil
}

func Domain() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	if strings.Contains(name, ".") {
		return name, nil
	}
	out, err := exec.Command("hostname", "-f").Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			return string(exit.Stderr), err
		}
		return name, err
	}
	return strings.TrimSpace(string(out)), nil
}

func Talk(address string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "HELLO %s\\n", address); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\\n')
	if err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\\n"), nil
}

type ack struct{ id int }
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

func request(kind string) (map[string]any, chan any) {
	return map[string]any{"kind": kind}, make(chan any)
}

func send(req map[string]any) {
	line := make(chan string)
	line <- req["kind"].(string)
}

func Alive(kind string) (*ack, error) {
	req, answers := request(kind)
	send(req)
	message := <-answers
	switch message := message.(type) {
	case *ack:
		return message, nil
	case *failure:
		return nil, message
	}
	return nil, nil
}

func Wait(name string) (int, bool) {
	lines, quit := make(chan int), make(chan struct{})
	sum := 0
	for {
		select {
		case n, ok := <-lines:
			if !ok {
				return sum, false
			}
			sum += n
		case <-quit:
			return sum, true
		}
	}
}

func Squares(values []int) int {
	in, out := make(chan int), make(chan int)
	for range 3 {
		go func() {
			for n := range in {
				out <- n * n
			}
		}()
	}
	go func() {
		for _, value := range values {
			in <- value
		}
		close(in)
	}()
	sum := 0
	for range values {
		sum += <-out
	}
	return sum
}
"""


@pytest.mark.parametrize("name", ["Fetch", "Domain", "Talk", "Alive", "Wait"])
def test_the_world_outside_answers_in_all_ways(prepare: Prepare, some_states: States, name: str) -> None:
    case = prepare(OUTSIDE, name)
    states = [*some_states(200), *(InputState(seed=n) for n in range(400))]
    (run,) = case.run(states, coverage=True)
    assert run.loaded, run.load_detail
    assert {line for one in run.outputs for line in one.lines} == set(run.executable_lines)
    assert any(one.calls for one in run.outputs if one.outcome == "returned")
    first, again = case.run(states[:10])[0], case.run(states[:10])[0]
    assert first.outputs == again.outputs


def test_goroutines_that_serve_one_another_are_left_alone(prepare: Prepare, some_states: States) -> None:
    case = prepare(OUTSIDE, "Squares")
    (run,) = case.run(some_states(20))
    assert {one.outcome for one in run.outputs} == {"returned"}
    assert not any(one.calls for one in run.outputs)
