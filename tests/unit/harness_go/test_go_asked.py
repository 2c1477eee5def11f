"""What a Go function asks for is among what states hold: errors, methods, variables, sizes, other systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_funcmem.core.records import InputState

Prepare = Callable[[str, str], Any]
States = Callable[[int], list[InputState]]

pytestmark = pytest.mark.docker

ASKED = """package asked

import (
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"example.com/crit"
)

type grid struct{ rows [][]*cell }
type cell struct {
	version *version
	next    *cell
}
type version struct{ pre string }

func (g grid) Count(v *version) int {
	n := 0
	for _, row := range g.rows {
		for _, cell := range row {
			if cell.version.pre == "" && v.pre != "" {
				n++
			} else {
				n += 2
			}
		}
	}
	return n
}

type ownError struct{ code int }

func (e *ownError) Error() string { return "own" }

func Kinds(data map[string]any, err error) (int, error) {
	type coder interface{ Code() int }
	for _, name := range []string{"err", "error"} {
		e, ok := data[name]
		if !ok {
			continue
		}
		inner, ok := e.(error)
		if !ok {
			return 7, nil
		}
		if c, ok := inner.(coder); ok {
			return c.Code(), inner
		}
		return 9, inner
	}
	var own *ownError
	if errors.As(err, &own) {
		return own.code, nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return 3, path
	}
	if os.IsNotExist(err) || err == io.ErrShortWrite {
		return 4, nil
	}
	return 5, err
}

var verbose bool
var source = flag.String("source", "", "where")
var handlers = map[string]func(string) int{}
var level = 3

func SetLevel(n int) { level = n }

func Start(name string) int {
	if *source != "" {
		return len(*source)
	}
	if verbose {
		name += "!"
	}
	if level > 5 {
		return 5
	}
	if handler, ok := handlers[name]; ok {
		return handler(name)
	}
	return 0
}

func Query(criteria *crit.Filter, next func(int) int) string {
	q := url.Values{}
	for filter, values := range *criteria {
		for _, value := range values {
			q.Add(filter, value)
		}
	}
	if next == nil {
		return "-"
	}
	return q.Encode()
}

func Console(on bool) error {
	var mode uint32
	if err := syscall.GetConsoleMode(syscall.Stdin, &mode); err != nil {
		return err
	}
	return setMode(mode)
}

func Check(t *testing.T, n int) int {
	if n > 3 {
		t.FailNow()
	}
	return n
}

func Header(data []byte) (uint32, error) {
	if len(data) < 20 {
		return 0, errors.New("short")
	}
	if data[0] != 0x7f || data[1] != 'E' || data[2] != 250 {
		return 0, errors.New("magic")
	}
	return binary.BigEndian.Uint32(data[8:12]), nil
}

func Serve(w http.ResponseWriter, r *http.Request) {
	user, ok := r.Context().Value("user").(string)
	if !ok {
		user = "nobody"
	}
	if r.Header.Get("X-Token") == "" {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-User", user)
	w.Write([]byte(r.URL.Path))
}

func Link(u *url.URL) string {
	if u.User != nil {
		return u.User.Username()
	}
	if u.Scheme == "unix" {
		return u.Host
	}
	return u.Path
}

type leaf struct {
	name   string
	group  *leaf
	option *leaf
	others []*leaf
}

func (l *leaf) Kind() string {
	switch {
	case l.name != "":
		return l.name
	case l.group != nil:
		return "group"
	case l.option != nil:
		return "option"
	case len(l.others) > 0:
		return "others"
	}
	return "none"
}

func Walk(tree crit.Tree) (found int) {
	tree.Each(func(node crit.Tree) bool {
		switch node.(type) {
		case *crit.Leaf, *crit.Root:
			found++
			return true
		}
		return false
	})
	return found
}

func Kept(settings map[string]any, sink chan []int) (int, string) {
	if mode, ok := settings["mode"].(int); ok && mode&1 == 1 {
		return mode, "odd"
	}
	n := 0
	for block := range sink {
		for _, value := range block {
			n += value
		}
	}
	return n, ""
}

func Drained(box crit.Box) int {
	n := 0
	for block := range box.Blocks {
		for _, value := range block {
			n += value
		}
	}
	return n
}

func Temporary(text string) (string, error) {
	file, err := os.CreateTemp("", "asked")
	if err != nil {
		return "", err
	}
	defer file.Close()
	file.WriteString(text)
	return file.Name(), nil
}

func Paint(c *crit.Canvas, level crit.Level) []crit.Level {
	var found []crit.Level
	for _, l := range crit.Levels {
		if l <= level {
			found = append(found, l)
		}
	}
	return found
}
"""


@pytest.mark.parametrize(
    "name",
    [
        *("grid.Count", "Kinds", "Start", "Query", "Console", "Check", "Header", "Serve", "Link", "Paint"),
        *("leaf.Kind", "Walk", "Kept", "Drained"),
    ],
)
def test_states_hold_what_a_function_asks_for(prepare: Prepare, some_states: States, name: str) -> None:
    case = prepare(ASKED, name)
    special = case.prepared.special
    states = [
        *some_states(700),
        *(InputState(seed=n, choices=(n % 5, special[n % len(special)])) for n in range(300)),
        *(InputState(seed=n, choices=(special[n % len(special)],)) for n in range(100)),
    ]
    (run,) = case.run(states, coverage=True)
    assert run.loaded, run.load_detail
    reached = {line for one in run.outputs if one.outcome in ("returned", "raised") for line in one.lines}
    assert reached == set(run.executable_lines)


def test_names_of_temporary_files_are_the_states(prepare: Prepare, some_states: States) -> None:
    case = prepare(ASKED, "Temporary")
    (first,), (again,) = case.run(some_states(6)), case.run(some_states(6))
    assert first.outputs == again.outputs
    assert len({str(one.value) for one in first.outputs}) == 6


def test_a_goroutine_that_ends_itself_is_an_outcome(prepare: Prepare, some_states: States) -> None:
    case = prepare(ASKED, "Check")
    (run,) = case.run(some_states(24))
    kinds = {one.exception["type"] for one in run.outputs if one.outcome == "raised"}
    assert "runtime.Goexit" in kinds
    assert any(one.outcome == "returned" for one in run.outputs)
