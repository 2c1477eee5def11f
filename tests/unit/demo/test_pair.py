"""How the demo keeps a finished pair: reused, replaced, never half there. Training itself is stubbed here."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DEMO = Path(__file__).parents[3] / "examples" / "demo"


@pytest.fixture(scope="module")
def pair_module() -> Iterator[ModuleType]:
    """The demo's ``pair`` module, imported as its scripts import it."""
    sys.path.insert(0, str(DEMO))
    try:
        yield importlib.import_module("pair")
    finally:
        sys.path.remove(str(DEMO))
        sys.modules.pop("pair", None)


@pytest.fixture
def made(pair_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace training by writing small files; the list tells the seed of every training."""
    seeds: list[int] = []

    def make(directory: Path, *, seed: int) -> None:
        seeds.append(seed)
        for part in pair_module.PARTS:
            (directory / part).mkdir()
            (directory / part / "content").write_text(f"{part} {seed}", encoding="utf-8")

    monkeypatch.setattr(pair_module, "_make", make)
    return seeds


def test_a_finished_pair_is_reused(pair_module: ModuleType, made: list[int], tmp_path: Path) -> None:
    first = pair_module.ensure_pair(tmp_path / "deep" / "pair")
    second = pair_module.ensure_pair(tmp_path / "deep" / "pair")
    assert made == [0]
    assert first == second
    assert (first.target / "content").read_text(encoding="utf-8") == "target 0"
    assert first.reference.is_dir()
    assert first.sources.is_dir()


def test_another_recipe_replaces_the_pair(pair_module: ModuleType, made: list[int], tmp_path: Path) -> None:
    pair_module.ensure_pair(tmp_path / "pair")
    pair = pair_module.ensure_pair(tmp_path / "pair", seed=1)
    assert made == [0, 1]
    assert (pair.target / "content").read_text(encoding="utf-8") == "target 1"


@pytest.mark.parametrize("damage", ["lost", "changed", "added", "stamp lost", "stamp broken"])
def test_a_damaged_pair_is_made_again(
    pair_module: ModuleType, made: list[int], tmp_path: Path, damage: str
) -> None:
    pair = pair_module.ensure_pair(tmp_path / "pair")
    stamp = tmp_path / "pair" / pair_module.STAMP
    match damage:
        case "lost":
            (pair.reference / "content").unlink()
        case "changed":
            (pair.target / "content").write_text("half", encoding="utf-8")
        case "added":
            (pair.sources / "more.py").write_text("", encoding="utf-8")
        case "stamp lost":
            stamp.unlink()
        case "stamp broken":
            stamp.write_text("{", encoding="utf-8")
    pair_module.ensure_pair(tmp_path / "pair")
    assert made == [0, 0]
    assert sorted(path.name for path in (tmp_path / "pair").iterdir()) == sorted(
        (*pair_module.PARTS, pair_module.STAMP)
    )
    assert (pair.target / "content").read_text(encoding="utf-8") == "target 0"
    assert [path.name for path in pair.sources.iterdir()] == ["content"]


def test_a_failed_training_leaves_the_old_pair_and_no_rubbish(
    pair_module: ModuleType, made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = pair_module.ensure_pair(tmp_path / "pair")

    def fail(directory: Path, *, seed: int) -> None:
        (directory / "target").mkdir()
        raise RuntimeError("out of memory")

    monkeypatch.setattr(pair_module, "_make", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        pair_module.ensure_pair(tmp_path / "pair", seed=1)
    assert (pair.target / "content").read_text(encoding="utf-8") == "target 0"
    assert {path.name for path in tmp_path.iterdir()} == {"pair", ".pair.lock"}


def test_what_a_killed_training_left_is_removed(
    pair_module: ModuleType, made: list[int], tmp_path: Path
) -> None:
    (tmp_path / ".pair.making-killed" / "target").mkdir(parents=True)
    pair_module.ensure_pair(tmp_path / "pair")
    assert {path.name for path in tmp_path.iterdir()} == {"pair", ".pair.lock"}


def test_a_directory_of_something_else_is_refused(
    pair_module: ModuleType, made: list[int], tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(pair_module.PairError, match=r"'thesis\.tex', which is no part of a pair"):
        pair_module.ensure_pair(tmp_path)
    with pytest.raises(pair_module.PairError, match="is not a directory"):
        pair_module.ensure_pair(tmp_path / "thesis.tex")
    assert made == []
    assert (tmp_path / "thesis.tex").read_text(encoding="utf-8") == "years of work"


def test_the_command_line_reports_a_refusal_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(DEMO / "pair.py"), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "Name another directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_processes_make_one_pair(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time, pair\n"
        "def make(directory, *, seed):\n"
        "    with open(sys.argv[1] + '/log', 'a') as log: log.write('made\\n')\n"
        "    time.sleep(0.5)\n"
        "    for part in pair.PARTS:\n"
        "        (directory / part).mkdir()\n"
        "        (directory / part / 'content').write_text(part)\n"
        "pair._make = make\n"
        "print(pair.ensure_pair(pathlib.Path(sys.argv[1]) / 'pair').target.is_dir())\n"
    )
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], cwd=DEMO, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=30)[0] for process in racing]
    assert [answer.splitlines()[-1] for answer in answers] == ["True", "True"]
    assert (tmp_path / "log").read_text(encoding="utf-8") == "made\n"


def test_training_processes_end_with_a_killed_parent() -> None:
    program = (
        "import multiprocessing, os, time, pair\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "spawn = multiprocessing.get_context('spawn')\n"
        "with ProcessPoolExecutor(1, mp_context=spawn, initializer=pair._end_with_parent) as pool:\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    pool.submit(time.sleep, 300).result()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=DEMO, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = Path("/proc") / parent.stdout.readline().strip()
        assert worker.is_dir()
        parent.kill()
        deadline = time.monotonic() + 20
        while worker.is_dir() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not worker.is_dir()


def test_the_recipe_names_every_file_that_shapes_the_pair(pair_module: ModuleType) -> None:
    needed = {"pair.py", "toolbox.py"}
    queue = ["training.py"]
    while queue:
        name = queue.pop()
        needed.add(name)
        for node in ast.walk(ast.parse((DEMO / name).read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and (DEMO / f"{module}.py").exists() and f"{module}.py" not in needed:
                queue.append(f"{module}.py")
    assert set(pair_module.RECIPE_FILES) == needed
