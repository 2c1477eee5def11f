"""Rust code that is generic, or that only macros and inner imports tell of, without a compiler."""

from __future__ import annotations

from typing import Any

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.rust.flatten import Names, flattened
from pytest_funcmem.harness.compiled.rust.items import RustFile
from pytest_funcmem.harness.compiled.rust.literals import pools_text
from pytest_funcmem.harness.compiled.rust.plan import (
    Plan,
    StandInFunction,
    StandInType,
    make_helpers_up,
    new_plan,
)
from pytest_funcmem.harness.compiled.rust.render import HOLE, render
from pytest_funcmem.harness.compiled.rust.repair import repair
from pytest_funcmem.harness.compiled.rust.rewriting import renamed_code
from pytest_funcmem.harness.compiled.rust.typetext import unify
from pytest_funcmem.harness.compiled.rust.uses import find_uses
from pytest_funcmem.languages.rust import RustFrontend

NAMES = Names(crates=frozenset({"hex"}), modules=frozenset(), own=frozenset({"Own"}))


def plan_of(text: str) -> tuple[Plan, SourceFunction]:
    scan = RustFrontend().scan(text, path="src/lib.rs")
    (function,) = (function for function in scan.functions if function.qualname.endswith("pick"))
    return new_plan(function, RustFile.read(function)), function


def said(
    code: str, text: str, *labels: str, source: str = "", suggested: str = "", help_text: str = ""
) -> dict[str, Any]:
    """A message about the function's first line, with what the compiler would write instead."""
    spans = [
        {
            "file_name": "p0.rs",
            "line_start": 0,
            "is_primary": True,
            "label": label,
            "text": source,
        }
        for label in labels or ("",)
    ]
    advice = {"file_name": "p0.rs", "line_start": 0, "is_primary": True, "label": "", "text": ""}
    child = {"code": "", "message": help_text, "spans": [{**advice, "suggested": suggested}], "children": []}
    return {"code": code, "message": text, "spans": spans, "children": [child] if help_text else []}


def mended(plan: Plan, function: SourceFunction, *messages: dict[str, Any]) -> str:
    """The scaffold after messages about the function, each of which has to change something."""
    for message in messages:
        rendered = render(plan)
        assert rendered is not None
        for span in message["spans"]:
            span["line_start"] = rendered.hole
        uses = find_uses(rendered.text.replace(HOLE, flattened(function.code, plan.names)))
        assert repair(plan, rendered, [message], uses, code_lines=function.code.count("\n") + 1), message
    again = render(plan)
    assert again is not None
    return again.text


def test_imports_within_functions_that_lead_nowhere_go() -> None:
    text = (
        "fn f() {\n    // what follows\n    use crate::tables::deep as d;\n    use elsewhere::{One, Two};\n"
        "    use std::io;\n    use crate::kind::Kind::*;\n    d::g(io::empty());\n}"
    )
    clean = flattened(text, NAMES)
    assert clean.count("\n") == text.count("\n")
    assert [line.strip() for line in clean.split("\n")] == [
        *("fn f() {", "// what follows", "", "", "use std::io;", "use Kind::*;", "d__g(io::empty());", "}")
    ]


def test_old_paths_and_known_names_behind_paths_are_told_apart() -> None:
    pairs = {
        "syn::Result<u8>": "syn__Result<u8>",
        "std::result::Result<u8, u8>": "std::result::Result<u8, u8>",
        "x: *mut ::os::target::Line": "x: *mut Line",
        "other::Own": "other__Own",
        "crate::Own": "Own",
        "try!(f())": "r#try!(f())",
    }
    assert {text: flattened(text, NAMES) for text in pairs} == pairs


def test_items_within_macros_that_are_not_there_are_items() -> None:
    text = (
        "macro_rules! own { ($($t:tt)*) => {} }\nown! { struct Hidden { a: u8 } }\n"
        "when! {\n    pub struct Seen { a: u8 }\n}\nthread_local! { static S: u8 = 1; }\n"
        "fn pick(x: Seen) -> u8 {\n    x.a\n}\n"
    )
    plan, function = plan_of(text)
    names = {(item.kind, item.name) for item in plan.file.items}
    assert ("struct", "Seen") in names
    assert not {("struct", "Hidden"), ("static", "S")} & names
    assert plan.file.tree.text[function.signature_start :] == function.text[function.signature_start :]


def test_what_macros_are_given_is_used() -> None:
    uses = find_uses(
        "fn f() { assert_eq!(A::new(1),\n g(2, 3)); if matches!(x, K::B(_, _)) {} let y: M![a]; }"
    )
    assert uses.paths["A"]["new"][0] is not None
    assert [(call.arity, call.line) for call in uses.calls["g"]] == [(2, 2)]
    assert uses.tuples_of["K::B"] == 2
    assert uses.type_macros == {"M"}


def test_a_macro_that_is_a_type_is_a_value_too() -> None:
    plan, function = plan_of("fn pick(x: u8) -> u8 {\n    let y: Mark![a] = Mark![b];\n    x\n}\n")
    text = mended(plan, function, said("", "cannot find macro `Mark` in this scope"))
    assert "macro_rules! Mark { ($($t:tt)*) => { Made_Mark }; }" in text
    assert "pub struct Made_Mark;" in text


def test_a_trait_that_stands_in_asks_for_what_generic_code_does() -> None:
    plan, function = plan_of("fn pick<T: Size>(a: T, b: T) -> bool {\n    let c = a / b;\n    c > b\n}\n")
    asked = said(
        "E0369",
        "cannot divide `T` by `T`",
        help_text="consider further restricting type parameter `T` with trait `Div`",
        suggested=" + std::ops::Div<Output = T>",
    )
    cloned = said("E0599", "no method named `clone` found for type parameter `T` in the current scope")
    text = mended(plan, function, said("E0405", "cannot find trait `Size` in this scope"), asked, cloned)
    assert "pub trait Size: Sized + std::ops::Div<Output = Self> + Clone {" in text
    assert "impl<Made: ?Sized + Clone + Sized + std::ops::Div<Output = Made>> Size for Made {}" in text


def test_types_of_a_parameters_trait_keep_their_meaning() -> None:
    text = "trait Graph { type Node; }\nfn pick<G: Graph>(a: G::Node) -> u8 {\n    let b = a;\n    1\n}\n"
    plan, _ = plan_of(text)
    rendered = render(plan)
    assert rendered is not None
    assert "let mut a0: <Made_impl_Graph as Graph>::Node = run.make();" in rendered.text
    own = "struct A;\nimpl Own for A {\n    type Tol = u16;\n"
    own += "    fn pick(&self, a: Self::Tol) -> u8 {\n        1\n    }\n}\n"
    plan, _ = plan_of(own)
    rendered = render(plan)
    assert rendered is not None
    assert "let mut a0: u16 = run.make();" in rendered.text


def test_a_type_is_made_that_has_a_trait_which_stands_in() -> None:
    text = (
        "struct A;\nimpl Walk for A {\n    type Step = u8;\n    fn step(&self) -> u8 { 1 }\n}\n"
        "fn pick<W: Walk>(a: W, b: &A) -> u8 {\n    let c = a;\n    c.step()\n}\n"
    )
    plan, function = plan_of(text)
    found = mended(
        plan,
        function,
        said("E0405", "cannot find trait `Walk` in this scope"),
        said("E0277", "the trait bound `i64: Walk` is not satisfied"),
    )
    assert "impl Walk for Made_impl_Walk { type Step = Made_Walk; fn step(&self) -> u8 {" in found
    assert "let mut a0: Made_impl_Walk = run.make();" in found


def test_methods_that_are_called_otherwise_elsewhere_are_each_types_own() -> None:
    text = "fn pick(a: &One, b: &Two) -> u8 {\n    a.put(1);\n    b.put(1, 2)\n}\n"
    plan, function = plan_of(text)
    plan.types.update(One=StandInType("One"), Two=StandInType("Two"))
    plan.methods["put"] = StandInFunction(1)
    found = mended(
        plan,
        function,
        said("E0061", "this method takes 1 argument but 2 arguments were supplied", source="b.put(1, 2)"),
        said("E0599", "no method named `put` found for reference `&One` in the current scope"),
    )
    assert "impl Made_method_put_of_One for One { fn put<A0" in found
    assert "for T { fn put" not in found


def test_constants_in_patterns_are_all_that_there_is() -> None:
    text = "fn pick(a: Side) -> u8 {\n    match a { Side::LEFT => 1, Side::RIGHT => 2 }\n}\n"
    plan, function = plan_of(text)
    plan.types["Side"] = StandInType("Side", constants={"LEFT": "Self", "RIGHT": "Self"})
    found = mended(plan, function, said("", "constant of non-structural type `Side` in a pattern"))
    assert "pub enum Side { LEFT, RIGHT }" in found


def test_results_are_tried_freed_and_added() -> None:
    text = "fn pick<T: Copy>(a: T) -> Result<T, Full> {\n    let b = make(a)?;\n    Ok(b)\n}\n"
    plan, function = plan_of(text)
    plan.functions["make"] = StandInFunction(1, "Made_make")
    plan.types.update(Made_make=StandInType("Made_make"), Full=StandInType("Full"))
    tried = said(
        "E0277", "the `?` operator can only be applied to values that implement `Try`", "type `Made_make`"
    )
    assert "pub type Made_make = std::result::Result<" in mended(plan, function, tried)
    freed = said("E0308", "mismatched types", "expected type parameter `T`, found `Made_Made_make_value`")
    assert "fn make<A0, F0>(a0: A0) -> std::result::Result<F0, " in mended(plan, function, freed)


def test_types_turn_out_to_be_others() -> None:
    text = "struct Line { a: u8 }\nfn pick<R: Copy>(a: Set<R>, b: Line) -> u8 {\n    let c = a;\n    1\n}\n"
    plan, function = plan_of(text)
    plan.types["Made_span"] = StandInType("Made_span", fields={"start": "Made_a", "end": "Made_b"})
    assert unify(plan, "Range<usize>", "Made_span")
    assert plan.types["Made_span"].alias == "std::ops::Range<usize>"
    plan.types["Made_line"] = StandInType("Made_line", fields={"a": "Made_c"})
    assert unify(plan, "Line", "Made_line")
    assert plan.types["Made_line"].alias == "Line"
    plan.types["Made_text"] = StandInType("Made_text", alias="Vec<Made_part>")
    plan.types["Made_part"] = StandInType("Made_part")
    mended(plan, function, said("E0308", "mismatched types", "expected `&str`, found `&[Made_part]`"))
    assert plan.types["Made_text"].alias == "String"
    plan.types["Path"] = StandInType("Path", lifetimes=1)
    assert unify(plan, "Path<'_>", "Vec<&str>")
    assert plan.types["Path"].alias == "Vec<&'l0 str>"
    plan.types["Set"] = StandInType("Set", parameters=1, fields={"all": "Made_all"}, shape="literal")
    plan.types["Made_all"] = StandInType("Made_all")
    assert unify(plan, "Made_all", "Vec<R>")
    assert plan.types["Set"].fields == {"all": "Vec<T0>"}


def test_helpers_that_are_made_up_reach_nothing() -> None:
    text = (
        "const fn size() -> usize { 4 }\nfn helper(a: u8) -> u8 { deep(a) + '!' as u8 }\n"
        "fn deep(a: u8) -> u8 { a }\n"
        "fn pick(a: u8) -> u8 {\n    let b = [0; size()];\n    helper(a)\n}\n"
    )
    plan, _ = plan_of(text)
    rendered = render(plan)
    assert rendered is not None
    assert "chars: &['!']" in rendered.text
    assert make_helpers_up(plan)
    rendered = render(plan)
    assert rendered is not None
    assert 'fn helper(a: u8) -> u8 { funcmem::answer("helper"' in rendered.text
    assert "const fn size() -> usize { 4 }" in rendered.text
    assert "fn deep" not in rendered.text
    alone, _ = plan_of("fn pick(a: u8) -> u8 {\n    let b = a;\n    b\n}\n")
    assert not make_helpers_up(alone)


def test_literals_of_helpers_follow_those_of_the_function() -> None:
    _, function = plan_of('fn pick(a: u8) -> &\'static str {\n    let b = 7;\n    "x"\n}\n')
    text = pools_text(function, ["fn g() -> char { h(90, \"y\"); '=' }"])
    assert 'texts: &["x", "y", "="]' in text
    assert "ints: &[7, 8, 6, 90, 91, 89]" in text


def test_words_that_a_missing_macro_is_given_keep_their_names() -> None:
    text = "fn pick(a: u8, b: u8) -> T {\n    let c = vec![a, b];\n    odd!(#a [c])\n}\n"
    _, function = plan_of(text)
    assert renamed_code(function) == (
        "fn pick(a: u8, b_renamed: u8) -> T {\n    let c = vec![a, b_renamed];\n    odd!(#a [c])\n}"
    )


def test_derives_that_a_part_does_not_have_go_before_the_type_does() -> None:
    text = "#[derive(Clone)]\nstruct A { b: File }\nfn pick(a: A) -> u8 {\n    let c = a;\n    1\n}\n"
    plan, function = plan_of(text)
    lacks = said("E0277", "the trait bound `File: Clone` is not satisfied")
    rendered = render(plan)
    assert rendered is not None
    line = next(n for n, text in enumerate(rendered.text.split("\n"), 1) if text.startswith("struct A"))
    lacks["spans"][0]["line_start"] = line
    assert repair(plan, rendered, [lacks], find_uses(function.text), code_lines=4)
    rendered = render(plan)
    assert rendered is not None
    assert "struct A { b: File }" in rendered.text
    assert "derive(Clone)]\nstruct A" not in rendered.text


def test_what_a_file_implements_for_a_type_that_stands_in_is_not_made_up() -> None:
    text = "impl fmt::Display for Kind {\n    fn pick(&self, a: u8) -> u8 {\n        a\n    }\n}\n"
    plan, _ = plan_of(text)
    plan.types["Kind"] = StandInType("Kind")
    rendered = render(plan)
    assert rendered is not None
    assert "stand_in_type!([] Kind, Debug PartialEq Eq PartialOrd Ord Hash Default);" in rendered.text


def test_helpers_that_ask_the_machine_are_made_up() -> None:
    text = "fn ask() -> i32 { unsafe { libc::getpid() } }\nfn pick(a: i32) -> i32 {\n    ask() + a\n}\n"
    plan, _ = plan_of(text)
    rendered = render(plan)
    assert rendered is not None
    assert 'fn ask() -> i32 { funcmem::answer("ask", vec![]) }' in rendered.text


def test_what_is_mapped_or_collected_turns_out_to_be_of_a_kind() -> None:
    plan, function = plan_of("fn pick(a: u8) -> u8 {\n    let b = find(a).map(|c| c);\n    a\n}\n")
    for name in ("Made_item", "Made_all", "Made_letter", "Made_pair"):
        plan.types[name] = StandInType(name)
    plan.types["Made_find"] = StandInType("Made_find", alias="std::vec::IntoIter<Made_item>")
    single = "expected `std::iter::Map<std::vec::IntoIter<Made_item>, Other>`, found `Option<_>`"
    built = "a value of type `{}` cannot be built from an iterator over elements of type `{}`"
    mended(
        plan,
        function,
        said("E0308", "mismatched types", single),
        said("E0277", built.format("Made_all", "u8")),
        said("E0277", built.format("String", "Made_letter")),
        said("E0277", built.format("HashMap<u8, String>", "Made_pair")),
    )
    found = [plan.types[name].alias for name in ("Made_find", "Made_all", "Made_letter", "Made_pair")]
    assert found == ["Option<Made_item>", "Vec<u8>", "char", "(u8, String)"]


def test_of_several_items_of_one_name_the_nearest_is_meant() -> None:
    text = (
        "fn help() -> u8 { 1 }\nmod one { pub fn help() -> u8 { 2 }\n pub fn pick() -> u8 { help() } }\n"
        "mod two { fn help() -> u8 { 3 } }\n"
    )
    plan, _ = plan_of(text)
    assert [plan.file.tree.source(item.node) for item, _ in plan.taken_items() if item.name == "help"] == [
        "pub fn help() -> u8 { 2 }"
    ]


def test_what_a_macro_of_the_file_implements_for_a_type_is_taken() -> None:
    text = (
        "macro_rules! walked { ($name:ident) => { impl Iterator for $name { } } }\nstruct Walk { a: u8 }\n"
        "walked!(Walk);\nwalked!(Other);\nfn pick(w: Walk) -> usize {\n    w.count()\n}\n"
    )
    plan, _ = plan_of(text)
    rendered = render(plan)
    assert rendered is not None
    assert "walked!(Walk);" in rendered.text
    assert "Other" not in rendered.text


def test_a_type_may_hold_itself_behind_a_list_only() -> None:
    plan, _ = plan_of("fn pick(a: u8) -> u8 {\n    let b = a;\n    b\n}\n")
    plan.types["Tree"] = StandInType("Tree", variants={"Leaf": None, "Many": ["Made_many"]})
    plan.types["Made_many"] = StandInType("Made_many", alias="Vec<Made_each>")
    plan.types["Made_each"] = StandInType("Made_each")
    plan.types["Pair"] = StandInType("Pair", variants={"Two": ["Made_two"]})
    plan.types["Made_two"] = StandInType("Made_two")
    assert unify(plan, "Made_each", "Tree")
    assert not unify(plan, "Made_two", "Pair")


def test_values_that_hold_parts_of_other_crates_are_made_as_the_file_makes_them() -> None:
    text = (
        "use regex::Regex;\nstruct Rule { form: Regex, depth: u8 }\n"
        'impl Rule { fn new(depth: u8) -> Self { Rule { form: Regex::new("a+").unwrap(), depth } } }\n'
        "fn pick(rule: &Rule, text: &str) -> bool {\n    rule.form.is_match(text)\n}\n"
    )
    plan, _ = plan_of(text)
    rendered = render(plan)
    assert rendered is not None
    made = "source.deeper(|source| Rule::new(funcmem::Make::make(source)))"
    assert made in rendered.text
    make_helpers_up(plan)
    rendered = render(plan)
    assert rendered is not None
    assert made not in rendered.text


def test_a_method_that_conditions_switch_off_is_found_where_it_is_the_original() -> None:
    gate = '    #[cfg(feature = "nightly")]\n'
    inner = f"{gate}    fn pick(&self) -> u8 {{ 1 }}\n{gate}    fn other(&self) -> u8 {{ 2 }}\n"
    text = f"struct A;\nimpl A {{\n{inner}}}\n"
    plan, _ = plan_of(text)
    assert plan.file.member is not None
    assert [member.name for member in plan.file.items[1].members] == ["pick"]


def test_nothing_is_made_behind_a_pointer_whose_trait_has_types() -> None:
    text = (
        "trait Walk { type Item; }\nfn pick<W: Walk>(w: W, x: Box<dyn Walk<Item = u8>>) -> u8 {\n    1\n}\n"
    )
    plan, _ = plan_of(text)
    rendered = render(plan)
    assert rendered is not None
    assert "Box<dyn Walk + 'l>" not in rendered.text
