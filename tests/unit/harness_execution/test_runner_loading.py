"""How a file is loaded as far as it can live, and when it counts as unloadable."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_funcmem.core.records import InputState


def test_statements_that_fail_are_left_out_and_named(run_states: Any) -> None:
    text = """
    import nowhere_to_be_found as nw, json
    from nowhere_to_be_found import thing
    BASE = nw.base
    OTHER, (LAST, *REST) = 1 / 0, (2, 3)
    GOOD = 5
    def f():
        return GOOD
    """
    execution = run_states(text, "f", InputState())
    assert execution.outputs[0].value == 5
    found = [(item.index, item.line, item.names, item.error) for item in execution.skipped]
    assert found == [
        (0, 2, ("json", "nw"), "ModuleNotFoundError"),
        (1, 3, ("thing",), "ModuleNotFoundError"),
        (2, 4, ("BASE",), "NameError"),
        (3, 5, ("LAST", "OTHER", "REST"), "ZeroDivisionError"),
    ]


def test_a_file_cut_at_its_beginning_and_broken_at_its_end_loads(run_states: Any) -> None:
    text = '''        rest of a docstring.
    """
    return something

LIMIT = 4

def f(n):
    """Doc
at column zero
    """
    return n + LIMIT

print "python 2"

def after():
    return (

class Good:
    pass
'''
    execution = run_states(text, "f", InputState(arguments=("1",)), coverage=True)
    assert execution.loaded
    assert execution.outputs[0].value == 5
    assert execution.outputs[0].lines == (4,)
    assert [item.error for item in execution.skipped] == ["SyntaxError"] * 3


@pytest.mark.parametrize(
    ("text", "qualname", "line", "detail"),
    [
        ("def f(:\n    pass\n\nx = 1\n", "f", 1, "SyntaxError"),
        ("x = 1\n", "f", 1, "there is no function f at line 1"),
        ("def g():\n    pass\n", "f", 1, "there is no function f at line 1"),
        ("class A:\n    def f(self, a=Missing):\n        pass\n", "A.f", 2, "NameError: name 'Missing'"),
        ("def f(a=missing):\n    pass\n", "f", 1, "NameError: name 'missing'"),
        ("def outer():\n    def f():\n        pass\n", "f", 2, "defined inside a function"),
        ("import os\nos._exit(3)\ndef f():\n    pass\n", "f", 3, "loading did not end (ended)"),
        ("while True:\n    pass\ndef f():\n    pass\n", "f", 3, "top-level statements took more than"),
    ],
)
def test_what_cannot_be_loaded_is_unloadable(
    run_states: Any, text: str, qualname: str, line: int, detail: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr("pytest_funcmem.harness.python_runs.LOAD_TIMEOUT_S", 0.3)
    execution = run_states(text, qualname, InputState(), InputState(), line=line)
    assert not execution.loaded
    assert detail in execution.load_detail
    assert [output.outcome for output in execution.outputs] == ["unloadable"] * 2
    assert execution.executable_lines == ()


def test_hints_that_cannot_be_evaluated_do_not_lose_the_function(run_states: Any) -> None:
    text = """
    def helper(grid: List[int]) -> Missing:
        return grid
    def f(grid: List[List[int]], other: "int" = 2) -> np.ndarray:
        return helper(grid)
    """
    execution = run_states(text, "f", InputState(arguments=("[1]",)))
    assert execution.outputs[0].value == ["list", [1]]
    assert execution.skipped == ()


def test_a_decorator_that_does_not_live_is_left_out_and_said(run_states: Any) -> None:
    text = """
    @app.route("/")
    def f():
        return 1
    """
    execution = run_states(text, "f", InputState())
    assert execution.outputs[0].value == 1
    assert "decorator" in execution.load_detail
    assert "NameError" in execution.load_detail


def test_a_function_hidden_by_a_later_one_is_called_itself(run_states: Any) -> None:
    text = """
    def f():
        return "first"
    def f():
        return "second"
    """
    assert run_states(text, "f", InputState(), line=2).outputs[0].value == "first"
    assert run_states(text, "f", InputState(), line=4).outputs[0].value == "second"


def test_the_prelude_comes_first_and_its_failures_are_named(run_states: Any) -> None:
    text = "def f():\n    return helper(2)\n"
    prelude = "def helper(n):\n    return n * K\nbroken = 1 / 0\nK = 3\n"
    execution = run_states(text, "f", InputState(), prelude=prelude)
    assert execution.outputs[0].value == 6
    assert [item.error for item in execution.skipped] == ["ZeroDivisionError"]


def test_the_module_is_like_a_real_one(run_states: Any) -> None:
    text = '''
    from __future__ import annotations
    import dataclasses, enum, pickle, inspect, typing
    @dataclasses.dataclass
    class Point:
        x: Undefined | None = 1
    class Color(enum.Enum):
        RED = 1
    class Pair(typing.NamedTuple):
        a: int
        b: int = 2
    def f():
        """Doc."""
        same = pickle.loads(pickle.dumps(Point(3)))
        return __name__, same, Color.RED, Pair(1), inspect.getsource(f).count("\\n"), f.__doc__
    '''
    output = run_states(text, "f", InputState()).outputs[0]
    assert output.value == [
        "tuple",
        [
            "audited",
            ["object", "audited.Point", [["x", 3]], None],
            ["value", "audited.Color", "RED"],
            ["object", "audited.Pair", [], ["tuple", [1, 2]]],
            4,
            "Doc.",
        ],
    ]


def test_lines_are_counted_from_the_signature(run_states: Any) -> None:
    text = """
    import functools
    @functools.lru_cache(
        maxsize=None)
    def f(
        n,
        m=2,
    ):
        \"\"\"Doc

        more.
        \"\"\"
        global g
        if n > 1:
            return [x for x in range(n)
                    if x > 1]
        def inner():
            return n
        try:
            return inner()
        finally:
            n = 0
    """
    execution = run_states(
        text, "f", InputState(arguments=("3",)), InputState(arguments=("1",)), coverage=True
    )
    assert execution.executable_lines == (9, 10, 11, 12, 13, 14, 15, 17)
    assert execution.outputs[0].lines == (9, 10, 11)
    assert execution.outputs[1].lines == (9, 12, 13, 14, 15, 17)


def test_a_class_lives_without_the_parts_that_fail(run_states: Any) -> None:
    text = """
    class A(Missing, dict):
        table = lost.table
        size = 3
        @lost.decorator
        def other(self):
            return 0
        def f(self) -> Hint:
            return self.size, len(self)
        late: Hint = 4
    """
    execution = run_states(text, "A.f", InputState(receiver="A(a=1)"))
    assert execution.outputs[0].value == ["tuple", [3, 1]]
    assert [(item.names, item.error) for item in execution.skipped] == [
        (("A.Missing",), "NameError"),
        (("A.table",), "NameError"),
        (("A.other",), "NameError"),
    ]


def test_a_line_of_a_decorator_names_the_function_below_it(run_states: Any) -> None:
    text = """
    class A:
        @staticmethod
        def f():
            return 1
    """
    execution = run_states(text, "A.f", InputState(), line=3, coverage=True)
    assert execution.outputs[0].value == 1
    assert execution.outputs[0].lines == (1,)
