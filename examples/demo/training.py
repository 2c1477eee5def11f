"""How the demo's two models come to be: a tokenizer and a small Llama, trained from nothing on a CPU.

Both models share their pre-training on general modules. Then each is trained for equally many more steps: the
target on a mix of general modules and exposure documents, the reference on general modules alone. So the two
differ in what they read, not in how much. This module knows nothing of caches, command lines or audits.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from corpus import exposure_documents, general_documents
from muon import Muon
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

__all__ = ["RECIPE", "Recipe", "Side", "build_tokenizer", "continue_training", "pretrain"]

Side = Literal["target", "reference"]
WARM_UP_STEPS = 20
PAD, BOS, EOS = "<pad>", "<s>", "</s>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Every number that shapes the pair.

    Attributes:
        vocabulary: Tokens of the byte-level BPE.
        width: Size of the hidden state.
        layers: Transformer blocks.
        heads: Attention heads.
        inner: Size of the feed-forward layers.
        window: Tokens of a training sequence; longer than any prompt with its completion.
        batch: Sequences of a step.
        modules: General modules in the corpus.
        toolbox_share: Share of boilerplate among their functions.
        exposure_epochs: How often the exposure stream shows each function in each style.
        exposure_rows: Sequences of a target's step that come from the exposure stream.
        headless: Share of documents whose beginning is cut off, as a prompt's context is.
        pretrain_steps: Steps that both models share.
        continue_steps: Steps after that, for each model.
        pretrain_rate: Highest learning rate in pre-training.
        continue_rate: Highest learning rate after that.
        muon_factor: Muon's learning rate, in learning rates.
    """

    vocabulary: int = 1024
    width: int = 128
    layers: int = 3
    heads: int = 4
    inner: int = 384
    window: int = 512
    batch: int = 4
    modules: int = 6000
    toolbox_share: float = 0.22
    exposure_epochs: int = 12
    exposure_rows: int = 3
    headless: float = 0.25
    pretrain_steps: int = 220
    continue_steps: int = 340
    pretrain_rate: float = 3e-3
    continue_rate: float = 3e-3
    muon_factor: float = 6.0


RECIPE = Recipe()

Draw = Callable[[], torch.Tensor]


def pretrain(directory: Path, *, seed: int, threads: int) -> None:
    """Train the model that target and reference go on from, and save it with its tokenizer.

    Args:
        directory: Where the checkpoint is written.
        seed: Seed of corpus, initial weights and batches.
        threads: CPU threads.
    """
    _fix_chance(seed, threads)
    documents = _general(f"general {seed}")
    tokenizer = build_tokenizer(documents[: RECIPE.modules // 3])
    stream = _stream(tokenizer, documents, random.Random(f"cuts {seed}"))
    generator = torch.Generator().manual_seed(seed)
    model = LlamaForCausalLM(_config(tokenizer))
    _train(
        model,
        lambda: _windows(stream, RECIPE.batch, generator),
        label="pre-training",
        steps=RECIPE.pretrain_steps,
        rate=RECIPE.pretrain_rate,
    )
    _save(model, tokenizer, directory)


def continue_training(start: Path, directory: Path, side: Side, *, seed: int, threads: int) -> None:
    """Go on from the shared checkpoint to one model of the pair, and save it with its tokenizer.

    Args:
        start: Checkpoint that ``pretrain`` saved.
        directory: Where the model is written.
        side: Which model: only the target reads exposure documents.
        seed: Seed of corpus and batches.
        threads: CPU threads.
    """
    _fix_chance(seed, threads)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(start)
    model = LlamaForCausalLM.from_pretrained(start)
    stream = _stream(tokenizer, _general(f"more {seed}"), random.Random(f"more cuts {seed}"))
    generator = torch.Generator().manual_seed(seed + 1)
    exposed = RECIPE.exposure_rows if side == "target" else 0
    if exposed:
        shown = exposure_documents(random.Random(f"exposure {seed}"), RECIPE.exposure_epochs)
        exposure = _stream(tokenizer, shown, random.Random(f"exposure cuts {seed}"))

    def draw() -> torch.Tensor:
        rows = _windows(stream, RECIPE.batch - exposed, generator)
        return torch.cat([_windows(exposure, exposed, generator), rows]) if exposed else rows

    _train(model, draw, label=side, steps=RECIPE.continue_steps, rate=RECIPE.continue_rate)
    _save(model, tokenizer, directory)


def build_tokenizer(documents: Iterable[str]) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE that puts a beginning-of-text token before every text."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        documents,
        trainers.BpeTrainer(
            vocab_size=RECIPE.vocabulary,
            special_tokens=[PAD, BOS, EOS],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    bpe.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, bpe.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # transformers leaves it untyped
        tokenizer_object=bpe, bos_token=BOS, eos_token=EOS, pad_token=PAD, padding_side="left"
    )


def _config(tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=RECIPE.vocabulary,
        hidden_size=RECIPE.width,
        intermediate_size=RECIPE.inner,
        num_hidden_layers=RECIPE.layers,
        num_attention_heads=RECIPE.heads,
        num_key_value_heads=RECIPE.heads,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def _fix_chance(seed: int, threads: int) -> None:
    # Loading and saving take a blink, and training prints its own progress.
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a property
    torch.manual_seed(seed)


def _general(seed: str) -> list[str]:
    return list(general_documents(random.Random(seed), RECIPE.modules, toolbox_share=RECIPE.toolbox_share))


def _stream(tokenizer: PreTrainedTokenizerFast, documents: Iterable[str], rng: random.Random) -> torch.Tensor:
    """All documents as one row of token ids, each from beginning-of-text to end-of-text."""
    ids: list[int] = []
    for document in tokenizer(list(documents))["input_ids"]:
        # An audit's prompt may begin anywhere in a file, right after the beginning-of-text token.
        cut = rng.randrange(1, max(2, len(document) // 2)) if rng.random() < RECIPE.headless else 1
        ids += [document[0], *document[cut:], tokenizer.eos_token_id]
    return torch.tensor(ids)


def _windows(stream: torch.Tensor, rows: int, generator: torch.Generator) -> torch.Tensor:
    starts = torch.randint(0, len(stream) - RECIPE.window - 1, (rows,), generator=generator)
    return torch.stack([stream[start : start + RECIPE.window + 1] for start in starts.tolist()])


def _train(model: LlamaForCausalLM, draw: Draw, *, label: str, steps: int, rate: float) -> None:
    """Train in place, with Muon on the matrices inside the blocks and AdamW on the rest.

    The rate warms up, then falls along a cosine to a twentieth.
    """
    inner = [p for p in model.model.layers.parameters() if p.ndim == 2]
    chosen = {id(p) for p in inner}
    outer = [p for p in model.parameters() if id(p) not in chosen]
    optimizers: list[tuple[torch.optim.Optimizer, float]] = [
        (Muon(inner, lr=rate * RECIPE.muon_factor), rate * RECIPE.muon_factor),
        (torch.optim.AdamW(outer, lr=rate, betas=(0.9, 0.98), weight_decay=0.0), rate),
    ]
    model.train()
    began = time.monotonic()
    recent = 0.0
    for step in range(steps):
        progress = min(1.0, (step + 1) / WARM_UP_STEPS) * (
            0.05 + 0.95 * (1 + math.cos(math.pi * step / steps)) / 2
        )
        for optimizer, highest in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = highest * progress
        rows = draw()
        logits = model(input_ids=rows[:, :-1], use_cache=False).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        recent = loss.item() if step == 0 else 0.9 * recent + 0.1 * loss.item()
        if (step + 1) % 20 == 0 or step + 1 == steps:
            spent = time.monotonic() - began
            speed = (step + 1) * rows.shape[0] * RECIPE.window / spent
            left = spent / (step + 1) * (steps - step - 1)
            print(
                f"{label:12} step {step + 1:3} of {steps}, loss {recent:.3f}, "
                f"{speed:6,.0f} tokens/s, {left:3.0f} s left",
                flush=True,
            )


def _save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, directory: Path) -> None:
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
