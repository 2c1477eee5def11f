"""Mending a Rust scaffold by a compiler's messages, without a compiler."""

from __future__ import annotations

from typing import Any

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.items import RustFile
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInFunction, StandInType, new_plan
from pytest_funcmem.harness.compiled.rust.render import HOLE, render
from pytest_funcmem.harness.compiled.rust.repair import repair
from pytest_funcmem.harness.compiled.rust.standins import add_trait
from pytest_funcmem.harness.compiled.rust.typetext import is_open, unify
from pytest_funcmem.harness.compiled.rust.uses import FUTURE, find_uses
from pytest_funcmem.languages.rust import RustFrontend

FILE = """\
use crate::deep::{Missing, Tag, walk};

top_level! { struct Hidden = 1; }

impl Add for Missing { type Output = Missing; fn add(self, other: Missing) -> Missing { other } }

fn pick<'a>(out: &mut Vec<u8>, item: &Missing, tag: Tag<'a>) -> usize {
    walk(out, |each| each.len());
    item.to_parts(out);
    out.len()
}
"""


def plan_of(text: str = FILE) -> tuple[Plan, SourceFunction]:
    scan = RustFrontend().scan(text, path="src/lib.rs")
    (function,) = (function for function in scan.functions if function.qualname == "pick")
    return new_plan(function, RustFile.read(function)), function


def mended(plan: Plan, function: SourceFunction, message: dict[str, Any]) -> str:
    """The text of the scaffold after one message, which has to change something."""
    rendered = render(plan)
    assert rendered is not None
    uses = find_uses(rendered.text.replace(HOLE, flattened(function.code, plan.names)))
    lines = function.code.count("\n") + 1
    assert repair(plan, rendered, [message], uses, code_lines=lines), message
    again = render(plan)
    assert again is not None
    return again.text


def message_at(plan: Plan, place: str, code: str, text: str, *labels: str, **span: Any) -> dict[str, Any]:
    """A message about the line of the scaffold that holds a text; the hole is a line of it."""
    rendered = render(plan)
    assert rendered is not None
    lines = rendered.text.split("\n")
    number = next(number for number, line in enumerate(lines, 1) if place in line)
    spans = [
        {
            "file_name": "p0.rs",
            "line_start": number,
            "is_primary": True,
            "label": label,
            "text": span.get("source", place),
            "column_start": span.get("column", 1),
            "column_end": span.get("column", 1) + span.get("width", 0),
        }
        for label in labels or ("",)
    ]
    children = [
        {"code": "", "message": child, "spans": [], "children": []} for child in span.get("children", ())
    ]
    return {"code": code, "message": text, "spans": spans, "children": children}


def test_an_enum_that_stands_in_takes_the_lifetimes_and_types_of_its_uses() -> None:
    plan, function = plan_of()
    plan.types["Tag"] = StandInType("Tag", variants={"One": ["Made_part"], "Two": None}, lifetimes=1)
    plan.types["Made_part"] = StandInType("Made_part", alias="Option<&'static str>")
    rendered = render(plan)
    assert rendered is not None
    assert "pub enum Tag<'l0> { One(<Option<&'l0 str> as funcmem::Tied<" in rendered.text
    assert "Tag::One(f0) => Tag::One(f0.clone()), Tag::Two => Tag::Two" in rendered.text
    counted = message_at(
        plan,
        "Tag<'l0>",
        "E0107",
        "enum takes 0 generic arguments but 2 generic arguments were supplied",
        source="Tag<A, B>",
        width=3,
    )
    assert "pub enum Tag<'l0, T0 = (), T1 = ()>" in mended(plan, function, counted)


def test_a_type_that_the_file_implements_something_for_is_no_other_type() -> None:
    plan, _ = plan_of()
    plan.types["Missing"] = StandInType("Missing")
    plan.types["Tag"] = StandInType("Tag")
    assert not is_open(plan, "Missing")
    assert is_open(plan, "Tag")
    assert unify(plan, "Tag", "Missing")
    assert plan.types["Tag"].alias == "Missing"


def test_closures_are_called_and_references_are_lent() -> None:
    plan, function = plan_of()
    plan.functions["walk"] = StandInFunction(2, "()", {1: 1})
    plan.methods["to_parts"] = StandInFunction(1, "()")
    rendered = render(plan)
    assert rendered is not None
    assert 'let c1 = a1(funcmem::answer("walk(0)", vec![]));' in rendered.text
    undecided = message_at(
        plan, HOLE, "E0282", "type annotations needed", source="walk(out, |each| each.len());"
    )
    text = mended(plan, function, undecided)
    assert "A1: FnOnce(Made_walk_given) -> R1, R1" in text
    moved = message_at(
        plan,
        HOLE,
        "E0382",
        "borrow of moved value: `out`",
        "value moved here",
        "move occurs because `out` has type `&mut Vec<u8>`, which does not implement the `Copy` trait",
    )
    text = mended(plan, function, moved)
    assert "fn to_parts<A0: ?Sized>(&self, a0: &mut A0) -> ()" in text


def test_a_method_beside_one_of_the_same_name_is_for_the_scaffolds_own_types() -> None:
    plan, function = plan_of()
    plan.types["Missing"] = StandInType("Missing")
    plan.methods["to_parts"] = StandInFunction(1, "()")
    twice = message_at(
        plan,
        HOLE,
        "E0034",
        "multiple applicable items in scope",
        children=["candidate #2 is defined in an impl of the trait `Made_method_to_parts` for the type `T`"],
    )
    text = mended(plan, function, twice)
    assert "Made_method_to_parts for Missing {" in text
    assert "impl<T: ?Sized> Made_method_to_parts for T" not in text


def test_traits_from_elsewhere_are_made_up_for_types_of_the_file() -> None:
    text = FILE.replace("struct Hidden = 1;", "").replace("fn pick", "pub struct Own { a: u8 }\n\nfn pick")
    plan, function = plan_of(text.replace("item: &Missing", "item: &Own"))
    lacks = message_at(plan, HOLE, "E0277", "the trait bound `Own: num_traits::Zero` is not satisfied")
    found = mended(plan, function, lacks)
    assert "impl num_traits::Zero for Own { fn zero() -> Self" in found
    assert "impl std::ops::Add<Own> for Own" in found
    walked = message_at(plan, HOLE, "E0277", "`&Own` is not an iterator")
    assert "impl<'m> IntoIterator for &'m Own" in mended(plan, function, walked)
    indexed = message_at(plan, HOLE, "E0608", "cannot index into a value of type `Own`", source="item[0]")
    assert "impl<I> std::ops::Index<I> for Own" in mended(plan, function, indexed)


def test_a_macro_that_would_make_items_goes_and_one_of_a_crate_is_that() -> None:
    plan, function = plan_of(
        "lazy_static! { static ref A: u8 = 1; }\n" + FILE.replace("out.len()", "Hidden + A")
    )
    known = message_at(plan, "lazy_static!", "", "cannot find macro `lazy_static` in this scope")
    assert "use lazy_static::lazy_static;" in mended(plan, function, known)
    unknown = message_at(plan, "top_level!", "", "cannot find macro `top_level` in this scope")
    assert "top_level!" not in mended(plan, function, unknown)


def test_guesses_give_way_where_nothing_fits() -> None:
    plan, function = plan_of()
    plan.methods["to_parts"] = StandInFunction(1, "bool")
    plan.constants["LIMIT"] = "Made_LIMIT"
    plan.types["Made_LIMIT"] = StandInType("Made_LIMIT", alias="i64", is_weak=True)
    other = message_at(plan, HOLE, "E0308", "mismatched types", "expected `bool`, found `Vec<u8>`")
    other["spans"][0]["text"] = "item.to_parts(out);"
    assert "-> bool" not in mended(plan, function, other)
    number = message_at(plan, HOLE, "E0308", "mismatched types", "expected `i64`, found `u16`")
    number["spans"][0]["text"] = "if kind != LIMIT {"
    assert "pub type Made_LIMIT = u16;" in mended(plan, function, number)


def test_a_reference_to_text_tells_of_an_owned_one() -> None:
    plan, _ = plan_of()
    for name, other, alias in (("A", "str", "String"), ("B", "[u8]", "Vec<u8>")):
        plan.types[name] = StandInType(name)
        assert unify(plan, f"&{other}", f"&{name}")
        assert plan.types[name].alias == alias


def test_a_parameter_becomes_a_type_that_the_compiler_lists() -> None:
    text = "fn pick<T: Shape>(a: T) -> u8 {\n    let b = a.size();\n    b\n}\n"
    plan, function = plan_of(text)
    lacks = message_at(
        plan,
        "__funcmem_drive",
        "E0277",
        "the trait bound `i64: Shape` is not satisfied",
        children=["the following other types implement trait `Shape`:\n  Pair<A, B>\n  Square\n  Round"],
    )
    assert "let mut a0: Square" in mended(plan, function, lacks)


def test_what_gives_a_static_its_value_is_made_while_compiling() -> None:
    plan, function = plan_of("static ONCE: Once = Once::new();\n" + FILE.replace("out.len()", "ONCE.get()"))
    plan.types["Once"] = StandInType("Once", functions={"new": StandInFunction(0, "Self")})
    asked = message_at(
        plan, "static ONCE", "E0015", "cannot call non-const associated function `Once::new` in statics"
    )
    assert "pub const fn new() -> Self { unsafe { std::mem::zeroed() } }" in mended(plan, function, asked)


def test_a_type_of_a_trait_is_given_to_the_trait_that_bounds_its_owner() -> None:
    text = "fn pick<G: Graph, H: Other>(a: G::Node, b: u8) -> u8 {\n    let c = b;\n    c\n}\n"
    plan, function = plan_of(text)
    for name in ("Other", "Graph"):
        blanket = f"impl<Made: ?Sized> {name} for Made {{}}"
        plan.traits[name] = {"head": f"pub trait {name} {{  }}", "blanket": blanket}
    lacks = message_at(plan, HOLE, "E0220", "associated type `Node` not found for `G`")
    found = mended(plan, function, lacks)
    assert "impl<Made: ?Sized> Graph for Made { type Node = Made_Graph_Node; }" in found
    assert "impl<Made: ?Sized> Other for Made {}" in found
    asked = message_at(plan, HOLE, "E0576", "cannot find associated type `Edge` in trait `Other`")
    assert "Other for Made { type Edge = Made_Other_Edge; }" in mended(plan, function, asked)


def test_a_type_that_is_a_value_too_has_one_value() -> None:
    text = "fn pick(a: u8) -> Result<u8, Full> {\n    let b = a;\n    let c = Full;\n    Err(c)\n}\n"
    plan, function = plan_of(text)
    plan.types["Full"] = StandInType("Full")
    asked = message_at(plan, HOLE, "E0423", "expected value, found struct `Full`")
    found = mended(plan, function, asked)
    assert "pub struct Full;" in found
    assert 'funcmem::Encoding::Object("Full".into(), vec![])' in found


def test_a_constant_of_a_parameters_type_is_made_up() -> None:
    text = "fn pick<S: Style>(a: u8) -> usize {\n    let b = S::WIDTH;\n    b\n}\n"
    plan, function = plan_of(text)
    asked = message_at(
        plan, HOLE, "E0599", "no associated function or constant named `WIDTH` found for type parameter `S`"
    )
    found = mended(plan, function, asked)
    assert "impl<T: ?Sized> Made_static_WIDTH for T { const WIDTH: Made_WIDTH = MADE_WIDTH; }" in found
    assert "pub const MADE_WIDTH: Made_WIDTH = " in found


def test_a_type_that_only_a_generic_function_knows_is_no_type_of_the_scaffold() -> None:
    plan, _ = plan_of()
    plan.types["A"] = StandInType("A")
    assert not unify(plan, "A", "<Mach as Machine>::u32x4")
    assert not unify(plan, "A", "async")
    assert plan.types["A"].alias is None


def test_a_future_that_stands_in_is_there_at_once() -> None:
    plan, function = plan_of()
    plan.types["Made_walk"] = StandInType("Made_walk")
    waited = message_at(plan, HOLE, "E0277", "`Made_walk` is not a future", source="walk(out).await")
    assert "pub type Made_walk = std::future::Ready<Made_Made_walk_value>;" in mended(plan, function, waited)
    plan.functions["spawn"] = StandInFunction(1, "()", {0: FUTURE})
    rendered = render(plan)
    assert rendered is not None
    assert "A0: std::future::Future<Output = R0>" in rendered.text
    assert "let c0 = funcmem::blocked(a0);" in rendered.text


def test_a_function_that_is_passed_on_takes_what_it_is_called_with() -> None:
    plan, function = plan_of()
    plan.types["Made_part"] = StandInType("Made_part")
    told = message_at(
        plan,
        HOLE,
        "E0631",
        "type mismatch in function arguments",
        source=".map_err(Missing)",
        children=[
            "expected function signature `fn(Made_part) -> _`\n   found function signature `fn(u32) -> _`"
        ],
    )
    assert "pub type Made_part = u32;" in mended(plan, function, told)


TRAITS = """\
use crate::kinds::{Held, Shape};
use alloc::{Owner, Other};
pub trait Sized2 { fn size(&self) -> u32; fn kind(&self) -> Held; }
pub struct Walk(u8);
impl Shape for Walk { fn area(&self, (x, y): (u32, u32), mut by: u32) -> u32 { x * y + by } }
fn pick(held: &Held) -> u32 { Shape::area(&Walk(3), (1, 2), 3) + Sized2::size(held) }
"""


def test_types_that_stand_in_are_given_the_traits_that_they_lack() -> None:
    plan, function = plan_of(TRAITS)
    plan.types["Held"] = StandInType("Held", fields={"part": "u32"})
    add_trait(plan, "Shape", find_uses(TRAITS))
    rendered = render(plan)
    assert rendered is not None
    assert "fn area(&self, part3: (u32, u32), by: u32) -> u32;" in rendered.text
    assert "use std::Owner" not in rendered.text
    for trait, expected in (
        ("Shape", "impl Shape for Held { fn area(&self, part3: (u32, u32), by: u32) -> u32 {"),
        ("Sized2", 'impl Sized2 for Held { fn size(&self) -> u32 { funcmem::answer("Sized2.size"'),
    ):
        lacking = message_at(
            plan, HOLE, "E0277", f"the trait bound `Held: {trait}` is not satisfied", source="held"
        )
        assert expected in mended(plan, function, lacking)


def test_a_result_of_one_type_is_not_the_standard_one() -> None:
    plan, function = plan_of()
    counted = message_at(
        plan,
        HOLE,
        "E0107",
        "enum takes 2 generic arguments but 1 generic argument was supplied",
        source="fn f() -> Result<isize> {",
        column=11,
        width=6,
    )
    assert "pub type Result<T0> = std::result::Result<T0, Error>;" in mended(plan, function, counted)


def test_a_part_that_cannot_be_given_away_is_lent() -> None:
    plan, function = plan_of()
    plan.functions["walk"] = StandInFunction(2, "()", {1: 1})
    given = message_at(
        plan,
        HOLE,
        "E0507",
        "cannot move out of `out` which is behind a mutable reference",
        "move occurs because `out` has type `&mut Missing`, which does not implement the `Copy` trait",
        source="walk(out, |each| each.len());",
    )
    assert "a0: &mut A0" in mended(plan, function, given)


GENERIC = """\
use crate::kinds::{Owner, Sink};
fn pick<O: Owner, W: Sink + ?Sized>(owner: &O, out: &mut W) -> Result<(), W::Error> { write!(out, "x") }
"""


def test_traits_that_stand_in_ask_for_a_long_life_and_can_be_written_to() -> None:
    plan, function = plan_of(GENERIC)
    uses = find_uses(GENERIC)
    assert add_trait(plan, "Owner", uses)
    assert add_trait(plan, "Sink", uses)
    short = message_at(plan, HOLE, "E0310", "the parameter type `O` may not live long enough", source="O")
    text = mended(plan, function, short)
    assert "pub trait Owner: 'static {" in text
    assert "impl<Made: ?Sized + 'static> Owner for Made" in text
    written = message_at(plan, HOLE, "E0599", "cannot write into `&mut W`", source="write!(out)")
    text = mended(plan, function, written)
    assert "pub trait Sink { fn write_fmt<R>(&mut self, text: std::fmt::Arguments) -> R {" in text.replace(
        "{  fn", "{ fn"
    )
