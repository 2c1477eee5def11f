"""Lines laid beside each other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.reporting.alignment import align, beside

LINES = st.lists(
    st.sampled_from(["", "}", "total = 0", "total = 1", "return total", "for item in items:"]), max_size=8
)


def marks(original: list[str], target: list[str], reference: list[str]) -> list[str]:
    return [f"{row.target_mark}{row.reference_mark}" for row in beside(original, target, reference)]


def test_equal_changed_added_missing() -> None:
    original = ["total = 0", "for item in items:", "    total += item", "return total"]
    target = [
        "total = 0",
        "# a comment that is new",
        "for value in items:",
        "    total += value",
        "return total",
    ]
    reference = ["return sum(items)"]
    assert marks(original, target, reference) == ["=-", "+ ", "~-", "~-", "=-", " +"]


def test_indentation_alone_is_no_change() -> None:
    assert marks(["if a:", "  b()"], ["if a:", "    b()"], []) == ["=-", "=-"]


def test_lines_that_are_not_alike_are_never_paired() -> None:
    assert align(["raise ValueError(text)"], ["x = 1"]) == ((0, None), (None, 0))


@given(LINES, LINES)
@settings(deadline=None)
def test_every_line_stands_once_and_in_order(first: list[str], second: list[str]) -> None:
    pairs = align(first, second)
    assert [one for one, _ in pairs if one is not None] == list(range(len(first)))
    assert [two for _, two in pairs if two is not None] == list(range(len(second)))


@given(LINES)
@settings(deadline=None)
def test_equal_texts_are_equal_line_by_line(lines: list[str]) -> None:
    rows = beside(lines, lines, lines)
    assert all((row.target_mark, row.reference_mark) == ("=", "=") for row in rows)
    assert len(rows) == len(lines)
