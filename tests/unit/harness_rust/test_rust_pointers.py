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
