"""Files under a directory: layout, damage, full disks, several processes."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import StoreError, UsageError
from pytest_funcmem.store import DirectoryStore, MemoryStore

KEY = text_digest("a key")


def entry_path(root: Path, kind: str = "harness", key: str = KEY) -> Path:
    return root / "v1" / kind / key[:2] / f"{key}.json"


def leftovers(root: Path) -> list[Path]:
    return [path for path in root.rglob(".*") if path.suffix == ".tmp"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / ".funcmem"


@pytest.mark.parametrize("make", [DirectoryStore, lambda _: MemoryStore()], ids=["directory", "memory"])
@pytest.mark.parametrize(
    "value", [None, 0, "", [], {"b": 1, "a": [1.5, None, "\ud800\x00é"]}, "x" * 100_000], ids=repr
)
def test_values_come_back(make: Any, root: Path, value: Any) -> None:
    store = make(root)
    assert store.get("harness", KEY) is None
    store.put("harness", KEY, {"value": value})
    assert store.get("harness", KEY) == {"value": value}
    assert store.get("record", KEY) is None
    store.put("harness", KEY, {"value": 2})
    assert store.get("harness", KEY) == {"value": 2}


def test_order_of_keys_is_kept(root: Path) -> None:
    store = DirectoryStore(root)
    store.put("record", KEY, {"z": 1, "a": 2})
    assert list(store.get("record", KEY)) == ["z", "a"]


def test_layout_and_wrapping(root: Path) -> None:
    store = DirectoryStore(root)
    store.put("harness", KEY, {"a": 1})
    entry = json.loads(entry_path(root).read_text())
    assert list(entry) == ["format", "kind", "key", "checksum", "value"]
    assert (entry["format"], entry["kind"], entry["key"], entry["value"]) == (1, "harness", KEY, {"a": 1})
    assert leftovers(root) == []


def test_keys_that_are_no_digest_are_hashed(root: Path) -> None:
    store = DirectoryStore(root)
    store.put("record", "../../etc/passwd\n", 1)
    assert store.get("record", "../../etc/passwd\n") == 1
    assert entry_path(root, "record", text_digest("../../etc/passwd\n")).exists()


@pytest.mark.parametrize("kind", ["", "..", "a/b", "Harness"])
def test_kinds_are_names(root: Path, kind: str) -> None:
    with pytest.raises(ValueError, match="no kind of result"):
        DirectoryStore(root).put(kind, KEY, 1)


def test_marks_keep_the_directory_out_of_git_and_backups(root: Path) -> None:
    DirectoryStore(root).put("record", KEY, 1)
    assert "*" in (root / ".gitignore").read_text().splitlines()
    assert (root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    (root / ".gitignore").unlink()
    DirectoryStore(root).put("record", KEY, 2)
    assert not (root / ".gitignore").exists()


def test_nothing_is_made_by_reading(root: Path) -> None:
    assert DirectoryStore(root).get("record", KEY) is None
    assert not root.exists()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(lambda raw: b"", "damaged or cut short", id="empty"),
        pytest.param(lambda raw: raw[: len(raw) // 2], "damaged or cut short", id="cut"),
        pytest.param(lambda raw: raw[:-1], "does not match", id="cut-by-one"),
        pytest.param(lambda raw: b"\x00" * len(raw), "damaged or cut short", id="zeros"),
        pytest.param(
            lambda raw: raw.replace(b"12345", b"12346"), "does not match its checksum", id="flipped"
        ),
        pytest.param(
            lambda raw: raw.replace(b'"format":1', b'"format":7'), "has format 7, not 1", id="foreign"
        ),
        pytest.param(lambda raw: b"[1]", "is damaged", id="not-an-object"),
        pytest.param(lambda raw: b"[" * 200_000, "damaged or cut short", id="deep"),
        pytest.param(
            lambda raw: raw.replace(KEY.encode(), b"0" * 64), "belongs to another key", id="another-key"
        ),
    ],
)
def test_damaged_entries_are_absent_named_and_replaced(
    root: Path, caplog: pytest.LogCaptureFixture, damage: Any, said: str
) -> None:
    store = DirectoryStore(root)
    store.put("harness", KEY, {"n": 12345})
    path = entry_path(root)
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert store.get("harness", KEY) is None
    assert str(path) in caplog.text
    assert said in caplog.text
    store.put("harness", KEY, {"n": 1})
    assert store.get("harness", KEY) == {"n": 1}


def test_entry_that_cannot_be_read_is_absent(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    entry_path(root).mkdir(parents=True)
    assert DirectoryStore(root).get("harness", KEY) is None
    assert "cannot be read" in caplog.text


def test_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(UsageError, match="not a directory") as caught:
        DirectoryStore(path)
    assert str(path) in str(caught.value)


def test_place_that_cannot_be_made_is_a_store_error(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "v1").write_text("in the way")
    with pytest.raises(StoreError) as caught:
        DirectoryStore(root).put("record", KEY, 1)
    assert "--funcmem-store" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(errno.ENOSPC, "free space"), (errno.EDQUOT, "free space"), (errno.EACCES, "give write permission")],
)
def test_failure_to_write_says_what_to_do_and_leaves_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: int, remedy: str
) -> None:
    store = DirectoryStore(root)
    store.put("record", KEY, {"old": True})

    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError) as caught:
        store.put("record", KEY, {"new": True})
    monkeypatch.undo()
    assert os.strerror(code) in caught.value.what
    assert caught.value.where == str(entry_path(root, "record"))
    assert caught.value.remedy is not None
    assert caught.value.remedy.startswith(remedy)
    assert store.get("record", KEY) == {"old": True}
    assert leftovers(root) == []


FILE_SIZE_LIMIT = """
import resource, sys
from pathlib import Path
from pytest_funcmem.core.errors import StoreError
from pytest_funcmem.store import DirectoryStore
store = DirectoryStore(Path(sys.argv[1]))
store.prepare()
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    store.put("record", "k", "x" * 50_000)
except StoreError as exc:
    print(exc.remedy)
"""


def test_write_that_the_kernel_cuts_short_leaves_nothing(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILE_SIZE_LIMIT, str(root)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("free space there")
    assert [path for path in (root / "v1").rglob("*") if path.is_file()] == []


WRITER = """
import sys
from pathlib import Path
from pytest_funcmem.store import DirectoryStore
store, name = DirectoryStore(Path(sys.argv[1])), sys.argv[2]
for turn in range(40):
    for key in ("one", "two"):
        store.put("record", key, {"writer": name, "turn": turn, "filler": name * 20_000})
        found = store.get("record", key)
        assert found is not None and set(found["filler"]) == {found["writer"]}, "torn"
"""


def test_several_processes_share_one_directory(root: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(root), name], stderr=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    errors = [writer.communicate(timeout=60)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors
    assert errors == ["", ""]
    assert leftovers(root) == []


def test_a_file_that_another_machine_tidied_away_is_written_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidied: list[Path] = []

    def tidy(descriptor: int) -> None:
        if len(tidied) < 2:
            tidied.append(Path(f"/proc/self/fd/{descriptor}").readlink())
            tidied[-1].unlink()

    store = DirectoryStore(root)
    store.prepare()
    monkeypatch.setattr(os, "fsync", tidy)
    store.put("harness", KEY, {"a": 1})
    assert len(tidied) == 2
    assert store.get("harness", KEY) == {"a": 1}
    assert leftovers(root) == []


def test_what_killed_writers_left_is_tidied_once_old(root: Path) -> None:
    DirectoryStore(root).put("record", KEY, 1)
    directory = entry_path(root, "record").parent
    old, young = directory / ".a-0.tmp", directory / ".b-0.tmp"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (time.time() - 7200,) * 2)
    DirectoryStore(root).put("record", KEY, 2)
    assert (old.exists(), young.exists()) == (False, True)
