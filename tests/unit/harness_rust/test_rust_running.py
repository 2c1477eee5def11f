"""Rust functions compiled and run in their image: output states, what stands in, what must spoil no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.outputs import validity

if TYPE_CHECKING:
    from conftest import Workbench

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

COUNTER = """\
use std::collections::HashMap;
use std::time::SystemTime;

static mut CALLS: u32 = 0;

pub struct Counter { seen: HashMap<String, u32>, last: Option<u64> }

impl Counter {
    pub fn count(&mut self, word: &str, out: &mut Vec<u32>) -> Result<u32, String> {
        if word.is_empty() {
            return Err(format!("no word after {}", self.seen.len()));
        }
        unsafe { CALLS += 1; }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        self.last = Some(now);
        let seen = self.seen.entry(word.to_string()).or_insert(0);
        *seen = seen.checked_add(1).expect("too many");
        println!("{} {}", word, seen);
        out.push(*seen);
        Ok(*seen)
    }
}
"""


def test_all_of_an_output_state_is_seen(workbench: Workbench) -> None:
    first, again = (workbench.run(COUNTER, "Counter.count", count=30)[0] for _ in range(2))
    assert first.outputs == again.outputs
    assert first.loaded
    returned = [output for output in first.outputs if output.value and output.value[1] == "Ok"]
    assert returned, first.outputs
    for output in returned:
        number = output.value[2][0][1]
        assert output.stdout.endswith(f" {number}\n")
        assert output.module_globals == {"CALLS": 1}
        assert output.arguments["word"] == ["unchanged"]
        assert output.arguments["out"][1][-1] == number
        fields = dict(output.receiver[2])
        assert fields["last"] == ["object", "Some", [["0", 1_700_000_000]], None]
    refused = [output for output in first.outputs if output.value and output.value[1] == "Err"]
    assert all(output.receiver == ["unchanged"] and not output.module_globals for output in refused)
    assert first.shown[0][0].startswith("Counter { seen: {")
    assert set(first.executable_lines) == {1, 2, 4, 5, 6, 7, 8, 9, 10, 11}
    assert all(len(features) > 0 for features in first.features)


def test_candidates_share_a_task_and_harm_no_other(workbench: Workbench) -> None:
    text = "pub fn half(n: u32) -> u32 {\n    n / 2\n}\n"
    codes = [
        "pub fn half(n: u32) -> u32 {\n    missing(n)\n}",
        "pub fn half(n: u32) -> u32 { let mut x: String = n; 1 }",
        "pub fn half(n: u32) -> u32 { loop {} }",
        "pub fn half(n: u32) -> u32 { std::process::abort() }",
        "pub fn half(n: u32) -> u32 { std::process::exit(3) }",
        "pub fn half(n: u32) -> u32 { let v: Vec<u64> = vec![7; 1 << 40]; v[n as usize] as u32 }",
        'pub fn half(n: u32) -> u32 { loop { println!("flood {}", n); } }',
        "pub fn half(n: u32) -> u32 { n >> 1 }",
    ]
    runs = workbench.run(text, "half", *codes, count=2, timeout_s=0.5)
    assert [run.loaded for run in runs] == [True, False, False, True, True, True, True, True, True]
    assert "missing" in runs[1].load_detail
    assert "line 2 of the function" in runs[1].load_detail
    outcomes = [run.outputs[0].outcome for run in runs[3:]]
    assert outcomes[:2] == ["timeout", "signal"]
    assert outcomes[2] == "raised"
    assert runs[5].outputs[0].exception is not None
    assert runs[5].outputs[0].exception["type"] == "exit"
    assert outcomes[3] in ("memory", "signal")
    assert outcomes[4] in ("timeout", "signal", "missing")
    values = [[output.value for output in run.outputs] for run in (runs[0], runs[8])]
    assert values[0] == values[1]


PANICS = """\
pub fn take(xs: &[u8], at: usize) -> u8 {
    if at > 100 {
        panic!("too far: {}", at);
    }
    let text = std::str::from_utf8(xs).map(|_| ()).is_ok();
    if text { xs[at] } else { helper(None) }
}
fn helper(x: Option<u8>) -> u8 { x.unwrap() }
"""


def test_panics_tell_whose_they_are(workbench: Workbench) -> None:
    (run,) = workbench.run(PANICS, "take", count=60)
    raised = [output.exception for output in run.outputs if output.exception is not None]
    assert {exception["origin"] for exception in raised} <= {"function", "file"}
    authored = [exception["message"] for exception in raised if exception["authored"]]
    assert authored
    assert all(message.startswith("too far: ") for message in authored)
    assert any(not exception["authored"] and exception["own"] for exception in raised)
    assert all(validity(output, output)[0] for output in run.outputs)


MISSING = """\
use crate::store::{Item, Kind, Store};
use crate::error::Result;

impl Visitor for Walker {
    fn visit(&mut self, store: &Store, id: u32) -> Result<String> {
        let item = store.find(id)?;
        let mut text = match item.kind {
            Kind::Plain => item.name.clone(),
            Kind::Sized(n) if n > 10 => format!("big {}", n),
            Kind::Sized(n) => format!("small {}", n + 1),
        };
        if store.is_open() {
            text.push('!');
        }
        self.seen += 1;
        crate::log::note(&text);
        assert!(self.limit(2) >= 0);
        Ok(text)
    }
}

pub struct Walker { seen: usize }
"""


def test_what_a_file_lacks_is_made_up_and_logged(workbench: Workbench) -> None:
    (run,) = workbench.run(MISSING, "Walker.visit", count=60)
    assert all(run.made_up)
    texts = {output.value[2][0][1] for output in run.outputs if output.value and output.value[1] == "Ok"}
    assert any(str(text).startswith("big ") for text in texts), texts
    assert any(str(text).startswith("small ") for text in texts), texts
    reached = {line for output in run.outputs for line in output.lines}
    assert reached == set(run.executable_lines), "a stand-in ran in the place of the original"
    full = next(output for output in run.outputs if len(output.calls) == 4)
    assert [call["path"] for call in full.calls] == ["find", "is_open", "log__note", "limit"]
    paths = [[call["path"] for call in output.calls] for output in run.outputs]
    assert all(path[0] == "find" for path in paths)


CRATE = """\
use md5::{Digest, Md5};
use serde::Serialize;

#[derive(Serialize)]
struct Page { title: String, size: u32 }

pub fn tag(title: &str, size: u32) -> String {
    let page = Page { title: title.to_string(), size };
    let text = serde_json::to_string(&page).unwrap();
    hex::encode(Md5::digest(text.as_bytes()))
}
"""


def test_crates_of_the_image_are_real(workbench: Workbench) -> None:
    import hashlib
    import json

    states = [InputState(seed=1, choices=(choice, 0)) for choice in range(4)]
    (run,) = workbench.run(CRATE, "tag", states=states)
    for shown, output in zip(run.shown, run.outputs, strict=True):
        page = {"title": json.loads(shown[0]), "size": int(shown[1])}
        expected = hashlib.md5(json.dumps(page, separators=(",", ":")).encode()).hexdigest()
        assert output.value == expected
    assert not any(run.made_up)


def test_clock_random_numbers_and_hash_seeds_are_fixed(workbench: Workbench) -> None:
    text = (
        "use std::collections::HashSet;\n"
        "pub fn f(n: u8) -> (Vec<u32>, u64, u32) {\n"
        "    let set: HashSet<u32> = (0..40).collect();\n"
        "    let start = std::time::Instant::now();\n"
        "    std::thread::sleep(std::time::Duration::from_secs(3600));\n"
        "    (set.into_iter().collect(), start.elapsed().as_secs(), rand::random())\n"
        "}\n"
    )
    first, again = (workbench.run(text, "f", count=4)[0] for _ in range(2))
    assert first.outputs == again.outputs
    assert {output.value[1][1] for output in first.outputs} == {3600}
    assert (
        len({output.value[1][2] if isinstance(output.value[1][2], int) else 0 for output in first.outputs})
        == 4
    )


def test_formatting_generics_closures_and_async_can_be_driven(workbench: Workbench) -> None:
    text = (
        "use std::fmt;\nstruct P { x: i32 }\n"
        "impl fmt::Display for P { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n"
        '    write!(f, "<{}>", self.x)\n} }\n'
        "trait Shape { fn area(&self) -> u32; fn double(&self) -> u32 {\n"
        "    self.area().wrapping_mul(2)\n} }\n"
        "fn pick<T: Ord + Clone, F>(xs: &[T], keep: F) -> Option<T> where F: Fn(&T) -> bool {\n"
        "    xs.iter().filter(|x| keep(x)).max().cloned()\n}\n"
        "async fn later(n: u8) -> u8 {\n    n.wrapping_add(1)\n}\n"
        "fn evens(n: u8) -> impl Iterator<Item = u8> {\n    (0..n % 10).filter(|x| x % 2 == 0)\n}\n"
    )
    for qualname in ("P.fmt", "Shape.double", "pick", "later", "evens"):
        (run,) = workbench.run(text, qualname, count=20)
        assert len({str(output.value) for output in run.outputs}) > 1, qualname
        assert all(validity(output, output)[0] for output in run.outputs), qualname
    assert run.outputs[0].value[0] == "iterator"


SPARSE = """\
use crate::deep::{Level, Size, wheel};
use other::{Pattern, Token};

fn halves<T: Size>(a: T, b: T) -> T {
    use crate::tables::pick as p;
    let c = a / b;
    if c > b { p::low(c) } else { a.clone() }
}

fn steps(level: Level, left: &wheel::Left, right: &wheel::Right) -> u8 {
    let more: Token![+] = Token![+];
    left.turn(1);
    match level {
        Level::LOW => right.turn(1, 2),
        Level::HIGH => 7,
    }
}

fn tried(text: &str) -> Result<u8, Level> {
    let parsed = read(text)?;
    if parsed > 3 { return Ok(parsed); }
    let quoted = odd!(#parsed);
    quoted.show(text);
    Ok(3)
}

struct Shared { all: std::cell::UnsafeCell<Vec<u8>>, at: std::pin::Pin<Box<u8>> }

impl Shared {
    fn put(&self, item: u8) -> usize {
        let all = unsafe { &mut *self.all.get() };
        all.push(item);
        all.len() + *self.at as usize
    }
}

struct Page { pattern: Option<Box<dyn Odd>>, hook: unsafe fn(&u8) -> u8, all: Box<dyn Iterator<Item = u8>> }
trait Odd {}

impl Page {
    fn sum(self) -> u32 {
        if self.pattern.is_some() { return 1; }
        self.all.map(u32::from).sum()
    }
}
"""


@pytest.mark.parametrize("qualname", ["halves", "steps", "tried", "Page.sum", "Shared.put"])
def test_functions_are_driven_whose_surroundings_are_missing(workbench: Workbench, qualname: str) -> None:
    (run,) = workbench.run(SPARSE, qualname, count=20)
    assert len({str(output.value) for output in run.outputs}) > 1
    assert sum(validity(output, output)[0] for output in run.outputs) > 10
