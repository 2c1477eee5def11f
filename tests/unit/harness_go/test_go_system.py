"""Files that cannot be had, users, variables with names put together, lists as long as they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_funcmem.core.records import InputState

Prepare = Callable[[str, str], Any]
STATES = [InputState(seed=number) for number in range(300)]

pytestmark = pytest.mark.docker

SYSTEM = """package system

import (
	"bufio"
	"flag"
	"io/ioutil"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"
	"example.com/order"
)

func Lay(name string) (string, error) {
	if err := os.MkdirAll("made/here", 0755); err != nil {
		return "no folder", err
	}
	path := filepath.Join("made/here", "laid")
	if err := ioutil.WriteFile(path, []byte(name), 0644); err != nil {
		if os.IsPermission(err) {
			return "denied", nil
		}
		return "no file", err
	}
	if err := os.Chmod(path, 0600); err != nil {
		return "no mode", err
	}
	found, err := os.ReadFile(path)
	if err != nil {
		return "nothing", err
	}
	return string(found), nil
}

func LayByParts(name string) (string, error) {
	if err := os.MkdirAll("made/here", 0755); err != nil {
		return "no folder", err
	}
	path := filepath.Join("made/here", "laid")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0644)
	if os.IsPermission(err) {
		return "denied", nil
	} else if err != nil {
		return "no file", err
	}
	if _, err := file.Write([]byte(name)); err != nil {
		file.Close()
		if os.IsPermission(err) {
			return "denied", nil
		}
		return "no file", err
	}
	if err := file.Close(); err != nil {
		if os.IsPermission(err) {
			return "denied", nil
		}
		return "no file", err
	}
	if err := os.Chmod(path, 0600); err != nil {
		return "no mode", err
	}
	found, err := os.ReadFile(path)
	if err != nil {
		return "nothing", err
	}
	return string(found), nil
}

func Lines(name string) (int, error) {
	file, err := os.Open(name)
	if err != nil {
		return -1, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return -2, err
	}
	scanner, count := bufio.NewScanner(file), 0
	for scanner.Scan() {
		count++
	}
	return count, scanner.Err()
}

func Entries(name string) (string, error) {
	names := ""
	found, err := os.ReadDir(name + ".d")
	if os.IsNotExist(err) {
		return "none", nil
	}
	for _, entry := range found {
		names += entry.Name()
	}
	return names, err
}

func Flagged(name string, set *flag.FlagSet) string {
	if found := set.Lookup(name); found != nil {
		return found.Value.String()
	}
	count := 0
	set.VisitAll(func(found *flag.Flag) {
		count += len(found.Name)
	})
	return strconv.Itoa(count)
}

type request struct{ number, size uint32 }

func Asked(number uint32) (uint32, error) {
	asked := request{number: number, size: 8}
	if err := order.Control(number&7, uintptr(unsafe.Pointer(&asked))); err != nil {
		return 0, err
	}
	return asked.number + asked.size, nil
}

func Home(name string) string {
	me, err := user.Current()
	if err != nil {
		return "nobody"
	}
	if _, err := user.LookupGroup(name); err != nil {
		return "no group"
	}
	return filepath.Join(me.HomeDir, name)
}

func Setting(prefix, name string) string {
	if value, ok := os.LookupEnv(strings.ToUpper(prefix + "_" + name)); ok {
		return value
	}
	return "unset " + os.Getenv(strings.ToUpper(name))
}

func Turned(keys []uint16, first uint16) uint16 {
	place := 63
	for place > 0 {
		first ^= keys[place]
		place -= 9
	}
	return first
}

type Line struct {
	Compare order.Comparator
	Items   []string
}

func (l *Line) Place(item string) int {
	l.Compare(item, item)
	for place, other := range l.Items {
		if compare := l.Compare(item, other); compare < 0 {
			return place
		}
	}
	return len(l.Items)
}
"""


@pytest.mark.parametrize(
    "name", ["Flagged", "Asked", "Lay", "Lines", "Entries", "Home", "Setting", "Turned", "Line.Place"]
)
def test_every_line_is_reached(prepare: Prepare, name: str) -> None:
    (run,) = prepare(SYSTEM, name).run(STATES, coverage=True)
    assert set(run.executable_lines) <= {line for output in run.outputs for line in output.lines}


def test_what_is_denied_is_shown_and_denied_to_all_that_ask_for_it(prepare: Prepare) -> None:
    code = SYSTEM[SYSTEM.index("func LayByParts") : SYSTEM.index("func Lines")].replace("LayByParts", "Lay")
    case = prepare(SYSTEM, "Lay")
    (run,) = case.run(STATES)
    (other,) = case.run(STATES, code)
    assert [output.value for output in run.outputs] == [output.value for output in other.outputs]
    for output, shown in zip(run.outputs, run.shown, strict=True):
        failed = isinstance(output.value, list) and output.value[-1] is not None
        assert not failed or any(": " in text for text in shown[1:]), (output.value, shown)


def test_a_file_that_was_laid_is_no_effect_unless_it_is_changed(prepare: Prepare) -> None:
    (run,) = prepare(SYSTEM, "Lines").run(STATES)
    counts = {output.value[1][0] for output in run.outputs if output.outcome == "returned"}
    assert counts >= {-1, 0, 1, 2}
    assert not any(output.files for output in run.outputs)


def test_an_address_that_is_handed_on_as_a_number_is_no_part_of_what_is_asked(prepare: Prepare) -> None:
    case = prepare(SYSTEM, "Asked")
    first, again = (case.run(STATES[:40])[0] for _ in range(2))
    assert first.outputs == again.outputs
    assert any(output.calls for output in first.outputs)
