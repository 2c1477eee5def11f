"""Functions with dependencies, and conversations in which an agent builds their harnesses.

Each conversation is a script for ``played_models``. What the agent writes is what a model would have to find;
its commands and its evaluations are real.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from played_models import Answer, Asked, Call, Refuse, Say, Script

from pytest_funcmem.core.protocols import LanguageFrontend
from pytest_funcmem.core.records import Language, SourceFunction
from pytest_funcmem.core.registry import load

__all__ = ["EXAMPLES", "Example", "acting", "builds", "from_nothing", "function_in", "states_text"]

Act = Callable[[Asked], Answer]


@dataclass(frozen=True)
class Example:
    """A function with dependencies, and what surrounds it so that it can be run.

    Attributes:
        surroundings: The prelude, or the whole changed file.
        states: Content of the states file.
        look: A command that a careful agent would run first.
    """

    language: Language
    text: str
    surroundings: str
    states: Mapping[str, object]
    look: str

    @property
    def function(self) -> SourceFunction:
        return function_in(self.language, self.text)


def function_in(language: Language, text: str) -> SourceFunction:
    """The last function of a file."""
    frontend: LanguageFrontend = load("language", language)()
    return frontend.scan(text, path=f"example{frontend.suffixes[0]}").functions[-1]


def states_text(states: object) -> str:
    return json.dumps({"states": states})


# ---------------------------------------------------------------------------------------------- conversations


def acting(*acts: Answer | Act) -> Script:
    """Plays acts by the turn of the dialogue, so that several dialogues may go on at once."""

    def script(asked: Asked) -> Answer:
        act = acts[min(asked.turn, len(acts) - 1)]
        try:
            return act(asked) if callable(act) else act
        except AssertionError as error:
            # Told as an answer, so that the test shows it.
            lines = traceback.extract_tb(error.__traceback__)
            said = "; ".join(result.text[:300] for result in asked.results)
            return Refuse(400, f"in the script, line {lines[-1].lineno}: {lines[-1].line} -- {said}")

    return script


def writes(example: Example, name: str) -> tuple[Call, Call]:
    return (
        Call("write_file", {"path": name, "content": example.surroundings}),
        Call("write_file", {"path": "states.json", "content": json.dumps(example.states)}),
    )


def builds(example: Example, name: str) -> Script:
    """An agent that looks, writes, evaluates, and finishes where the evaluation says that it may."""

    def judges(asked: Asked) -> Answer:
        if asked.results[-1].text.startswith("VALID"):
            return Say("It holds.", Call("finish"))
        return Say("It does not.", Call("give_up", {"reason": asked.results[-1].text[:400]}))

    return acting(
        Say("I look around first.", Call("run_command", {"command": example.look})),
        Say("Now a draft.", *writes(example, name)),
        Say("Does it hold?", Call("try_harness")),
        judges,
    )


PYTHON_TEXT = '''import os
from acme_rates import RateClient, Missing

LIMIT = 3


class Quotes:
    def __init__(self, client: RateClient):
        self.client = client
        self.seen = []

    def best(self, pairs, floor):
        """Best rate at or above the floor."""
        found = None
        for pair in pairs:
            try:
                rate = self.client.rate(pair)
            except Missing:
                self.seen.append((pair, None))
                continue
            self.seen.append((pair, rate))
            if rate >= floor and (found is None or rate > found[1]):
                found = (pair, rate)
            if len(self.seen) >= LIMIT:
                break
        return found
'''
PRELUDE = """import sys as harness_sys, types as harness_types
class Missing(Exception):
    pass
class RateClient:
    def __init__(self, table):
        self.table = table
    def rate(self, pair):
        if pair not in self.table:
            raise Missing(pair)
        return self.table[pair]
harness_rates = harness_types.ModuleType("acme_rates")
harness_rates.RateClient, harness_rates.Missing = RateClient, Missing
harness_sys.modules["acme_rates"] = harness_rates
"""
_TABLES: tuple[tuple[dict[str, int], list[str], int], ...] = (
    ({}, [], 1),
    ({"a": 2}, ["a"], 1),
    ({"a": 2}, ["a"], 3),
    ({"a": 2}, ["a"], 2),
    ({"a": 1, "b": 3}, ["a", "b"], 1),
    ({"a": 3, "b": 1}, ["a", "b"], 1),
    ({"a": 3}, ["x", "a"], 1),
    ({"a": 1, "b": 2, "c": 3, "d": 9}, ["a", "b", "c", "d"], 1),
    ({"a": 1}, ["x", "y", "z", "a"], 0),
    ({"a": 2, "b": 2}, ["b", "a"], 0),
)
PYTHON_STATES = [
    {"receiver": f"Quotes(RateClient({table!r}))", "arguments": [repr(pairs), str(floor)]}
    for table, pairs, floor in _TABLES
]
PYTHON = Example(
    language="python",
    text=PYTHON_TEXT,
    surroundings=PRELUDE,
    states={"states": PYTHON_STATES},
    look="ls; python3 --version; head -3 original.py",
)

C_TEXT = """#include "depot.h"
#include <string.h>

int depot_store(struct depot *depot, int amount, const char *label)
{
    if (amount <= 0)
        return -1;
    if (!depot_allows(depot, label))
        return -2;
    depot->held += amount;
    if (depot->held > depot->room) {
        depot->lost += depot->held - depot->room;
        depot->held = depot->room;
    }
    return depot->held;
}
"""
C = Example(
    language="c",
    text=C_TEXT,
    surroundings=C_TEXT.replace(
        '#include "depot.h"\n',
        "struct depot { int held; int room; int lost; char closed; };\n"
        "static int depot_allows(struct depot *depot, const char *label)\n"
        "{ return depot->closed != 1 && label && label[0] != 'x'; }\n",
    ),
    states={"search": True, "states": []},
    look="gcc --version | head -1; grep -n include original.c",
)

GO_TEXT = """package depot

import (
	"errors"

	"example.com/registry"
)

type Depot struct {
	items map[string]int
	reg   registry.Client
}

func (d *Depot) Store(name string, n int) (int, error) {
	if n <= 0 {
		return 0, errors.New("nothing to store")
	}
	if !d.reg.Allowed(name) {
		return 0, errors.New("not allowed")
	}
	d.items[name] += n
	if d.items[name] > 100 {
		d.items[name] = 100
	}
	return d.items[name], nil
}
"""
GO = Example(
    language="go",
    text=GO_TEXT,
    surroundings=GO_TEXT.replace(
        'import (\n\t"errors"\n\n\t"example.com/registry"\n)\n',
        'import "errors"\n\ntype harness_Client struct{ blocked string }\n\n'
        "func (c harness_Client) Allowed(name string) bool { return name != c.blocked }\n",
    ).replace("registry.Client", "harness_Client"),
    states={"search": True, "states": []},
    look="go version; grep -n registry original.go",
)

JAVA_TEXT = """package depot;

import com.example.registry.Client;
import java.util.HashMap;
import java.util.Map;

public class Depot {
    private final Map<String, Integer> items = new HashMap<>();
    private final Client client;

    public Depot(Client client) {
        this.client = client;
    }

    public int store(String name, int n) {
        if (n <= 0) {
            throw new IllegalArgumentException("nothing to store");
        }
        if (!client.allowed(name)) {
            return -1;
        }
        int now = items.getOrDefault(name, 0) + n;
        if (now > 100) {
            now = 100;
        }
        items.put(name, now);
        return now;
    }
}
"""
JAVA = Example(
    language="java",
    text=JAVA_TEXT,
    surroundings=JAVA_TEXT.replace("import com.example.registry.Client;\n", "")
    + 'class Client { String blocked = "a"; boolean allowed(String n) { return !n.equals(blocked); } }\n',
    states={"search": True, "states": []},
    look="javac --version; grep -n import original.java",
)

RUST_TEXT = """use std::collections::HashMap;
use ledger::Clock;

pub struct Depot { items: HashMap<String, u32>, clock: Clock }

impl Depot {
    pub fn store(&mut self, name: &str, n: u32) -> Result<u32, String> {
        if n == 0 {
            return Err("nothing to store".to_string());
        }
        if self.clock.closed() {
            return Err(format!("closed for {}", name));
        }
        let e = self.items.entry(name.to_string()).or_insert(0);
        *e += n;
        if *e > 100 {
            *e = 100;
        }
        Ok(*e)
    }
}
"""
RUST = Example(
    language="rust",
    text=RUST_TEXT,
    surroundings=RUST_TEXT.replace(
        "use ledger::Clock;\n",
        "#[derive(Clone)] pub struct Clock { shut: bool }\n"
        "impl Clock { fn closed(&self) -> bool { self.shut } }\n",
    ),
    states={"search": True, "states": []},
    look="rustc --version; grep -n use original.rs",
)

EXAMPLES: Mapping[Language, Example] = {example.language: example for example in (PYTHON, C, GO, JAVA, RUST)}


def from_nothing(language: Language) -> Script:
    """A good agent's conversation about the example of a language."""
    suffix = {"rust": "rs"}.get(language, language)
    name = "prelude.py" if language == "python" else f"surroundings.{suffix}"
    return builds(EXAMPLES[language], name)
