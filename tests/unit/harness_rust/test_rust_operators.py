"""Operators, parts, lifetimes and destructors of Rust types that stand in, with the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_funcmem.languages.rust import RustFrontend

if TYPE_CHECKING:
    from conftest import Workbench

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

CODES = {
    "flags of another crate": """\
use elsewhere::Flags;

pub fn pick(read: bool, write: bool) -> Flags {
    let mut flags = Flags::empty();
    if read {
        flags |= Flags::READ;
    }
    if write {
        flags |= Flags::WRITE ^ Flags::LOCK;
    }
    flags & !Flags::LOCK
}
""",
    "a token that is compared with text": """\
use crate::lexer::Token;

pub fn pick(token: Token, depth: usize) -> usize {
    if token.kind > 3 && token == "begin" {
        return depth + 1;
    }
    if token.kind == 2 && token == "end" {
        return depth.saturating_sub(1);
    }
    depth
}
""",
    "a destructor": """\
pub struct Pool {
    names: Vec<String>,
    closed: usize,
}

impl Drop for Pool {
    fn drop(&mut self) {
        for name in self.names.drain(..) {
            if !name.is_empty() {
                self.closed += 1;
            }
        }
    }
}
""",
    "a name that the standard library has too": """\
use crate::{Cow, Shade};

pub struct Barn {
    cow: Cow,
    shade: Shade,
}

pub fn pick(barn: &Barn, more: u32) -> u32 {
    if barn.cow.age > more {
        barn.cow.age - more
    } else {
        more
    }
}
""",
    "an error that gives back what was given": """\
use crate::{PushError, Place};

pub struct Cell<T> {
    held: Option<T>,
    is_closed: bool,
}

impl<T> Cell<T> {
    pub fn pick(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.is_closed {
            return Err(PushError::Closed(value));
        }
        if self.held.is_some() {
            return Err(PushError::Full(value));
        }
        self.held = Some(value);
        Ok(())
    }
}
""",
    "a parser whose input has a lifetime that is not written": """\
use crate::input::{Input, Parsed};

pub fn pick(input: Input, wanted: usize) -> Parsed<Input, &str> {
    if input.len() < wanted {
        return Parsed::Error;
    }
    Parsed::Done(input.advance(wanted), input.until(wanted))
}
""",
    "a span that cuts bytes": """\
use crate::span::Span;

pub fn pick(bytes: &[u8], from: usize, to: usize) -> usize {
    let span = Span::new(from, to);
    if span.is_empty() {
        return 0;
    }
    bytes[span].len()
}
""",
    "a path behind a pointer that is indexed": """\
use std::sync::Arc;
use crate::paths::Path;

pub fn pick(path: &Arc<Path>, from: usize) -> bool {
    let rest = &path[from..];
    path.is_absolute() && from > 3
}
""",
    "a call that names a type without a size": """\
use crate::kinds::same_kind;

pub fn pick<T: ?Sized, U>(depth: u32, other: &U) -> u32 {
    if same_kind::<T, U>() {
        return depth + 1;
    }
    depth
}
""",
    "an order of atomics under another path": """\
use crate::sync::atomic::{AtomicUsize, Ordering};

pub fn pick(count: &AtomicUsize, most: usize) -> bool {
    if count.load(Ordering::Acquire) > most {
        count.store(most, Ordering::Release);
        return true;
    }
    false
}
""",
    "a field behind a pointer": """\
use std::rc::Rc;
use crate::state::Inner;

pub struct Handle<'a, T> {
    inner: Rc<Inner<'a, T>>,
}

impl<'a, T> Handle<'a, T> {
    pub fn pick(&self, wanted: u64) -> bool {
        if self.inner.count > wanted {
            return true;
        }
        self.inner.is_closed
    }
}
""",
}


@pytest.mark.parametrize("name", CODES)
def test_what_a_file_does_with_types_of_others_compiles_and_runs(name: str, workbench: Workbench) -> None:
    text = CODES[name]
    (function,) = RustFrontend().scan(text, path="src/lib.rs").functions
    (execution,) = workbench.run(text, function.qualname)
    assert execution.loaded, execution.load_detail
    assert any(output.outcome == "returned" for output in execution.outputs), execution.outputs
