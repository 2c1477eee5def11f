"""CodeBLEU: pinned values, what the published package gets wrong, hostile text, hash seeds."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from importlib.metadata import version

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.records import LANGUAGES, Language
from pytest_funcmem.core.registry import load
from pytest_funcmem.metrics.codebleu import codebleu_parts
from pytest_funcmem.metrics.data_flow import data_flow
from pytest_funcmem.metrics.flat_tree import flatten
from pytest_funcmem.metrics.flow_rules import RULES

FUNCTIONS: dict[Language, str] = {
    "python": "def f(a):\n    total = 0\n    for item in a:\n        total = total + item\n    return total",
    "java": "int f(int[] a) { int total = 0; for (int item : a) { total = total + item; } return total; }",
    "c": "int f(int *a, int n) { int total = 0; for (int i = 1; i < n; i++) { total = total + a[i]; }"
    " return total; }",
    "go": "func f(a []int) int { total := 0; for _, item := range a { total = total + item }; return total }",
    "rust": "fn f(a: &[i32]) -> i32 { let mut total = 0; for item in a { total = total + item; } total }",
}


def pair(original: str, candidate: str, language: Language = "python") -> CodePair:
    return CodePair(language=language, original=original, candidate=candidate)


def flows(text: str, language: Language, *, show_constants: bool = True) -> list[object]:
    tree = flatten(language, text)
    return [
        (name, relation, list(sources))
        for name, relation, sources in data_flow(
            tree, RULES[language], dropped=frozenset(), show_constants=show_constants
        )
    ]


def test_the_parts_of_a_small_pair_are_pinned() -> None:
    original = "def f(a):\n    b = a + 1\n    return b"
    candidate = "def f(a):\n    c = a + 2\n    return c"
    parts = codebleu_parts(pair(original, candidate))
    # Tokens: def f(a): b = a + 1 return b; b, 1 and b again differ.
    assert parts.ngram == pytest.approx((6 / 9 * 3 / 8 * 1 / 7 * 0.1 / 6) ** 0.25)
    weights = (2 * 1 + 4 * 0.2, 2 * 1 + 7 * 0.2)  # "def" and "return" are keywords; the others weigh .2
    assert parts.weighted_ngram == pytest.approx((weights[0] / weights[1] * 3 / 8 * 1 / 7 * 0.1 / 6) ** 0.25)
    # Module, function, parameters, block, expression statement, assignment, operator and return have
    # children: only the parameters and the return do not hold the constant.
    assert parts.syntax == pytest.approx(2 / 8)
    assert parts.dataflow == pytest.approx(3 / 5)
    assert parts.total == pytest.approx((parts.ngram + parts.weighted_ngram + 2 / 8 + 3 / 5) / 4)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_function_is_like_itself_in_all_parts(language: Language) -> None:
    parts = codebleu_parts(pair(FUNCTIONS[language], FUNCTIONS[language], language))
    assert (parts.ngram, parts.weighted_ngram, parts.syntax, parts.dataflow) == pytest.approx((1, 1, 1, 1))


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_do_not_count_in_syntax_and_data_flow(language: Language) -> None:
    renamed = FUNCTIONS[language].replace("total", "amount").replace("item", "x")
    parts = codebleu_parts(pair(FUNCTIONS[language], renamed, language))
    assert (parts.syntax, parts.dataflow) == (1.0, 1.0)
    assert parts.ngram < 0.8


@pytest.mark.parametrize("language", LANGUAGES)
def test_constants_count_in_syntax_and_data_flow(language: Language) -> None:
    changed = FUNCTIONS[language].replace("total = 0", "total = 7").replace("total := 0", "total := 7")
    visible = codebleu_parts(pair(FUNCTIONS[language], changed, language))
    hidden = codebleu_parts(pair(FUNCTIONS[language], changed, language), constants="hidden")
    assert visible.syntax < 1
    assert visible.dataflow is not None
    assert visible.dataflow < 1
    assert (hidden.syntax, hidden.dataflow) == (1.0, 1.0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_data_flows_from_a_declaration_through_a_loop(language: Language) -> None:
    found = flows(FUNCTIONS[language], language)
    # Total is set from a constant, and in the loop from itself and the item.
    assert any(sources == ["constant 0"] for _, _, sources in found)  # type: ignore[misc]
    assert any(name in sources and len(sources) > 1 for name, _, sources in found)  # type: ignore[misc]


def test_an_original_without_data_flow_has_no_such_part() -> None:
    without = "def f():\n    pass"
    parts = codebleu_parts(pair(without, without))
    assert parts.dataflow is None
    assert parts.total == pytest.approx(1.0)
    other = codebleu_parts(pair(without, "def g():\n    return"))
    assert other.total == pytest.approx((other.ngram + other.weighted_ngram + other.syntax) / 3)
    score = load("metric", "codebleu-dataflow")().scores([pair(without, without)])[0]
    assert score.value is None
    assert score.note == "the original has no data flow"


def test_a_data_flow_of_which_nothing_is_found_counts_as_nothing() -> None:
    original = "def f(a):\n    b = a\n    return b"
    parts = codebleu_parts(pair(original, "def f():\n    pass"))
    assert parts.dataflow == 0.0
    assert parts.total == pytest.approx((parts.ngram + parts.weighted_ngram + parts.syntax) / 4)


def test_comments_and_docstrings_count_in_n_grams_alone() -> None:
    plain = "def f(a):\n    return a"
    told = 'def f(a):\n    """Give it back."""\n    # as it is\n    return a'
    parts = codebleu_parts(pair(plain, told))
    assert (parts.syntax, parts.dataflow) == (1.0, 1.0)
    assert parts.ngram < 1


def test_code_in_a_string_is_seen_and_its_constants_are_not_its_names() -> None:
    original = 'def f(who):\n    a = f"to {who}"\n    return a'
    renamed = 'def f(name):\n    b = f"to {name}"\n    return b'
    assert codebleu_parts(pair(original, renamed)).dataflow == 1.0


@pytest.mark.parametrize("name", ["codebleu", "codebleu-syntax", "codebleu-dataflow"])
def test_signatures_name_variant_tokens_and_grammar(name: str) -> None:
    metric = load("metric", name)()
    score = metric.scores([pair(FUNCTIONS["go"], FUNCTIONS["go"], "go")])[0]
    variant = {"codebleu": "equal"}.get(name, name.removeprefix("codebleu-"))
    assert score.value == pytest.approx(1.0)
    assert score.signature.startswith(f"codebleu|variant:{variant}|tok:whitespace|const:visible|")
    assert score.signature.endswith(f"|tree-sitter-go:{version('tree-sitter-go')}")
    metric.close()


@pytest.mark.parametrize(
    ("original", "candidate", "value", "note"),
    [
        ("", "return 1", 0.0, "the original is empty"),
        ("return 1", " \n", 0.0, "the candidate is empty"),
        ("pass", "pass", 1.0, ""),
        ("def f(:\n  return )", "def f(:\n  return )", 1.0, "does not parse as python"),
        ("x = 1\x00", "x = 1", None, ""),
        ("שלום = 1", "a\u0301 = 1", None, ""),
        ("x = '\ud800'", "x = '\udfff'", None, ""),
        ("int f() { return 1; }", "def f(): return 1", None, "does not parse as python"),
    ],
)
def test_bad_text_gives_a_figure_and_says_what_it_is(
    original: str, candidate: str, value: float | None, note: str
) -> None:
    score = load("metric", "codebleu")().scores([pair(original, candidate)])[0]
    assert 0 <= score.value <= 1
    if value is not None:
        assert score.value == pytest.approx(value, abs=0.06)
    assert note in score.note


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = " + " + ".join(f"a{i}" for i in range(4000)), id="chain"),
        pytest.param(
            "def f():\n"
            + "".join("  " * depth + " for i in a:\n" for depth in range(1, 26))
            + "  " * 30
            + "x = x + 1\n",
            id="loops",
        ),
        pytest.param("x = '" + "a b" * 350_000 + "'", id="megabyte"),
        pytest.param("(((]]}{" * 9000, id="junk"),
    ],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    start = time.process_time()
    score = load("metric", "codebleu")().scores([pair(text, text)])[0]
    assert time.process_time() - start < 5
    assert score.value == pytest.approx(1.0)
    if "for i" in text:
        assert "data flow beyond" in score.note
    if len(text) > 100_000:
        assert "only the first 100000 characters of the original" in score.note


def test_figures_are_the_same_for_any_hash_seed() -> None:
    program = (
        "import json, sys\n"
        "from pytest_funcmem.core.protocols import CodePair\n"
        "from pytest_funcmem.core.registry import load\n"
        "pairs = [CodePair(language=l, original=o, candidate=c) for l, o, c in json.load(sys.stdin)]\n"
        "names = ('codebleu', 'codebleu-syntax', 'codebleu-dataflow', 'tsed')\n"
        "print([[s.value for s in load('metric', n)().scores(pairs)] for n in names])\n"
    )
    given_pairs = json.dumps(
        [
            [language, text, text.replace("total", "sum2", 2).replace("0", "3")]
            for language, text in FUNCTIONS.items()
        ]
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=given_pairs,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


LINES = st.lists(
    st.sampled_from(
        [
            "a = b",
            "b = a + 1",
            "if a:\n        c = 2",
            "for a in b:\n        c = a",
            "return c",
            "a, b = b, a",
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(LINES, LINES)
@settings(max_examples=40, deadline=None)
def test_every_part_is_a_share_and_self_similarity_is_whole(first: list[str], second: list[str]) -> None:
    texts = ["def f(a, b):\n    " + "\n    ".join(lines) for lines in (first, second)]
    parts = codebleu_parts(pair(*texts))
    for part in (parts.ngram, parts.weighted_ngram, parts.syntax, parts.dataflow, parts.total):
        assert part is None or (0 <= part <= 1 and math.isfinite(part))
    assert codebleu_parts(pair(texts[0], texts[0])).total == pytest.approx(1.0)
