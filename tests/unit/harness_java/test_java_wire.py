"""What is read from the answers of Java's workshop, and what is refused."""

from __future__ import annotations

import struct

import pytest

from pytest_funcmem.core.protocols import SandboxOutcome, SandboxResult
from pytest_funcmem.harness.compiled.java.tasks import read_builds
from pytest_funcmem.harness.compiled.java.wire import (
    BuiltProgram,
    CompiledClass,
    DamagedAnswerError,
    read_built,
    run_request,
)


def number(value: int) -> bytes:
    return struct.pack(">i", value)


def piece(content: bytes) -> bytes:
    return number(len(content)) + content


def block(*classes: bytes, problem: bytes = b"", lines: tuple[int, ...] = (1, 2)) -> bytes:
    head = piece(problem) + number(4) + number(9) + number(len(lines)) + b"".join(map(number, lines))
    return head + number(len(classes)) + b"".join(classes)


def result(*records: bytes, outcome: SandboxOutcome = "ended") -> SandboxResult:
    return SandboxResult(
        outcome=outcome, records=records, stdout=b"", stderr=b"", exit_code=0, signal=None, seconds=0.0
    )


FIRST = piece(b"A") + b"\0" + piece(b"class one")
AGAIN = piece(b"B") + b"\1" + number(-1)


def test_a_class_that_was_sent_before_is_not_sent_again() -> None:
    one, two = read_built([block(FIRST, lines=(2, 1, 0)), block(AGAIN)])
    assert one == BuiltProgram(
        first_line=4,
        last_line=9,
        executable_lines=(1, 2),
        classes=(CompiledClass(name=b"A", marks=b"\0", content=b"class one"),),
    )
    assert two.classes == (CompiledClass(name=b"B", marks=b"\1", content=b"class one"),)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        block(FIRST)[:-1],
        block(AGAIN),
        block(piece(b"A") + b"\0" + number(1 << 30)),
        piece(b"") + number(0) + number(0) + number(-1),
        piece(b"") + number(0) + number(0) + number(0) + number(20_000),
    ],
)
def test_what_is_not_in_its_form_is_refused(damaged: bytes) -> None:
    with pytest.raises(DamagedAnswerError):
        read_built([damaged])


def test_a_program_without_an_answer_is_the_one_over_which_the_compiler_ended() -> None:
    built = read_builds(result(block(FIRST), outcome="timeout"), 3)
    assert [program.problem for program in built] == ["", "the compiler failed: timeout"]
    assert [program.problem for program in read_builds(result(b"", outcome="ended"), 2)] == [
        "the compiler failed: a piece of 4 bytes goes beyond its block"
    ]


def test_programs_that_share_a_class_send_it_once() -> None:
    one, two = read_built([block(FIRST), block(AGAIN)])
    request = run_request(
        "plan", {0: one, 3: two}, {0: [(1, (5,))], 3: [(2**64 - 1, ())]}, coverage=True, timeout_ms=700
    )
    assert request.count(b"class one") == 1
    assert request.startswith(b"\1" + number(700) + piece(b"plan") + number(1) + piece(b"class one"))
    # A seed beyond 63 bits is the same 64 bits.
    assert request.endswith(number(1) + struct.pack(">qi", -1, 0))
