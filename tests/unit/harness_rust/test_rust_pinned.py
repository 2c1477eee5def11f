"""Projections of pinned types, which a macro of another crate would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workbench

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

PINNED = """\
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use pin_project_lite::pin_project;

pin_project! {
    pub struct Timed<F> { #[pin] inner: F, polls: u32, done: bool }
}

pin_project! {
    #[project = StageProj]
    pub enum Stage<F> { Waiting { #[pin] inner: F, left: u32 }, Over { code: u32 } }
}

impl<F: Future<Output = u32>> Future for Timed<F> {
    type Output = (u32, u32);
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<(u32, u32)> {
        let this = self.project();
        *this.polls = this.polls.wrapping_add(1);
        *this.done = true;
        this.inner.poll(context).map(|value| (value, *this.polls))
    }
}

impl<F: Future<Output = u32>> Future for Stage<F> {
    type Output = u32;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        match self.project() {
            StageProj::Waiting { inner, left } => {
                *left = left.wrapping_add(1);
                inner.poll(context)
            }
            StageProj::Over { code } => Poll::Ready(*code),
        }
    }
}
"""


@pytest.mark.parametrize("name", ["Timed.poll", "Stage.poll"])
def test_projections_are_written(workbench: Workbench, name: str) -> None:
    (run,) = workbench.run(PINNED, name, count=12)
    assert all(output.outcome == "returned" for output in run.outputs), run.outputs
    assert len({str(output.value) for output in run.outputs}) > 3


PATTERNS = """\
use crate::flags::*;

pub fn seek(whence: usize, at: i64) -> Option<i64> {
    match whence {
        SEEK_CUR => at.checked_add(7),
        SEEK_END | SEEK_OVER => Some(at),
        _ => None,
    }
}
"""


def test_constants_of_patterns_are_no_names_of_what_is_matched(workbench: Workbench) -> None:
    (run,) = workbench.run(PATTERNS, "seek", count=80)
    reached = {line for output in run.outputs for line in output.lines}
    assert reached >= {1, 2, 3, 4}, reached
