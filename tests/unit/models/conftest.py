"""A small causal language model, trained in seconds to know a handful of modules by heart."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages.python import PythonFrontend
from pytest_funcmem.models.open_model import open_model

# Read when torch is loaded: threads that wait must not take the cores from those that work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

RULES = (
    ("shipping_cost", "weight", ("light", 3, 2), ("medium", 11, 5), ("heavy", 40, 9)),
    ("loyalty_points", "spent", ("bronze", 20, 1), ("silver", 150, 4), ("gold", 900, 12)),
    ("parking_fee", "hours", ("short", 1, 0), ("day", 9, 14), ("night", 24, 31)),
    ("water_tariff", "litres", ("base", 70, 6), ("middle", 210, 8), ("peak", 500, 17)),
    ("late_penalty", "days", ("grace", 4, 0), ("first", 13, 25), ("second", 60, 80)),
)


def module_of(name: str, argument: str, *bands: tuple[str, int, int]) -> str:
    """Write a module with a helper and a function of a dozen lines."""
    lines = [f'"""Rules of {name}."""', "", "import math", "", ""]
    lines += [f"def check_{argument}({argument}):", f"    if {argument} < 0:"]
    lines += [f'        raise ValueError("{argument} é")', f"    return math.floor({argument})", "", ""]
    lines += [f"def {name}({argument}, rate=1.0):", f'    """Give the {name} of {argument}."""']
    lines += ["    total = 0"]
    for label, limit, price in bands:
        lines += [f"    if {argument} <= {limit}:", f"        total += {price}  # {label}"]
    lines += ["    return total * rate", ""]
    if len(name) % 2:  # in some files another definition follows, in the others the text ends
        lines += ["", "class Report:", "    title = None", ""]
    return "\n".join(lines)


def train_tokenizer(texts: list[str], *, vocabulary: int = 512, merge_newlines: bool = False) -> Any:
    """Train a byte-level tokenizer that has an end-of-text token and no padding token.

    Args:
        texts: What it learns from.
        vocabulary: Entries, bytes included.
        merge_newlines: Whether punctuation takes the newline behind it along, as in newer tokenizers.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    if merge_newlines:
        pattern = Regex(r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(pattern, "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def wrap_tokenizer(tokenizer: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [module_of(*rule) for rule in RULES]


@pytest.fixture(scope="session")
def functions(texts: list[str]) -> list[SourceFunction]:
    frontend = PythonFrontend()
    return [
        function
        for text, rule in zip(texts, RULES, strict=True)
        for function in frontend.scan(text, path=f"{rule[0]}.py").functions
    ]


@pytest.fixture(scope="session")
def checkpoint(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a Llama of 0.2 million parameters that knows ``texts`` by heart.

    Its generation configuration holds a repetition penalty and sampling, neither of which an audit may apply.
    """
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # threads that wait for each other make a model this small slower
    tokenizer = wrap_tokenizer(train_tokenizer(texts))
    end = tokenizer.eos_token_id
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=1024,
        bos_token_id=None,
        eos_token_id=end,
        tie_word_embeddings=True,
        initializer_range=0.06,
    )
    model = LlamaForCausalLM(config)
    rows = [[*tokenizer(text)["input_ids"], end] for text in texts]
    width = max(map(len, rows))
    ids = torch.tensor([row + [end] * (width - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    steps = 120
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0, betas=(0.9, 0.95))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * min(1, (step + 1) / 10) * 0.5 * (1 + math.cos(math.pi * step / steps))
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    torch.set_num_threads(threads)
    directory = tmp_path_factory.mktemp("checkpoint")
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=0.9, repetition_penalty=3.0, eos_token_id=[end], max_length=7
    )
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def copy_checkpoint(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Copy the checkpoint, leave some files out, and change its configuration."""

    def copy(*, without: tuple[str, ...] = (), **changes: Any) -> Path:
        directory = tmp_path_factory.mktemp("copy")
        for path in checkpoint.iterdir():
            if path.name not in without:
                (directory / path.name).write_bytes(path.read_bytes())
        config = directory / "config.json"
        if changes:
            config.write_text(json.dumps(json.loads(config.read_text()) | changes))
        return directory

    return copy


@pytest.fixture(scope="session")
def model(checkpoint: Path) -> Any:
    return open_model(f"hf:{checkpoint}", Settings(batch_size=4, device="cpu"))


@pytest.fixture(scope="session")
def tokenizers(texts: list[str]) -> dict[str, Any]:
    """Tokenizers of several makes: GPT-2's, one that merges newlines into punctuation, one as Llama 2's."""
    from tokenizers import Tokenizer, decoders, models, normalizers, trainers

    spaced = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    spaced.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    spaced.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<unk>", "<|end|>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    spaced.train_from_iterator(lines, trainer)
    lowering = train_tokenizer(texts)
    lowering.normalizer = normalizers.Lowercase()
    return {
        "separate": wrap_tokenizer(train_tokenizer(texts)),
        "merging": wrap_tokenizer(
            train_tokenizer([text.replace("rate=1.0", "") for text in texts], merge_newlines=True)
        ),
        "spaced": wrap_tokenizer(spaced),
        "lossy": wrap_tokenizer(lowering),
    }
