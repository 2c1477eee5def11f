"""Which SPECs name a model that can be talked to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.models.dialogue.opening import check_spec, open_dialogue
from pytest_funcmem.models.prices import price_of


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("anthropic:", "names no model"),
        ("anthropic: ", "names no model"),
        ("anthropic:a\nb", "names no model"),
        ("hf:some/model", "cannot be talked to"),
        ("replay:file.jsonl", "cannot be talked to"),
        ("claude-sonnet-5", "No model to talk to"),
        ("", "No model to talk to"),
        ("gguf:x", "No model to talk to"),
        ("openai:", "names nothing"),
        ("openai:localhost:8000#m", "not the address"),
        ("openai:http://localhost:8000/v1", "names no model"),
        ("openai:http://me:secret@localhost/v1#m", "must not hold a user name"),
        ("http://localhost:8000/v1#m", "needs 'openai:'"),
    ],
)
def test_what_names_none(spec: str, what: str) -> None:
    for look in (check_spec, open_dialogue):
        with pytest.raises(ModelSpecError, match=what) as failed:
            look(spec)
        assert failed.value.expected or failed.value.remedy
        assert "me:secret" not in str(failed.value)


def test_a_spec_is_seen_to_be_one_without_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert check_spec("anthropic:claude-sonnet-5") is None
    parsed = check_spec("openai:http://127.0.0.1:9/v1#qwen")
    assert parsed is not None
    assert parsed.model == "qwen"


def test_what_names_one_opens_it_without_a_request() -> None:
    for spec in ("anthropic:claude-sonnet-5", "openai:http://127.0.0.1:9/v1#qwen"):
        model = open_dialogue(spec)
        assert model.identity == spec
        model.close()


def test_prices_are_those_of_the_table() -> None:
    for spec, name in (
        ("anthropic:claude-opus-5-5", "claude-opus-5-5"),
        ("anthropic:claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("openai:http://127.0.0.1:9/v1#claude-sonnet-5", "claude-sonnet-5"),
        ("openai:http://127.0.0.1:9/v1#qwen", "qwen"),
    ):
        model = open_dialogue(spec)
        assert model.price == price_of(name)
        model.close()


def test_a_missing_package_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from pytest_funcmem.core.errors import MissingExtraError\n"
        "from pytest_funcmem.models.dialogue.opening import check_spec, open_dialogue\n"
        "open_dialogue('openai:http://127.0.0.1:9/v1#m').close()\n"
        "try:\n    open_dialogue('anthropic:m')\n"
        "except MissingExtraError as exc:\n    print(exc)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'pytest-funcmem[agent]'" in done.stdout
