"""The decoding loop on many architectures: what it gives is the argmax over the whole text, every time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = {**SIZES, "num_key_value_heads": 2}
OLD = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
SLIDING = {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}

ARCHITECTURES: dict[str, tuple[dict[str, Any], bool]] = {
    # model type: (configuration, whether its rows are decoded together)
    "gpt2": (OLD, True),
    "gpt_bigcode": (OLD, True),
    "codegen": ({**OLD, "rotary_dim": 4}, True),
    "gpt_neox": (SIZES, True),
    "opt": ({**SIZES, "ffn_dim": 64, "max_position_embeddings": 64, "word_embed_proj_dim": 32}, True),
    "bloom": ({"hidden_size": 32, "n_layer": 2, "n_head": 4}, True),
    "llama": (GROUPED, True),
    "gemma3_text": ({**GROUPED, **SLIDING, "head_dim": 8}, True),
    "olmo3": ({**GROUPED, **SLIDING}, True),
    "starcoder2": ({**GROUPED, "sliding_window": 8}, True),
    "mamba": ({"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}, False),
    "rwkv": ({"hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32}, False),
    "lfm2": ({**GROUPED, "layer_types": ["conv", "full_attention"]}, False),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what transformers says of kernels that are not installed
        yield
    torch.set_num_threads(threads)


def module_of(model_type: str) -> Any:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    config = AutoConfig.for_model(
        model_type,
        vocab_size=97,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
        **ARCHITECTURES[model_type][0],
    )
    return AutoModelForCausalLM.from_config(config).float().eval()


def prompts_of(*lengths: int) -> list[list[int]]:
    import torch

    generator = torch.Generator().manual_seed(3)
    return [torch.randint(2, 97, (length,), generator=generator).tolist() for length in lengths]


def by_definition(module: Any, prompt: list[int], tokens: int) -> list[int]:
    import torch

    ids = list(prompt)
    with torch.no_grad():
        for _ in range(tokens):
            ids.append(int(module(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("model_type", ARCHITECTURES)
@pytest.mark.parametrize("shrink", [True, False])
def test_rows_get_what_they_would_get_alone(model_type: str, shrink: bool) -> None:
    from pytest_funcmem.models.greedy import GreedyDecoder, Row

    module = module_of(model_type)
    budgets = (10, 2, 9, 5)
    rows = [
        Row(prompt=prompt, budget=budget, ended=lambda generated: False)
        for prompt, budget in zip(prompts_of(5, 17, 4, 30), budgets, strict=True)
    ]
    done: list[int] = []
    decoder = GreedyDecoder(module, eos_ids=frozenset(), shrink=shrink)
    widths: list[int] = []
    forward = decoder._forward

    def counted(ids: Any, *rest: Any) -> Any:
        widths.append(ids.shape[0])
        return forward(ids, *rest)

    decoder._forward = counted  # type: ignore[method-assign]
    decoder.decode(rows, on_done=done.append)
    for row in rows:
        assert row.generated == by_definition(module, list(row.prompt), row.budget)
        assert row.stop == "length"
    assert sum(done) == len(rows)
    together = ARCHITECTURES[model_type][1]
    assert widths[0] == (4 if together else 1)
    if together:
        assert (widths[-1] < 4) is shrink


def test_any_end_of_text_ends_a_row_and_is_kept_as_an_id() -> None:
    from pytest_funcmem.models.greedy import GreedyDecoder, Row

    module = module_of("gpt2")
    (prompt,) = prompts_of(9)
    free = by_definition(module, prompt, 10)
    end = free[6]
    row = Row(prompt=prompt, budget=10, ended=lambda generated: False)
    GreedyDecoder(module, eos_ids=frozenset({end, 96}), shrink=True).decode([row], on_done=lambda count: None)
    assert row.stop == "end_of_text"
    assert row.generated == free[: free.index(end) + 1]


def test_equal_logits_give_the_lowest_id() -> None:
    import torch

    from pytest_funcmem.models.greedy import GreedyDecoder

    decoder = GreedyDecoder(module_of("gpt2"), eos_ids=frozenset(), shrink=True)
    logits = torch.tensor([[0.0, 3.0, 1.0, 3.0], [-1.0, -1.0, -1.0, -1.0]])
    assert decoder._next_tokens(logits) == [1, 0]


def test_a_row_ends_with_its_function_and_the_others_go_on() -> None:
    from pytest_funcmem.models.greedy import GreedyDecoder, Row

    module = module_of("llama")
    first, second = prompts_of(5, 8)
    rows = [
        Row(prompt=first, budget=10, ended=lambda generated: len(generated) == 3),
        Row(prompt=second, budget=10, ended=lambda generated: False),
    ]
    GreedyDecoder(module, eos_ids=frozenset(), shrink=True).decode(rows, on_done=lambda count: None)
    assert [(len(row.generated), row.stop) for row in rows] == [(3, "function_end"), (10, "length")]
    assert rows[1].generated == by_definition(module, second, 10)


def test_threads_are_given_back() -> None:
    import torch

    from pytest_funcmem.models.greedy import GreedyDecoder, Row

    torch.set_num_threads(2)
    decoder = GreedyDecoder(module_of("gpt2"), eos_ids=frozenset(), shrink=True)
    seen: list[int] = []

    def ended(generated: Any) -> bool:
        seen.append(torch.get_num_threads())
        return False

    decoder.decode([Row(prompt=[3, 4], budget=2, ended=ended)], on_done=lambda count: None)
    assert seen == [1, 1]
    assert torch.get_num_threads() == 2
