"""Control groups: names that no other process has, and what killed runs leave behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pytest_funcmem.sandbox import cgroups
from tests.conftest import require


def test_processes_of_the_same_id_have_groups_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = cgroups.find_parent()
    require(parent is not None, "the right to make control groups")
    monkeypatch.setattr(os, "getpid", lambda: 7)
    groups = [cgroups.new_group(parent) for _ in range(3)]
    try:
        assert len({group.path for group in groups}) == 3
        cgroups.remove_left(parent)
        assert all(group.path.is_dir() for group in groups)
    finally:
        for group in groups:
            group.remove()
    assert not any(group.path.exists() for group in groups)


def test_what_killed_runs_left_goes_once_old(tmp_path: Path) -> None:
    """On this file system a directory with a file in it stands for a group with members."""
    for name in ("funcmem-1-old", "funcmem-1-used", "funcmem-1-young", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "funcmem-1-used" / "member").touch()
    hour_ago = time.time() - 3600
    for name in ("funcmem-1-old", "funcmem-1-used", "other"):
        os.utime(tmp_path / name, (hour_ago, hour_ago))
    cgroups.remove_left(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["funcmem-1-used", "funcmem-1-young", "other"]
