"""Drafts are read strictly, and hostile ones are refused with what to mend."""

from __future__ import annotations

import json

import pytest

from pytest_funcmem.core.protocols import LanguageFrontend
from pytest_funcmem.core.records import InputState, Language, SourceFunction
from pytest_funcmem.core.registry import load
from pytest_funcmem.harness.agent.drafts import (
    DraftError,
    read_draft,
    starting_states,
    surrounded,
    surroundings_file,
    unused_names,
)


def draft_of(language: Language, content: object, surroundings: str = "") -> object:
    text = content if isinstance(content, str) else json.dumps(content)
    return read_draft(language, {surroundings_file(language): surroundings, "states.json": text}.__getitem__)


def test_a_state_of_python_has_all_its_parts() -> None:
    state = {
        "setup": ["x = 1"],
        "receiver": "A()",
        "arguments": ["1", "'a'"],
        "keywords": {"b": "2"},
        "seed": 3,
        "stdin": "in",
        "files": {"a.txt": "content"},
        "environment": {"HOME": "/x"},
        "answers": {"c.d()": "4"},
    }
    draft = read_draft(
        "python", {"prelude.py": "", "states.json": json.dumps({"states": [state]})}.__getitem__
    )
    assert draft.states == (
        InputState(
            setup=("x = 1",),
            receiver="A()",
            arguments=("1", "'a'"),
            keywords=(("b", "2"),),
            seed=3,
            stdin="in",
            files=(("a.txt", "content"),),
            environment=(("HOME", "/x"),),
            answers=(("c.d()", "4"),),
        ),
    )
    assert (
        read_draft(
            "python", {"prelude.py": "", "states.json": starting_states("python", draft.states)}.__getitem__
        )
        == draft
    )


def test_states_of_compiled_languages_are_choices() -> None:
    states = (InputState(choices=(1, 2), seed=5), InputState())
    text = starting_states("go", states)
    draft = read_draft("go", {"surroundings.go": "package x", "states.json": text}.__getitem__)
    assert draft.states == states
    assert draft.search


@pytest.mark.parametrize(
    ("language", "content", "said"),
    [
        ("python", "{", "is no JSON"),
        ("python", "[" * 100_000, "is no JSON"),
        ("python", [], 'no object with a list "states"'),
        ("python", {"states": [], "more": 1}, "has 'more'"),
        ("python", {"states": [], "search": True}, "for compiled languages"),
        ("python", {"states": [{}] * 61}, "more than 60"),
        ("python", {"states": ["x"]}, "state 1 is no object"),
        ("python", {"states": [{"arguments": [1]}]}, "'arguments' is no list of strings"),
        ("python", {"states": [{"keywords": ["a"]}]}, "'keywords' is no object of strings"),
        ("python", {"states": [{"receiver": 1}]}, "'receiver' is no string"),
        ("python", {"states": [{"seed": -1}]}, "'seed' is no whole number"),
        ("python", {"states": [{"seed": True}]}, "'seed' is no whole number"),
        ("python", {"states": [{"choices": [1]}]}, "has 'choices'"),
        ("python", {"states": [{"stdin": "\ud800"}]}, "halves of characters"),
        ("c", {"states": [{"choices": [2**31]}]}, "'choices' is no list"),
        ("c", {"states": [{"choices": [0] * 401}]}, "'choices' is no list"),
        ("c", {"states": [{"arguments": ["1"]}]}, "has 'arguments'"),
        ("c", {"states": [], "search": 1}, '"search" is neither'),
    ],
)
def test_what_is_no_draft_is_refused(language: Language, content: object, said: str) -> None:
    with pytest.raises(DraftError, match=said):
        draft_of(language, content)


def test_too_much_is_refused() -> None:
    with pytest.raises(DraftError, match="larger than"):
        draft_of("python", {"states": []}, "x" * 200_001)
    with pytest.raises(DraftError, match="larger than"):
        draft_of("python", " " * 1_000_001)


def go_function(text: str) -> SourceFunction:
    frontend: LanguageFrontend = load("language", "go")()
    return frontend.scan(text, path="a.go").functions[-1]


GO = "package a\n\nfunc F(n int) int {\n\treturn n + 1\n}\n"


def test_all_but_the_function_may_be_changed() -> None:
    function = go_function(GO)
    inside = surrounded(function, "package b\n\ntype T struct{}\n\nfunc F(n int) int {\n\treturn n + 1\n}\n")
    assert inside.line == 5
    for text in (
        GO.replace("+ 1", "+ 2"),
        "package a\n",
        GO + GO.partition("\n\n")[2],
        "",
        "\0",
    ):
        with pytest.raises(DraftError):
            surrounded(function, text)


C_FUNCTION = "int twice(int n)\n{\n    if (n > 9)\n        return 9;\n    return 2 * n;\n}\n"


@pytest.mark.parametrize(
    "line",
    [
        "#define for(a) return other(n); for (a)",
        " # define while(a) return other(n);",
        "#/* */define/* */do return other(n);",
        "#def\\\nine switch(a) return other(n);",
        "%:define goto return other(n);",
        "??=define int long",
    ],
)
def test_surroundings_give_no_other_meaning_to_the_words_of_c(line: str) -> None:
    """The original has no loop, so that no proof would see what a loop of a candidate becomes."""
    frontend: LanguageFrontend = load("language", "c")()
    text = f"int other(int n);\n{C_FUNCTION}"
    function = frontend.scan(text, path="a.c").functions[-1]
    assert surrounded(function, f"#define LIMIT 9\n#define inline\n{text}").line == 4
    with pytest.raises(DraftError, match="own words"):
        surrounded(function, f"{line}\n{text}")
    # What the file itself does is the file's.
    function = frontend.scan(f"{line}\n{text}", path="a.c").functions[-1]
    assert surrounded(function, f"\n{line}\n{text}").qualname == "twice"


def test_a_prelude_shows_the_function_no_name_that_its_file_has_not() -> None:
    prelude = (
        "import os, sys as harness_sys\nfrom a import b as c\nfor d in ():\n    e = 1\n"
        "def f():\n    inner = 1\nclass G:\n    member = 2\nh: int = 3\n(i := 4)\nj, (k, *l) = 1, (2, 3)\n"
        "[m for m in ()]\nwith open('x') as n:\n    pass\nbinding = __file__ = 1\n"
    )
    assert unused_names(prelude, "uses os and f and G, h") == (*"cdeijkln", "binding")
    with pytest.raises(DraftError, match="does not parse"):
        unused_names("def", "")
    with pytest.raises(DraftError, match="does not parse"):
        unused_names("a\0", "")
