"""Stubs and renamed twins of Go functions, which need no sandbox."""

from __future__ import annotations

from collections.abc import Callable

from pytest_funcmem.core.records import OutputState, SourceFunction
from pytest_funcmem.harness.compiled.go.renaming import renamed_code
from pytest_funcmem.harness.compiled.go.stubs import make_stubs

Find = Callable[[str, str], SourceFunction]

FILE = """package shop

import "strings"

type Line struct{ name string }

func (l *Line) Find(words []string, strings int) (found string, err error) {
	for place, word := range words {
		if word == l.name && place > 2 {
			return word, nil
		}
	}
	other := Line{name: "none"}
	name := other.name
	switch kind := any(name).(type) {
	case string:
		found = kind
	}
	return found, nil
}

func Count(text string, least int) int {
	if least > 7 {
		return 7
	}
	return strings.Count(text, "a")
}
"""


def test_a_twin_has_other_names_for_all_that_is_local_to_it(go_function: Find) -> None:
    code = renamed_code(go_function(FILE, "Line.Find"))
    assert code is not None
    assert code.startswith(
        "func (lRenamed *Line) Find(wordsRenamed []string, strings int) (foundRenamed string"
    )
    assert "for placeRenamed, wordRenamed := range wordsRenamed {" in code
    assert "kindRenamed := any(name).(type)" in code
    # A field's name before a colon, and a name that an import has, stay.
    assert 'Line{name: "none"}' in code
    assert "name := otherRenamed.name" in code
    assert code.endswith("return foundRenamed, nil\n}")


def test_variables_that_the_grammar_takes_for_packages_and_types_keep_one_name_each(
    go_function: Find,
) -> None:
    text = (
        "package p\n\nfunc Next(state *State, key string, own int) string {\n"
        "\tnext := state.Rules[state.Name][state.Rule].Next\n"
        "\treturn next + pick[key](key) + string(own)\n}\n"
    )
    code = renamed_code(go_function(text, "Next"))
    assert code is not None
    assert "stateRenamed.Rules[stateRenamed.Name][stateRenamed.Rule].Next" in code
    assert "state." not in code
    assert "pick[key](key)" in code or "pick[keyRenamed](keyRenamed)" in code
    assert "string(ownRenamed)" in code


def test_a_function_without_local_names_has_no_twin(go_function: Find) -> None:
    text = "package p\n\nfunc Three() int {\n\treturn 3\n}\n"
    assert renamed_code(go_function(text, "Three")) is None


def test_stubs_return_nothing_constants_the_commonest_output_and_arguments(go_function: Find) -> None:
    expected = [OutputState(outcome="returned", value=value) for value in (4, 5, 4)]
    stubs = {stub.name: stub.code for stub in make_stubs(go_function(FILE, "Count"), expected)}
    head = "func Count(text string, least int) int { "
    assert stubs["nothing"] == head + "var funcmemR0 int; return funcmemR0 }"
    assert stubs["constant 7"] == head + "return 7 }"
    assert stubs["commonest"] == head + "return 4 }"
    assert stubs["echo 1"] == head + "return least }"
    assert stubs["panic"] == head + 'panic("stub") }'
    assert not {"constant true", "echo 0"} & stubs.keys()


def test_the_commonest_of_several_results_is_written_with_zero_values_where_there_are_none(
    go_function: Find,
) -> None:
    expected = [OutputState(outcome="returned", value=["tuple", ['say "x"', None]])]
    stubs = {stub.name: stub.code for stub in make_stubs(go_function(FILE, "Line.Find"), expected)}
    assert stubs["commonest"].endswith('{ var funcmemR1 error; return "say \\"x\\"", funcmemR1 }')


def test_a_function_that_returns_nothing_has_two_stubs(go_function: Find) -> None:
    text = "package p\n\nfunc Fill(values []int) {\n\tvalues[0] = 3\n}\n"
    stubs = make_stubs(go_function(text, "Fill"), [OutputState(outcome="returned")])
    assert [stub.code for stub in stubs] == [
        "func Fill(values []int) {  }",
        'func Fill(values []int) { panic("stub") }',
    ]
