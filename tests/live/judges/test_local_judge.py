"""A judge on this machine: a tiny checkpoint that has learned one answer by heart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.metrics.choice import MetricSettings, open_metric

ANSWER = "[[0.625]]"
PAIR = CodePair(language="go", original="func f() int { return 1 }", candidate="func f() int { return 2 }")


@pytest.fixture(scope="module")
def judge_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of some thousand parameters that answers whatever it is asked with ``ANSWER``."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate(["<end>", *pieces])}
    raw = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<end>")
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=2048,
        eos_token_id=0,
        bos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config)
    prompt = tokenizer("assistant: ")["input_ids"]
    answer = [*tokenizer(ANSWER)["input_ids"], 0]
    ids = torch.tensor([prompt + answer])
    labels = torch.tensor([[-100] * len(prompt) + answer])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
    for _ in range(80):
        # The answer must not depend on how far into the text it begins.
        start = int(torch.randint(0, 600, (1,)))
        positions = torch.arange(start, start + ids.shape[1])[None]
        loss = model(input_ids=ids, labels=labels, position_ids=positions).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.set_num_threads(threads)
    directory = tmp_path_factory.mktemp("judge")
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def test_a_checkpoint_answers_greedily_through_its_chat_template(judge_dir: Path) -> None:
    metric: Any = open_metric(f"judge:song@hf:{judge_dir}", settings=MetricSettings(max_cost=0.0))
    first = metric.scores([PAIR])[0]
    second = metric.scores([PAIR])[0]
    metric.close()
    assert first == second
    assert "judge|prompt:song 1|model:hf:sha256:" in first.signature
    # What so small a model writes after a long question is not the point; that it is read honestly is.
    assert (first.value is None) == first.note.startswith("judge failed: ")
    assert metric.tally.dollars == 0.0
    assert metric.tally.asked == 2


def test_a_question_beyond_the_models_length_is_a_counted_failure(judge_dir: Path) -> None:
    metric: Any = open_metric(f"judge:song@hf:{judge_dir}")
    long = CodePair(language="go", original="x := 1\n" * 600, candidate="y")
    score = metric.scores([long])[0]
    metric.close()
    assert score.value is None
    assert "the model reads 2048" in score.note
    assert metric.tally.failed == 1
