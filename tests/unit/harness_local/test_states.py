"""States are source text that reads well, evaluates, and is the same everywhere."""

from __future__ import annotations

import datetime
import decimal
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import strategies as st

from pytest_funcmem.harness.local.analysis import analyse
from pytest_funcmem.harness.local.drawing import draw
from pytest_funcmem.harness.local.edits import change, share, slots_of, with_slot
from pytest_funcmem.harness.local.guards import wishes
from pytest_funcmem.harness.local.literals import mine
from pytest_funcmem.harness.local.states import StatePlan

SOURCE = """
import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Callable, Literal, Union

class Color(enum.Enum):
    RED = 1
    BLUE = 2

@dataclass
class Point:
    x: int
    y: int = 0

class Shop:
    def __init__(self, name: str, prices: dict[str, float], open: bool = True):
        self.name = name
        self.prices = prices

    def total(self, color: Color, point: Point, day: date, cost: Decimal, mode: Literal['a', 'b'],
              either: Union[int, str], call: Callable, data: bytes, nested: list[list[int]],
              *rest: int, **more):
        return color, point
"""


def states_of(function, count=40, mode=None, seed=3):
    analysis = analyse(function)
    plan = StatePlan.of(analysis, mine(analysis))
    return draw(plan.strategy(mode or plan.receivers[0]), seed=seed, count=count)


def test_every_expression_evaluates_to_what_the_hint_says(read_function):
    space: dict = {"__name__": "audited"}
    exec(compile(SOURCE, "audited", "exec", dont_inherit=True), space)
    states = states_of(read_function(SOURCE, "Shop.total"))
    assert len(states) > 30
    kinds = (
        space["Color"],
        space["Point"],
        datetime.date,
        decimal.Decimal,
        str,
        (int, str),
        object,
        bytes,
        list,
    )
    for state in states:
        assert isinstance(eval(state.receiver, space), space["Shop"])
        values = [eval(text, space) for text in state.arguments]
        for value, kind in zip(values, kinds, strict=False):
            assert isinstance(value, kind)
        assert callable(values[6])
        assert all(isinstance(value, int) for value in values[9:])


def test_sizes_agree_in_every_state(read_function):
    function = read_function(
        """
        def f(grid, rows, cols):
            for i in range(rows):
                for j in range(cols):
                    grid[i][j] += 1
        """
    )
    for state in states_of(function):
        grid, rows, cols = (eval(text) for text in state.arguments)
        assert len(grid) == rows
        assert all(len(row) == cols for row in grid)


def test_literals_of_the_body_are_tried_often(read_function):
    function = read_function(
        "def f(city):\n    if city in ('Rome', 'Oslo'):\n        return 1\n    return 2\n"
    )
    cities = [state.arguments[0] for state in states_of(function, count=30)]
    assert sum(city in ("'Rome'", "'Oslo'") for city in cities) >= 4


def test_drawing_repeats_itself_and_leaves_no_trace(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    strategy = st.lists(st.integers(0, 9), max_size=4)
    state = random.getstate()
    assert draw(strategy, seed=5, count=30) == draw(strategy, seed=5, count=30)
    assert draw(strategy, seed=5, count=30) != draw(strategy, seed=6, count=30)
    assert random.getstate() == state
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")


def test_the_same_states_under_every_hash_seed(tmp_path):
    source = tmp_path / "source.py"
    source.write_text(SOURCE)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_funcmem.harness.local.analysis import analyse\n"
        "from pytest_funcmem.harness.local.drawing import draw\n"
        "from pytest_funcmem.harness.local.literals import mine\n"
        "from pytest_funcmem.harness.local.mutants import make_mutants\n"
        "from pytest_funcmem.harness.local.states import StatePlan\n"
        "from pytest_funcmem.languages.python import PythonFrontend\n"
        "scan = PythonFrontend().scan(Path(sys.argv[1]).read_text(), path='source.py')\n"
        "function = next(item for item in scan.functions if item.qualname == 'Shop.total')\n"
        "plan = StatePlan.of(analyse(function), mine(analyse(function)))\n"
        "print(draw(plan.strategy('made'), seed=1, count=20))\n"
        "print(make_mutants(function, analyse(function).node, limit=9))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(source)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    }
    assert len(outputs) == 1
    assert [path for path in tmp_path.iterdir() if path != source] == []
    assert Path(source).read_text() == SOURCE


def test_changes_stay_expressions_and_reach_nested_places(read_function):
    function = read_function("def f(table, limit):\n    return table\n")
    state = states_of(function, count=1)[0]
    analysis = analyse(function)
    slots = slots_of(analysis, state)
    assert list(slots) == ["table", "limit"]
    state = with_slot(state, slots["table"][0], "{'a': [1, 2], 'b': 'x'}")
    generator = random.Random(0)
    texts = {change(state, slots["table"][0], ("'key'", "40"), generator).arguments[0] for _ in range(60)}
    assert len(texts) > 15
    assert any("41" in text or "40" in text for text in texts)
    assert any("'key'" in text for text in texts)
    for text in texts:
        eval(text)


@pytest.mark.parametrize(
    ("missed", "names", "constants"),
    [({2}, {"age"}, {"65"}), ({4}, {"kind", "age"}, {"'gold'", "65"}), ({6}, {"items"}, set())],
)
def test_wishes_name_what_guards_a_missed_line(read_function, missed, names, constants):
    function = read_function(
        "def f(age, kind, items):\n    if age > 65:\n        return 1\n    if kind == 'gold':\n"
        "        return 2\n    for item in items:\n        return item\n    return 0\n"
    )
    found = wishes(analyse(function), missed)
    assert names <= {name for wish in found for name in wish.names}
    assert constants <= {text for wish in found for text in wish.constants}


def test_values_that_are_looked_up_turn_up_on_both_sides(read_function):
    related = read_function(
        "def f(table, key):\n    if key in table:\n        return table[key]\n    return 0\n"
    )
    apart = read_function("def f(table: dict, key: str):\n    return len(table), key.upper()\n")
    assert StatePlan.of(analyse(related), mine(analyse(related))).related
    assert not StatePlan.of(analyse(apart), mine(analyse(apart))).related
    state = with_slot(states_of(related, count=1)[0], ("argument", 0), "{'left': 1, 'right': 2}")
    state = with_slot(state, ("argument", 1), "'other'")
    generator = random.Random(1)
    shared = [share(analyse(related), state, generator).arguments for _ in range(30)]
    assert sum(eval(key) in eval(table) for table, key in shared) >= 5


def test_drawing_in_several_threads_at_once_gives_the_same(read_function):
    function = read_function(SOURCE, "Shop.total")
    alone = {seed: states_of(function, count=15, seed=seed) for seed in (1, 2)}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda place: states_of(function, count=15, seed=1 + place % 2), range(8)))
    for place, states in enumerate(together):
        assert states == alone[1 + place % 2]
