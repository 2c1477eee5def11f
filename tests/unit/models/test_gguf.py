"""GGUF files: the same weights give the same completions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.models.open_model import open_model

CPU = Settings(device="cpu")


def write_gguf(checkpoint: Path, path: Path) -> None:
    """Write the weights and the tokenizer of a Llama checkpoint as llama.cpp lays them out."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((checkpoint / "config.json").read_text())
    tokenizer = json.loads((checkpoint / "tokenizer.json").read_text())
    heads, width = config["num_attention_heads"], config["hidden_size"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(width)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(config["vocab_size"])
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types([3 if token == "<|end|>" else 1 for token, _ in vocabulary])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_bos_token_id(config["eos_token_id"])
    names = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    for name, tensor in load_file(checkpoint / "model.safetensors").items():
        if name == "model.embed_tokens.weight":
            writer.add_tensor("token_embd.weight", tensor)
        elif name == "model.norm.weight":
            writer.add_tensor("output_norm.weight", tensor)
        elif name.startswith("model.layers."):
            _, _, layer, rest = name.split(".", 3)
            kind = rest.removesuffix(".weight")
            if kind in ("self_attn.q_proj", "self_attn.k_proj"):  # llama.cpp interleaves the rotary halves
                parts = tensor.reshape(heads, 2, width // heads // 2, width)
                tensor = parts.swapaxes(1, 2).reshape(tensor.shape).copy()
            writer.add_tensor(f"blk.{layer}.{names[kind]}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def gguf_directory(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("gguf")
    write_gguf(checkpoint, directory / "model-f32.gguf")
    return directory


@pytest.mark.parametrize("named", ["directory", "file"])
def test_a_gguf_gives_the_checkpoints_completions(
    gguf_directory: Path,
    named: str,
    model: Any,
    functions: list[SourceFunction],
    capfd: pytest.CaptureFixture[str],
) -> None:
    place = gguf_directory if named == "directory" else gguf_directory / "model-f32.gguf"
    opened = open_model(f"hf:{place}", CPU)
    assert capfd.readouterr() == ("", "")
    prompts = [model.cutter().cut(function, prefix_tokens=50) for function in functions[:3]]
    ours = [opened.cutter().cut(function, prefix_tokens=50) for function in functions[:3]]
    assert [prompt.text for prompt in ours] == [prompt.text for prompt in prompts]
    expected = model.complete(functions[:3], prompts, max_new_tokens=60)
    found = opened.complete(functions[:3], ours, max_new_tokens=60)
    assert [completion.text for completion in found] == [completion.text for completion in expected]
    assert opened.identity.revision.startswith("sha256:")
    assert opened.identity.dtype == "float32"


def test_several_gguf_files_in_a_directory(gguf_directory: Path, tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    with pytest.raises(ModelSpecError, match="2 GGUF files") as caught:
        open_model(str(tmp_path), CPU)
    assert "a.gguf" in str(caught.value.remedy)


def test_a_broken_gguf(gguf_directory: Path, tmp_path: Path) -> None:
    content = (gguf_directory / "model-f32.gguf").read_bytes()
    (tmp_path / "model.gguf").write_bytes(content[:2000])
    with pytest.raises(ModelSpecError, match="cannot be loaded"):
        open_model(str(tmp_path), CPU)
