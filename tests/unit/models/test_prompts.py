"""Where prompts begin and end."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.models.prompts import FallbackCutter, TokenizerCutter
from pytest_funcmem.models.transformers_model import CheckpointTokenizer

FAITHFUL = ("separate", "merging", "spaced")


def source(before: str, signature: str, after: str) -> SourceFunction:
    text = before + signature + after
    return SourceFunction(
        path="a.py",
        qualname="f",
        language="python",
        line=before.count("\n") + 1,
        text=text,
        definition_start=len(before),
        signature_start=len(before),
        signature_end=len(before) + len(signature),
        end=len(text),
    )


def cutter_of(tokenizers: dict[str, Any], make: str) -> TokenizerCutter:
    return TokenizerCutter(CheckpointTokenizer(tokenizers[make]), name=make)


code = st.text(
    st.sampled_from(list("abdef_xyz(),:=+#\"' \n\t01é\U0001f600\u4e2d"))
    | st.sampled_from("\u2028\xa0\u0301"),
    max_size=120,
)
lines = st.lists(
    code | st.sampled_from(["", "    return total", "        total += 5  # light", "def check(x):", "    "]),
    max_size=12,
).map("\n".join)
befores = lines.map(lambda text: f"{text}\n" if text else "")
signatures = st.sampled_from(
    [
        "def f(x):",
        "def check_days(days, rate=1.0):",
        "async def é() -> dict[str, int]:",
        "fn f(x) {",
        "f(\n  a,\n):",
    ]
)
indents = st.sampled_from(["", "    ", "\t"])
afters = st.sampled_from(
    ["\n    return 1\n", "  # why\n    pass", " return 1", "\n\n\n\n        x", "", "{}:\n"]
)


@pytest.mark.parametrize("make", FAITHFUL)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(befores, indents, signatures, afters, st.integers(0, 40))
def test_the_ids_begin_the_documents_ids(
    tokenizers: dict[str, Any], make: str, before: str, indent: str, signature: str, after: str, limit: int
) -> None:
    cutter = cutter_of(tokenizers, make)
    function = source(before + indent, signature, after)
    prompt = cutter.cut(function, prefix_tokens=limit)
    end = function.signature_end
    start = end - len(prompt.text)
    document = tokenizers[make](function.text[start:], add_special_tokens=False)["input_ids"]
    assert prompt.text == function.text[start:end]
    assert start <= function.signature_start
    assert tokenizers[make].decode(list(prompt.token_ids)) == prompt.text
    assert prompt.context_tokens <= limit
    heads = [
        count
        for count in range(len(document) + 1)
        if tokenizers[make].decode(document[:count]) == prompt.text
    ]
    if heads:  # the document has a token boundary where the signature ends
        assert cutter.follows_document(function, prompt)
        assert list(prompt.token_ids) == document[: len(prompt.token_ids)]
    else:
        assert not cutter.follows_document(function, prompt)


@pytest.mark.parametrize("make", ["separate", "merging"])
def test_the_context_is_as_long_as_it_may_be(tokenizers: dict[str, Any], make: str, texts: list[str]) -> None:
    cutter = cutter_of(tokenizers, make)
    before = "".join(texts)
    function = source(before, "def last(x):", "\n    return x\n")
    for limit in (0, 1, 2, 17, 100):
        prompt = cutter.cut(function, prefix_tokens=limit)
        assert limit - 2 <= prompt.context_tokens <= limit
    whole = cutter.cut(function, prefix_tokens=100_000)
    assert whole.text == function.text[: function.signature_end]


@pytest.mark.parametrize("make", [*FAITHFUL, "lossy"])
@pytest.mark.parametrize("before", ["", "    ", "x = 1\n", "\U0001f600"])
def test_no_context_at_all_is_wanted(tokenizers: dict[str, Any], make: str, before: str) -> None:
    function = source(before, "fn f(x) {", "}")
    prompt = cutter_of(tokenizers, make).cut(function, prefix_tokens=0)
    assert prompt.context_tokens == 0
    assert prompt.text.endswith("fn f(x) {")
    assert function.text[: function.signature_end].endswith(prompt.text)


def test_a_merged_newline_is_told_and_the_whole_signature_kept(tokenizers: dict[str, Any]) -> None:
    function = source("", "def shipping_cost(weight):", "\n    return 1\n")
    merging, separate = cutter_of(tokenizers, "merging"), cutter_of(tokenizers, "separate")
    assert "):\n" in [
        tokenizers["merging"].decode([token]) for token in tokenizers["merging"](function.text).input_ids
    ]
    for cutter in (merging, separate):
        assert cutter.cut(function, prefix_tokens=10).text == "def shipping_cost(weight):"
    assert not merging.follows_document(function, merging.cut(function, prefix_tokens=10))
    assert separate.follows_document(function, separate.cut(function, prefix_tokens=10))


@pytest.mark.parametrize("make", [*FAITHFUL, "lossy"])
def test_a_prompt_never_ends_in_whitespace(tokenizers: dict[str, Any], make: str) -> None:
    function = source("x = 1\n", "int f(int a)\n", "{ return a; }")
    assert cutter_of(tokenizers, make).cut(function, prefix_tokens=10).text == "x = 1\nint f(int a)"
    assert FallbackCutter().cut(function, prefix_tokens=10).text == "x = 1\nint f(int a)"


def test_a_tokenizer_that_loses_text_still_cuts_text_of_the_file(
    tokenizers: dict[str, Any], texts: list[str]
) -> None:
    cutter = cutter_of(tokenizers, "lossy")
    function = source("".join(texts).upper(), "def Last(X):", "\n    return X\n")
    prompt = cutter.cut(function, prefix_tokens=30)
    assert function.text[: function.signature_end].endswith(prompt.text)
    assert prompt.text.endswith("def Last(X):")
    assert 10 < prompt.context_tokens <= 30


def test_the_last_function_of_a_long_file_is_cut_from_a_window(tokenizers: dict[str, Any]) -> None:
    seen: list[int] = []

    class Counting(CheckpointTokenizer):
        def encode(self, text: str) -> list[int]:
            seen.append(len(text))
            return super().encode(text)

    before = "".join(f"value_{number} = {number}\n" for number in range(50_000))
    function = source(before, "def f(x):", "\n    return x\n" * 40_000)
    prompt = TokenizerCutter(Counting(tokenizers["separate"]), name="t").cut(function, prefix_tokens=250)
    assert 248 <= prompt.context_tokens <= 250
    assert max(seen) < 20_000
    tail = tokenizers["separate"](
        function.text[function.signature_end - 40_000 : function.signature_end + 40_000]
    )
    document = tail["input_ids"]
    ids = list(prompt.token_ids)
    assert any(document[at : at + len(ids)] == ids for at in range(len(document)))


def test_a_run_of_blanks_longer_than_any_window_is_no_trap(tokenizers: dict[str, Any]) -> None:
    function = source(" " * 30_000 + "\n", "def f(x):", "\n" + " " * 30_000 + "return x")
    for make in FAITHFUL:
        prompt = cutter_of(tokenizers, make).cut(function, prefix_tokens=20)
        assert prompt.text.endswith("def f(x):")
        assert prompt.context_tokens <= 20


@given(befores, indents, signatures, afters, st.integers(0, 40))
def test_the_fallback_keeps_whole_tokens(
    before: str, indent: str, signature: str, after: str, limit: int
) -> None:
    function = source(before + indent, signature, after)
    prompt = FallbackCutter().cut(function, prefix_tokens=limit)
    assert function.text[: function.signature_end].endswith(prompt.text)
    assert prompt.text.endswith(signature)
    assert prompt.context_tokens <= limit
    if prompt.context_tokens < limit:
        assert prompt.text == before + indent + signature
    assert prompt.tokenizer == "regex-v1"


def test_the_fallback_is_pinned() -> None:
    function = source("import os\n\n\ndef g():\n    pass\n\n\n", "def f(x1, y):", "\n    return 1")
    prompt = FallbackCutter().cut(function, prefix_tokens=6)
    assert prompt.text == "\n    pass\n\n\ndef f(x1, y):"
    assert prompt.context_tokens == 6
    context = ["\n", "    ", "pass", "\n", "\n", "\n"]
    signature = ["def", " ", "f", "(", "x1", ",", " ", "y", ")", ":"]
    assert prompt.token_ids == tuple(zlib.crc32(token.encode()) for token in context + signature)
    assert prompt.token_ids[0] == 852952723
