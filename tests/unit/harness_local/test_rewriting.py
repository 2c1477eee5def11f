"""Mutants, renamed twins and stubs: other code in the original's place."""

from __future__ import annotations

import ast
import textwrap

from pytest_funcmem.core.records import OutputState, Scaffold
from pytest_funcmem.harness.execution import spliced_program
from pytest_funcmem.harness.local.analysis import analyse
from pytest_funcmem.harness.local.mutants import make_mutants
from pytest_funcmem.harness.local.renaming import renamed_code
from pytest_funcmem.harness.local.rewriting import code_with_body
from pytest_funcmem.harness.local.stubs import make_stubs

METHOD = '''
class Outer:
  class Inner:
    """Doc."""

    @staticmethod
    def f(a, b=2):  # a comment
      """First.

      Second.
      """
      text = f"""{a}
two"""
      if a > 3 and not b:
          return text
      return 'x' + text
'''


def run(function, code, *arguments):
    space: dict = {}
    exec(spliced_program(function, Scaffold(), code).text, space)
    target = space
    for name in function.qualname.split("."):
        target = target[name] if isinstance(target, dict) else getattr(target, name)
    return target(*arguments)


def test_rewritten_code_keeps_strings_over_several_lines(read_function):
    function = read_function(METHOD)
    code = code_with_body(function, analyse(function).node.body)
    for arguments in ((1, 2), (9, 0)):
        space: dict = {}
        exec(function.text, space)
        assert run(function, code, *arguments) == space["Outer"].Inner.f(*arguments)


def test_tabs_before_the_signature_are_no_trouble(read_function):
    function = read_function("class A:\n\t@staticmethod\n\tdef f(a):\n\t\tfor x in a:\n\t\t\treturn x + 1\n")
    assert run(function, make_mutants(function, analyse(function).node, limit=9)[0].code, [4]) != 5


def test_mutants_differ_from_the_original_and_parse(read_function):
    function = read_function(METHOD)
    mutants = make_mutants(function, analyse(function).node, limit=50)
    assert {mutant.sort for mutant in mutants} == {
        "comparison",
        "constant",
        "boolean",
        "branch",
        "operator",
        "result",
    }
    assert len({mutant.code for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        assert mutant.code.startswith(function.signature)
        ast.parse(spliced_program(function, Scaffold(), mutant.code).text)


def test_mutants_are_spread_over_a_long_function(read_function):
    body = "".join(f"    x = x + {number}\n" for number in range(60))
    function = read_function(f"def f(x):\n{body}    return x\n")
    mutants = make_mutants(function, analyse(function).node, limit=12)
    lines = [min(mutant.lines) for mutant in mutants]
    assert len(mutants) == 12
    assert lines == sorted(lines)
    assert max(lines) > 45
    assert min(lines) < 10


def test_docstrings_and_logging_are_not_mutated(read_function):
    function = read_function(
        "def f(x):\n    'Doc 1'\n    log.info('%d', 5)\n    logger.warning('y')\n    return x\n"
    )
    assert [mutant.sort for mutant in make_mutants(function, analyse(function).node, limit=50)] == ["result"]


def test_renaming_changes_locals_alone(read_function):
    function = read_function(
        """
        LIMIT = 3

        def f(a, sep=','):
            global LIMIT
            total = 0
            for part in a.split(sep):
                def inner(total=1, *, part=part):
                    return total
                total = total + len(part) + LIMIT
            LIMIT = 4
            try:
                value = int(a)
            except ValueError as problem:
                value = len(str(problem)) * 0
            squares = [x * x for x in range(value)]
            return total, squares, inner(part=1)
        """
    )
    code = renamed_code(function, analyse(function).node)
    assert code is not None
    names = {item.id for item in ast.walk(ast.parse(textwrap.dedent(code))) if isinstance(item, ast.Name)}
    assert "value" not in names
    assert "squares" not in names
    assert {"LIMIT", "a", "sep", "total"} <= names
    for text in ("a,b", "4"):
        space: dict = {}
        exec(function.text, space)
        assert run(function, code, text) == space["f"](text)


def test_what_looks_its_names_up_is_not_renamed(read_function):
    function = read_function("def f(a):\n    b = a\n    return '{b}'.format(**locals())\n")
    assert renamed_code(function, analyse(function).node) is None


def test_stubs_cover_constants_echoes_and_the_commonest_result(read_function):
    function = read_function("def f(a, b):\n    if a == 'go':\n        return 7\n    return [a, 2.5]\n")
    expected = [
        OutputState(outcome="returned", value=value) for value in (7, 9, 7, ["list", ["x", ["float", "2.5"]]])
    ]
    stubs = {stub.name: stub for stub in make_stubs(analyse(function), expected)}
    assert {"nothing", "raise", "constant 7", "constant 'go'", "constant 2.5", "echo a", "echo b"} <= set(
        stubs
    )
    assert run(function, stubs["constant 7"].code, 1, 2) == 7
    assert run(function, stubs["echo b"].code, 1, 2) == 2
    assert run(function, stubs["nothing"].code, 1, 2) is None
    assert any(stubs["constant 7"].could_match(output) for output in expected)
    assert not any(stubs["constant 'go'"].could_match(output) for output in expected)


def test_stubs_of_generators_are_generators(read_function):
    function = read_function("def f(a):\n    for x in a:\n        yield x + 1\n")
    expected = [OutputState(outcome="returned", value=["iterator", "generator", [2, 3], None])]
    stubs = {stub.name: stub for stub in make_stubs(analyse(function), expected)}
    assert list(run(function, stubs["nothing"].code, [1])) == []
    assert list(run(function, stubs["commonest"].code, [1])) == [2, 3]
    assert list(run(function, stubs["echo a"].code, [1])) == [[1]]
