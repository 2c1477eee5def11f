"""What ``funcmem ladder`` refuses, and what it does without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_funcmem.cli import main

PYTHON = '''
def sign(value):
    """Which way a value points."""
    if value < 0:
        return -1
    if value > 0:
        return 1
    return 0
'''
GO = "package a\n\nfunc Sign(v int) int {\n\tif v < 0 {\n\t\treturn -1\n\t}\n\tv++\n\tv--\n\treturn 1\n}\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "sources"
    path.mkdir()
    (path / "sign.py").write_text(PYTHON)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--levels=bare"], "The levels bare need a model."),
        (["--levels=local,preamble,retry"], "The levels preamble, retry need a model."),
        (["--levels=local,top"], "no list of levels"),
        (["--levels=local,local"], "no list of levels"),
        (["--levels="], "no list of levels"),
        (["--limit=0"], "--limit"),
        (["--workers=-1"], "--workers"),
        (["--max-cost=nan"], "number of dollars"),
        (["--figure=ladder.gif"], "ends in .png, .svg, .pdf"),
        (["--model=hf:some/model"], "hf"),
        (["--model=nobody"], "nobody"),
        (["--model=openai:http://127.0.0.1:9/v1#m", "--levels=agent", "--max-cost=1"], "is not known"),
        (["--model=openai:http://127.0.0.1:9/v1#m", "--levels=agent", "--agent-limit=much"], "no limit"),
    ],
)
def test_what_cannot_be_used_is_refused(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    command = ["ladder", str(source), "--min-lines=4", f"--store={tmp_path / 'store'}", *arguments]
    assert main(command) == 4
    assert said in capsys.readouterr().err


def test_it_is_for_python_alone(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--levels=local", "--min-lines=4", f"--store={tmp_path / 'store'}"]
    (source / "sign.py").unlink()
    (source / "sign.go").write_text(GO)
    assert main(["ladder", str(source), *command]) == 4
    assert "for Python alone, as in the paper; these functions are in go" in capsys.readouterr().err
    (source / "sign.go").unlink()
    assert main(["ladder", str(source), *command]) == 4
    assert "no function to take up the ladder" in capsys.readouterr().err


def test_without_a_model_the_local_builder_is_measured(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / "sign.go").write_text(GO)
    out = tmp_path / "study.json"
    command = ["ladder", str(source), "--min-lines=4", "--sandbox=namespace", f"--json={out}"]
    command += [f"--store={tmp_path / 'store'}", f"--figure={tmp_path / 'ladder.svg'}"]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "bare, imports, preamble, retry and agent are skipped" in shown.err
    assert "1 functions in go are left out" in shown.err
    assert "local builder         1/1" in shown.out
    study = json.loads(out.read_text())
    assert [level["level"] for level in study["levels"]] == ["local"]
    assert (study["model"], study["cost"]["dollars"], study["levels"][0]["cost"]) == (None, 0, None)
    assert "<svg" in (tmp_path / "ladder.svg").read_text()
