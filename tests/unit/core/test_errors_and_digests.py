"""Errors read well and survive pickling; digests are canonical."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from pytest_funcmem.core.digests import canonical_json, digest, text_digest
from pytest_funcmem.core.errors import MissingExtraError, SourceError, UsageError
from pytest_funcmem.core.records import Prompt
from pytest_funcmem.core.registry import REGISTRY, load


def test_message_has_place_and_remedy() -> None:
    error = SourceError("It is empty.", where="a.py:3", expected="text", remedy="Fill it.")
    assert str(error).splitlines() == [
        "It is empty.",
        "  where:    a.py:3",
        "  expected: text",
        "  remedy:   Fill it.",
    ]


def test_errors_survive_pickling() -> None:
    error = SourceError("It is empty.", where="a.py:3", remedy="Fill it.")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is SourceError
    assert str(again) == str(error)


def test_canonical_json_is_sorted_and_ascii() -> None:
    assert canonical_json({"b": (1, None), "a": "é"}) == '{"a":"\\u00e9","b":[1,null]}'


def test_records_and_their_plain_form_have_one_digest() -> None:
    prompt = Prompt(text="def f():", token_ids=(1, 2), tokenizer="t", context_tokens=0)
    assert digest(prompt) == digest(
        {"text": "def f():", "token_ids": [1, 2], "tokenizer": "t", "context_tokens": 0}
    )


def test_what_has_no_canonical_form_is_refused() -> None:
    with pytest.raises(TypeError):
        digest({1, 2})
    with pytest.raises(TypeError):
        digest({1: 2})


def test_lone_surrogates_have_a_digest() -> None:
    assert len(text_digest("\ud800")) == 64


def test_digest_does_not_depend_on_the_hash_seed() -> None:
    code = "from pytest_funcmem.core.digests import digest; print(digest({'b': 1, 'a': {'y': 2, 'x': 3}}))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_every_registered_implementation_loads() -> None:
    for kind, entries in REGISTRY.items():
        for name in entries:
            assert isinstance(load(kind, name), type)


def test_unknown_names_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no sandbox named 'chroot'"):
        load("sandbox", "chroot")
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(MissingExtraError) as caught:
        load("sandbox", "docker", purpose="to run code in Docker")
    assert caught.value.remedy == "pip install 'pytest-funcmem[docker]'"
