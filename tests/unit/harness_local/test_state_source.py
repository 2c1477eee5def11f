"""An input state written down runs by hand and gives what it gave in the sandbox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_funcmem.core.records import InputState, Scaffold
from pytest_funcmem.harness.state_source import state_source

TEXT = """import shapes_that_are_nowhere as shapes


class Box:
    def __init__(self, width):
        self.width = width

    def area(self, height, *, unit="cm"):
        if shapes.known(unit):
            return [self.width * height, unit]
        return None

    @property
    def half(self):
        return self.width / 2


async def later(value):
    return value + 1


def lines(name):
    with open(name) as file:
        return [input(), file.read().split()]
"""


@pytest.mark.parametrize(
    ("qualname", "state", "mocks", "printed"),
    [
        (
            "Box.area",
            InputState(receiver="Box(3)", arguments=("4",), keywords=(("unit", "'mm'"),),
                       answers=(("bool(shapes_that_are_nowhere.known())", "True"),)),
            ("shapes_that_are_nowhere",),
            "[12, 'mm']",
        ),
        (
            "Box.area",
            InputState(receiver="stand_in(Box, width=5)", arguments=("2",),
                       answers=(("shapes_that_are_nowhere.known()", "False"),)),
            ("shapes_that_are_nowhere",),
            "None",
        ),
        ("Box.half", InputState(receiver="Box(3)"), ("shapes_that_are_nowhere",), "1.5"),
        ("later", InputState(arguments=("1",)), ("shapes_that_are_nowhere",), "2"),
        (
            "lines",
            InputState(arguments=("'a/b.txt'",), stdin="said\n", files=(("a/b.txt", "one two"),)),
            ("shapes_that_are_nowhere",),
            "['said', ['one', 'two']]",
        ),
    ],
)  # fmt: skip
def test_a_state_runs_by_hand(
    tmp_path: Path, read_function, qualname: str, state: InputState, mocks: tuple[str, ...], printed: str
) -> None:
    function = read_function(TEXT, qualname)
    (tmp_path / "boxes.py").write_text(TEXT, encoding="utf-8")
    program = state_source(function, Scaffold(mocks=mocks), state, path="boxes.py")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr
    assert repr(qualname) in program
