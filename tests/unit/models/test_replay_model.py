"""Replay files and the prompts written for them."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest

from pytest_funcmem.core.errors import ReplayError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Prompt, SourceFunction
from pytest_funcmem.models.open_model import open_model
from pytest_funcmem.models.replay_model import ReplayModel, write_prompts

GOOD = '{"function": "a.py::f", "completion": " return 1\\n", "finish_reason": "stop"}'


def function(name: str) -> SourceFunction:
    text = f"def {name}():\n    return 1\n"
    end = text.index(":") + 1
    return SourceFunction(
        path="a.py", qualname=name, language="python", line=1, text=text,
        definition_start=0, signature_start=0, signature_end=end, end=len(text) - 1,
    )  # fmt: skip


def open_replay(path: Path) -> ReplayModel:
    model = open_model(f"replay:{path}", Settings())
    assert isinstance(model, ReplayModel)
    return model


def test_completions_come_back_by_function(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    other = '{"function": "a.py::g", "completion": "", "finish_reason": "length", "extra": [1]}'
    path.write_bytes(b"\xef\xbb\xbf" + f"{GOOD}\r\n\n{other}".encode())
    model = open_replay(path)
    assert model.functions_named() == {"a.py::f", "a.py::g"}
    asked = [function("g"), function("f")]
    seen: list[int] = []
    prompts = [model.cutter().cut(item, prefix_tokens=5) for item in asked]
    completions = model.complete(asked, prompts, max_new_tokens=5, progress=seen.append)
    assert [(item.text, item.stop, item.token_ids) for item in completions] == [
        ("", "length", None),
        (" return 1\n", "stop", None),
    ]
    assert seen == [2]
    assert model.identity.revision == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert model.identity.kind == "replay"


def test_line_separators_within_strings_do_not_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    row = {"function": "a.py::f", "completion": "x\u2028y\x85z", "finish_reason": "stop"}
    path.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    (completion,) = open_replay(path).complete([function("f")], [], max_new_tokens=1)
    assert completion.text == "x\u2028y\x85z"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (GOOD[:30], "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"completion": "", "finish_reason": "stop"}', "lacks the field 'function'"),
        ('{"function": "a.py::g", "finish_reason": "stop"}', "lacks the field 'completion'"),
        ('{"function": "a.py::g", "completion": ""}', "lacks the field 'finish_reason'"),
        ('{"function": "a.py::g", "completion": null, "finish_reason": "stop"}', "'completion' holds null"),
        ('{"function": 7, "completion": "", "finish_reason": "stop"}', "'function' holds 7"),
        ('{"function": "a.py::g", "completion": "", "finish_reason": "eos"}', "'finish_reason' holds 'eos'"),
        (GOOD, "a.py::f twice"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f"{GOOD}\n\n{line}\n", encoding="utf-8")
    with pytest.raises(ReplayError, match=what) as caught:
        open_replay(path)
    assert caught.value.where == f"{path}:3"
    assert caught.value.remedy


def test_bytes_that_are_not_utf8_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"function": "\xff"}')
    with pytest.raises(ReplayError, match="not UTF-8") as caught:
        open_replay(path)
    assert caught.value.where == f"{path}:1"


@pytest.mark.parametrize("content", [None, "", "\n \n"])
def test_a_missing_or_empty_file_is_an_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "r.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ReplayError, match="cannot be read" if content is None else "no completion") as caught:
        open_replay(path)
    assert caught.value.where == str(path)


def test_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="cannot be read"):
        open_replay(tmp_path)


def test_a_function_that_is_not_named_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(GOOD)
    with pytest.raises(ReplayError, match=r"a\.py::missing"):
        open_replay(path).complete([function("missing")], [], max_new_tokens=1)


def test_written_prompts_can_be_read_back(tmp_path: Path) -> None:
    prompts = [Prompt(text=text, token_ids=(), tokenizer="t", context_tokens=3) for text in ("a\u2028", "é")]
    functions = [function("f"), function("g")]
    write_prompts(tmp_path / "p.jsonl", functions, prompts)
    stream = io.StringIO()
    write_prompts(stream, functions, prompts)
    written = (tmp_path / "p.jsonl").read_text(encoding="utf-8")
    assert written == stream.getvalue()
    assert [json.loads(line) for line in written.split("\n")[:-1]] == [
        {"function": "a.py::f", "prompt": "a\u2028", "tokenizer": "t", "context_tokens": 3},
        {"function": "a.py::g", "prompt": "é", "tokenizer": "t", "context_tokens": 3},
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


def test_a_file_is_parsed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_funcmem.models import replay_model

    parsed: list[Path] = []
    parse = replay_model._parse
    monkeypatch.setattr(
        replay_model, "_parse", lambda path, content: parsed.append(path) or parse(path, content)
    )
    path = tmp_path / "r.jsonl"
    path.write_text(GOOD, encoding="utf-8")
    assert open_replay(path).functions_named() == open_replay(path).functions_named() == {"a.py::f"}
    assert parsed == [path]
    path.write_text(GOOD.replace("a.py", "b.py"), encoding="utf-8")
    assert open_replay(path).functions_named() == {"b.py::f"}
    for number in range(10):
        (tmp_path / f"{number}.jsonl").write_text(GOOD, encoding="utf-8")
        open_replay(tmp_path / f"{number}.jsonl")
    assert len(replay_model._parsed_files) == 8
