"""Every command in the documentation is run here, or is on a list with the reason why it cannot be.

The pages' two checkpoints stand for recorded completions, their training functions for a small source; all
else is run as it is written, page by page, in the order of the page.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")],
    key=lambda path: path.as_posix(),
)
NOT_RUN = tomllib.loads((Path(__file__).with_name("commands_not_run.toml")).read_text(encoding="utf-8"))
LEAKS_FOUND = 1
AUDITS = ("pytest", "funcmem audit", "funcmem harness export")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of a page."""

    page: str
    line: int
    text: str

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        for start, reason in NOT_RUN.get(self.page, {}).items():
            if self.text.startswith(start):
                return str(reason)
        return None


def commands(page: Path) -> list[Command]:
    """What stands after a dollar sign in a page's console blocks."""
    found: list[Command] = []
    inside, pending, start = False, "", 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.strip()
        if text.startswith("```"):
            inside = text == "```console"
            continue
        if not inside or not (pending or text.startswith("$ ")):
            continue
        start = start if pending else number
        pending += text.removeprefix("$ ") if not pending else " " + text
        if pending.endswith("\\"):
            pending = pending[:-1].rstrip()
            continue
        shown = re.sub(r"\s+#\s.*$", "", pending)
        found.append(Command(page=page.relative_to(ROOT).as_posix(), line=start, text=shown))
        pending = ""
    return found


ALL = [command for page in PAGES for command in commands(page)]
RUN = [command for command in ALL if command.reason is None]


def test_commands_are_found() -> None:
    assert len(ALL) > 25
    assert len(RUN) > 12
    assert {command.page for command in RUN} >= {
        "README.md",
        "docs/tutorial.md",
        "docs/spot-check.md",
        "docs/cluster.md",
        "docs/reports.md",
    }


def test_every_reason_belongs_to_a_command() -> None:
    for page, reasons in NOT_RUN.items():
        for start, reason in reasons.items():
            assert len(reason) > 20, (page, start)
            assert any(command.page == page and command.text.startswith(start) for command in ALL), (
                page,
                start,
            )


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store of all pages lies, so that harnesses are built once."""
    return tmp_path_factory.mktemp("kept")


@pytest.mark.parametrize("page", sorted({command.page for command in RUN}))
def test_commands_of_a_page(scene, kept: Path, page: str) -> None:
    place = prepared(scene, kept)
    for command in RUN:
        if command.page != page:
            continue
        done = run(command, place, kept, scene)
        said = f"{page}:{command.line}: {command.text}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
        audits = command.text.startswith(AUDITS) and "--collect-only" not in command.text
        assert done.returncode in ((0, LEAKS_FOUND) if audits else (0,)), said
        assert "Traceback" not in done.stdout + done.stderr, said
        if audits:
            assert re.search(r"\d (failed|xfailed|passed)", done.stdout), said
            assert "error" not in done.stdout.splitlines()[-1], said


def prepared(scene, kept: Path) -> Path:
    """The working directory that the pages take for granted."""
    place = scene.pytester.path
    scene.source.rename(place / "training_functions")
    text = (place / "training_functions" / "tariffs.py").read_text(encoding="utf-8")
    row = json.dumps({"path": "tariffs.py", "content": text})
    (place / "training_functions.jsonl").write_text(row + "\n", encoding="utf-8")
    (place / "release.funcmem.toml").write_text(
        'model = "replay:target.jsonl"\nreference = "replay:reference.jsonl"\n'
        'source = ["training_functions"]\n',
        encoding="utf-8",
    )
    (place / "pytest.ini").write_text(
        f"[pytest]\nfuncmem_sandbox = namespace\nfuncmem_min_lines = 9\nfuncmem_store = {kept / 'store'}\n",
        encoding="utf-8",
    )
    (place / "pairs.jsonl").write_text(
        '{"id": "1", "language": "python", "original": "def f(a):\\n    return a * 0.05",'
        ' "candidate": "def f(x):\\n    return x * 0.05"}\n',
        encoding="utf-8",
    )
    return place


def run(command: Command, place: Path, kept: Path, scene) -> subprocess.CompletedProcess[str]:
    text = command.text.replace("./checkpoint-47684", f"replay:{scene.target}")
    text = text.replace("./checkpoint-base", f"replay:{scene.reference}")
    # A command that names no source audits the directory it is started in.
    named = "training_functions" in text or "release.funcmem.toml" in text or not text.startswith("pytest")
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(kept / "cache"),
        "FUNCMEM_ROOT": str(ROOT),
    }
    return subprocess.run(
        ["bash", "-c", text],
        cwd=place if named else place / "training_functions",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
