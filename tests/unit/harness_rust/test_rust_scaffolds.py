"""Reading a Rust file, flattening its paths, and rewriting its functions, without a compiler."""

from __future__ import annotations

from pytest_funcmem.core.records import OutputState, SourceFunction
from pytest_funcmem.harness.compiled.rust.flatten import Names, flattened, without_attributes
from pytest_funcmem.harness.compiled.rust.implementations import implement_trait
from pytest_funcmem.harness.compiled.rust.items import RustFile, features_of
from pytest_funcmem.harness.compiled.rust.known import crates_of_image
from pytest_funcmem.harness.compiled.rust.literals import pools_text
from pytest_funcmem.harness.compiled.rust.plan import StandInType, crate_of, new_plan
from pytest_funcmem.harness.compiled.rust.probes import executable_lines, with_probes
from pytest_funcmem.harness.compiled.rust.render import render
from pytest_funcmem.harness.compiled.rust.rewriting import renamed_code, stubs
from pytest_funcmem.harness.compiled.rust.typetext import unify
from pytest_funcmem.harness.compiled.rust.uses import find_uses
from pytest_funcmem.languages.rust import RustFrontend

NAMES = Names(crates=frozenset({"hex"}), modules=frozenset({"fmt"}), own=frozenset({"helper", "LIMIT"}))

FILE = """\
use std::fmt;
use crate::deep::Missing;

const LIMIT: usize = 4;
const OTHER: usize = 5;

#[cfg(test)]
mod tests {
    fn helper() -> usize { 0 }
}

mod inner {
    pub fn helper(text: &str) -> usize { text.len() }
}

#[derive(Serialize, Clone)]
pub struct Line<'a> { text: &'a str, missing: Missing }

impl<'a> Line<'a> {
    pub fn new(text: &'a str) -> Self { unimplemented!() }
    fn size(&self) -> usize { inner::helper(self.text) + LIMIT }
    fn unrelated(&self) -> usize { OTHER }
}

impl<'a> fmt::Display for Line<'a> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { f.write_str(self.text) }
}
"""


def find(text: str, qualname: str) -> SourceFunction:
    scan = RustFrontend().scan(text, path="src/lib.rs")
    return next(function for function in scan.functions if function.qualname == qualname)


def test_paths_lose_the_modules_that_are_not_there() -> None:
    pairs = {
        "crate::deep::Type::new(1)": "Type::new(1)",
        "super::super::read(x)": "read(x)",
        "util::read(x)": "util__read(x)",
        "util::helper(x)": "helper(x)",
        "fmt::Result": "fmt::Result",
        "std::mem::swap(a, b)": "std::mem::swap(a, b)",
        "core::cmp::max(1, 2)": "core::cmp::max(1, 2)",
        "hex::encode(x)": "hex::encode(x)",
        "u8::MAX": "u8::MAX",
        "Self::go(x)": "Self::go(x)",
        '"crate::a::b"': '"crate::a::b"',
        "funcmem::hit(1); a": "funcmem::hit(1); a",
    }
    assert {text: flattened(text, NAMES) for text in pairs} == pairs


def test_attributes_that_lead_nowhere_go_and_lines_stay() -> None:
    text = '#[inline]\n#[serde(\n  rename = "x")]\n#[cfg(unix)]\n#[derive(Clone, Serialize)]\nstruct A;'
    clean = without_attributes(text, derives=frozenset())
    assert clean.count("\n") == text.count("\n")
    assert clean.split() == ["#[cfg(unix)]", "#[derive(Clone)]", "struct", "A;"]


def test_a_slice_holds_what_the_function_reaches_and_no_more() -> None:
    function = find(FILE, "Line.size")
    plan = new_plan(function, RustFile.read(function))
    rendered = render(plan)
    assert rendered is not None
    for text in ("fn helper(text: &str)", "const LIMIT", "struct Line", "Display for Line", "use std::fmt;"):
        assert text in rendered.text
    for text in ("OTHER", "fn unrelated", "Serialize", "crate::", "fn new"):
        assert text not in rendered.text
    assert rendered.owner(rendered.hole) == "target"
    assert rendered.text.count("helper") == 1


def test_conditions_are_decided_once() -> None:
    assert features_of('#[cfg(feature = "std")] #[cfg(not(feature = "nightly"))]') == ("std",)
    text = (
        '#[cfg(not(feature = "std"))]\nfn f() -> u8 { 1 }\n#[cfg(feature = "std")]\nfn f() -> u8 { 2 }\n'
        "#[cfg(any(windows, all(unix, not(test))))]\nfn g() -> u8 { f() }\n"
        "#[cfg(windows)]\nfn h() {}\n"
    )
    file = RustFile.read(find(text, "g"))
    assert [file.tree.source(item.node) for item in file.items] == [
        "fn f() -> u8 { 2 }",
        "fn g() -> u8 { f() }",
    ]


def test_a_crate_is_never_used_for_its_own_functions() -> None:
    assert crate_of("librust-hex-dev/usr/share/cargo/registry/hex-0.4.3/src/lib.rs") == "hex"
    assert crate_of("md-5-0.10/src/lib.rs") == "md5"
    assert crate_of("lib.rs") == ""
    assert {"md5", "hex", "serde_json", "unicode_segmentation"} <= crates_of_image()


CODE = """\
fn f(xs: &[u8]) -> Option<usize> {
    let mut best = None;
    for (i, &x) in xs.iter().enumerate() {
        match x {
            0 => continue,
            b'a' => best = Some(i),
            _ => {
                best = best.or(Some(7));
            }
        }
    }
    best
}"""


def test_probes_stand_before_statements_and_move_no_line() -> None:
    assert executable_lines(CODE) == (1, 2, 3, 4, 5, 7, 11)
    probed = with_probes(CODE)
    assert probed.count("\n") == CODE.count("\n")
    assert probed.split("\n")[4].strip() == "0 => { funcmem::hit(4); continue },"
    assert probed.split("\n")[11].strip() == "funcmem::hit(11); best"


def test_pools_hold_the_literals_and_their_neighbours() -> None:
    text = pools_text(find(CODE.replace("Some(7)", 'Some("x{}y".len() + 0x10)'), "f"))
    assert "ints: &[0, 1, -1, 97, 16, 17, 15]" in text
    assert 'texts: &["a", "x{}y", "x", "y"]' in text
    assert "chars: &['a']" in text


def test_local_names_change_and_nothing_else_does() -> None:
    function = find('fn f(a: u8, b: P) -> P { let c = a; let d = c; println!("{d}"); P { b, x: c.x } }', "f")
    assert renamed_code(function) == (
        "fn f(a_renamed: u8, b: P) -> P { let c_renamed = a_renamed; let d = c_renamed;"
        ' println!("{d}"); P { b, x: c_renamed.x } }'
    )
    assert renamed_code(find("fn f() -> u8 { 1 }", "f")) is None
    named_alike = find("fn swap(a: &mut u8) { let mut swap = 1; std::mem::swap(a, &mut swap); }", "swap")
    assert renamed_code(named_alike) == (
        "fn swap(a_renamed: &mut u8) { let mut swap_renamed = 1;"
        " std::mem::swap(a_renamed, &mut swap_renamed); }"
    )


def test_a_variable_named_like_a_module_leaves_paths_as_they_are() -> None:
    function = find(
        "fn show(fmt: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::write(fmt, note()) }", "show"
    )
    assert renamed_code(function) == (
        "fn show(fmt_renamed: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::write(fmt_renamed, note()) }"
    )


def test_stubs_give_constants_common_outputs_and_arguments_back() -> None:
    function = find(
        "fn f(n: u8, s: &str) -> Result<u8, String> { if n > 3 { Ok(5) } else { Err(s.into()) } }", "f"
    )
    ok = OutputState(outcome="returned", value=["object", "Ok", [["0", 5]], None])
    err = OutputState(outcome="returned", value=["object", "Err", [["0", 'a"b']], None])
    made = {stub.name: stub.code.partition("{ ")[2] for stub in stubs(function, [ok, ok, err])}
    assert made["commonest"] == "Ok(5) }"
    assert made["commonest 2"] == 'Err("a\\"b".to_string()) }'
    assert made["echo 1"] == "Ok(n) }"
    assert made["nothing"] == "Ok(Default::default()) }"
    assert made["raise"] == 'panic!("a stub") }'


def test_uses_tell_arities_variants_and_statements() -> None:
    uses = find_uses(
        "fn f() { g(1, |a, b| a); x.m(2); let y = K::A; K::B(1, 2); K::new(); P { q: 1 }; w!(); }"
    )
    assert [(call.arity, call.closures) for call in uses.calls["g"]] == [(2, ((1, 2),))]
    assert uses.methods["m"][0].is_statement
    assert set(uses.paths["K"]) == {"A", "B", "new"}
    assert uses.fields_of["P"] == ["q"]


def test_types_are_solved_from_what_a_compiler_expects() -> None:
    function = find("fn f() -> u8 { 1 }", "f")
    plan = new_plan(function, RustFile.read(function))
    for name in ("Made_a", "Made_b"):
        plan.types[name] = StandInType(name)
    assert unify(plan, "Option<&Made_a>", "Option<&HashMap<String, u8>>")
    assert plan.types["Made_a"].alias == "std::collections::HashMap<String, u8>"
    assert unify(plan, "Made_b", "Vec<Made_a>")
    assert not unify(plan, "Made_a", "Made_b"), "a type must not come to hold itself"
    assert not unify(plan, "Vec<u8>", "Option<u8>")


ASKING = """\
trait Leaf { fn size(&self) -> u32; }
trait Tree { type Part: Leaf; fn part(&self) -> Self::Part; }
fn weigh<T: Tree>(tree: &T) -> u32 { tree.part().size() }
"""


def test_a_type_that_is_made_for_a_trait_may_ask_for_another() -> None:
    function = find(ASKING, "weigh")
    rendered = render(new_plan(function, RustFile.read(function)))
    assert rendered is not None
    assert "impl Leaf for Made_impl_Leaf" in rendered.text
    assert "type Part = Made_impl_Leaf;" in rendered.text


NAMED = """\
const LIMIT: usize = 1 << 12;
const NAME: &str = "the name";
static OTHER: u32 = 3;
fn within(size: usize, kind: i32, name: &str) -> bool {
    size < LIMIT && kind == libc::PT_LOAD && name != NAME && OTHER > 2
}
"""


def test_constants_that_a_function_names_are_among_its_values() -> None:
    function = find(NAMED, "within")
    rendered = render(new_plan(function, RustFile.read(function)))
    assert rendered is not None
    assert "LIMIT as i128, libc::PT_LOAD as i128]" in rendered.text
    assert "texts: &[NAME]" in rendered.text


ARGUED = """\
pub trait Table: Sized { type Action: Act<Self>; fn action(&self, at: u8) -> Self::Action; type Index: Copy; }
pub trait Act<T: Table> { fn shift(self) -> Option<T::Index>; }
fn run<T: Table>(table: &T) -> bool { table.action(3).shift().is_some() }
"""


def test_types_that_are_made_for_traits_of_each_other_name_each_other() -> None:
    function = find(ARGUED, "run")
    rendered = render(new_plan(function, RustFile.read(function)))
    assert rendered is not None
    assert "impl Act<Made_impl_Table> for Made_impl_Act" in rendered.text
    assert "fn shift(self) -> Option<<Made_impl_Table as Table>::Index>" in rendered.text


BORROWED = """\
fn total<'a, I, T>(items: &'a I) -> usize
where
    &'a I: IntoIterator<Item = &'a T>,
    T: AsRef<str> + 'a,
{
    items.into_iter().map(|item| item.as_ref().len()).sum()
}
"""


def test_what_is_walked_through_behind_a_reference_is_a_list() -> None:
    function = find(BORROWED, "total")
    rendered = render(new_plan(function, RustFile.read(function)))
    assert rendered is not None
    assert "let mut a0: &'static Vec<String> = run.make();" in rendered.text


TWICE = """\
struct Tree { depth: u32 }
impl Tree {
    #[cfg(not(feature = "checks"))]
    fn validate(&self) -> bool { true }
    #[cfg(feature = "checks")]
    fn validate(&self) -> bool { self.depth < 7 }
}
"""


def test_what_is_there_under_other_conditions_is_not_there_twice() -> None:
    scan = RustFrontend().scan(TWICE, path="src/lib.rs")
    for function in scan.functions:
        rendered = render(new_plan(function, RustFile.read(function)))
        assert rendered is not None
        assert rendered.text.count("fn validate") == 0


VISITED = """\
use serde::de::{self, Visitor};
trait Source: std::io::Read { fn peek(&self) -> u8; }
fn visit<'de, S: Source, V: Visitor<'de>, E: de::Error>(source: S, visitor: V) -> Result<V::Value, E> {
    visitor.visit_u8(source.peek())
}
"""


def test_what_visits_and_what_errs_are_of_the_crate_that_asks_for_them() -> None:
    function = find(VISITED, "visit")
    plan = new_plan(function, RustFile.read(function))
    rendered = render(plan)
    assert rendered is not None
    assert "::<Made_impl_Source, serde::de::IgnoredAny, serde::de::value::Error>(" in rendered.text
    assert implement_trait(plan, "Made_impl_Source", "std::io::Read")
    again = render(plan)
    assert again is not None
    assert "impl std::io::Read for Made_impl_Source {" in again.text


OPEN_LIFETIMES = """\
pub struct Part<'a> { text: &'a str }
fn count<F>(parts: &[Part<'_>], mut keep: F) -> usize where F: for<'p> FnMut(&'p Part<'p>, usize) -> bool {
    parts.iter().filter(|part| keep(part, 1)).count()
}
"""


def test_lifetimes_of_what_a_function_is_given_stay_open() -> None:
    function = find(OPEN_LIFETIMES, "count")
    rendered = render(new_plan(function, RustFile.read(function)))
    assert rendered is not None
    assert "fn made_a1(p0: &Part<'_>, p1: usize) -> bool" in rendered.text
