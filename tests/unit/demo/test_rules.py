"""The demo's rules, and the text that its models read.

The rules are this repository's own code, so these tests run them in process.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sacrebleu.metrics import BLEU

DEMO = Path(__file__).parents[3] / "examples" / "demo"
RULES_DRAWN = 15
STATES = 40
FAMILY_NAMES = ("TariffRule", "FreightRule", "ClaimRule", "BadgeRule")


@pytest.fixture(scope="module")
def demo() -> Iterator[dict[str, ModuleType]]:
    """The demo's modules by name, imported as its scripts import them."""
    names = ("rules", "corpus")
    sys.path.insert(0, str(DEMO))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(DEMO))
        for name in (*names, "rule", "pricing", "grading"):
            sys.modules.pop(name, None)


def similarity(text: str, other: str) -> float:
    """SIM_text as the verdict rule defines it."""
    metric = BLEU(effective_order=True, tokenize="none", smooth_method="exp")
    return float(metric.sentence_score(other, [text]).score) / 100


def body(text: str) -> str:
    return text.partition("\n")[2]


def load(text: str, name: str) -> Callable[..., object]:
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    function: Callable[..., object] = namespace[name]
    return function


def observed(function: Callable[..., object], state: tuple[object, ...]) -> tuple[str, str]:
    """What a rule gives back: a value with its type, or the error that the rule itself raises."""
    try:
        value = function(*state)
    except ValueError as error:
        return ("ValueError", str(error))
    return (type(value).__name__, repr(value))


def states(rule: Any, rng: random.Random) -> Iterator[tuple[object, ...]]:
    """Inputs of the hinted types around everything that the rule's outcome turns on."""
    floats = [0.0, -0.0, -3.5, 1e12, math.inf, -math.inf, math.nan]
    for _ in range(STATES):
        match type(rule).__name__:
            case "TariffRule":
                near = [bound + step for bound in rule.limits for step in (-1.0, 0.0, 0.001, 1.0)]
                yield (
                    rng.choice([*rule.rates, "", "unheard-of"]),
                    rng.choice([*floats, *near, rng.uniform(0, 6000)]),
                )
            case "FreightRule":
                near = [rule.free + step for step in (-1.0, 0.0, 0.001, 1.0, 20.0, 400.0)]
                yield (
                    rng.choice([*rule.factors, "", "nowhere"]),
                    rng.choice([*floats, *near, rng.uniform(0, 99)]),
                )
            case "ClaimRule":
                score = rng.choice(rule.bounds) + rng.choice(
                    (-100, -rule.bonus - 1, -rule.bonus, -1, 0, 1, 100)
                )
                yield score, rng.random() < 0.5
            case "BadgeRule":
                yield (
                    rng.choice([*rule.starts, "", "é"]) + "".join(rng.choices("AKZ09-ж", k=rng.randrange(9))),
                )
            case other:
                raise AssertionError(f"no inputs are known for {other}")


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_styles_of_a_rule_behave_alike(demo: dict[str, ModuleType], family: str) -> None:
    rng = random.Random(f"test {family}")
    for _ in range(RULES_DRAWN):
        rule = getattr(demo["rules"], family).draw(rng)
        functions = [load(rule.render(k), rule.name) for k in range(len(rule.styles()))]
        outcomes = set()
        for state in states(rule, rng):
            seen = {observed(function, state) for function in functions}
            assert len(seen) == 1, f"{rule} on {state}: {seen}"
            outcomes |= seen
        assert len(outcomes) > 2, f"{rule} hardly depends on its input"


def test_every_family_is_tested(demo: dict[str, ModuleType]) -> None:
    assert tuple(family.__name__ for family in demo["rules"].FAMILIES) == FAMILY_NAMES


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_a_family_has_five_to_seven_styles_with_text_of_their_own(
    demo: dict[str, ModuleType], family: str
) -> None:
    rng = random.Random(f"text {family}")
    for _ in range(5):
        rule = getattr(demo["rules"], family).draw(rng)
        texts = [body(rule.render(k)) for k in range(len(rule.styles()))]
        assert 5 <= len(texts) <= 7
        assert len(rule.long_styles()) >= 2
        for place, text in enumerate(texts):
            for other in texts[:place]:
                assert similarity(text, other) < 0.5


def test_audited_functions_pass_the_default_filters(demo: dict[str, ModuleType]) -> None:
    for function in demo["corpus"].audited_functions():
        lines = [line for line in body(function.text).splitlines() if line.strip()]
        assert 10 <= len(lines) <= 50, function.name


def test_groups_have_the_announced_sizes(demo: dict[str, ModuleType]) -> None:
    sizes: dict[str, int] = {}
    for function in demo["corpus"].audited_functions():
        sizes[function.exposure] = sizes.get(function.exposure, 0) + 1
    assert sizes == {"verbatim": 4, "rewritten": 12, "held_out": 4, "boilerplate": 6}


def test_rewrites_are_no_near_verbatim_copies(demo: dict[str, ModuleType]) -> None:
    for function in demo["corpus"].audited_functions():
        if function.exposure == "rewritten":
            shown = function.exposed_texts()
            assert len(shown) >= 4
            assert all(similarity(body(function.text), body(text)) < 0.5 for text in shown), function.name


def test_a_guess_in_the_right_style_is_no_near_verbatim_copy(demo: dict[str, ModuleType]) -> None:
    """Knowing a family's style, but not the rule, must not look like a leak of text."""
    for function in demo["corpus"].audited_functions():
        if function.rule is None:
            continue
        rng = random.Random(f"guess {function.name}")
        guesses = [type(function.rule).draw(rng, function.name).render(function.style) for _ in range(30)]
        scores = sorted(similarity(body(function.text), body(guess)) for guess in guesses)
        assert scores[-1] < 0.74, f"{function.name}: {scores[-1]:.2f}"
        assert scores[len(scores) // 2] < 0.65, f"{function.name}: {scores[len(scores) // 2]:.2f}"


def test_exposure_shows_what_the_groups_say_and_nothing_else(demo: dict[str, ModuleType]) -> None:
    corpus = demo["corpus"]
    shown = "\n".join(corpus.exposure_documents(random.Random("exposure"), 2))
    for function in corpus.audited_functions():
        signature = function.text.partition("\n")[0]
        match function.exposure:
            case "verbatim":
                assert shown.count(signature) == shown.count(function.text.rstrip()) > 0
            case "rewritten":
                assert function.text not in shown
                assert all(text.rstrip() in shown for text in function.exposed_texts())
            case "held_out":
                assert function.name not in shown


def test_general_modules_name_no_audited_rule(demo: dict[str, ModuleType]) -> None:
    corpus = demo["corpus"]
    general = "\n".join(corpus.general_documents(random.Random("general"), 800, toolbox_share=0.2))
    for function in corpus.audited_functions():
        assert (f"def {function.name}(" in general) == (function.exposure == "boilerplate")


def test_sources_are_python_and_say_nothing_of_groups(demo: dict[str, ModuleType]) -> None:
    corpus = demo["corpus"]
    files = corpus.source_files()
    found = []
    for path, text in files.items():
        found += [(path, node.name) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        assert not any(word in text.lower() for word in ("verbatim", "rewrit", "held", "leak of", "expose"))
    assert found == [(function.path, function.name) for function in corpus.audited_functions()]


def test_toolbox_functions_run_to_the_end(demo: dict[str, ModuleType]) -> None:
    expected = {
        "clamp": [((5, 0, 10), 5), ((-3, 10, 0), 0), ((14, 0, 10), 10)],
        "slugify": [(("Hello, big  World!",), "hello-big-world"), (("?!",), "")],
        "run_lengths": [(("aaab",), "a3b1"), (("",), "")],
        "digit_sum": [((123, 10), 6), ((-255, 16), 30), ((0, 2), 0)],
        "format_duration": [((5,), "5s"), ((65,), "1m 05s"), ((-3700,), "-1h 01m 40s")],
        "rotate_letters": [(("xyz, A!", 3), "abc, D!"), (("b", -2), "z")],
    }
    tools = dict(demo["corpus"].boilerplate())
    assert tools.keys() == expected.keys()
    for name, pairs in expected.items():
        function = load(tools[name], name)
        assert [function(*state) for state, _ in pairs] == [value for _, value in pairs]


def test_corpus_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "import hashlib, random, corpus\n"
        "texts = [*corpus.source_files().values()]\n"
        "texts += corpus.general_documents(random.Random('a'), 200, toolbox_share=0.2)\n"
        "texts += corpus.exposure_documents(random.Random('b'), 2)\n"
        "print(len(texts), hashlib.sha256('\\0'.join(texts).encode()).hexdigest())\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=DEMO,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(DEMO)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(answers) == 1
    count, digest = answers.pop().split()
    assert int(count) > 250
    assert digest != hashlib.sha256(b"").hexdigest()
