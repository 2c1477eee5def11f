"""Values behind raw pointers, and values of other crates' types that no part can be seen of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Workbench

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

LINKED = """\
use std::ptr::{self, NonNull};

pub struct Node { value: u32, next: *mut Node }

pub struct List { head: Option<NonNull<Node>>, length: usize }

impl List {
    pub fn pop(&mut self) -> Option<u32> {
        let node = self.head?;
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        self.head = NonNull::new(node.next);
        self.length = self.length.saturating_sub(1);
        Some(node.value)
    }

    pub fn bump(&mut self) -> u32 {
        let mut at = self.head.map_or(ptr::null_mut(), NonNull::as_ptr);
        let mut sum = 0u32;
        while !at.is_null() {
            unsafe { (*at).value = (*at).value.wrapping_add(1); }
            sum = sum.wrapping_add(unsafe { (*at).value });
            at = unsafe { (*at).next };
        }
        sum
    }
}
"""


def fields_of(value: Any) -> dict[str, Any]:
    return dict(value[2])


def test_what_pointers_lead_to_is_made_and_seen(workbench: Workbench) -> None:
    (run,) = workbench.run(LINKED, "List.bump", count=40)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 3
    changed = [output for output in run.outputs if output.receiver != ["unchanged"]]
    heads = [fields_of(output.receiver)["head"] for output in changed]
    assert all(head[1] == "Some" for head in heads), heads
    assert '"value"' in str(heads[0]).replace("'", '"')


def test_what_a_function_frees_is_no_more_looked_at(workbench: Workbench) -> None:
    (run,) = workbench.run(LINKED, "List.pop", count=40)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 3
    again = workbench.run(LINKED, "List.pop", count=40)[0]
    assert run.outputs == again.outputs


BYTES = """\
use std::ffi::{c_char, c_void};

pub unsafe fn measure(text: *const c_char, extra: *mut c_void) -> usize {
    if text.is_null() || extra.is_null() {
        return 0;
    }
    let mut length = 0;
    while *text.add(length) != 0 {
        length += 1;
    }
    *(extra as *mut u8) = length as u8;
    length
}
"""


def test_texts_behind_pointers_end(workbench: Workbench) -> None:
    (run,) = workbench.run(BYTES, "measure", count=40)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({output.value for output in run.outputs}) > 2


FOREIGN = """\
use regex::Regex;
use termcolor::ColorSpec;

pub fn marked(pattern: &Regex, spec: &ColorSpec, text: &str) -> (bool, bool) {
    (pattern.is_match(text), spec.bold())
}
"""


def test_values_of_other_crates_are_read_from_texts_or_are_defaults(workbench: Workbench) -> None:
    (run,) = workbench.run(FOREIGN, "marked", count=40)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 1


DYNAMIC = """\
use std::fmt::{Error, Write};
use std::io;

pub trait Shape { fn area(&mut self) -> u32; }

pub fn told(out: &mut dyn Write, log: &mut dyn io::Write, shape: &mut dyn Shape) -> Result<u32, Error> {
    let area = shape.area();
    write!(out, "area {}", area)?;
    log.write_all(b"done").map_err(|_| Error)?;
    Ok(area)
}
"""


def test_what_is_written_to_a_trait_object_is_seen(workbench: Workbench) -> None:
    (run,) = workbench.run(DYNAMIC, "told", count=12)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    for output in run.outputs:
        area = output.value[2][0][1]
        assert output.arguments["out"] == f"area {area}"
        assert output.arguments["log"][0] == "bytes"


RECORDS = """\
pub unsafe fn kind(header: *const libc::Elf64_Phdr) -> u32 {
    match (*header).p_type {
        libc::PT_LOAD => 1,
        libc::PT_NOTE => 2,
        _ => 3,
    }
}
"""


def test_records_of_the_c_library_hold_its_constants(workbench: Workbench) -> None:
    (run,) = workbench.run(RECORDS, "kind", count=60)
    values = {output.value for output in run.outputs if output.outcome == "returned"}
    assert values == {1, 2, 3}
    assert len(set(run.shown)) > 3


SERIALIZED = """\
use serde::{Serialize, Serializer};

pub struct Pair { left: u32, right: Option<String> }

impl Serialize for Pair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.right {
            Some(text) => serializer.serialize_str(&format!("{} {}", self.left, text)),
            None => serializer.serialize_u32(self.left),
        }
    }
}
"""


def test_serializers_and_wakers_are_there(workbench: Workbench) -> None:
    (run,) = workbench.run(SERIALIZED, "Pair.serialize", count=20)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 3
    (run,) = workbench.run(POLLED, "Ready.poll", count=30)
    assert {output.value[1] for output in run.outputs if output.value} == {"Pending", "Ready"}, run.outputs


POLLED = """\
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub struct Ready { left: u32 }

impl Future for Ready {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        if self.left % 2 == 0 {
            return Poll::Ready(self.left);
        }
        self.left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
"""


COLLECTED = """\
use std::io::Result;
use bytes::Bytes;
use indexmap::IndexMap;
use serde_json::Value;
use termcolor::WriteColor;

pub struct Page<'a> { out: &'a mut dyn WriteColor }

impl<'a> Page<'a> {
    pub fn show(&mut self, bytes: &Bytes, map: &IndexMap<String, u32>, value: &Value) -> Result<usize> {
        write!(self.out, "{}", bytes.len())?;
        Ok(map.len() + value.as_array().map_or(100, |items| items.len()))
    }
}
"""


def test_collections_and_trait_objects_of_crates_are_made(workbench: Workbench) -> None:
    (run,) = workbench.run(COLLECTED, "Page.show", count=60)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 5
    assert len({str(output.receiver) for output in run.outputs}) > 3


WALKED = """\
pub trait Log { fn note(&self, text: &str) -> u32; }

impl std::fmt::Debug for dyn Log + '_ {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.note("x"))
    }
}

pub fn hand_over(items: &mut Vec<u32>, log: &dyn crate::other::Keep, mut others: std::str::Chars) -> usize {
    let jobs = items.iter_mut().map(|item| {
        *item = item.wrapping_add(1);
        *item
    });
    crate::many::run(jobs, &mut others);
    log.keep(others.as_str());
    items.len()
}
"""


def test_iterators_that_are_given_away_are_walked_through(workbench: Workbench) -> None:
    (run,) = workbench.run(WALKED, "hand_over", count=20)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    for output in run.outputs:
        assert output.calls[0]["path"] == "many__run"
        assert output.arguments["items"] == ["unchanged"] or output.arguments["items"][0] == "list"
    assert any(output.arguments["items"] != ["unchanged"] for output in run.outputs)
    (run,) = workbench.run(WALKED, "Log.fmt", count=12)
    assert len({str(output.value) for output in run.outputs}) > 3


WIDE = """\
pub fn width(character: char, bytes: &[u8]) -> (usize, bool) {
    if bytes.len() == 300 { return (0, true); }
    (character.len_utf8(), false)
}
"""


def test_characters_of_all_widths_and_lengths_that_are_named_occur(workbench: Workbench) -> None:
    (run,) = workbench.run(WIDE, "width", count=150)
    found = {str(output.value) for output in run.outputs}
    assert len(found) == 5, found


LOGGED = """\
use log::{LevelFilter, Metadata, Record};

pub fn logged(filter: LevelFilter, record: &Record, metadata: &Metadata) -> (bool, String) {
    (record.level() <= filter && metadata.level() <= filter, format!("{} {}", record.target(), record.args()))
}
"""


def test_records_of_logs_are_made(workbench: Workbench) -> None:
    (run,) = workbench.run(LOGGED, "logged", count=30)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 8
