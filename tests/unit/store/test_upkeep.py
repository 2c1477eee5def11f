"""What a store holds, what of it is damaged, what can go."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from pytest_funcmem.cli import main
from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.store import DirectoryStore, upkeep
from pytest_funcmem.store.directory_store import entry_place
from pytest_funcmem.store.upkeep import collect, contents, damaged

KEYS = [text_digest(name) for name in "abcdef"]


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """Six harnesses and a record under a key that is no digest."""
    made = DirectoryStore(tmp_path / "store")
    for key in KEYS:
        made.put("harness", key, {"value": key * 10})
    made.put("record", "no digest", 1)
    return made


def place(store: DirectoryStore, key: str, kind: str = "harness") -> Path:
    return store.path / "v1" / entry_place(kind, key)


def damage(store: DirectoryStore) -> None:
    """Each kind of damage once: cut in half, one bit, another version, another's place, empty."""
    paths = [place(store, key) for key in KEYS]
    paths[0].write_bytes(paths[0].read_bytes()[: paths[0].stat().st_size // 2])
    raw = bytearray(paths[1].read_bytes())
    raw[-20] ^= 1
    paths[1].write_bytes(bytes(raw))
    paths[2].write_text(json.dumps({**json.loads(paths[2].read_text()), "format": 2}))
    paths[3].write_bytes(paths[4].read_bytes())
    paths[5].write_bytes(b"")


def test_a_sound_store(store: DirectoryStore) -> None:
    found = contents(store.path)
    assert [(kind, number) for kind, number, _ in found.kinds] == [("harness", 6), ("record", 1)]
    size = sum(path.stat().st_size for path in store.path.rglob("*.json"))
    assert sum(total for _, _, total in found.kinds) == size
    assert list(damaged(store.path)) == []
    assert collect(store.path).bytes == 0


def test_damage_is_named_removed_and_made_again(store: DirectoryStore) -> None:
    damage(store)
    faults = {item.path: item.fault for item in damaged(store.path)}
    assert [faults.get(place(store, key)) for key in KEYS] == [
        "is damaged or cut short",
        "does not match its checksum",
        "has format 2, not 1",
        "belongs to another key",
        None,
        "is damaged or cut short",
    ]
    assert [store.get("harness", key) is None for key in KEYS] == [True, True, True, True, False, True]
    assert [path for path, _ in store.damaged] == [place(store, key) for key in KEYS if key != KEYS[4]]
    store.put("harness", KEYS[0], 7)
    assert collect(store.path).damaged == 4
    assert list(damaged(store.path)) == []
    assert (store.get("harness", KEYS[0]), store.get("record", "no digest")) == (7, 1)


def test_an_entry_that_was_made_again_while_it_was_looked_at_stays(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(store)
    look = upkeep._fault

    def slow(entry: Path, root: Path, *, at: Path | None = None) -> str:
        found = look(entry, root, at=at)
        if found and at is None:
            store.put("harness", entry.stem, {"again": True})
        return found

    monkeypatch.setattr(upkeep, "_fault", slow)
    assert collect(store.path).damaged == 0
    monkeypatch.undo()
    assert list(damaged(store.path)) == []
    assert [store.get("harness", key) for key in KEYS if key != KEYS[4]] == [{"again": True}] * 5


def test_leftovers_other_versions_and_unused_entries_go(store: DirectoryStore) -> None:
    old = time.time() - 7200
    for name, age in ((".old.tmp", old), (".young.tmp", time.time())):
        left = place(store, KEYS[0]).with_name(name)
        left.write_text("half")
        os.utime(left, (age, age))
    (store.path / "v0" / "harness").mkdir(parents=True)
    (store.path / "v0" / "harness" / "x.json").write_text("12345")
    (store.path / "notes").mkdir()
    os.utime(place(store, KEYS[1]), (old, old))
    assert contents(store.path).others == ("v0",)
    assert contents(store.path).leftovers == 2
    gone = collect(store.path, older_than_s=3600.0)
    assert (gone.unused, gone.damaged, gone.leftovers, gone.others) == (1, 0, 1, 1)
    assert gone.bytes > 9
    assert (store.path / "notes").is_dir()
    assert place(store, KEYS[0]).with_name(".young.tmp").exists()
    assert store.get("harness", KEYS[1]) is None
    assert store.get("harness", KEYS[2]) is not None


def test_use_keeps_an_entry_young(store: DirectoryStore) -> None:
    old = time.time() - 10 * 86_400
    for key in KEYS[:2]:
        os.utime(place(store, key), (old, old))
    store.get("harness", KEYS[0])
    assert collect(store.path, older_than_s=5 * 86_400.0).unused == 1
    assert store.get("harness", KEYS[0]) is not None
    assert store.get("harness", KEYS[1]) is None


def test_no_store(tmp_path: Path) -> None:
    for look in (contents, collect, lambda path: list(damaged(path))):
        with pytest.raises(UsageError, match="no store"):
            look(tmp_path)


def test_the_command(store: DirectoryStore, capsys: pytest.CaptureFixture[str]) -> None:
    option = f"--store={store.path}"
    assert main(["store", "info", option]) == 0
    assert "harness" in capsys.readouterr().out
    assert main(["store", "verify", option, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": 7, "damaged": []}
    damage(store)
    assert main(["store", "verify", option]) == 1
    shown = capsys.readouterr().out
    assert str(place(store, KEYS[0])) in shown
    assert "5 of 7 entries are damaged" in shown
    assert main(["store", "gc", option]) == 0
    assert "removed 5 damaged" in capsys.readouterr().out
    assert main(["store", "verify", option]) == 0
    assert main(["store", "info", "--store=/nowhere/at/all"]) == 4
