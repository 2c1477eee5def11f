"""Report files appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_funcmem.core.errors import AuditError
from pytest_funcmem.reporting.files import write_whole


def test_an_older_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    write_whole(path, ["new ", "text\n"], what="report")
    assert path.read_bytes() == b"new text\n"
    assert list(tmp_path.iterdir()) == [path]


def test_what_breaks_on_the_way_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")

    def breaking() -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, breaking(), what="report")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_room_is_an_error_that_names_the_report() -> None:
    with pytest.raises(AuditError, match="The HTML report could not be written") as caught:
        write_whole(Path("/proc/nothing/out.html"), ["text"], what="HTML report")
    assert "out.html" in str(caught.value)
