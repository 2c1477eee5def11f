from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from pytest_funcmem.core.errors import SourceError
from pytest_funcmem.corpora import Corpus, read_sources
from pytest_funcmem.corpora.files import MAX_FILE_BYTES

BODY = "    x = 1\n    return x\n"


def read(*paths: Path, min_lines: int = 1, max_lines: int = 50) -> Corpus:
    return read_sources(paths, min_lines=min_lines, max_lines=max_lines)


def keys(*paths: Path) -> list[str]:
    return [function.key for function in read(*paths).functions]


def lay(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def {path.stem}(x):\n{BODY}", encoding="utf-8")
    return root


def test_a_directory_is_read_in_the_order_of_paths_and_places(tmp_path: Path) -> None:
    lay(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a.py")
    (tmp_path / "two.py").write_text(f"def z(x):\n{BODY}\n\nclass A:\n    def a(self):\n        return 1\n")
    (tmp_path / "m.go").write_text("package m\n\nfunc G() int {\n\treturn 1\n}\n")
    (tmp_path / "README.md").write_text("def no(): pass")
    corpus = read(tmp_path)
    assert [function.key for function in corpus.functions] == [
        "a.py::a",
        "a/b/c.py::c",
        "a/z.py::z",
        "b.py::b",
        "m.go::G",
        "two.py::z",
        "two.py::A.a",
    ]
    assert (corpus.files, corpus.dropped) == (6, {})


def test_a_file_goes_by_its_name(tmp_path: Path) -> None:
    lay(tmp_path, "deep/down/m.py")
    assert keys(tmp_path / "deep" / "down" / "m.py") == ["m.py::m"]


def test_the_working_directory_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, "pkg/m.py")
    monkeypatch.chdir(tmp_path)
    assert keys(Path()) == ["pkg/m.py::m"]
    monkeypatch.chdir(tmp_path / "pkg")
    assert keys(Path("..")) == ["pkg/m.py::m"]


def test_lengths_outside_the_limits_are_counted(tmp_path: Path) -> None:
    for number in (1, 2, 3, 4, 5):
        body = "    x = 1\n" * (number - 1) + "    return x\n"
        (tmp_path / f"m{number}.py").write_text(f"def f(x):\n{body}")
    (tmp_path / "stub.py").write_text("def f(x): ...\n")
    corpus = read(tmp_path, min_lines=2, max_lines=4)
    assert [function.path for function in corpus.functions] == ["m2.py", "m3.py", "m4.py"]
    assert corpus.dropped == {"too_short": 1, "too_long": 1, "no_body": 1}
    assert list(corpus.dropped) == ["too_short", "too_long", "no_body"]


def test_what_is_not_the_users_own_code_is_skipped(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "m.py",
        ".git/x.py",
        ".hidden/x.py",
        "node_modules/x.py",
        "a/__pycache__/x.py",
        "env/lib/x.py",
    )
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert keys(tmp_path) == ["m.py::m"]


def test_a_hidden_directory_that_is_named_is_read(tmp_path: Path) -> None:
    lay(tmp_path, ".hidden/m.py")
    (tmp_path / ".hidden" / "pyvenv.cfg").write_text("")
    assert keys(tmp_path / ".hidden") == ["m.py::m"]


def test_links_are_not_followed_and_loops_are_counted(tmp_path: Path) -> None:
    root = lay(tmp_path / "src", "a/m.py", "b/n.py")
    outside = lay(tmp_path / "outside", "secret.py")
    (root / "a" / "loop").symlink_to(root)
    (root / "a" / "self").symlink_to(".")
    (root / "circle").symlink_to("circle")
    (root / "b" / "inside").symlink_to(root / "a")
    (root / "out").symlink_to(outside)
    (root / "out.py").symlink_to(outside / "secret.py")
    (root / "gone.py").symlink_to(root / "nothing.py")
    corpus = read(root)
    assert [function.key for function in corpus.functions] == ["a/m.py::m", "b/n.py::n"]
    assert corpus.dropped == {"symlink": 3, "symlink_loop": 3}


def test_a_link_that_is_named_is_read_once(tmp_path: Path) -> None:
    root = lay(tmp_path / "src", "m.py")
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "file.py").symlink_to(root / "m.py")
    assert keys(tmp_path / "link", root, tmp_path / "file.py", root / "m.py") == ["m.py::m"]
    assert keys(tmp_path / "file.py") == ["file.py::m"]


def test_sources_with_the_same_paths_are_told_apart(tmp_path: Path) -> None:
    lay(tmp_path, "one/src/m.py", "one/src/only.py", "two/src/m.py", "three/m.py")
    found = keys(tmp_path / "one" / "src", tmp_path / "two" / "src", tmp_path / "three" / "m.py")
    assert found == ["one/src/m.py::m", "only.py::only", "three/m.py::m", "two/src/m.py::m"]


def test_order_of_sources_does_not_matter(tmp_path: Path) -> None:
    lay(tmp_path, "a/m.py", "b/m.py", "c/n.py")
    sources = [tmp_path / "a", tmp_path / "b" / "m.py", tmp_path / "c"]
    first = keys(*sources)
    random.Random(1).shuffle(sources)
    assert keys(*sources) == first


def test_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes(b"\xef\xbb\xbfdef f(x):\r\n    return '\xc3\xa9'\r\n")
    (function,) = read(tmp_path).functions
    assert function.text == "def f(x):\n    return 'é'\n"


def test_an_empty_file_has_no_functions(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes(b"")
    corpus = read(tmp_path / "m.py")
    assert (corpus.functions, corpus.dropped, corpus.files) == ((), {}, 1)


def test_a_syntax_error_half_way_keeps_what_is_sound(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(f"def a(x):\n{BODY}\ndef b(x):\n    return (\n\ndef c(x):\n{BODY}")
    corpus = read(tmp_path / "m.py")
    assert [function.qualname for function in corpus.functions] == ["a", "c"]
    assert corpus.dropped == {"syntax_error": 1}


BAD_FILES = {
    "encoding": b"def f(x):\n    return '\xe9'\n",
    "binary_file": b"def f(x):\n    return 1\n\0\1",
    "too_large": b"#" * (MAX_FILE_BYTES + 1),
}


@pytest.mark.parametrize("reason", list(BAD_FILES))
def test_a_bad_file_is_counted_in_a_directory(tmp_path: Path, reason: str) -> None:
    lay(tmp_path, "good.py")
    (tmp_path / "bad.py").write_bytes(BAD_FILES[reason])
    corpus = read(tmp_path)
    assert [function.key for function in corpus.functions] == ["good.py::good"]
    assert corpus.dropped == {reason: 1}


@pytest.mark.parametrize(
    ("reason", "what", "where"),
    [
        ("encoding", "not UTF-8", "byte 22 (0xe9)"),
        ("binary_file", "binary file", "NUL at byte 23"),
        ("too_large", "too large to be audited: 5,000,001 bytes", "bad.py"),
    ],
)
def test_a_bad_file_that_is_named_is_an_error(tmp_path: Path, reason: str, what: str, where: str) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(BAD_FILES[reason])
    with pytest.raises(SourceError) as caught:
        read(path)
    assert what in caught.value.what
    assert str(path) in (caught.value.where or "")
    assert where in (caught.value.where or "")
    assert caught.value.expected
    assert caught.value.remedy


def test_a_large_file_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.py"
    with path.open("wb") as file:
        file.truncate(50_000_000)

    def refuse(data: bytes) -> str:
        raise AssertionError(f"read {len(data)} bytes")

    monkeypatch.setattr("pytest_funcmem.corpora.files.decode", refuse)
    with pytest.raises(SourceError, match="50,000,000 bytes"):
        read(path)
    assert read(tmp_path).dropped == {"too_large": 1}


@pytest.mark.parametrize("name", ["missing.py", "missing", "missing.jsonl", "missing.parquet.gz"])
def test_a_missing_source_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="does not exist") as caught:
        read(tmp_path / name)
    assert caught.value.where == str(tmp_path / name)


def test_a_link_in_a_circle_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.py").symlink_to("m.py")
    with pytest.raises(SourceError, match="cannot be reached"):
        read(tmp_path / "m.py")


def test_a_file_of_no_known_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("def f(): return 1\n")
    with pytest.raises(SourceError, match="neither a source file nor a data set") as caught:
        read(tmp_path / "notes.txt")
    assert ".jsonl" in str(caught.value)


def test_a_pipe_is_no_source_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    lay(tmp_path, "m.py")
    assert read(tmp_path).dropped == {"unreadable": 1}
    with pytest.raises(SourceError, match="not a regular file"):
        read(tmp_path / "pipe.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_what_may_not_be_read_is_counted_or_an_error(tmp_path: Path) -> None:
    lay(tmp_path, "m.py", "closed/n.py")
    (tmp_path / "m.py").chmod(0)
    (tmp_path / "closed").chmod(0)
    try:
        assert read(tmp_path).dropped == {"unreadable": 2}
        with pytest.raises(SourceError, match="cannot be read"):
            read(tmp_path / "m.py")
        with pytest.raises(SourceError, match="cannot be listed"):
            read(tmp_path / "closed")
    finally:
        (tmp_path / "closed").chmod(0o755)


def test_audited_code_is_not_run(tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    code = f"open({str(planted)!r}, 'w').close()\n\ndef f(x):\n{BODY}"
    for name in ("conftest.py", "setup.py", "__init__.py", "sitecustomize.py"):
        (tmp_path / name).write_text(code)
    assert len(read(tmp_path).functions) == 4
    assert not planted.exists()
