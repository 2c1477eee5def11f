"""Renaming and stubs of Java functions, by syntax alone."""

from __future__ import annotations

from pytest_funcmem.core.records import OutputState, SourceFunction
from pytest_funcmem.harness.compiled.java.edits import renamed_code, stand_ins
from pytest_funcmem.languages import frontend

TEXT = """class Shop {
    int total;
    Shop(int total) { super(); this.total = total; }
    /** Sums up. */
    int sum(int[] prices, int total) {
        int count = 0;
        for (int price : prices) {
            count += price;
            this.total = count;
        }
        Runnable later = () -> System.out.println(count(3) + "count");
        try { later.run(); } catch (IllegalStateException failure) { return 7; }
        return count + total;
    }
    int count(int x) { return x; }
    char last(String s) { return s.charAt(s.length() - 1); }
    int one() { return 1; }
}
"""


def method(name: str) -> SourceFunction:
    """A function of the text."""
    return next(
        one for one in frontend("java").scan(TEXT, path="Shop.java").functions if one.qualname == name
    )


def test_renaming_changes_variables_and_nothing_else() -> None:
    code = renamed_code(method("Shop.sum"))
    assert code is not None
    assert "int sum(int[] prices_0_renamed, int total_1_renamed)" in code
    assert "this.total = count_2_renamed;" in code
    assert 'println(count(3) + "count")' in code
    assert "return count_2_renamed + total_1_renamed;" in code
    assert "catch (IllegalStateException failure_5_renamed)" in code


def test_what_has_no_names_is_not_renamed() -> None:
    assert renamed_code(method("Shop.one")) is None


def test_stubs_return_what_the_type_allows() -> None:
    output = OutputState(outcome="returned", value=12)
    stubs = {stub.name: stub.code for stub in stand_ins(method("Shop.sum"), [output, output])}
    assert stubs["nothing"] == "int sum(int[] prices, int total) { return 0; }"
    assert stubs["constant 0"].endswith("{ return 0; }")
    assert stubs["constant 2"].endswith("{ return 7; }")
    assert stubs["commonest"].endswith("{ return 12; }")
    assert stubs["echo 2"].endswith("{ return total; }")
    assert "echo 1" not in stubs
    assert "throw new IllegalStateException" in stubs["raise"]


def test_a_stub_that_is_the_original_is_left_out() -> None:
    assert "constant 0" not in {stub.name for stub in stand_ins(method("Shop.one"), [])}


def test_a_character_is_written_as_one() -> None:
    output = OutputState(outcome="returned", value=["value", "Character", "x"])
    stubs = {stub.name: stub.code for stub in stand_ins(method("Shop.last"), [output])}
    assert stubs["commonest"].endswith("{ return (char) 'x'; }")


def test_a_constructor_keeps_the_call_that_it_begins_with() -> None:
    stubs = {stub.name: stub.code for stub in stand_ins(method("Shop.Shop"), [])}
    assert stubs["nothing"] == "Shop(int total) { super(); }"
