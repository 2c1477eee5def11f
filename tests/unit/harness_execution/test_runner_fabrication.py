"""What is made up: modules, classes, exceptions and objects, and what the questions about them tell."""

from __future__ import annotations

import pytest

from pytest_funcmem.core.records import InputState

CLIENT = """
import absent
from .errors import Refused
from .base import Base

LIMIT = absent.settings.limit()

class Special(Base):
    def __init__(self, name):
        super().__init__(name)
        self.name = name

    def f(self, order, n):
        if order.status == 'open':
            return [line.price for line in order.lines]
        try:
            return self.send(order) + n
        except Refused as error:
            return error.code
"""
MOCKS = ("absent", "package.errors", "package.base", "package.errors.Refused (exception)")


def run(run_states, *states, mocks=MOCKS, text=CLIENT, name="Special.f"):
    return run_states(text, name, *states, mocks=mocks, coverage=True)


def state(**fields):
    defaults = {"receiver": "Special('x')", "arguments": ("fabricated('order')", "2")}
    return InputState(**{**defaults, **fields})


def test_what_the_file_imports_is_made_up_and_reported(run_states):
    execution = run(run_states, state())
    assert execution.loaded, execution.load_detail
    assert {"absent", "package.errors", "package.base"} <= set(execution.fabricated)
    assert execution.outputs[0].outcome == "returned"


def test_without_leave_nothing_is_made_up(run_states):
    execution = run(run_states, state(), mocks=())
    assert execution.fabricated == ()
    assert "ModuleNotFoundError" in {item.error for item in execution.skipped}
    assert execution.outputs[0].outcome == "raised"


def test_answers_lead_where_the_state_wants(run_states):
    open_order = state(answers=(("order.status", "'open'"), ("len(order.lines)", "2")))
    refused = state(answers=(("bool(order.status == 'open')", "False"), ("order.status", "'closed'"),
                             ("self.send()", "raising(Refused('no', code=7))")))  # fmt: skip
    outputs = run(run_states, open_order, refused).outputs
    tag, items = outputs[0].value
    assert tag == "list"
    assert len(items) == 2
    assert items[0] != items[1]
    assert outputs[1].value == 7


def test_calls_are_logged_with_what_they_were_answered(run_states):
    output = run(run_states, state(answers=(("order.status", "'closed'"), ("self.send()", "40")))).outputs[0]
    assert output.value == 42
    assert [call["path"] for call in output.calls] == ["self.send"]
    assert output.calls[0]["answer"] == 40


def test_questions_name_the_path_the_kind_and_the_line(run_states):
    execution = run(run_states, state(answers=(("order.status == 'open'", "True"),)))
    asked = {(item.path, item.kind, item.operand): item.line for item in execution.questions[0]}
    assert asked["order.status", "eq", "'open'"] == 1
    assert asked["order.lines", "iterate", ""] == 2


def test_equal_states_get_equal_answers_and_seeds_differ(run_states):
    states = [state(seed=seed) for seed in (1, 1, 2, 3, 4, 5)]
    outputs = run(run_states, *states).outputs
    assert outputs[0] == outputs[1]
    assert len({str(output.value) + str(output.lines) for output in outputs}) > 1


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("len([*x])", 3),
        ("a + b", 3),
        ("x['k']['j']", 5),
        ("bool(x)", False),
        ("[k for k in x][0] is x[0]", True),
        ("int(x)", 9),
    ],
)
def test_one_object_answers_all_sorts_of_questions(call, expression, value):
    answers = {
        "len([*x])": (("len(x)", "3"),),
        "a + b": (("x[0]", "1"), ("x[1]", "2")),
        "x['k']['j']": (("x['k']['j']", "5"),),
        "bool(x)": (("bool(x)", "False"),),
        "[k for k in x][0] is x[0]": (("len(x)", "1"),),
        "int(x)": (("int(x)", "9"),),
    }[expression]
    unpack = "    a, b = x\n" if "a +" in expression else ""
    output = call(f"def f(x):\n{unpack}    return {expression}\n", "f", "fabricated('x')", answers=answers)
    assert output.value == value


def test_an_object_that_is_asked_without_end_ends(call):
    output = call("def f(x):\n    while True:\n        x.more()\n", "f", "fabricated('x')")
    assert output.outcome == "timeout"
    assert "without end" in output.detail


def test_a_guarded_import_takes_its_real_alternative(run_states):
    text = """
    try:
        import absent as codec
    except ImportError:
        import json as codec

    def f(x):
        return codec.dumps(x)
    """
    execution = run_states(text, "f", InputState(arguments=("[1]",)), mocks=("absent", "json"))
    assert execution.outputs[0].value == "[1]"
    assert execution.fabricated == ()


def test_an_instance_without_its_constructor_keeps_its_methods(call):
    text = """
    class Box:
        def __init__(self, size):
            raise OSError("needs hardware")

        def f(self):
            return [self.size, self.double(), type(self).__name__]

        def double(self):
            return self.size * 2
    """
    output = call(text, "Box.f", receiver="stand_in(Box, size=4)")
    assert output.value == ["list", [4, 8, "Box"]]


def test_a_made_up_call_takes_the_items_of_a_generator_however_it_is_written(run_states):
    text = "import absent\ndef f(items):\n    return absent.first({})\n"
    bodies = (
        "item + 1 for item in items",
        "one + 1\n        for one\n        in items",
        "[item + 1 for item in items]",
    )
    outputs = [
        run_states(text.format(body), "f", InputState(arguments=("[1, 2]",)), mocks=("absent",)).outputs[0]
        for body in bodies
    ]
    assert outputs[0].calls[0]["arguments"] == [["list", [2, 3]]]
    assert outputs[0] == outputs[1] == outputs[2]


def test_what_is_under_way_does_not_show_how_it_was_written(run_states):
    text = "def f(items):\n    return [{}]\n"
    one = run_states(text.format("(item for item in items)"), "f", InputState(arguments=("[1]",)))
    two = run_states(text.format("(\n   other\n   for other in items)"), "f", InputState(arguments=("[1]",)))
    assert one.outputs[0].value == two.outputs[0].value == ["list", [["opaque", "generator"]]]


def test_an_address_in_a_text_decides_nothing_and_machinery_is_not_listed(run_states):
    text = (
        "import absent\nfrom absent import Conf\nclass A:\n    pass\n"
        "def f(n):\n    sent = absent.send('%r of %d characters and many more of them' % (A(), n))\n"
        "    return sent, [name for name in dir(Conf) if not name.startswith('__')]\n"
    )
    first, second = (
        run_states(text, "f", InputState(arguments=("[object() for _ in range(1000)] and 3",)),
                   mocks=("absent",)).outputs[0]
        for _ in range(2)
    )  # fmt: skip
    assert first == second
    assert first.outcome == "returned", first.exception
    assert first.value[1][1] == ["list", ["attribute_1", "attribute_2"]]
