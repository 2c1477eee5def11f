from __future__ import annotations

import builtins
import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from pytest_funcmem.core.errors import MissingExtraError, SourceError
from pytest_funcmem.corpora import Corpus, datasets, read_sources

CODE = "def f(x):\n    return x\n\n\nclass A:\n    @d\n    def g(self):\n        return 1\n"


def read(path: Path, *, min_lines: int = 1) -> Corpus:
    return read_sources([path], min_lines=min_lines, max_lines=50)


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def write(tmp_path: Path, *rows: Any, name: str = "data.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(jsonl(*rows))
    return path


def keys(corpus: Corpus) -> list[str]:
    return [function.key for function in corpus.functions]


ROWS: list[dict[str, Any]] = [
    {"content": CODE, "path": "b/m.py", "id": "one", "language": None, "stars": 3},
    {"content": "func G() int {\n\treturn 1\n}\n", "path": "a.txt", "language": "Go", "id": "two"},
]
EXPECTED = ["a.txt::G", "b/m.py::f", "b/m.py::A.g"]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("file_format", [".jsonl", ".parquet"])
def test_every_format_reads_the_same(tmp_path: Path, file_format: str, compression: str) -> None:
    plain = tmp_path / f"data{file_format}"
    if file_format == ".jsonl":
        plain.write_bytes(jsonl(*ROWS))
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), plain)
    path = tmp_path / f"data{file_format}{compression}"
    if compression == ".gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    elif compression == ".zst":
        path.write_bytes(zstandard.compress(plain.read_bytes()))
    corpus = read(path)
    assert keys(corpus) == EXPECTED
    assert (corpus.files, corpus.dropped) == (2, {})
    assert json.loads(corpus.functions[1].metadata)["stars"] == 3
    assert corpus.functions[0].language == "go"


def test_unknown_columns_are_kept_as_canonical_json(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"stars": 3, "content": CODE, "path": "m.py", "id": 1, "b": {"y": None, "a": [1.5, "é"]}}
    )
    assert {function.metadata for function in read(path).functions} == {
        '{"b":{"a":[1.5,"\\u00e9"],"y":null},"stars":3}'
    }
    assert read(write(tmp_path, {"content": CODE, "path": "m.py"})).functions[0].metadata == ""


def test_parquet_values_that_json_lacks_are_kept_as_text(tmp_path: Path) -> None:
    row = {"text": CODE, "path": "m.py", "when": datetime.date(2026, 1, 2), "raw": b"\xff\x00"}
    path = tmp_path / "d.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    assert read(path).functions[0].metadata == '{"raw":"ff00","when":"2026-01-02"}'


def test_text_stands_for_content(tmp_path: Path) -> None:
    assert keys(read(write(tmp_path, {"text": CODE, "path": "m.py"}))) == ["m.py::f", "m.py::A.g"]


def test_the_id_names_a_row_only_where_paths_are_shared(tmp_path: Path) -> None:
    one = "def f(x):\n    return 1\n"
    path = write(
        tmp_path,
        {"content": one, "path": "m.py", "id": "z"},
        {"content": one, "path": "n.py", "id": "y"},
        {"content": one, "path": "m.py", "id": "a"},
        {"content": one, "path": "m.py"},
        {"content": one, "id": "lonely.py"},
        {"content": one, "language": "python"},
    )
    corpus = read(path)
    assert keys(corpus) == ["lonely.py::f", "m.py#z::f", "m.py#a::f", "m.py#4::f", "n.py::f", "row-6::f"]
    assert [function.row for function in corpus.functions] == [None, "z", "a", "4", None, None]


def test_rows_that_cannot_be_told_apart_are_an_error(tmp_path: Path) -> None:
    row = {"content": CODE, "path": "m.py", "id": "same"}
    path = write(tmp_path, row, row)
    with pytest.raises(SourceError, match="same path and the same id") as caught:
        read(path)
    assert f"{path}:2" in (caught.value.where or "")


def test_two_data_sets_with_the_same_paths_are_told_apart(tmp_path: Path) -> None:
    row = {"content": "def f(x):\n    return 1\n", "path": "m.py"}
    paths = [write(tmp_path, row, name="a.jsonl"), write(tmp_path, row, name="b.jsonl")]
    corpus = read_sources(paths, min_lines=1, max_lines=50)
    assert keys(corpus) == ["a.jsonl/m.py::f", "b.jsonl/m.py::f"]


def test_listed_functions_are_read_whatever_their_length(tmp_path: Path) -> None:
    row = {"content": CODE, "path": "m.py", "functions": [{"qualname": "A.g", "line": 7}]}
    corpus = read(write(tmp_path, row), min_lines=10)
    assert keys(corpus) == ["m.py::A.g"]
    assert corpus.dropped == {"unlisted": 1}


@pytest.mark.parametrize(("qualname", "line"), [("A.g", 6), ("g", 7), ("A.g", 7)])
def test_lists_of_other_tools_name_the_same_function(tmp_path: Path, qualname: str, line: int) -> None:
    row = {"content": CODE, "path": "m.py", "functions": [{"qualname": qualname, "line": line}] * 2}
    assert keys(read(write(tmp_path, row))) == ["m.py::A.g"]


@pytest.mark.parametrize(
    ("qualname", "line"), [("A.g", 8), ("A.g", 1), ("h", 1), ("B.g", 7), (".g", 7), ("", 1)]
)
def test_a_listed_function_that_is_not_there_is_an_error(tmp_path: Path, qualname: str, line: int) -> None:
    good = {"content": CODE, "path": "m.py"}
    path = write(tmp_path, good, {**good, "id": "x", "functions": [{"qualname": qualname, "line": line}]})
    with pytest.raises(SourceError, match="does not have") as caught:
        read(path)
    assert f"{qualname} at line {line}" in caught.value.what
    assert caught.value.where == f"{path}:2"
    if qualname.endswith("g"):
        assert "A.g at line 7" in (caught.value.expected or "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("def f(x):\n    return (\n", "syntax_error"),
        ("def f(x):\n    pass\n", "no_body"),
        ("def f(x):\n    return '<fim_prefix>'\n", "fill_in_the_middle"),
    ],
)
def test_a_listed_function_that_cannot_be_audited_is_counted(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = write(tmp_path, {"content": content, "path": "m.py", "functions": [{"qualname": "f", "line": 1}]})
    corpus = read(path)
    assert (corpus.functions, corpus.dropped) == ((), {reason: 1})


def test_an_empty_list_audits_nothing(tmp_path: Path) -> None:
    assert read(write(tmp_path, {"content": CODE, "path": "m.py", "functions": []})).dropped == {
        "unlisted": 2
    }


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"content": CODE, "path": "m.rb"}, "unknown_language"),
        ({"content": CODE}, "unknown_language"),
        ({"content": CODE, "path": "m.py", "language": "C++"}, "unknown_language"),
        ({"content": CODE + "\0", "path": "m.py"}, "binary_file"),
        ({"content": "#" * 5_000_001, "path": "m.py"}, "too_large"),
    ],
)
def test_rows_that_cannot_be_audited_are_counted(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    corpus = read(write(tmp_path, row))
    assert (corpus.functions, corpus.dropped) == ((), {reason: 1})


def test_lone_surrogates_in_a_row_do_no_harm(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"content": "def f(x):\n    return '\ud800'\n", "path": "m\ud800.py", "x": "\udfff"}
    )
    (function,) = read(path).functions
    assert function.code.endswith("'\ud800'")


def test_blank_lines_byte_order_mark_and_a_missing_last_newline_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + jsonl(ROWS[0]) + b"\n  \r\n" + jsonl(ROWS[1]).rstrip())
    assert keys(read(path)) == EXPECTED


def test_an_empty_data_set_has_no_functions(tmp_path: Path) -> None:
    corpus = read(write(tmp_path))
    assert (corpus.functions, corpus.files) == ((), 0)


GOOD = jsonl(ROWS[0])
BAD_LINES: dict[str, tuple[bytes, str]] = {
    "not json": (b'{"content": \n', "not JSON"),
    "cut": (GOOD[:40] + b"\n", "not JSON"),
    "not utf-8": (b'{"content": "\xff"}\n', "not UTF-8"),
    "list": (b"[1]\n", "not a JSON object"),
    "deep": (b"[" * 100_000 + b"\n", "cannot be read as JSON"),
    "long number": (b'{"x": ' + b"1" * 10_000 + b"}\n", "cannot be read as JSON"),
    "no content": (b'{"path": "m.py"}\n', "no content"),
    "null content": (b'{"content": null, "path": "m.py"}\n', "no content"),
    "number content": (b'{"content": 3}\n', "not a text"),
    "path": (b'{"content": "", "path": 3}\n', "'path'"),
    "language": (b'{"content": "", "language": ["py"]}\n', "'language'"),
    "id": (b'{"content": "", "id": {}}\n', "'id'"),
    "functions": (b'{"content": "", "functions": {}}\n', "'functions'"),
    "entry": (b'{"content": "", "functions": ["f"]}\n', "'functions'"),
    "no line": (b'{"content": "", "functions": [{"qualname": "f"}]}\n', "'functions'"),
    "line zero": (b'{"content": "", "functions": [{"qualname": "f", "line": 0}]}\n', "'functions'"),
    "line true": (b'{"content": "", "functions": [{"qualname": "f", "line": true}]}\n', "'functions'"),
}


@pytest.mark.parametrize("case", list(BAD_LINES))
@pytest.mark.parametrize("compression", ["", ".gz"])
def test_a_broken_line_is_an_error_that_names_it(tmp_path: Path, case: str, compression: str) -> None:
    line, what = BAD_LINES[case]
    path = tmp_path / f"data.jsonl{compression}"
    data = GOOD + b"\n" + line + GOOD
    path.write_bytes(gzip.compress(data) if compression else data)
    with pytest.raises(SourceError) as caught:
        read(path)
    assert what in caught.value.what
    assert caught.value.where == f"{path}:3"
    assert caught.value.expected
    assert caught.value.remedy


def test_a_line_without_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_ROW_BYTES", 1000)
    path = write(tmp_path, {"content": "#" * 2000, "path": "m.py"})
    with pytest.raises(SourceError, match="too long") as caught:
        read(path)
    assert caught.value.where == f"{path}:1"


@pytest.mark.parametrize("name", ["d.jsonl.gz", "d.jsonl.zst", "d.parquet.gz", "d.parquet.zst", "d.parquet"])
@pytest.mark.parametrize("data", [b"", b"not what it says it is", b"PAR1" * 20])
def test_a_file_that_is_not_what_its_name_says_is_an_error(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    if not data and name == "d.jsonl.zst":
        assert read(path).files == 0  # no frames, no bytes
        return
    if not data and name == "d.jsonl.gz":
        assert read(path).files == 0
        return
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(path) in (caught.value.where or "")


@pytest.mark.parametrize("compression", [".gz", ".zst"])
def test_a_truncated_compressed_file_is_an_error(tmp_path: Path, compression: str) -> None:
    rows = jsonl(*[{**ROWS[0], "id": str(number), "x": str(number * 7919 % 1009)} for number in range(3000)])
    data = gzip.compress(rows) if compression == ".gz" else zstandard.compress(rows)
    path = tmp_path / f"d.jsonl{compression}"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(path) in (caught.value.where or "")


def test_a_parquet_row_without_content_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([ROWS[0], {**ROWS[1], "content": None}]), path)
    with pytest.raises(SourceError, match="no content") as caught:
        read(path)
    assert caught.value.where == f"{path}:2"


def test_parquet_lists_restrict_too(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    rows = [
        {"content": CODE, "path": "m.py", "functions": [{"qualname": "f", "line": 1}]},
        {"content": CODE, "path": "n.py"},
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert keys(read(path)) == ["m.py::f", "n.py::f", "n.py::A.g"]


@pytest.mark.parametrize(("name", "package"), [("d.parquet", "pyarrow"), ("d.jsonl.zst", "zstandard")])
def test_a_missing_package_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    importing = builtins.__import__

    def refuse(module: str, *args: Any) -> Any:
        if module.split(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return importing(module, *args)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pytest-funcmem\[data\]"):
        read(path)


def test_a_directory_with_a_data_sets_name_is_a_directory(tmp_path: Path) -> None:
    directory = tmp_path / "d.jsonl"
    directory.mkdir()
    (directory / "m.py").write_text(CODE)
    assert keys(read(directory)) == ["m.py::f", "m.py::A.g"]


def test_the_measuring_corpora_read_whole(shared_dir: Path) -> None:
    corpus = read_sources(
        [shared_dir / "corpora" / f"{name}.jsonl" for name in ("go", "java", "rust")],
        min_lines=10,
        max_lines=50,
    )
    assert len(corpus.functions) == 180
    assert set(corpus.dropped) == {"unlisted"}
    found = [function.key for function in corpus.functions]
    assert len(set(found)) == len(found)
    assert [function.path for function in corpus.functions] == sorted(
        function.path for function in corpus.functions
    )
