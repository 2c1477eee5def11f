"""Audited text made harmless and made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.reporting.plain_text import around, cells, fold, shorten, visible

ANY = st.text(st.characters(exclude_categories=[]), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 'text' [bold] é 漢", "plain 'text' [bold] é 漢"),
        ("\x1b[31m\x00\x7f\x9b", "\\x1b[31m\\x00\\x7f\\x9b"),
        ("\u202e\u2066\u200b\ufeff", "\\u202e\\u2066\\u200b\\ufeff"),
        ("a\r\nb", "a\\r\\nb"),
        ("\tx", "→   x"),
        ("ab\tx", "ab→ x"),
        ("\ud800\U000e0041", "\\ud800\\U000e0041"),
        ("a\u00a0b\u3000", "a\\xa0b\\u3000"),
        ("e\u0301", "e\u0301"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301\\u0301\\u0301"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY)
def test_visible_text_is_printable_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert all(character.isprintable() for character in shown)
    assert visible(shown) == shown


@given(ANY.map(visible), st.integers(10, 40))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert cells(shorten(text, width)) <= width
    if cells(text) <= width:
        assert shorten(text, width) == text


@given(ANY.map(visible), st.integers(0, 60), st.integers(10, 40))
def test_text_around_a_position_fits(text: str, position: int, width: int) -> None:
    assert cells(around(text, position, width)) <= width


def test_middle_is_cut_out() -> None:
    assert shorten("abcdefghijklmnopqrstuvwxyz", 10) == "abcdef…xyz"


def test_what_matters_stays_in_sight() -> None:
    text = "a" * 100 + "HERE" + "b" * 100
    assert "HERE" in around(text, 100, 30)
    assert "HERE" in around("a" * 100 + "HERE", 100, 30)


@given(ANY.map(visible), st.integers(12, 40), st.sampled_from([0, 2, 4]))
def test_folding_loses_nothing_but_blanks(text: str, width: int, hang: int) -> None:
    lines = fold(text, width, hang=hang)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_folding_prefers_blanks_then_punctuation() -> None:
    assert fold("alpha beta gamma", 12) == ["alpha beta", "gamma"]
    assert fold("customer.reminders.append(value)", 28, hang=2) == ["customer.reminders.append(", "  value)"]
