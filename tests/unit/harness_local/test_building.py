"""Whole harnesses, built and proved in a real sandbox."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_funcmem.core.records import Harness, Inconclusive, InputState, Scaffold
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.local.builder import LocalBuilderSettings, LocalPythonBuilder
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.harness.validate import HarnessConditions, validate

SETTINGS = LocalBuilderSettings(first_states=30, round_states=20, pool=16, mutants=4)

CONCLUSIVE = {
    "threshold table": """
        def f(weight, express):
            if weight <= 0:
                raise ValueError("weight must be positive")
            if weight < 5:
                price = 10
            elif weight < 20:
                price = 25
            else:
                price = 60
            return price * 2 if express else price
        """,
    "class with a constructor": """
        class Account:
            def __init__(self, owner: str, balance: float = 0.0):
                self.owner = owner
                self.balance = balance

            def withdraw(self, amount: float) -> float:
                if amount <= 0:
                    raise ValueError("bad amount")
                if amount > self.balance:
                    self.balance = 0.0
                    return -1.0
                self.balance -= amount
                return self.balance
        """,
    "async over a dictionary": """
        async def f(table: dict, key: str):
            if key not in table:
                return None
            value = table[key]
            return [key, value]
        """,
    "generator over text": """
        def f(text: str):
            for word in text.split(","):
                word = word.strip()
                if not word:
                    continue
                yield word.upper()
        """,
    "enumeration": """
        import enum

        class Level(enum.Enum):
            LOW = 1
            HIGH = 2

        def f(level: Level, count: int) -> str:
            if level is Level.HIGH:
                return "!" * min(count, 5)
            return str(count + level.value)
        """,
}


def build(function, sandbox, settings=SETTINGS, seed=0):
    return LocalPythonBuilder(settings).build(function, sandbox, seed=seed)


@pytest.mark.parametrize("text", CONCLUSIVE.values(), ids=CONCLUSIVE)
def test_a_self_contained_function_gets_a_proven_harness(sandbox, read_function, text):
    harness = build(read_function(text), sandbox)
    assert isinstance(harness, Harness), harness
    evidence = harness.evidence
    assert len(harness.states) == len(harness.expected) == 10
    assert len(set(harness.states)) == 10
    assert evidence.coverage >= 0.8
    assert evidence.outputs >= 2
    assert evidence.strength is not None
    assert evidence.strength > 0.5
    assert evidence.proofs[0].name == "self"
    assert all(proof.passed for proof in evidence.proofs)
    assert {"stub:nothing", "stub:raise"} <= {proof.name for proof in evidence.proofs}
    assert sum(output.outcome == "raised" for output in harness.expected) <= 2
    assert harness.builder == "local/5"


@pytest.mark.parametrize(
    ("text", "reason", "named"),
    [
        ("def f(x: int):\n    return open('/proc/sys/kernel/random/uuid').read() * x\n",
         "nondeterministic", "differs"),
        ("def f(x: int):\n    y = 5\n    return y\n", "outputs", "1 distinct"),
        ("def f(x: int):\n    if x > 10:\n        return x\n    return x\n", "weak_harness", "echo x"),
        ("def f(x: int):\n    y = 1 // 0\n    return x + y\n", "no_valid_state", "ZeroDivisionError"),
        ("def outer():\n    def inner(x):\n        return x + 1\n    return inner\n",
         "unsupported_signature", "inside"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_says_why(sandbox, read_function, text, reason, named):
    if reason == "unsupported_signature":
        function = read_function(text)
        start = text.index("def inner")
        end = text.index("x + 1") + 5
        function = replace(
            function,
            qualname="outer.inner",
            line=2,
            definition_start=start,
            signature_start=start,
            signature_end=text.index(":", start) + 1,
            end=end,
        )
    else:
        function = read_function(text)
    result = build(function, sandbox)
    assert isinstance(result, Inconclusive)
    assert (result.reason, named in result.detail) == (reason, True), result.detail


@pytest.mark.parametrize(
    ("text", "mock"),
    [
        (
            """
            import absent_package

            def f(url):
                reply = absent_package.get(url, timeout=5)
                if reply.status != 200:
                    return None
                return reply.json()["items"]
            """,
            "absent_package",
        ),
        (
            """
            def f(x: int):
                y = np.zeros(x)
                if x > 3:
                    return [y, x]
                return y
            """,
            "np (name)",
        ),
        (
            """
            from .errors import Refused
            from .base import Client

            class Special(Client):
                def f(self, name):
                    try:
                        answer = self.ask(name)
                    except Refused as error:
                        return error.code
                    if answer is None or not self.ready:
                        return [name, self.limit + 1]
                    return super().f(name) + answer
            """,
            "package.errors.Refused (exception)",
        ),
    ],
    ids=["module", "name", "exception and base"],
)
def test_what_is_missing_is_made_up_and_named(sandbox, read_function, text, mock):
    harness = build(read_function(text), sandbox)
    assert isinstance(harness, Harness), harness
    assert mock in harness.scaffold.mocks
    assert harness.evidence.mocked_states == 10
    assert harness.evidence.coverage == 1.0
    assert any(output.calls for output in harness.expected)


def test_what_is_there_is_not_made_up(sandbox, read_function):
    harness = build(read_function(CONCLUSIVE["threshold table"]), sandbox)
    assert isinstance(harness, Harness)
    assert harness.scaffold.mocks == ()
    assert harness.evidence.mocked_states == 0


def test_the_budget_ends_the_search_and_nothing_else(sandbox, read_function):
    function = read_function(CONCLUSIVE["threshold table"])
    result = build(function, sandbox, LocalBuilderSettings(budget_s=0.0))
    assert isinstance(result, Inconclusive)
    assert result.reason == "budget"


def test_the_same_harness_twice_and_another_with_another_seed(sandbox, read_function):
    function = read_function(CONCLUSIVE["enumeration"])
    settings = LocalBuilderSettings(first_states=25, rounds=1, round_states=10, pool=14, mutants=3)
    first, second = (build(function, sandbox, settings) for _ in range(2))
    assert first == second
    other = build(function, sandbox, settings, seed=1)
    assert isinstance(other, Harness)
    assert other.states != first.states


def test_another_rule_is_told_apart_and_a_rewriting_is_not(sandbox, read_function):
    function = read_function(CONCLUSIVE["threshold table"])
    harness = build(function, sandbox)
    assert isinstance(harness, Harness)
    same = function.signature + (
        "\n    if not weight > 0:\n        raise ValueError('weight must be positive')\n"
        "    base = 60 if weight >= 20 else 25 if weight >= 5 else 10\n    return base * (1 + bool(express))"
    )
    other = function.signature + "\n    return 12 * weight if express else 7 * weight"
    for code, low, high in ((same, 1.0, 1.0), (other, 0.0, 0.5)):
        program = spliced_program(function, harness.scaffold, code)
        run = execute(
            sandbox, program, harness.states, coverage=False, state_timeout_s=harness.state_timeout_s
        )
        assert low <= similarity(harness.expected, run.outputs)[0] <= high


def test_given_states_are_proved_alike_whoever_chose_them(sandbox, read_function):
    function = read_function(
        "def f(a: int, b: int):\n    if a > b:\n        return a - b\n    return a * b\n"
    )
    states = [InputState(arguments=(str(a), str(b))) for a, b in
              ((1, 2), (5, 3), (9, 9), (4, 1), (2, 7), (8, 0), (3, 3), (6, 5))]  # fmt: skip
    broken = InputState(arguments=("'x'", "1"))
    conditions = HarnessConditions(mutants=4)
    harness = validate(
        function, Scaffold(), [broken, *states, states[0]], sandbox, conditions, builder="hand/1"
    )
    assert isinstance(harness, Harness)
    assert harness.states == tuple(states)
    too_few = validate(function, Scaffold(), [broken, *states[:5]], sandbox, conditions, builder="hand/1")
    assert isinstance(too_few, Inconclusive)
    assert too_few.reason == "too_few_states"
    assert "TypeError" in too_few.detail
    partial = [state for state in states if int(state.arguments[0]) <= int(state.arguments[1])] * 2
    many = [InputState(arguments=(str(number), "20")) for number in range(8)]
    strict = HarnessConditions(mutants=4, min_coverage=0.9)
    uncovered = validate(function, Scaffold(), partial + many, sandbox, strict, builder="hand/1")
    assert isinstance(uncovered, Inconclusive)
    assert uncovered.reason == "coverage"
    assert uncovered.evidence is not None
    assert uncovered.evidence.coverage == pytest.approx(2 / 3)
