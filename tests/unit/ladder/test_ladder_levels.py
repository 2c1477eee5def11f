"""Each level of the ladder on small functions, in the real sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.ladder.alone import available_imports, function_alone, input_states
from pytest_funcmem.harness.ladder.asking import Asker, CapReachedError
from pytest_funcmem.harness.ladder.levels import GENERATED_LEVELS, Climb, climb
from pytest_funcmem.harness.ladder.prompts import COMMON_IMPORTS
from pytest_funcmem.harness.local.analysis import UnreadableFunctionError
from pytest_funcmem.harness.validate import HarnessConditions
from pytest_funcmem.models.prices import Price, Purse
from pytest_funcmem.store.memory_store import MemoryStore

ReadFunction = Callable[..., SourceFunction]

PRICING = '''
from shop.rates import RATES

LOWEST = 5


def floored(value):
    return max(LOWEST, value)


class Shop:
    @property
    def name(self):
        return "shop"

    @staticmethod
    def price(weight, zone):
        """Costs by weight and zone."""
        if zone not in RATES:
            raise ValueError("no such zone: " + zone)
        cost = weight * RATES[zone]
        if weight > 10:
            cost += math.ceil(weight / 10)
        return floored(cost)
'''
CLAMPED = '''
def clamped(value, low, high):
    """Keeps a value within bounds."""
    if value < low:
        return low
    if value > high:
        return high
    return value
'''


def weights(zones: str = "ab") -> str:
    """Ten inputs over and under the threshold."""
    items = [{"weight": 2 * number, "zone": zones[number % len(zones)]} for number in range(1, 11)]
    return json.dumps({"test_inputs": items})


WHOLE = json.dumps(
    {
        "preamble": "RATES = {'a': 2, 'b': 3}\nLOWEST = 5\n\n"
        "def floored(value):\n    return max(LOWEST, value)\n"
    }
)
BROKEN = json.dumps({"preamble": "from shop.rates import RATES\ndef floored(value):\n    return value\n"})


@pytest.fixture(scope="module")
def imports(sandbox: Sandbox) -> tuple[str, ...]:
    there, lacking = available_imports(sandbox)
    assert set(there) | set(lacking) == set(COMMON_IMPORTS)
    assert "import math" in there
    return there


@pytest.fixture
def climbed(sandbox: Sandbox, imports: tuple[str, ...]) -> Callable[..., Climb]:
    def run(function: SourceFunction, model, **options) -> Climb:
        asker = Asker(model, store=options.get("store"), purse=Purse(None), price=None)
        return climb(
            function, options.get("levels", GENERATED_LEVELS), asker, sandbox, HarnessConditions(), imports
        )

    return run


def test_a_self_contained_function_stands_bare(climbed, scripted, read_function: ReadFunction) -> None:
    items = [{"value": value, "low": 0, "high": 5} for value in (-3, -1, 0, 1, 2, 4, 5, 6, 9, 40)]
    model = scripted(json.dumps({"test_inputs": items}), json.dumps({"preamble": ""}))
    found = climbed(read_function(CLAMPED), model)
    assert found.inputs == 10
    assert {level: result.proved for level, result in found.results.items()} == dict.fromkeys(
        GENERATED_LEVELS, True
    )
    # The retry is not asked for where there is nothing to mend.
    assert len(model.asked) == 2
    assert found.costs.keys() == {"inputs", "preamble"}
    assert found.results["bare"].cost.usage.input == 1000
    assert found.results["retry"].cost.usage.input == 2000


def test_each_level_adds_what_the_function_needs(climbed, scripted, read_function: ReadFunction) -> None:
    model = scripted(weights(), BROKEN, WHOLE)
    found = climbed(read_function(PRICING, "Shop.price"), model)
    bare, imported, preamble, retry = (found.results[level] for level in GENERATED_LEVELS)
    assert (bare.conclusive, bare.reason) == (False, "missing_dependency")
    assert (imported.conclusive, imported.reason) == (False, "missing_dependency")
    assert (preamble.conclusive, preamble.reason) == (False, "preamble")
    assert preamble.detail.startswith("line 1 of the preamble: ModuleNotFoundError: No module named 'shop'")
    # A zone that there is not is never asked for, but that is one line of seven.
    assert (retry.conclusive, retry.proved) == (True, True), retry.detail
    asked = [user for _, user in model.asked]
    assert "def price(weight, zone):" in asked[0]
    assert "LOWEST = 5" not in asked[0]
    assert "LOWEST = 5" in asked[1]
    assert "import math" in asked[1]
    assert "@staticmethod" not in asked[1].partition("The function to run:")[2]
    assert "from shop.rates import RATES\ndef floored" in asked[2]
    assert "ModuleNotFoundError" in asked[2]


def test_the_three_conditions_hold_without_the_proofs(climbed, scripted, read_function: ReadFunction) -> None:
    function = read_function(
        '''
        def flag(value, other):
            """Says hardly anything."""
            if value > 100:
                return 1
            return 0
        '''
    )
    items = [{"value": number, "other": 0} for number in (*range(9), 101)]
    model = scripted(json.dumps({"test_inputs": items}), json.dumps({"preamble": ""}))
    bare = climbed(function, model).results["bare"]
    # Nine of ten states give 0: what always gives 0 passes for it.
    assert (bare.conclusive, bare.proved, bare.reason) == (True, False, "weak_harness")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("I would rather not.", "no JSON"),
        (("", "refused"), "declined"),
        ((weights(), "length"), "cut off"),
        ('{"test_inputs": [{"weight": ' + "9" * 5000 + "}]}", "no JSON"),
    ],
)
def test_without_inputs_no_level_is_conclusive_and_nothing_more_is_asked(
    climbed, scripted, read_function: ReadFunction, answer, said: str
) -> None:
    model = scripted(answer)
    found = climbed(read_function(PRICING, "Shop.price"), model)
    assert {result.reason for result in found.results.values()} == {"reply"}
    assert all(said in result.detail for result in found.results.values())
    assert len(model.asked) == 1
    assert found.results["retry"].cost.usage.total == 1100


def test_a_malformed_preamble_is_told_and_may_be_mended(
    climbed, scripted, read_function: ReadFunction
) -> None:
    model = scripted(weights(), "```\nimport os\n```", WHOLE)
    found = climbed(read_function(PRICING, "Shop.price"), model, levels=("preamble", "retry"))
    assert (found.results["preamble"].reason, found.results["retry"].conclusive) == ("reply", True)
    assert "could not be read" in model.asked[2][1]
    assert list(found.results) == ["preamble", "retry"]


@pytest.mark.parametrize(
    ("preamble", "said"),
    [
        ("def f(:\n", "SyntaxError"),
        ("import os\nraise SystemExit(3)\n", "SystemExit"),
        ("while True:\n    pass\n", "top-level statements"),
        ("import os\nos._exit(0)\n", ""),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", ""),
    ],
)
def test_a_hostile_preamble_only_fails(
    climbed, scripted, read_function: ReadFunction, preamble: str, said: str
) -> None:
    model = scripted(weights(), json.dumps({"preamble": preamble}))
    found = climbed(read_function(PRICING, "Shop.price"), model, levels=("preamble",))
    assert not found.results["preamble"].conclusive
    assert said in found.results["preamble"].detail


def test_a_method_lacks_its_instance(climbed, scripted, read_function: ReadFunction) -> None:
    function = read_function(
        """
        class Box:
            def grown(self, by):
                text = '''
            kept as it is
        '''
                if by < 0:
                    raise ValueError(text)
                return self.size + by
        """
    )
    items = [{"by": number} for number in range(10)]
    model = scripted(json.dumps({"test_inputs": items}), json.dumps({"preamble": ""}), "")
    found = climbed(function, model)
    assert found.results["bare"].reason == "no_valid_state"
    assert "self" in found.results["bare"].detail
    assert found.results["retry"].reason == "reply"
    alone = function_alone(function)
    assert alone.text.startswith("if True:\n    def grown(self, by):")
    assert alone.code == function.code


def test_inputs_go_to_the_parameters_that_they_name(read_function: ReadFunction) -> None:
    alone = function_alone(read_function("def f(a, /, b, *rest, c=1, **more):\n    return a\n"))
    given = [
        {"a": 1, "b": 2},
        {"a": 1, "b": "x", "rest": [3, 4], "c": None, "more": {"d": True, "no name": 1}},
        {"b": 2, "z": 1},
    ]
    first, second, third = input_states(alone, given)
    assert (first.arguments, first.keywords) == (("1",), (("b", "2"),))
    assert (second.arguments, second.keywords) == (("1", "'x'", "3", "4"), (("c", "None"), ("d", "True")))
    assert (third.arguments, third.keywords) == ((), (("b", "2"), ("z", "1")))


def test_what_does_not_parse_is_told(climbed, scripted, read_function: ReadFunction) -> None:
    function = read_function("def f(a):\n    print a\n    return 1\n\ndef g(a):\n    return a\n", "g")
    broken = read_function(CLAMPED)
    object.__setattr__(broken, "end", broken.end - len(" value"))
    object.__setattr__(broken, "text", broken.text.replace("return high", "return (high"))
    with pytest.raises(UnreadableFunctionError):
        function_alone(broken)
    model = scripted()
    assert climbed(broken, model).results["bare"].reason == "load_failed"
    assert model.asked == []
    assert function_alone(function).qualname == "g"


def test_answers_are_asked_once(climbed, scripted, read_function: ReadFunction) -> None:
    store = MemoryStore()
    function = read_function(PRICING, "Shop.price")
    first = climbed(function, scripted(weights(), BROKEN, WHOLE), store=store)
    silent = scripted()
    again = climbed(function, silent, store=store)
    assert again == first
    assert silent.asked == []


def test_a_cap_is_never_passed(sandbox, imports, scripted, read_function: ReadFunction) -> None:
    price = Price(input=5, output=25)
    # A question may cost a little over $0.20 and costs $0.105: there is room for two, and not for a third.
    model = scripted(weights(), BROKEN, WHOLE, price=price, written=4000)
    purse = Purse(0.40)
    asker = Asker(model, store=MemoryStore(), purse=purse, price=price)
    function = read_function(PRICING, "Shop.price")
    with pytest.raises(CapReachedError):
        climb(function, GENERATED_LEVELS, asker, sandbox, HarnessConditions(), imports)
    assert len(model.asked) == 2
    assert purse.spent == asker.spent == pytest.approx(2 * price.of(1000, 4000))
