"""Greedy generation with a real model: batches, stops, budgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Prompt, SourceFunction
from pytest_funcmem.languages.python import PythonFrontend
from pytest_funcmem.models.batches import batch_digest
from pytest_funcmem.models.open_model import open_model


def cut(model: Any, functions: Sequence[SourceFunction], prefix_tokens: int = 40) -> list[Prompt]:
    return [model.cutter().cut(function, prefix_tokens=prefix_tokens) for function in functions]


def plain_greedy(checkpoint: Path, prompt: Prompt, tokens: int) -> tuple[list[int], str]:
    """Complete one prompt without a cache, a batch or padding: the definition of greedy decoding."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    module = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    ids, end = list(prompt.token_ids), tokenizer.eos_token_id
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        for _ in range(tokens):
            ids.append(int(module(torch.tensor([ids])).logits[0, -1].argmax()))
            if ids[-1] == end:
                break
    torch.set_num_threads(threads)
    generated = ids[len(prompt.token_ids) :]
    return generated, tokenizer.decode(generated, skip_special_tokens=True)


def test_the_trained_model_writes_its_functions_by_heart(model: Any, functions: list[SourceFunction]) -> None:
    # Learnt at their places, so they are asked for at their places: with all that stands before them.
    prompts = cut(model, functions, prefix_tokens=1000)
    completions = model.complete(functions, prompts, max_new_tokens=300)
    for function, completion in zip(functions, completions, strict=True):
        assert completion.text.startswith(function.body), function.key
    assert {completion.stop for completion in completions} == {"function_end", "end_of_text"}


def test_a_batch_gives_what_one_at_a_time_gives(model: Any, functions: list[SourceFunction]) -> None:
    prompts = cut(model, functions)
    together = model.complete(functions, prompts, max_new_tokens=200)
    for place, (function, prompt) in enumerate(zip(functions, prompts, strict=True)):
        (alone,) = model.complete([function], [prompt], max_new_tokens=200)
        assert together[place].token_ids == alone.token_ids
        assert together[place].text == alone.text
        assert together[place].stop == alone.stop


def test_completions_begin_as_plain_greedy_decoding_does(
    model: Any, checkpoint: Path, functions: list[SourceFunction]
) -> None:
    for function in functions[:3]:
        (prompt,) = cut(model, [function])
        (completion,) = model.complete([function], [prompt], max_new_tokens=60)
        ids, text = plain_greedy(checkpoint, prompt, 60)
        assert completion.token_ids == tuple(ids[: len(completion.token_ids)])
        assert text.startswith(completion.text)


def test_stopping_early_keeps_the_prefix_and_the_candidate(
    model: Any, functions: list[SourceFunction], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = cut(model, functions)
    stopped = model.complete(functions, prompts, max_new_tokens=300)
    monkeypatch.setattr(model._endings, "ended", lambda function, text: False)
    full = model.complete(functions, prompts, max_new_tokens=300)
    frontend = PythonFrontend()
    assert any(len(a.text) < len(b.text) for a, b in zip(stopped, full, strict=True))
    for function, early, late in zip(functions, stopped, full, strict=True):
        assert late.text.startswith(early.text)
        assert late.stop != "function_end"
        assert frontend.candidate(function, early.text).body == frontend.candidate(function, late.text).body


def test_the_record_names_the_batch_and_the_place_in_it(model: Any, functions: list[SourceFunction]) -> None:
    prompts = cut(model, functions[:3])
    completions = model.complete(functions[:3], prompts, max_new_tokens=5)
    assert {completion.batch for completion in completions} == {batch_digest(prompts)}
    assert [completion.batch_row for completion in completions] == [0, 1, 2]
    assert [completion.stop for completion in completions] == ["length"] * 3
    assert [len(completion.token_ids) for completion in completions] == [5, 5, 5]


def test_progress_counts_every_completion_once(model: Any, functions: list[SourceFunction]) -> None:
    seen: list[int] = []
    model.complete(functions, cut(model, functions), max_new_tokens=200, progress=seen.append)
    assert sum(seen) == len(functions)
    assert len(seen) > 1


def test_a_text_that_another_tokenizer_cut_is_tokenized_again(
    model: Any, functions: list[SourceFunction]
) -> None:
    (own,) = cut(model, functions[:1])
    foreign = Prompt(text=own.text, token_ids=(1, 2, 3), tokenizer="another", context_tokens=0)
    assert (
        model.complete(functions[:1], [own], max_new_tokens=40)[0].text
        == model.complete(functions[:1], [foreign], max_new_tokens=40)[0].text
    )


def test_the_budget_ends_at_the_models_positions(
    copy_checkpoint: Callable[..., Path], functions: list[SourceFunction]
) -> None:
    small = open_model(str(copy_checkpoint(max_position_embeddings=40)), Settings(device="cpu"))
    (prompt,) = cut(small, functions[1:2], prefix_tokens=10)
    assert len(prompt.token_ids) < 40
    (completion,) = small.complete(functions[1:2], [prompt], max_new_tokens=500)
    assert completion.stop == "length"
    assert len(prompt.token_ids) + len(completion.token_ids) == 40
    (long,) = cut(small, functions[1:2], prefix_tokens=100)
    with pytest.raises(EngineError, match="40 positions") as caught:
        small.complete(functions[1:2], [long], max_new_tokens=500)
    assert caught.value.remedy is not None
    assert "--funcmem-prefix-tokens" in caught.value.remedy


def test_half_a_character_at_the_end_becomes_a_replacement_mark(
    model: Any, functions: list[SourceFunction]
) -> None:
    tokenizer = model._tokenizer
    ids = tokenizer.encode('"\U0001f600"')
    broken = tokenizer.completion_text([5], ids[:3])
    assert broken.startswith('"')
    assert broken.endswith("\ufffd")


def test_a_closed_model_says_so(
    copy_checkpoint: Callable[..., Path], functions: list[SourceFunction]
) -> None:
    closed = open_model(str(copy_checkpoint()), Settings(device="cpu"))
    prompts = cut(closed, functions[:1])
    closed.close()
    closed.close()
    with pytest.raises(EngineError, match="closed"):
        closed.complete(functions[:1], prompts, max_new_tokens=1)


def test_identity_follows_contents_not_places(copy_checkpoint: Callable[..., Path], model: Any) -> None:
    copy = copy_checkpoint()
    same = open_model(str(copy), Settings(device="cpu")).identity
    assert same.revision == model.identity.revision
    assert same.tokenizer == model.identity.tokenizer
    assert (same.kind, same.dtype, same.device) == ("hf", "float32", "cpu")
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    assert open_model(str(copy), Settings(device="cpu")).identity.revision != same.revision


def test_logits_that_are_not_numbers_are_an_error(
    copy_checkpoint: Callable[..., Path], functions: list[SourceFunction]
) -> None:
    import torch

    broken = open_model(str(copy_checkpoint()), Settings(device="cpu"))
    with torch.no_grad():
        broken._decoder._module.get_input_embeddings().weight.fill_(float("nan"))
    with pytest.raises(EngineError, match="not finite"):
        broken.complete(functions[:1], cut(broken, functions[:1]), max_new_tokens=3)


@pytest.mark.parametrize("error", ["torch", "host"])
def test_memory_that_does_not_suffice_is_an_error_with_a_remedy(
    copy_checkpoint: Callable[..., Path],
    functions: list[SourceFunction],
    error: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    full = open_model(str(copy_checkpoint()), Settings(device="cpu"))

    def fail(*arguments: object, **keywords: object) -> None:
        if error == "torch":
            raise torch.OutOfMemoryError("CUDA out of memory")
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(full._decoder, "_forward", fail)
    with pytest.raises(EngineError, match="memory") as caught:
        full.complete(functions[:4], cut(full, functions[:4]), max_new_tokens=3)
    assert caught.value.remedy is not None
    assert "--funcmem-batch-size=2" in caught.value.remedy
