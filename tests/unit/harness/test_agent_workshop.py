"""The host's side of an agent's directory: what comes back from a command is hostile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from pytest_funcmem.core.protocols import Sandbox, SandboxOutcome, SandboxResult, SandboxTask
from pytest_funcmem.harness.agent.workshop import MOST_BYTES, MOST_FILES, Workshop, WorkshopError

ENDED = {"kind": "ended", "exit": 0, "timed_out": False, "seconds": 0.1, "output": "out"}


class Answering:
    """A sandbox whose answer is given."""

    def __init__(self, records: Sequence[bytes], outcome: SandboxOutcome = "ended") -> None:
        self.tasks: list[SandboxTask] = []
        self._records = tuple(records)
        self._outcome: SandboxOutcome = outcome

    def run(self, task: SandboxTask) -> SandboxResult:
        self.tasks.append(task)
        return SandboxResult(
            outcome=self._outcome,
            records=self._records,
            stdout=b"",
            stderr=b"",
            exit_code=0,
            signal=9,
            seconds=0.1,
        )


def line(fields: object, content: bytes = b"") -> bytes:
    return json.dumps(fields).encode() + b"\n" + content


def run(*records: bytes, outcome: SandboxOutcome = "ended") -> tuple[Workshop, Any]:
    sandbox = Answering(records, outcome)
    workshop = Workshop(cast("Sandbox", sandbox), "python", {"a.txt": "a"})
    return workshop, workshop.run("true", timeout_s=1.0)


def test_files_that_a_command_leaves_are_taken_over() -> None:
    workshop, end = run(
        line(ENDED),
        line({"kind": "file", "path": "b/c.txt"}, b"new\nline"),
        line({"kind": "files", "paths": [["a.txt", False], ["b/c.txt", True]], "left_out": []}),
    )
    assert (end.exit, end.output, end.note) == (0, "out", "")
    assert workshop.read("b/c.txt") == "new\nline"
    assert workshop.read("a.txt") == "a"
    kept = workshop.kept()
    other = Workshop(cast("Sandbox", Answering([])), "python", {})
    assert other.take(kept)
    assert other.kept() == kept


def test_a_file_that_a_command_removed_is_gone() -> None:
    workshop, _ = run(line(ENDED), line({"kind": "files", "paths": [], "left_out": []}))
    with pytest.raises(WorkshopError, match="there is no file"):
        workshop.read("a.txt")


@pytest.mark.parametrize(
    "records",
    [
        [],
        [b""],
        [b"\xff\xfe\n"],
        [b"[" * 10_000],
        [b"null\n"],
        [line(ENDED), line({"kind": "file", "path": "../up"}, b"x")],
        [line({"kind": "files", "paths": []})],
        [line({**ENDED, "exit": "0", "output": 7})],
    ],
)
def test_records_that_make_no_sense_change_nothing(records: list[bytes]) -> None:
    workshop, end = run(*records)
    assert workshop.read("a.txt") == "a"
    assert end.note


@pytest.mark.parametrize(
    "path", ["../up", "/etc/passwd", "a/../b", "", "a//b", "a\0b", "a" * 300, 7, None, "\ud800", "a\nb"]
)
def test_paths_that_lead_out_are_not_taken(path: object) -> None:
    workshop, _ = run(
        line(ENDED),
        line({"kind": "file", "path": path}, b"x"),
        line({"kind": "files", "paths": [[path, False], ["a.txt", False]], "left_out": [path]}),
    )
    assert list(cast("dict[str, object]", workshop.kept())) == ["a.txt"]
    if isinstance(path, str):
        with pytest.raises(WorkshopError):
            workshop.write(path, "x")


def test_a_flood_of_files_is_bounded() -> None:
    names = [f"f{number}" for number in range(2 * MOST_FILES)]
    records = [line({"kind": "file", "path": name}, b"x") for name in names]
    workshop, end = run(
        line(ENDED), *records, line({"kind": "files", "paths": [[name, False] for name in names]})
    )
    assert end.note == "its files were not taken over"
    assert workshop.read("a.txt") == "a"


def test_what_is_too_large_is_refused() -> None:
    workshop, _ = run(line(ENDED))
    with pytest.raises(WorkshopError, match="16 MiB"):
        workshop.write("b", "x" * (MOST_BYTES + 1))
    with pytest.raises(WorkshopError, match="a file and a directory"):
        workshop.write("a.txt/b", "x")


@pytest.mark.parametrize(
    ("outcome", "said"), [("timeout", "after 1 s"), ("memory", "memory"), ("refused", "forbidden")]
)
def test_a_command_that_was_ended_says_why(outcome: SandboxOutcome, said: str) -> None:
    _, end = run(outcome=outcome)
    assert end.exit is None
    assert said in end.note


@pytest.mark.parametrize(
    "kept", [None, [], {"../a": ["", False]}, {"a": "x"}, {"a": ["?", False]}, {"a": [1, 2]}]
)
def test_a_damaged_store_gives_no_files(kept: object) -> None:
    workshop, _ = run(line(ENDED))
    assert not workshop.take(cast("Any", kept))
    assert workshop.read("a.txt") == "a"


def test_all_that_is_kept_can_be_laid_out_again() -> None:
    """A path cannot be a file and a directory, whatever a program that was taken over says."""
    paths = ["a.txt", "a.txt/b", "c/d", "c"]
    workshop, _ = run(
        line(ENDED),
        *(line({"kind": "file", "path": path}, b"x") for path in paths),
        line({"kind": "files", "paths": [[path, False] for path in paths]}),
    )
    kept = cast("dict[str, Any]", workshop.kept())
    assert list(kept) == ["a.txt", "c/d"]
    assert not workshop.take({**kept, "c": ["", False]})
    assert workshop.take(kept)
