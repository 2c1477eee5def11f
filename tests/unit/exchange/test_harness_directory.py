"""A harness as a directory: what is written comes back, and what was tampered with is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_funcmem.core.errors import SourceError, UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import (
    Harness,
    HarnessEvidence,
    InputState,
    OutputState,
    Proof,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.core.registry import load
from pytest_funcmem.exchange.directory import find_harnesses, read_harness, write_harness
from pytest_funcmem.exchange.report import HarnessReporter
from pytest_funcmem.harness.validate import function_digest

TEXT = '"""Fares — by zone."""\n\n\ndef fare(zone: int) -> int:\n    return 240 if zone < 4 else 320\n'


def function_of(path: str = "city/fares.py", text: str = TEXT) -> SourceFunction:
    (function,) = load("language", "python")().scan(text, path=path).functions
    found: SourceFunction = function
    return found


def harness_of(function: SourceFunction) -> Harness:
    states = tuple(InputState(arguments=(str(zone),), seed=zone) for zone in range(10))
    return Harness(
        builder="local/9",
        language="python",
        function_sha256=function_digest(function),
        scaffold=Scaffold(prelude="x = 1\n", mocks=("requests",)),
        states=states,
        expected=tuple(
            OutputState(outcome="returned", value=240 if zone < 4 else ["float", "nan"]) for zone in range(10)
        ),
        state_timeout_s=1.0,
        evidence=HarnessEvidence(
            inputs=10, valid=10, outputs=2, executable_lines=(1,), covered_lines=(1,), mutants=4,
            mutants_killed=3, proofs=(Proof(name="self", score=1.0, passed=True),),
        ),
    )  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    function = function_of()
    return write_harness(tmp_path / "harnesses", function, harness_of(function))


def change(place: Path, edit: Callable[[dict], object], name: str = "harness.json") -> None:
    path = place / name
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_what_is_written_comes_back(place: Path) -> None:
    function = function_of()
    found = read_harness(place)
    assert place.parts[-2:] == ("fares.py", "fare")
    assert found.function == function
    assert found.harness == harness_of(function)
    assert not found.edited
    assert (found.target, found.reference, found.verdict) == (None, None, None)
    assert (place / "function.py").read_text(encoding="utf-8") == TEXT
    assert list(find_harnesses(place.parents[2])) == [place]


def test_the_description_shows_every_state_to_people(place: Path) -> None:
    text = (place / "states.md").read_text(encoding="utf-8")
    assert text.count("## State") == 10
    assert "    (3)\n" in text
    assert "result: 240" in text
    assert "Made up: `requests`" in text


def test_writing_twice_gives_the_same_bytes(place: Path, tmp_path: Path) -> None:
    function = function_of()
    other = write_harness(tmp_path / "other", function, harness_of(function))
    for path in place.iterdir():
        assert path.read_bytes() == (other / path.name).read_bytes()


def test_an_edited_harness_is_known_as_one(place: Path) -> None:
    change(place, lambda content: content["harness"]["states"][3].update(arguments=["77"]))
    found = read_harness(place)
    assert found.edited
    assert found.harness.states[3].arguments == ("77",)


def test_a_dropped_state_is_an_edit(place: Path) -> None:
    change(place, lambda content: content["harness"]["states"].pop())
    assert read_harness(place).edited


DAMAGES: dict[str, tuple[Callable[[dict], object], str]] = {
    "another version": (lambda content: content.update(format_version=2), "no harness that this version"),
    "a text where a number belongs": (
        lambda content: content["harness"]["states"][0].update(seed="0"),
        "harness is not as it should be",
    ),
    "an unknown field": (
        lambda content: content["harness"].update(hook="rm"),
        "harness is not as it should be",
    ),
    "an offset behind the file": (
        lambda content: content["function"].update(end=10_000),
        "does not lie inside its file",
    ),
    "another function": (lambda content: content["function"].update(qualname="toll"), "another function"),
    "a file elsewhere": (lambda content: content["function"].update(file="../../x.py"), "no usable name"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_with_its_place(place: Path, damage: str) -> None:
    edit, said = DAMAGES[damage]
    change(place, edit)
    with pytest.raises(SourceError, match=said) as caught:
        read_harness(place)
    assert str(place) in str(caught.value)


def test_a_changed_file_of_the_function_is_named(place: Path) -> None:
    (place / "function.py").write_text(TEXT.replace("240", "241"), encoding="utf-8")
    with pytest.raises(SourceError, match="belongs to another function"):
        read_harness(place)
    (place / "function.py").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match=r"not UTF-8[\s\S]*byte 0"):
        read_harness(place)
    (place / "function.py").unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        read_harness(place)


def test_text_that_is_no_json_is_named(place: Path) -> None:
    (place / "harness.json").write_text("{\n", encoding="utf-8")
    with pytest.raises(SourceError, match="no JSON"):
        read_harness(place)
    (place / "harness.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(SourceError, match="no JSON"):
        read_harness(place)


def test_a_hostile_path_stays_below_the_root(tmp_path: Path) -> None:
    root = tmp_path / "harnesses"
    for path in ("../../up.py", "/etc/passwd", "a/../../b.py", "a\nb\x1b[31m.py", "x" * 400 + ".py"):
        function = function_of(path)
        place = write_harness(root, function, harness_of(function))
        assert root.resolve() in place.resolve().parents
        assert ".." not in place.relative_to(root).parts
        assert read_harness(place).function.path == path


def test_functions_of_one_name_have_directories_of_their_own(tmp_path: Path) -> None:
    function = function_of()
    twin = replace(function, ambiguous=True)
    row = replace(function, row="r1")
    places = {write_harness(tmp_path, item, harness_of(item)) for item in (function, twin, row)}
    assert len(places) == 3


def test_nothing_there_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no harness[\s\S]*--funcmem-report=harness"):
        list(find_harnesses(tmp_path))


def test_halves_of_characters_are_refused(tmp_path: Path) -> None:
    function = function_of(text=TEXT.replace("—", "\ud83d"))
    with pytest.raises(SourceError, match="halves of characters"):
        write_harness(tmp_path, function, harness_of(function))


def test_masked_audits_write_no_harnesses() -> None:
    with pytest.raises(UsageError, match="masked"):
        HarnessReporter(Settings(mask=True))


def test_a_directory_holds_the_completions_of_one_model() -> None:
    with pytest.raises(UsageError, match="one model"):
        HarnessReporter(Settings(model=("replay:a", "replay:b")))
