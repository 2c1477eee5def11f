"""What the builder reads out of a function's text."""

from __future__ import annotations

import pytest

from pytest_funcmem.harness.local.analysis import UnreadableFunctionError, analyse
from pytest_funcmem.harness.local.literals import mine
from pytest_funcmem.harness.local.scaffolds import scaffold_for
from pytest_funcmem.harness.local.states import StatePlan


def shapes(analysis):
    return {parameter.name: shape for parameter, shape in StatePlan.of(analysis, mine(analysis)).shapes}


@pytest.mark.parametrize(
    ("decorator", "signature", "kind", "names"),
    [
        ("", "def f(self, a, *, b=1):", "method", ["a", "b"]),
        ("@classmethod", "def f(cls, a):", "classmethod", ["a"]),
        ("@staticmethod", "def f(a, b):", "staticmethod", ["a", "b"]),
        ("@property", "def f(self):", "property", []),
        ("", "async def f(self, *items, **options):", "method", ["items", "options"]),
    ],
)
def test_kind_and_parameters_of_methods(read_function, decorator, signature, kind, names):
    text = (
        "class Box:\n" + (f"    {decorator}\n" if decorator else "") + f"    {signature}\n        return 1\n"
    )
    analysis = analyse(read_function(text))
    assert analysis.kind == kind
    assert [parameter.name for parameter in analysis.parameters] == names
    assert [owner.name for owner in analysis.owners] == ["Box"]


def test_a_fragment_is_read_around_what_does_not_parse(read_function):
    function = read_function(
        "        stray = 1\n    return stray\n\nLIMIT = 7\n\ndef helper(x):\n    return x + LIMIT\n\n"
        "def broken(:\n    pass\n\ndef work(x):\n    return helper(x) * 2\n",
        "work",
    )
    analysis = analyse(function)
    assert {"LIMIT", "helper", "work"} <= set(analysis.definitions)
    assert analysis.missing == ()


def test_names_that_nothing_defines_are_listed(read_function):
    analysis = analyse(
        read_function("def f(x):\n    y = np.array(x)\n    return [z for z in y if check(z)]\n")
    )
    assert analysis.missing == ("np", "check")


def test_a_function_that_this_python_cannot_parse_is_refused(read_function):
    from dataclasses import replace

    function = read_function("def f(x):\n    return x\n")
    broken = replace(function, text=function.text.replace("return x", "print x y"), end=function.end + 3)
    with pytest.raises(UnreadableFunctionError):
        analyse(broken)


def test_hints_beat_names_and_uses(read_function):
    analysis = analyse(
        read_function(
            """
            from typing import Dict, List, Optional, Tuple

            def f(count: str, names: List[int], table: Dict[str, float], pair: Tuple[int, str],
                  word: Optional[str]):
                return count, names, table, pair, word
            """
        )
    )
    found = shapes(analysis)
    assert found["count"].kind == "str"
    assert (found["names"].kind, found["names"].items[0].kind) == ("list", "int")
    assert [item.kind for item in found["table"].items] == ["str", "float"]
    assert (found["pair"].kind, [item.kind for item in found["pair"].items]) == ("places", ["int", "str"])
    assert {item.kind for item in found["word"].items} == {"str", "none"}


def test_uses_tell_kinds_and_constants(read_function):
    analysis = analyse(
        read_function(
            """
            RATES = {'north': 1, 'south': 2}

            def f(a, b, c, d, e):
                if a.strip().lower() == 'stop' or b > 17:
                    return RATES[c]
                total = 0
                for key, value in d.items():
                    total += value * 2
                return total + e['width'] + len(e.get('label', ''))
            """
        )
    )
    found = shapes(analysis)
    assert found["a"].kind == "str"
    assert "'stop'" in found["a"].constants
    assert found["b"].kind == "int"
    assert "17" in found["b"].constants
    assert found["c"].constants == ("'north'", "'south'")
    assert found["d"].kind == "dict"
    assert [key for key, _ in found["e"].fields] == ["'width'", "'label'"]


def test_sizes_of_a_grid_are_linked(read_function):
    analysis = analyse(
        read_function(
            """
            def f(grid, rows, cols):
                total = 0
                for i in range(rows):
                    for j in range(cols):
                        total += grid[i][j]
                return total
            """
        )
    )
    grid = shapes(analysis)["grid"]
    assert grid.extent == "rows"
    assert grid.items[0].extent == "cols"


def test_the_scaffold_brings_only_what_is_used_and_well_known(read_function):
    function = read_function(
        """
        def helper(x):
            return math.floor(x)

        def other(x):
            return json.dumps(x)

        def f(grid: List[int], frame) -> Optional[int]:
            return helper(grid[0]) + pd.len(frame)
        """,
        "f",
    )
    scaffold = scaffold_for(analyse(function))
    real = "from typing import List\nfrom typing import Optional\nimport math\n"
    assert scaffold.prelude == real + "pd = fabricated_name('pd')\n"
    assert scaffold.mocks == ("pd (name)",)


def test_what_the_file_imports_is_not_brought_again(read_function):
    function = read_function("from typing import List\n\ndef f(x: List[int]):\n    return x\n")
    assert scaffold_for(analyse(function)).prelude == ""
