from __future__ import annotations

import textwrap

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.records import Candidate, SourceFunction
from pytest_funcmem.languages.python import PythonFrontend

PYTHON = PythonFrontend()
MODULE = """
import os

@cache
def f(x):
    return x

class Outer:
    class Inner:
        def m(self, x=":"):
            return x

\tdef tabbed(self):
\t\treturn 1
"""


def function_named(qualname: str, source: str = MODULE) -> SourceFunction:
    (function,) = [
        found for found in PYTHON.scan(source, path="m.py").functions if found.qualname == qualname
    ]
    return function


F = function_named("f")
M = function_named("Outer.Inner.m")


def read(completion: str, function: SourceFunction = F) -> Candidate:
    return PYTHON.candidate(function, completion)


@pytest.mark.parametrize(
    "completion",
    [
        "\n    y = 1\n    return y",
        "\n    y = 1\n    return y\n\n\n",
        "\n    y = 1\n    return y\n\ndef g():\n    return 2\n",
        "\n    y = 1\n    return y\n\n@cache\ndef g():\n    return (2,",
        "\n    y = 1\n    return y\nclass A:\n    x = 1",
        "\n    y = 1\n    return y\n\nif __name__ == '__main__':\n    f(",
        "\n    y = 1\n    return y\nprint(f(1))\nprint('unterminated",
        "\n    y = 1\n    return y\n# comment\n\n# another\nx = 1\n",
        "\n    y = 1\n    return y<|endoftext|>def g(): pass",
        "\n    y = 1\n    return y</s>",
        "\n    y = 1\n    return y\n<|file_sep|>README.md\n",
        "\n    y = 1\n    return y\n<file_sep>",
        "\n    y = 1\n    return y\n<|fim_pad|>",
        "\n    y = 1\n    return y\n```\nThis function isn't (hard.",
        "\n    y = 1\n    return y\n    ```\n",
        "\r\n    y = 1\r\n    return y\r\n\r\ndef g():\r\n    pass",
        "\n    y = 1\n    return y\nelse:\n    pass",
    ],
)
def test_whatever_follows_the_function_is_cut(completion: str) -> None:
    candidate = read(completion)
    assert (candidate.status, candidate.body) == ("ok", "\n    y = 1\n    return y")
    assert candidate.code == "def f(x):\n    y = 1\n    return y"


@pytest.mark.parametrize(
    "completion",
    [
        "\n```python\ndef f(x):\n    y = 1\n    return y\n```",
        "```python\ndef f(x):\n    y = 1\n    return y\n```\nDone.",
        "```\ndef f(x):\n    y = 1\n    return y\n",
        "def f(x):\n    y = 1\n    return y\n",
        "\n\ndef f(x):\n    y = 1\n    return y\n\ndef f(x):\n    return 3",
        "\n\nimport os\nfrom a import (b,\n  c)\n\n@cache\n"
        "def f(x, *, other={1: 2}) -> int:\n    y = 1\n    return y\nf(1)",
        "\nasync def f(\n    x,  # a: b\n):\n    y = 1\n    return y\n",
        "\nHere's the function:\n\n```py\nfrom a import b\n\ndef f(x):\n    y = 1\n    return y\n```\n",
        "\n# It is easy.\ndef f(x):\n    y = 1\n    return y",
    ],
)
def test_a_repeated_signature_is_dropped(completion: str) -> None:
    candidate = read(completion)
    assert (candidate.status, candidate.body) == ("ok", "\n    y = 1\n    return y")
    assert candidate.code == "def f(x):\n    y = 1\n    return y"
    assert "repeated signature" in candidate.detail


def test_a_fence_around_the_body_alone_is_dropped() -> None:
    candidate = read("\n```python\n    y = 1\n    return y\n```\n")
    assert (candidate.status, candidate.body) == ("ok", "\n    y = 1\n    return y")


@pytest.mark.parametrize(
    "completion",
    [
        'def m(self, x=":"):\n    """Doc.\n\n    More.\n    """\n'
        "    if x:\n        return (\n    x)\n    # c\n    return [1,\n2]\n",
        'class Outer:\n    def m(self, x):\n        """Doc.\n\n'
        '    More.\n    """\n        if x:\n            return (\n    x)\n'
        "        # c\n        return [1,\n2]\n",
    ],
)
def test_a_repeated_method_moves_to_the_original_indentation(completion: str) -> None:
    candidate = read(completion, M)
    assert candidate.status == "ok"
    assert candidate.code == (
        'def m(self, x=":"):\n            """Doc.\n\n    More.\n'
        '    """\n            if x:\n                return (\n'
        "    x)\n            # c\n            return [1,\n2]"
    )


def test_a_repeated_method_at_its_own_indentation_stays_as_it_is() -> None:
    candidate = read("\n        def m(self, x):\n          return x\n        def n(self):\n", M)
    assert candidate.body == "\n          return x"


def test_an_inner_function_of_the_same_name_is_no_repeated_signature() -> None:
    completion = "\n    def f(x):\n        return x\n    return f\n"
    assert read(completion).body == completion.rstrip()


@pytest.mark.parametrize(
    ("completion", "body"),
    [
        (" return 1", " return 1"),
        (" return 1  # one\n\n\ndef g(): pass", " return 1  # one"),
        (" x = 1; return x\n", " x = 1; return x"),
        ("  # note\n    return 1\n", "  # note\n    return 1"),
        ("    y = 1\n    return y\n", "\n    y = 1\n    return y"),
        (" y = 1\n    return y\n", "\n    y = 1\n    return y"),
        ("if x:\n        return 1\n    return 2\n", None),
        (" if x: return 1", "\n    if x: return 1"),
        ("\n  y = 1\n  return y\n", "\n  y = 1\n  return y"),
        ("\n\ty = 1\n\treturn y\n", "\n\ty = 1\n\treturn y"),
        ("\n    '''Doc\ndef g():\n'''\n    return 1\nx", "\n    '''Doc\ndef g():\n'''\n    return 1"),
        ("\n    return f(\n1,\n)\nx", "\n    return f(\n1,\n)"),
        ("\n    return 1 + \\\n2\nx", "\n    return 1 + \\\n2"),
        ("\n    return '</s>'\n    return 2", None),
        ("\n    pass", "\n    pass"),
    ],
)
def test_bodies_are_kept_as_they_are(completion: str, body: str | None) -> None:
    candidate = read(completion)
    if body is None:
        assert (candidate.status, candidate.code, candidate.body) == ("unparsed", None, completion)
    else:
        assert (candidate.status, candidate.body) == ("ok", body)
        assert candidate.code == F.signature + body


def test_a_token_that_the_original_holds_is_code() -> None:
    function = function_named("f", "def f(x):\n    return '</s>' + x\n")
    assert read("\n    return '</s>' + x\n", function).body == "\n    return '</s>' + x"


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "\n",
        "   \n\t\n",
        "\n    # nothing\n\n",
        "  # nothing",
        "\n    # a\n\n\ndef g():\n    return 1\n",
        "<|endoftext|>x",
        "\n\n\nclass A:\n    pass",
        "```python\n```",
        "```",
        "\nimport os\n",
        "</s>",
        "\ndef f(x):\n",
        "\n@d\ndef g():\n  pass",
    ],
)
def test_blanks_and_comments_are_empty(completion: str) -> None:
    candidate = read(completion)
    assert (candidate.status, candidate.code) == ("empty", None)
    assert all(line.strip() == "" or line.strip().startswith("#") for line in candidate.body.splitlines())


@pytest.mark.parametrize(
    "completion",
    [
        "\n    return f(x,",
        "\n    y = 1\n    if x:",
        "\n    y = 1\n    if x:\n        # then",
        "\n    try:\n        y = 1",
        "\n    y = 'abc",
        '\n    """Doc',
        "\n    y = 1\n      z = 2",
        "\n    if x:\n        y = 1\n      z = 2",
        "\n    y = = 1",
        "\nreturn 1",
        "\nI cannot do that.",
        "\ndef f(x",
        "\n    for x in",
        "\n    return 1)\n",
        "\n    y = [\n\ndef g():\n    return 1\n",
        "\n    \ud800\n",
        "\n    \0\n",
        "\n    return " + "(" * 3000,
    ],
)
def test_what_does_not_parse_keeps_the_raw_completion(completion: str) -> None:
    candidate = read(completion)
    assert (candidate.status, candidate.body, candidate.code) == ("unparsed", completion, None)
    assert candidate.detail


def test_incomplete_text_after_the_end_does_no_harm() -> None:
    candidate = read("\n    return 1\n\n\ndef g(a, b=(1,")
    assert (candidate.status, candidate.body) == ("ok", "\n    return 1")
    assert candidate.detail == "text after the function was cut"


def test_candidates_of_methods_parse_in_their_place() -> None:
    candidate = read(
        "\n            y = x\n            return y\n\n        def n(self):\n            pass\n", M
    )
    assert candidate.code == 'def m(self, x=":"):\n            y = x\n            return y'
    compile(textwrap.dedent("        " + (candidate.code or "")), "m.py", "exec")


@pytest.mark.parametrize(
    ("completion", "ended"),
    [
        ("", False),
        ("\n    return 1\n", False),
        ("\n    return 1\n\n\n", False),
        ("\n    return 1\n# comment\n", False),
        ("\n    return 1\nd", True),
        ("\n    return 1\n    ", False),
        ("\n    return 1\n    x", False),
        ("\n    return (1,\nd", False),
        ("\n    '''\nd", False),
        ("\n\ndef g():\n", False),
        ("\n# c\nx\n", False),
        ("\ndef f(x):\n    return 1\n", False),
        ("\ndef f(x):\n    return 1\nx", True),
        ("```python\ndef f(x):\n    return 1\n```", True),
        (" return 1\n", False),
        (" return 1\nx", True),
        ("\n    return 1<|endoftext|>", True),
        ("<|endoftext|>", True),
    ],
)
def test_function_ends_at_a_later_line_of_code(completion: str, ended: bool) -> None:
    assert PYTHON.function_ended(F, completion) is ended


PIECES = st.sampled_from(
    [
        "\n",
        "\n    ",
        "\n        ",
        "\n    return x",
        "\n  y",
        "\nz = 1",
        "\ndef f(x):",
        "\ndef f(",
        "\ndef g():",
        "\nclass A:",
        "```",
        "```python",
        "\n```\n",
        "\n@d",
        "\nimport os",
        "# c",
        "(",
        ")",
        "[",
        "'",
        '"',
        '"""',
        "'''",
        "\\",
        "\\\n",
        ":",
        "\r",
        "\r\n",
        "\t",
        "\x0c",
        " ",
        "x",
        "if x:",
        "<|endoftext|>",
        "</s>",
        "<",
        "|>",
        "�",
        "é",
        "async ",
        "\n\tx",
        ";",
    ]
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from([F, M]))
@example("\n    return x\n</s>", F)
@example("\n    return ''\n''\nx\n", F)
@example("\r\n    x\r\r\nz", F)
def test_once_ended_the_candidate_never_changes(text: str, function: SourceFunction) -> None:
    whole = PYTHON.candidate(function, text)
    assert whole.status == "ok" or whole.code is None
    if whole.code is not None:
        assert whole.code == function.signature + whole.body
        assert whole.body == whole.body.rstrip()
        assert whole.body.strip()
    has_ended = False
    for length in range(len(text) + 1):
        ended = PYTHON.function_ended(function, text[:length])
        assert ended or not has_ended, "an end was taken back"
        if ended and not has_ended:
            early = PYTHON.candidate(function, text[:length])
            assert early.status == whole.status
            if whole.status != "unparsed":
                assert early == whole
        has_ended = ended
