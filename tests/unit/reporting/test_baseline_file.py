"""The baseline on disk: read back as written, refused where it is none."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from pytest_funcmem.core.errors import AuditError, UsageError
from pytest_funcmem.reporting.baseline_file import parse_day, read_baseline, write_baseline
from pytest_funcmem.verdict.baseline import AcceptedLeak, Baseline

ROW = {
    "function": '"a.py::f"',
    "sha256": f'"{"1" * 64}"',
    "verdict": '"functional"',
    "reason": '"why"',
    "who": '"me"',
    "until": "2027-03-31",
}


def text(**changes: str | None) -> str:
    row = {name: value for name, value in {**ROW, **changes}.items() if value is not None}
    return "format_version = 1\n[[accepted]]\n" + "\n".join(
        f"{name} = {value}" for name, value in row.items()
    )


def entry(function: str, digit: str = "1") -> AcceptedLeak:
    return AcceptedLeak(
        sha256=digit * 64,
        verdict="verbatim",
        function=function,
        reason='quotes " and \\ and\nlines\x7f\x00é😀',
        who="",
        until=datetime.date(2027, 3, 31),
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "accepted.toml"
    baseline = Baseline([entry("b.py::g[#]'"), entry("a.py::\x1b[31mf", "2")])
    write_baseline(baseline, path)
    assert read_baseline(path).entries == baseline.entries
    first = path.read_bytes()
    write_baseline(read_baseline(path), path)
    assert path.read_bytes() == first
    write_baseline(Baseline(), path)
    assert read_baseline(path).entries == ()
    assert [file.name for file in tmp_path.iterdir()] == ["accepted.toml"]


def test_a_failed_write_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "accepted.toml"
    write_baseline(Baseline([entry("a")]), path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(AuditError, match="baseline could not be written"):
        write_baseline(Baseline(), path)
    assert len(read_baseline(path).entries) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["accepted.toml"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "format_version = 1"),
        ("format_version = 2", "format_version = 1"),
        ("format_version = true", "format_version = 1"),
        ("format_version = 1\nextra = 1", "nothing else"),
        ("format_version = 1\naccepted = 3", "nothing else"),
        ("format_version = 1\naccepted = [3]", "the fields"),
        ("[[accepted]", "TOML"),
        (text(who=None), "the fields"),
        (text(mood='"good"'), "the fields"),
        (text(sha256='"12"'), "64 hexadecimal digits"),
        (text(verdict='"clean"'), "'functional' or 'verbatim'"),
        (text(who="3"), "a text as 'who'"),
        (text(until='"2027-03-31"'), "a day without quotes"),
        (text(until="2027-03-31T00:00:00"), "a day without quotes"),
        (text() + "\n" + text().partition("\n")[2], "this is a second"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_baseline(path)
    assert expected in str(caught.value.expected)
    assert "bad.toml" in str(caught.value.where)
    assert caught.value.remedy


def test_files_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_baseline(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_baseline(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"format_version = 1 # \xe9")
    with pytest.raises(UsageError) as caught:
        read_baseline(tmp_path / "latin.toml")
    assert caught.value.expected == "UTF-8"


def test_days() -> None:
    assert parse_day("2027-03-31", where="x") == datetime.date(2027, 3, 31)
    for bad in ("2027-02-30", "20270331", "31.3.2027", "2027-W01-1", ""):
        with pytest.raises(UsageError):
            parse_day(bad, where="x")
