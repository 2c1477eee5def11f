"""Types of what stands in: what the compiler says of one use shows what another use wants."""

from __future__ import annotations

import pytest

from tests.unit.harness_rust.conftest import Workbench, find

AWAITED = """\
use crate::net::fetch;

async fn pick(count: u32) -> u32 {
    let page = fetch(count).await;
    let more = crate::net::again(|step| if step { Ready(Ok(())) } else { Ready(Err(1u8)) }).await;
    page + more
}
"""
LISTS_OF_SEVERAL_LENGTHS = """\
use crate::errors::Problem;

fn pick(byte: u8) -> Problem {
    match byte {
        b'a' => Problem { wanted: &[], at: 1 },
        b'b' => Problem { wanted: &['x'], at: 2 },
        _ => Problem { wanted: &['y', 'z'], at: byte },
    }
}
"""
GIVEN_BY_ALL_TYPES = """\
use std::fmt::Display;

trait Shown { fn shown(&self) -> String; }

impl<T: Display> Shown for T { fn shown(&self) -> String { format!("<{}>", self) } }

struct Holder<S: Shown> { held: S }

impl<S: Shown> Holder<S> {
    fn pick(&self, twice: bool) -> String {
        if twice { self.held.shown() + &self.held.shown() } else { self.held.shown() }
    }
}
"""
NAMED_LIKE_A_CONSTRUCTOR = """\
use crate::tokens::Token;

fn pick(text: &str) -> u32 {
    match Token::parse(text) {
        Ok(token) => token.kind as u32,
        Err(_) => 7,
    }
}
"""
ANOTHER_OF_ITS_NAME = """\
struct Digest(outer::Digest);

impl Digest {
    fn pick(size: usize) -> Digest {
        match outer::Digest::new(size) {
            Ok(inner) => Digest(inner),
            Err(problem) => panic!("{}", problem),
        }
    }
}
"""
NAMES_AN_ORDER = """\
use crate::bytes::{Order, ReadNumbers};

fn pick<R: ReadNumbers, O: Order>(input: &mut R, most: usize) -> Result<Vec<u64>, std::io::Error> {
    let count = input.take_u32::<O>()?;
    let mut found = Vec::new();
    for _ in 0..count.min(9) {
        if found.len() < most {
            found.push(input.take_u64::<O>()?);
        }
    }
    Ok(found)
}
"""
CALLED_AT_ONCE = """\
use crate::parts::{number, pair};

fn pick(byte: u8, out: Vec<u8>) -> Result<Vec<u8>, String> {
    if byte > 3 {
        pair((number(byte), number(2u16)))(out)
    } else {
        number(byte)(out)
    }
}
"""
NUMBERS_BY_THEIR_METHODS = """\
use crate::numbers::Number;

fn pick(digit: u8, number: &mut Number) -> u64 {
    number.digits = number.digits.wrapping_mul(10).wrapping_add(digit as u64);
    number.digits
}
"""
OWN_CONSTRUCTOR = """\
use crate::size::Size;

impl Size {
    fn pick(amount: u64, unit: bool) -> Option<Size> {
        if amount > 90 { return None; }
        Some(Self(if unit { amount * 8 } else { amount }))
    }
}
"""
OF_THE_STANDARD_LIBRARY = """\
use crate::Error;

fn send(last: u8) -> std::io::Result<u8> { Ok(last) }

fn pick(last: u8) -> Result<u8, Error> {
    let problem = match send(last) {
        Ok(sent) if sent < 50 => return Ok(sent),
        Ok(_) => Error::last_os_error(),
        Err(problem) => problem,
    };
    Err(problem)
}
"""
GIVES_RESULTS_TO_OTHERS = """\
use crate::queue::drain;

fn pick(most: u32) -> u32 {
    let mut count = 0;
    drain(|line: u8| {
        if u32::from(line) > most { return Err(line.into()); }
        count += 1;
        Ok(true)
    });
    count
}
"""
PARTS_OF_A_CONSTANT = """\
use crate::sizes::BLOCK;

fn mix(block: [u32; 16]) -> u32 { block.iter().fold(1, |sum, part| sum ^ part) }

fn pick(bytes: &[u8; BLOCK]) -> u32 {
    let mut words = [0u32; BLOCK / 4];
    for (place, byte) in bytes.iter().enumerate() {
        words[place / 4] ^= u32::from(*byte) << (place % 4);
    }
    mix(words)
}
"""
MADE_BY_ITS_NAME = """\
use crate::wrapped::{Code, Outcome};

fn pick(number: Option<u16>, other: Result<u8, String>) -> (Option<Code>, Result<u8, Outcome>) {
    let code = number.map(Code);
    (code, other.map_err(Outcome::Broken))
}
"""
LEFT_AND_FOUND = """\
use crate::parsing::ParseResult;

fn pick(input: &[u8]) -> ParseResult<u8> {
    if input.len() < 2 { return Err(crate::parsing::short(input.len())); }
    Ok((&input[1..], input[0] ^ 3))
}
"""
ASKED_OF_ITSELF = """\
use crate::tanks::Fuelled;

trait Engine: EngineExt { fn run(&self, fuel: &Self::Fuel) -> u32; }

trait EngineExt: Fuelled { fn pick(&self, fuel: &Self::Fuel) -> u32; }

impl<T: Engine> EngineExt for T {
    fn pick(&self, fuel: &Self::Fuel) -> u32 {
        let once = self.run(fuel);
        if once > 3 { once } else { once + self.run(fuel) }
    }
}
"""
FUNCTIONS_BEHIND_POINTERS = """\
struct Guard<T, F: FnMut(&mut T)> { held: T, last: F }

impl<T, F: FnMut(&mut T)> Guard<T, F> {
    fn pick(mut self, read: &mut dyn FnMut(&mut [u8]) -> usize, more: Box<dyn Fn(&str) -> bool>) -> usize {
        let mut space = [0u8; 4];
        (self.last)(&mut self.held);
        if more("first") { read(&mut space) + read(&mut space[1..]) } else { 0 }
    }
}
"""
OF_A_TYPE_THAT_IS_NOT_THERE = """\
outside! { Screen, dark => light }

impl Screen {
    fn pick(&self) -> usize {
        if !self.name().is_empty() && !self.is_dark { self.name().len() } else { 2 }
    }

    fn name(&self) -> String { String::from("screen") }
}
"""
READ_FROM_A_TEXT = """\
use crate::versions::{Problem, Version};

fn pick(text: &str) -> Result<Version, Problem> {
    if text.is_empty() { return Err(Problem::Empty); }
    let first: Version = text[1..].parse()?;
    Ok(first)
}
"""
WITHOUT_A_SIZE = """\
use crate::keys::Borrowed;

struct Pairs<K: 'static> { all: &'static [(K, u32)] }

impl<K> Pairs<K> {
    fn pick<T: ?Sized + PartialEq>(&self, key: &T) -> Option<u32> where K: Borrowed<T> {
        for (own, value) in self.all {
            let found: &T = own.borrowed_as();
            if found == key { return Some(*value); }
        }
        None
    }
}
"""
VARIANTS_IN_CAPITALS = """\
use crate::records::{Record, NUL};

fn pick(record: Record) -> u8 {
    let last = (3u8, first);
    match record {
        Record::MX(weight) => weight,
        Record::Boxed(inner) => pick(*inner),
        Record::TXT => if last.1 > NUL { last.0 } else { first },
    }
}
"""
ONCE_MORE = """\
pub struct Pages { texts: Vec<String> }

impl Pages {
    #[cfg(feature = "color")]
    fn pick(&self, out: &crate::Terminal) -> std::io::Result<()> {
        for text in &self.texts { writeln!(&out.stream, "{}", text)?; }
        Ok(())
    }

    #[cfg(not(feature = "color"))]
    fn pick(&self, out: &mut String) { out.push_str(&self.texts.join(" ")); }
}

impl Pages {
    fn all(&self, out: &mut String) { self.pick(out) }
}
"""
COMPARED_WITH_A_TEXT = """\
use crate::trees::{Name, Tree};

fn pick(tree: Tree) -> Option<Name> {
    if let Tree::Named(name) = &tree {
        if name == "first" { return None; }
    }
    match tree {
        Tree::Named(name) => Some(name),
        _ => panic!("no name"),
    }
}
"""
FILLED_WITH_NOTHING = """\
use crate::pools::bounded;
use std::io::Cursor;

fn pick(count: usize) -> usize {
    let (sender, _) = bounded(count);
    for _ in 0..count.min(3) {
        sender
            .try_send(Cursor::new(Vec::new()))
            .expect("the pool is full");
    }
    count
}
"""


@pytest.mark.parametrize(
    ("text", "qualname"),
    [
        pytest.param(AWAITED.replace("Ready(", "std::task::Poll::Ready("), "pick", id="awaited"),
        pytest.param(LISTS_OF_SEVERAL_LENGTHS, "pick", id="lists-of-several-lengths"),
        pytest.param(GIVEN_BY_ALL_TYPES, "Holder.pick", id="given-by-all-types"),
        pytest.param(NAMED_LIKE_A_CONSTRUCTOR, "pick", id="named-like-a-constructor"),
        pytest.param(ANOTHER_OF_ITS_NAME, "Digest.pick", id="another-of-its-name"),
        pytest.param(NAMES_AN_ORDER, "pick", id="names-an-order"),
        pytest.param(CALLED_AT_ONCE, "pick", id="called-at-once"),
        pytest.param(NUMBERS_BY_THEIR_METHODS, "pick", id="numbers-by-their-methods"),
        pytest.param(OWN_CONSTRUCTOR, "Size.pick", id="own-constructor"),
        pytest.param(OF_THE_STANDARD_LIBRARY, "pick", id="of-the-standard-library"),
        pytest.param(GIVES_RESULTS_TO_OTHERS, "pick", id="gives-results-to-others"),
        pytest.param(PARTS_OF_A_CONSTANT, "pick", id="parts-of-a-constant"),
        pytest.param(MADE_BY_ITS_NAME, "pick", id="made-by-its-name"),
        pytest.param(LEFT_AND_FOUND, "pick", id="left-and-found"),
        pytest.param(ASKED_OF_ITSELF, "T.pick", id="asked-of-itself"),
        pytest.param(FUNCTIONS_BEHIND_POINTERS, "Guard.pick", id="functions-behind-pointers"),
        pytest.param(OF_A_TYPE_THAT_IS_NOT_THERE, "Screen.pick", id="of-a-type-that-is-not-there"),
        pytest.param(READ_FROM_A_TEXT, "pick", id="read-from-a-text"),
        pytest.param(WITHOUT_A_SIZE, "Pairs.pick", id="without-a-size"),
        pytest.param(FILLED_WITH_NOTHING, "pick", id="filled-with-nothing"),
        pytest.param(COMPARED_WITH_A_TEXT, "pick", id="compared-with-a-text"),
        pytest.param(ONCE_MORE, "Pages.pick", id="once-more"),
        pytest.param(VARIANTS_IN_CAPITALS, "pick", id="variants-in-capitals"),
    ],
)
def test_what_stands_in_gets_the_types_of_all_its_uses(
    workbench: Workbench, text: str, qualname: str
) -> None:
    workbench.prepare(find(text, qualname))


def test_what_a_function_named_like_a_constructor_gives_is_matched_as_a_result(workbench: Workbench) -> None:
    (original,) = workbench.run(NAMED_LIKE_A_CONSTRUCTOR, "pick", count=24)
    assert len({str(state) for state in original.outputs}) > 2
