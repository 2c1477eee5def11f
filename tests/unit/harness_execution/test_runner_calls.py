"""How functions of every kind are called, and what is recorded of them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_funcmem.core.records import InputState, OutputState
from pytest_funcmem.harness.values import UNCHANGED, show_value


def shown(output: OutputState) -> str:
    assert output.outcome == "returned", output
    return show_value(output.value)


KINDS = """
import asyncio, contextlib, functools
from dataclasses import dataclass

def plain(a, b=2, *rest, key=0, **more):
    return a, b, rest, key, more

def loud(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + "!"
    return wrapper

def silent(function):
    def wrapper(*args):
        return "wrapped " + function(*args)
    return wrapper

@loud
def shout(text):
    return text

@silent
def whisper(text):
    return text

@functools.lru_cache(maxsize=None)
def cached(n):
    return n if n < 2 else cached(n - 1) + cached(n - 2)

class Account:
    rate = 2
    def __init__(self, balance):
        self.balance = balance
        self.history = []
    def deposit(self, amount):
        self.balance += amount
        self.history.append(amount)
        return later(self.balance)
    @classmethod
    def named(cls, name):
        return cls.__name__ + name
    @staticmethod
    def twice(n):
        return n * 2
    @property
    def owed(self):
        return self.balance * self.rate
    @owed.setter
    def owed(self, value):
        self.balance = value
    @functools.cached_property
    def expensive(self):
        return self.balance + 1
    class Inner:
        def __str__(self):
            return "inner"
        def say(self):
            return str(self)
    async def wait(self, n):
        await asyncio.sleep(3600)
        return n + self.balance

class Child(Account):
    def deposit(self, amount):
        return super().deposit(amount) + 1

def later(n):
    return n * 10

async def gather(*numbers):
    async def one(n):
        await asyncio.sleep(n)
        return n
    return await asyncio.gather(*(one(n) for n in numbers))

def counting(n):
    total = 0
    for i in range(n):
        total += i
        yield i
    return total

def endless():
    while True:
        yield 1

def failing():
    yield 1
    raise ValueError("after one")

async def ticking(n):
    for i in range(n):
        yield i

@contextlib.contextmanager
def opened(name):
    print("enter")
    yield name
    print("leave")

def lazily(items):
    return map(str, items)

if __name__ == "__main__":
    def hidden(n):
        return n + 1
"""


@pytest.mark.parametrize(
    ("qualname", "state", "expected"),
    [
        ("plain", InputState(arguments=("1",)), "(1, 2, (), 0, {})"),
        (
            "plain",
            InputState(arguments=("1", "2", "3"), keywords=(("key", "4"), ("z", "5"))),
            "(1, 2, (3,), 4, {'z': 5})",
        ),
        ("shout", InputState(arguments=("'hi'",)), "'hi!'"),
        ("whisper", InputState(arguments=("'hi'",)), "'wrapped hi'"),
        ("cached", InputState(arguments=("30",)), "832040"),
        ("Account.deposit", InputState(receiver="Account(5)", arguments=("2",)), "70"),
        ("Child.deposit", InputState(receiver="Child(5)", arguments=("2",)), "71"),
        ("Account.named", InputState(receiver="Child", arguments=("'x'",)), "'Childx'"),
        ("Account.named", InputState(arguments=("'x'",)), "'Accountx'"),
        ("Account.twice", InputState(arguments=("4",)), "8"),
        ("Account.expensive", InputState(receiver="Account(4)"), "5"),
        ("Account.Inner.say", InputState(receiver="Account.Inner()"), "'inner'"),
        ("Account.wait", InputState(receiver="Account(4)", arguments=("1",)), "5"),
        ("gather", InputState(arguments=("50", "20")), "[50, 20]"),
        ("counting", InputState(arguments=("3",)), "<generator 0, 1, 2 → 3>"),
        ("ticking", InputState(arguments=("2",)), "<async_generator 0, 1>"),
        ("lazily", InputState(arguments=("[1, 2]",)), "<map '1', '2'>"),
        ("hidden", InputState(arguments=("1",)), "2"),
    ],
)
def test_functions_of_every_kind_are_called(
    run_states: Any, qualname: str, state: InputState, expected: str
) -> None:
    execution = run_states(KINDS, qualname, state)
    assert execution.loaded, execution.load_detail
    assert execution.load_detail == ""
    assert execution.skipped == ()
    assert shown(execution.outputs[0]) == expected


def test_a_property_and_its_setter_are_told_apart_by_line(run_states: Any) -> None:
    lines = KINDS.split("\n")
    getter, setter = (number for number, text in enumerate(lines, 1) if "def owed" in text)
    got = run_states(KINDS, "Account.owed", InputState(receiver="Account(4)"), line=getter).outputs[0]
    assert shown(got) == "8"
    put = run_states(KINDS, "Account.owed", InputState(receiver="Account(4)", arguments=("9",)), line=setter)
    assert show_value(put.outputs[0].receiver) == "Account(balance=9, history=[])"


def test_what_a_generator_yields_before_it_raises_is_kept(call: Any) -> None:
    output = call(KINDS, "failing")
    assert output.outcome == "raised"
    assert output.exception["message"] == "after one"
    assert show_value(output.value) == "<generator 1>"


def test_an_endless_generator_is_cut(call: Any) -> None:
    output = call(KINDS, "endless")
    assert output.outcome == "returned"
    assert len(output.value[2]) == 1000
    assert output.value[3] == ["opaque", "more items"]


def test_a_context_manager_is_entered_and_left(call: Any) -> None:
    output = call(KINDS, "opened", "'door'")
    assert output.stdout == "enter\nleave\n"
    assert "door" in shown(output)


def test_changes_of_receiver_arguments_and_globals_are_recorded(call: Any) -> None:
    text = """
    total = 0
    seen = {"old": 1}
    table = [1, 2]
    class Box:
        made = 0
        def __init__(self): self.items = []
        def fill(self, source, target, fixed):
            global total, fresh
            total += len(source)
            fresh = "new"
            seen["new"] = 2
            Box.made += 1
            self.items.extend(source)
            target.append(table[0])
            return None
    """
    output = call(text, "Box.fill", "[1, 2]", "[]", "(1, [2])", receiver="Box()")
    assert show_value(output.receiver) == "Box(items=[1, 2])"
    assert output.arguments == {"0": UNCHANGED, "1": ["list", [1]]}
    changed = {name: show_value(value) for name, value in output.module_globals.items()}
    assert changed == {
        "total": "2",
        "fresh": "'new'",
        "seen": "{'old': 1, 'new': 2}",
        "Box.made": "1",
    }


def test_an_untouched_receiver_is_unchanged(call: Any) -> None:
    text = """
    class Box:
        def peek(self): return self
    """
    output = call(text, "Box.peek", receiver="Box()")
    assert output.receiver == UNCHANGED
    assert output.value == ["object", "audited.Box", [], None]


def test_streams_files_stdin_and_environment(call: Any) -> None:
    text = """
    import os, sys
    def work(name):
        print("read", input("name? "))
        print("lost", file=sys.stderr)
        sys.stdout.buffer.write(b"raw\\n")
        os.write(1, b"low\\n")
        with open("in.txt") as f:
            text = f.read()
        with open("out.txt", "w") as f:
            f.write(text.upper())
        with open("blob", "wb") as f:
            f.write(b"\\xff\\x00")
        os.makedirs("made/deep")
        os.remove("gone.txt")
        return os.environ["TOKEN"], os.getcwd(), os.path.abspath("x")
    """
    output = call(
        text,
        "work",
        "'x'",
        stdin="Ann\n",
        files=(("in.txt", "héllo"), ("gone.txt", "")),
        environment=(("TOKEN", "t0"),),
    )
    assert shown(output) == "('t0', '/work', '/work/x')"
    assert output.stdout == "name? read Ann\nraw\nlow\n"
    assert output.stderr == "lost\n"
    assert output.files == {
        "blob": ["bytes", "\xff\x00"],
        "gone.txt": ["deleted"],
        "made/": ["directory"],
        "made/deep/": ["directory"],
        "out.txt": "HÉLLO",
    }


def test_a_stream_that_the_file_wraps_is_still_read(call: Any) -> None:
    text = """
    import io, sys
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="latin-1")
    def f():
        print("plain")
    """
    assert call(text, "f").stdout == "plain\n"


def test_nothing_of_one_state_reaches_the_next(run_states: Any) -> None:
    text = """
    import os
    memory = []
    def leave(n):
        memory.append(n)
        before = sorted(os.listdir("."))
        open(f"file{n}", "w").close()
        return before, list(memory)
    """
    execution = run_states(text, "leave", *(InputState(arguments=(str(n),)) for n in range(3)))
    assert [shown(output) for output in execution.outputs] == [f"([], [{n}])" for n in range(3)]


def test_building_the_state_is_no_effect_of_the_function(call: Any) -> None:
    text = """
    import random
    log = []
    class Noisy:
        def __init__(self):
            print("built"); random.random(); log.append(1)
        def go(self):
            return len(log)
    """
    output = call(text, "Noisy.go", receiver="Noisy()", setup=("extra = 1",))
    assert (output.stdout, output.calls, output.module_globals) == ("", (), {})
    assert output.value == 1


@pytest.mark.parametrize(
    ("body", "kind", "own", "authored", "origin"),
    [
        ("raise ValueError(f'bad {x}')", "ValueError", True, True, "function"),
        ("raise Problem(x)", "audited.Problem", True, True, "function"),
        ("assert x > 100, 'small'", "AssertionError", True, True, "function"),
        ("return helper(x)", "KeyError", True, True, "file"),
        ("return {}[x]", "KeyError", False, False, "function"),
        ("return x.missing", "AttributeError", False, False, "function"),
        ("return 1 / 0", "ZeroDivisionError", False, False, "function"),
        ("return json.loads('{')", "json.decoder.JSONDecodeError", False, False, "library"),
        ("return undefined_name", "NameError", False, False, "scaffold"),
        ("import nowhere_to_be_found", "ModuleNotFoundError", False, False, "scaffold"),
        ("sys.exit(3)", "SystemExit", True, True, "function"),
        ("'''\n\n    Raises:\n        ZeroDivisionError: always.\n    '''\n    return 1 / 0",
         "ZeroDivisionError", True, False, "function"),
        ("''':raises KeyError: when absent'''\n    return {}[x]", "KeyError", True, False, "function"),
        ("'''Raises\n    ------\n    ValueError\n        If so.\n    '''\n    return json.loads('{')",
         "json.decoder.JSONDecodeError", True, False, "library"),
    ],
)  # fmt: skip
def test_exceptions_say_whether_the_code_means_them(
    call: Any, body: str, kind: str, own: bool, authored: bool, origin: str
) -> None:
    text = (
        "import json, sys\nclass Problem(Exception): pass\n"
        f"def helper(k):\n    raise KeyError(k)\ndef f(x):\n    {body}\n"
    )
    output = call(text, "f", "7")
    assert output.outcome == "raised"
    assert output.exception is not None
    said = {name: output.exception[name] for name in ("type", "own", "authored", "origin")}
    assert said == {"type": kind, "own": own, "authored": authored, "origin": origin}


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (InputState(arguments=()), "TypeError"),
        (InputState(arguments=("1", "2", "3")), "TypeError"),
        (InputState(arguments=("nothing_here",)), "NameError"),
        (InputState(arguments=("1 +",)), "SyntaxError"),
        (InputState(arguments=("1",), setup=("raise ValueError('setup')",)), "ValueError"),
        (InputState(arguments=("1",), receiver="[][0]"), "IndexError"),
        (InputState(arguments=("1",), files=(("../out", ""),)), "ValueError"),
    ],
)
def test_failures_of_the_scaffold_are_told_from_the_function(
    run_states: Any, state: InputState, kind: str
) -> None:
    output = run_states("def f(a):\n    return a\n", "f", state).outputs[0]
    assert output.outcome == "raised"
    assert (output.exception["type"], output.exception["origin"], output.exception["own"]) == (
        kind,
        "scaffold",
        False,
    )


def test_addresses_and_identities_never_leak(call: Any) -> None:
    text = """
    class Thing: pass
    def f():
        thing = Thing()
        print(thing, f, [object()])
        raise ValueError(f"bad {thing} {id(thing)} {id(thing)} {id(f)}")
    """
    output = call(text, "f")
    assert output.exception["message"] == "bad <audited.Thing object at 0x…> 1 1 2"
    assert "0x" in output.stdout
    assert "0x7" not in output.stdout


def test_hostile_classes_are_never_asked(call: Any) -> None:
    text = """
    class Liar:
        def __init__(self): self.secret = 1
        def __getattribute__(self, name): raise SystemExit(name)
        def __repr__(self): raise SystemExit("repr")
        def __eq__(self, other): raise SystemExit("eq")
        def __hash__(self): return 1
        def __iter__(self): raise SystemExit("iter")
        __class__ = property(lambda self: 1 / 0)
    class Words(str):
        def __str__(self): raise SystemExit("str")
        def __len__(self): raise SystemExit("len")
    class Rows(list):
        def __iter__(self): raise SystemExit("iter")
    def f():
        return [Liar(), {Liar()}, Words("w"), Rows([1])]
    """
    assert shown(call(text, "f")) == "[Liar(secret=1), {Liar(secret=1)}, Words('w'), Rows([1])]"
