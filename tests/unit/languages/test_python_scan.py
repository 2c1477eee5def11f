from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.core.protocols import FunctionScan, LanguageFrontend
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages import body_lines, frontend
from pytest_funcmem.languages.python import PythonFrontend

PYTHON = PythonFrontend()


def scan(source: str) -> FunctionScan:
    return PYTHON.scan(textwrap.dedent(source).lstrip("\n"), path="m.py")


def names(source: str) -> list[str]:
    return [function.qualname for function in scan(source).functions]


def only(source: str) -> SourceFunction:
    (function,) = scan(source).functions
    return function


def test_front_end_is_what_the_registry_names() -> None:
    assert isinstance(frontend("python"), PythonFrontend)
    assert isinstance(PYTHON, LanguageFrontend)


def test_every_kind_of_function_is_found_in_order() -> None:
    found = scan(
        """
        import abc

        def plain(x):
            return x

        async def coroutine(x):
            return x

        def generator():
            yield 1

        class Outer:
            def method(self):
                return self

            @staticmethod
            def static(x):
                return x

            @classmethod
            def build(cls):
                return cls()

            @property
            def size(self):
                return 1

            class Inner:
                async def method(self):
                    return 2

                class Deepest[T]:
                    def method(self):
                        return 3

        if abc:
            def conditional():
                return 4
        else:
            try:
                def attempted():
                    return 5
            finally:
                with abc:
                    class Late:
                        def method(self):
                            return 6
        """
    )
    assert [function.qualname for function in found.functions] == [
        "plain",
        "coroutine",
        "generator",
        "Outer.method",
        "Outer.static",
        "Outer.build",
        "Outer.size",
        "Outer.Inner.method",
        "Outer.Inner.Deepest.method",
        "conditional",
        "attempted",
        "Late.method",
    ]
    assert found.dropped == {}
    assert not any(function.ambiguous for function in found.functions)


def test_functions_inside_functions_belong_to_the_outer_one() -> None:
    source = """
        def outer():
            def inner():
                return 1
            class Local:
                def method(self):
                    return 2
            return inner, Local
        """
    function = only(source)
    assert function.qualname == "outer"
    assert "def method" in function.body


def test_decorators_stand_before_the_signature() -> None:
    function = only(
        """
        x = 1

        @first
        @second(a=1,
                b=2)
        # why
        async  def f(a):
            return a
        """
    )
    assert function.line == 7
    assert function.signature == "async  def f(a):"
    assert function.text[function.definition_start :].startswith("@first")
    assert function.code == "async  def f(a):\n    return a"


@pytest.mark.parametrize(
    ("source", "signature", "body"),
    [
        ("def f(): return 1\n", "def f():", " return 1"),
        ("def f(a, b={'k': lambda x: {1: 2}}):  # note: this\n    return a\n", None, None),
        (
            "def f(a: dict[str, int] = {'a': 1}, *, k=lambda: 0) -> dict[str, 'x:']:\n    return a\n",
            None,
            None,
        ),
        ("def f(\n    a,  # first: one\n    b,\n) -> int:\n    return a\n", None, None),
        ("def f(a) -> Callable[[int],\n        int] :\n\n    return a\n", None, None),
        ("def f(a) \\\n    -> int:\n    return a\n", None, None),
        ("class A:\n  def f(a):\n    return a\n", "def f(a):", "\n    return a"),
        ("class A:\n\tdef f(a):\n\t\treturn a\n", "def f(a):", "\n\t\treturn a"),
    ],
)
def test_signature_ends_after_its_colon(source: str, signature: str | None, body: str | None) -> None:
    (function,) = PYTHON.scan(source, path="m.py").functions
    assert function.signature.endswith(":")
    assert function.body.rstrip().endswith(("return a", "return 1"))
    # What is between is the signature: with a body it is a whole definition, one token less is not.
    compile(function.signature + " pass", "m.py", "exec")
    with pytest.raises(SyntaxError):
        compile(function.signature[:-1] + " pass", "m.py", "exec")
    if signature is not None:
        assert (function.signature, function.body) == (signature, body)


def test_comments_deeper_than_the_signature_belong_to_the_body() -> None:
    function = only(
        """
        class A:
            def f(self):
                # before
                if self:
        # commented out
                    return 1

                # after

              # half-way
            # about g
            def g(self): ...
        """
    )
    assert function.body == (
        "\n        # before\n        if self:\n# commented out\n            return 1\n\n        # after\n\n"
        "      # half-way"
    )


def test_shared_names_are_ambiguous_even_when_the_other_is_dropped() -> None:
    found = scan(
        """
        class A:
            @property
            def x(self):
                return self._x

            @x.setter
            def x(self, value):
                self._x = value

            @overload
            def y(self) -> int: ...

            def y(self):
                return 1

            def z(self):
                return 2
        """
    )
    assert [(function.qualname, function.line, function.ambiguous) for function in found.functions] == [
        ("A.x", 3, True),
        ("A.x", 7, True),
        ("A.y", 13, True),
        ("A.z", 16, False),
    ]
    assert found.functions[0].key == "m.py::A.x@3"
    assert found.dropped == {"no_body": 1}


@pytest.mark.parametrize(
    "body",
    ["pass", "...", '"""Doc."""', '"""Doc."""\n    ...', '"""Doc."""  # c\n    # c\n    pass', "'a' 'b'"],
)
def test_stubs_have_no_body(body: str) -> None:
    found = PYTHON.scan(f"def f():\n    {body}\n", path="m.py")
    assert found.functions == ()
    assert found.dropped == {"no_body": 1}


@pytest.mark.parametrize("body", ["return", "...\n    return", "f'{x}'.y", "raise NotImplementedError"])
def test_short_bodies_are_bodies(body: str) -> None:
    found = PYTHON.scan(f"def f():\n    {body}\n", path="m.py")
    assert [function.qualname for function in found.functions] == ["f"]


BROKEN = {
    "statement": "    x = = 1",
    "bracket": "    x = (1,",
    "brace": "    x = {1: [",
    "keyword": "    for in x:",
    "string": "    x = 'abc",
    "indentation": "      x = 1\n   y = 2",
    "closing": "    x = 1)",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_a_syntax_error_costs_only_its_own_function(broken: str) -> None:
    source = (
        "def before(a):\n    '''Doc: def no(): pass'''\n    return a\n\n\n"
        f"def broken(a):\n{broken}\n    return a\n\n\n"
        "@decorated\nasync def after(\n    a,\n) -> int:\n    return (a +\n1)\n\n\n"
        "class Later:\n    x = 1\n\n    @staticmethod\n    def method(a):\n"
        "        def inner():\n            return 1\n        return inner\n\n"
        "    class Inner:\n        def method(self): return 1\n\n\n"
        "def last(a):\n    return a\n"
    )
    found = PYTHON.scan(source, path="m.py")
    assert [function.qualname for function in found.functions] == [
        "before",
        "after",
        "Later.method",
        "Later.Inner.method",
        "last",
    ]
    assert found.dropped == {"syntax_error": 1}
    after = found.functions[1]
    assert source[after.definition_start :].startswith("@decorated")
    assert after.code == "async def after(\n    a,\n) -> int:\n    return (a +\n1)"
    assert source[found.functions[2].definition_start :].startswith("@staticmethod")


def test_a_syntax_error_outside_functions_costs_none() -> None:
    source = (
        "def before(a):\n    return a\n\nx = (1,\n\nclass A:\n"
        "    y = = 2\n\n    def after(self):\n        return 1\n"
    )
    found = PYTHON.scan(source, path="m.py")
    assert [function.qualname for function in found.functions] == ["before", "A.after"]
    assert found.dropped == {}


def test_a_file_cut_in_the_middle_of_a_function_keeps_those_before() -> None:
    found = PYTHON.scan("def a():\n    return 1\n\ndef b(x):\n    return foo(x,", path="m.py")
    assert [function.qualname for function in found.functions] == ["a"]
    assert found.dropped == {"syntax_error": 1}


@pytest.mark.parametrize(
    "sentinel", ["<fim_prefix>", "<|fim_middle|>", "<PRE>", "<fim-suffix>", "<fim_suffix>", "<|fim_prefix|>"]
)
def test_reordered_files_are_dropped_whole(sentinel: str) -> None:
    found = PYTHON.scan(f"{sentinel}def f(x):\n    return x\n\ndef g(x):\n    return x\n", path="m.py")
    assert found.functions == ()
    assert set(found.dropped) == {"fill_in_the_middle"}


def test_a_file_that_mentions_a_sentinel_loses_only_functions_that_hold_it() -> None:
    source = (
        'A = "<fim_prefix>"\n\ndef f(x):\n    return "<fim_middle>" + x\n'
        '\ndef g(x):\n    return "<PRE>" + x\n'
    )
    found = PYTHON.scan(source, path="m.py")
    assert [function.qualname for function in found.functions] == ["g"]
    assert found.dropped == {"fill_in_the_middle": 1}


@pytest.mark.parametrize(
    "header",
    [
        "# Generated by the protocol buffer compiler.  DO NOT EDIT!",
        "# -*- coding: utf-8 -*-\n# Code generated by x. DO NOT EDIT.",
        "#!/usr/bin/env python\n# This file was automatically generated",
        "# @generated",
        '"""Autogenerated by Thrift Compiler (0.9)',
    ],
)
def test_generated_files_are_dropped_whole(header: str) -> None:
    source = header + ('\n"""' if header.startswith('"""') else "") + "\ndef f(x):\n    return x\n"
    assert PYTHON.scan(source, path="m.py").dropped == {"generated": 1}


def test_text_about_generating_is_not_generated() -> None:
    source = "x = 'generated by me'\n" + "\n" * 30 + "# DO NOT EDIT the next line\ndef f(x):\n    return x\n"
    assert names(source) == ["f"]


def test_offsets_count_characters_and_lines_end_at_line_feeds_only() -> None:
    source = (
        "s = 'äöü€𝄞\x0c\x0b\u2028'\n\n\ndef f(é):\n    return 'ß𝄞' + é\n\n\ndef g():\n    return '€'\n" * 300
    )
    found = PYTHON.scan(source, path="m.py").functions
    assert len(found) == 600
    for function in found:
        assert source[function.signature_start :].startswith(("def f(é):", "def g():"))
        assert function.code in ("def f(é):\n    return 'ß𝄞' + é", "def g():\n    return '€'")
        assert function.line == source.count("\n", 0, function.signature_start) + 1


def test_carriage_returns_and_byte_order_mark_are_normalised() -> None:
    (function,) = PYTHON.scan("\ufeffdef f(x):\r\n    return x\r\n", path="m.py").functions
    assert function.text == "def f(x):\n    return x\n"
    assert function.code == "def f(x):\n    return x"


def test_row_and_metadata_are_handed_on() -> None:
    (function,) = PYTHON.scan(
        "def f(x):\n    return x\n", path="a/b.py", row="7", metadata='{"a":1}'
    ).functions
    assert (function.key, function.metadata, function.language) == ("a/b.py#7::f", '{"a":1}', "python")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\0",
        "def f(\0):\n    return 1\n",
        "def",
        "def f(x):",
        "class",
        "@",
        "\ud800def f():\n    return '\udfff'\n",
        "def f():\n    return " + "(" * 20_000,
        "def f():\n    return " + "[" * 20_000 + "]" * 20_000 + "\n",
        "".join(" " * depth + "if x:\n" for depth in range(1500)),
        "class A:\n" * 50,
        '"""' + "def f():\n    return 1\n" * 50,
        "\\" * 5000 + "\ndef f():\n    return 1\n",
    ],
)
def test_hostile_text_never_raises(text: str) -> None:
    for function in PYTHON.scan(text, path="m.py").functions:
        assert function.definition_start <= function.signature_start < function.signature_end <= function.end


def test_lone_surrogates_do_not_shift_places() -> None:
    source = "x = '\ud800é'\ndef f():\n    return '\udfff'\n"
    (function,) = PYTHON.scan(source, path="m.py").functions
    assert function.code == "def f():\n    return '\udfff'"


FRAGMENTS = st.sampled_from(
    [
        "def f(x):",
        "def g(",
        "class A:",
        "async ",
        "@d",
        "    ",
        "\n",
        "\n\n",
        "return x",
        "x = 1",
        "(",
        ")",
        "[",
        "'",
        '"""',
        "#c",
        "\\",
        "é",
        "𝄞",
        "�",
        "\t",
        ":",
        "pass",
        "if x:",
        "\r",
        "\x0c",
        "<fim_prefix>",
    ]
)


@given(st.lists(FRAGMENTS, max_size=40).map("".join))
def test_places_are_in_order_whatever_the_text(text: str) -> None:
    found = PYTHON.scan(text, path="m.py")
    for function in found.functions:
        assert 0 <= function.definition_start <= function.signature_start
        assert function.signature_start < function.signature_end <= function.end <= len(function.text)
        assert function.signature.startswith(("def", "async"))
        assert function.signature.endswith(":")
        assert function.line == function.text.count("\n", 0, function.signature_start) + 1
        assert PYTHON.candidate(function, function.text[function.signature_end :]).body == function.body


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (" return 1", 1),
        ("\n    return 1", 1),
        ("  # note\n    return 1", 2),
        ('\n    """Doc.\n\n    More.\n    """\n\n    return 1', 6),
        ("\n\n    # c\n    return 1\n    # d", 3),
    ],
)
def test_body_lines_count_all_but_the_signature(body: str, lines: int) -> None:
    (function,) = PYTHON.scan(f"@d\ndef f(\n    a,\n):{body}\n", path="m.py").functions
    assert body_lines(function) == lines
