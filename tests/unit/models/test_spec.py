"""SPEC strings."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.models.spec import ModelSpec, parse_spec, short_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf:some/model", {"kind": "hf", "location": "some/model"}),
        ("some/model", {"kind": "hf", "location": "some/model"}),
        ("some/model@step656000", {"kind": "hf", "location": "some/model", "revision": "step656000"}),
        ("hf:gpt2@refs/pr/1", {"kind": "hf", "location": "gpt2", "revision": "refs/pr/1"}),
        ("./checkpoints/last", {"kind": "hf", "location": "./checkpoints/last"}),
        (
            "openai:http://localhost:8000/v1#org/model:tag",
            {"kind": "openai", "location": "http://localhost:8000/v1", "model": "org/model:tag"},
        ),
        ("openai:https://h/v1/#m", {"kind": "openai", "location": "https://h/v1", "model": "m"}),
        ("openai:https://h/v1/completions#m", {"kind": "openai", "location": "https://h/v1", "model": "m"}),
        ("replay:out/a@b.jsonl", {"kind": "replay", "location": "out/a@b.jsonl"}),
    ],
)
def test_the_three_forms(text: str, expected: dict[str, str]) -> None:
    assert parse_spec(text) == ModelSpec(text=text, **expected)  # type: ignore[arg-type]


def test_a_path_with_an_at_sign_is_taken_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "model@home").mkdir()
    assert parse_spec(f"{tmp_path}/model@home").revision is None
    assert parse_spec(f"{tmp_path}/model@away").revision == "away"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "hf:",
        "openai:",
        "replay:",
        "@main",
        "model@",
        "vllm:model",
        "http://localhost:8000/v1#m",
        "openai:localhost:8000/v1#m",
        "openai:http://localhost:8000/v1",
        "openai:http://localhost:8000/v1#",
        "openai:http://localhost:99999/v1#m",
        "openai:http:///v1#m",
        "openai:http://localhost/v1?key=abc#m",
    ],
)
def test_what_is_none_of_them_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ModelSpecError) as caught:
        parse_spec(text)
    assert caught.value.remedy


@pytest.mark.parametrize("url", ["http://user:hunter2@host/v1", "https://host/v1?api_key=hunter2"])
def test_a_secret_in_the_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ModelSpecError) as caught:
        parse_spec(f"openai:{url}#m")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "may"),
    [("gpt2", True), ("a/b-c.d", True), ("/a/b", False), ("./a", False), ("a/b/c", False)],
)
def test_which_locations_have_the_form_of_a_hub_id(location: str, may: bool) -> None:
    assert parse_spec(location).may_be_hub_id is may


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        (["hf:a/one", "hf:a/two"], ["one", "two"]),
        (["/m/run1/last", "hf:/m/run2/last"], ["run1/last", "run2/last"]),
        (["hf:o/m@1", "hf:o/m@2"], ["m@1", "m@2"]),
        (["replay:x/a.jsonl", "openai:http://h/v1#org/m"], ["a", "m"]),
        (["replay:m.jsonl", "openai:http://h/v1#m"], ["replay:m.jsonl", "openai:http://h/v1#m"]),
        (["replay:a[1]::b.jsonl", "hf:x"], ["a(1):b", "x"]),
    ],
)
def test_short_names_tell_models_apart(specs: list[str], names: list[str]) -> None:
    assert short_names(specs) == names
