"""What structs hold: functions, files, channels, values without a size that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workbench

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

FUNCTIONS = """\
use std::sync::Arc;

pub struct Hooks {
    check: Box<dyn Fn(&str) -> bool + Send>,
    fill: Arc<dyn Fn(&mut Vec<u8>, u32) -> u8 + Send + Sync>,
    size: fn(&str) -> usize,
    last: Option<Box<dyn FnOnce(u32) -> String>>,
}

impl Hooks {
    pub fn run(&mut self, text: &str) -> (bool, u8, usize, Option<String>) {
        let mut bytes = text.as_bytes().to_vec();
        let filled = (self.fill)(&mut bytes, 3);
        let last = self.last.take().map(|last| last(7));
        ((self.check)(text), filled, (self.size)(text), last)
    }
}
"""


def test_functions_that_are_held_answer(workbench: Workbench) -> None:
    (run,) = workbench.run(FUNCTIONS, "Hooks.run", count=20)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 10
    assert {len(output.calls) for output in run.outputs} == {3, 4}


LOCK = """\
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Lock<T: ?Sized> { held: AtomicBool, value: UnsafeCell<T> }

impl<T: ?Sized> Lock<T> {
    pub fn take(&self) -> Option<&mut T> {
        if self.held.swap(true, Ordering::SeqCst) {
            return None;
        }
        Some(unsafe { &mut *self.value.get() })
    }
}
"""


def test_types_that_may_hold_what_has_no_size_are_made(workbench: Workbench) -> None:
    (run,) = workbench.run(LOCK, "Lock.take", count=20)
    assert len({str(output.value) for output in run.outputs}) > 5, run.outputs


SYSTEM = """\
use std::fs::File;
use std::io::Read;
use std::rc::Weak;
use std::sync::mpsc::{Receiver, Sender};

pub fn gathered(
    file: &mut File,
    from: &Receiver<u32>,
    to: &Sender<u32>,
    parent: &Weak<String>,
) -> std::io::Result<usize> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    for number in from.iter() {
        to.send(number).unwrap();
    }
    Ok(text.len() + parent.upgrade().map_or(1000, |name| name.len()))
}
"""


def test_files_and_channels_are_there(workbench: Workbench) -> None:
    (run,) = workbench.run(SYSTEM, "gathered", count=20)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 5
    assert run.outputs == workbench.run(SYSTEM, "gathered", count=20)[0].outputs


ENVIRONMENT = """\
use std::env;

pub fn is_colored() -> bool {
    if env::var_os("NO_COLOR").is_some() {
        return false;
    }
    helper() != "dumb"
}
fn helper() -> String { env::var("TERM").unwrap_or_default() }
"""


def test_the_environment_is_the_states(workbench: Workbench) -> None:
    (run,) = workbench.run(ENVIRONMENT, "is_colored", count=40)
    assert {output.value for output in run.outputs} == {True, False}
    assert {len(shown) for shown in run.shown} == {2}


LISTED = """\
use std::path::Path;

pub fn sizes(directory: &Path) -> std::io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len()));
        }
    }
    found.sort();
    Ok(found)
}
"""


def test_there_is_a_directory_with_files(workbench: Workbench) -> None:
    (run,) = workbench.run(LISTED, "sizes", count=40)
    assert any("main.rs" in str(output.value) for output in run.outputs), run.outputs
    assert all(output.files == {} for output in run.outputs)
