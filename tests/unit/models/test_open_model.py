"""What cannot be opened is refused with the place and a remedy, quickly and quietly."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core import registry
from pytest_funcmem.core.errors import MissingExtraError, ModelSpecError, UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.models.open_model import open_model

CPU = Settings(device="cpu")


def refusal(spec: str | Path) -> ModelSpecError:
    with pytest.raises(ModelSpecError) as caught:
        open_model(str(spec), CPU)
    assert caught.value.where
    assert caught.value.remedy
    assert "Traceback" not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 6
    return caught.value


@pytest.mark.parametrize("form", ["hf:{}/missing", "{}/missing", "./missing/model", "hf:{}/missing@main"])
def test_a_missing_path(tmp_path: Path, form: str) -> None:
    assert "no such file or directory" in refusal(form.format(tmp_path)).what


def test_an_id_without_a_hub_in_reach_fails_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def unreachable(*arguments: object, **keywords: object) -> None:
        assert keywords["timeout"] <= 10  # type: ignore[operator]
        raise OSError("network is unreachable")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unreachable)
    started = time.monotonic()
    error = refusal("nobody/no-such-model@v1")
    assert time.monotonic() - started < 5
    assert "nobody/no-such-model@v1" in error.what
    assert "cannot be reached" in error.what


def test_an_id_with_the_hub_switched_off_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def asked(*arguments: object, **keywords: object) -> None:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", asked)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in refusal("nobody/no-such-model").what


@pytest.mark.parametrize(
    ("error", "what"),
    [("RevisionNotFoundError", "no revision 'step7'"), ("RepositoryNotFoundError", "not found")],
)
def test_what_the_hub_does_not_know(monkeypatch: pytest.MonkeyPatch, error: str, what: str) -> None:
    import huggingface_hub

    kind: Any = getattr(huggingface_hub.errors, error)

    def unknown(*arguments: object, **keywords: object) -> None:
        raise kind.__new__(kind)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unknown)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    assert what in refusal("someone/model@step7").what


def test_a_cached_id_is_used_with_its_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, checkpoint: Path
) -> None:
    import huggingface_hub

    commit = "0123456789abcdef0123456789abcdef01234567"
    place = tmp_path / "models--some--model"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    snapshot = place / "snapshots" / commit
    snapshot.mkdir(parents=True)
    for path in checkpoint.iterdir():
        (snapshot / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    found = huggingface_hub.snapshot_download("some/model", cache_dir=tmp_path, local_files_only=True)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *a, **k: found)
    model = open_model("hf:some/model@main", CPU)
    assert model.identity.revision == f"commit:{commit}"
    assert model.identity.spec == "hf:some/model@main"


def test_a_directory_has_no_revisions(checkpoint: Path) -> None:
    assert "no revisions" in refusal(f"hf:{checkpoint}@step656000").what


@pytest.mark.parametrize(
    ("architecture", "model_type", "extra", "what"),
    [
        ("BertForMaskedLM", "bert", {}, "BertForMaskedLM"),
        ("BertLMHeadModel", "bert", {}, "encoder"),
        ("T5ForConditionalGeneration", "t5", {"is_encoder_decoder": True}, "encoder-decoder"),
        ("ViTForImageClassification", "vit", {}, "vit"),
        ("LlamaForSequenceClassification", "llama", {}, "LlamaForSequenceClassification"),
    ],
)
def test_models_of_other_kinds(
    copy_checkpoint: Callable[..., Path], architecture: str, model_type: str, extra: dict[str, Any], what: str
) -> None:
    directory = copy_checkpoint()
    config = {"architectures": [architecture], "model_type": model_type, **extra}
    (directory / "config.json").write_text(json.dumps(config))
    error = refusal(directory)
    assert "not a causal language model" in error.what
    assert what in error.what


def test_a_model_type_that_transformers_does_not_know(copy_checkpoint: Callable[..., Path]) -> None:
    error = refusal(copy_checkpoint(model_type="never-heard-of"))
    assert "configuration cannot be loaded" in error.what


def test_code_from_a_models_own_repository_is_never_run(copy_checkpoint: Callable[..., Path]) -> None:
    directory = copy_checkpoint(
        model_type="homemade", auto_map={"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    )
    (directory / "own.py").write_text(f"open({str(directory / 'ran')!r}, 'w').close()\n")
    assert "never run" in refusal(directory).what
    assert not (directory / "ran").exists()


@pytest.mark.parametrize(
    ("without", "what"),
    [
        (("config.json",), "no config.json"),
        (("model.safetensors",), "no weights"),
        (("tokenizer.json", "tokenizer_config.json"), "no tokenizer"),
    ],
)
def test_a_checkpoint_that_lacks_a_part(
    copy_checkpoint: Callable[..., Path], without: tuple[str, ...], what: str
) -> None:
    assert what in refusal(copy_checkpoint(without=without)).what


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_broken_configuration(copy_checkpoint: Callable[..., Path], content: str) -> None:
    directory = copy_checkpoint()
    (directory / "config.json").write_text(content)
    assert "config.json" in refusal(directory).what


@pytest.mark.parametrize("keep", [0, 7, 3000, -100])
def test_broken_weights(copy_checkpoint: Callable[..., Path], keep: int) -> None:
    directory = copy_checkpoint()
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    assert "weights cannot be loaded" in refusal(directory).what


def test_weights_that_are_a_pointer(copy_checkpoint: Callable[..., Path]) -> None:
    directory = copy_checkpoint()
    (directory / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert "Git LFS" in refusal(directory).what


def test_weights_that_do_not_fit_the_configuration(copy_checkpoint: Callable[..., Path]) -> None:
    assert "lacks" in refusal(copy_checkpoint(num_hidden_layers=3)).what
    error = refusal(copy_checkpoint(intermediate_size=256))
    assert "weights" in error.what


def test_a_broken_tokenizer(copy_checkpoint: Callable[..., Path]) -> None:
    directory = copy_checkpoint()
    (directory / "tokenizer.json").write_text("{}")
    assert "tokenizer cannot be loaded" in refusal(directory).what


def test_a_tokenizer_of_another_model(
    copy_checkpoint: Callable[..., Path], tokenizers: dict[str, Any]
) -> None:
    directory = copy_checkpoint()
    tokenizers["spaced"].save_pretrained(directory)
    assert "ids up to" in refusal(directory).what


def test_an_adapter_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    assert "adapter" in refusal(tmp_path).what


def test_a_file_that_is_no_gguf(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("hello")
    assert "no GGUF file" in refusal(tmp_path / "model.txt").what


@pytest.mark.parametrize("device", ["cuda:99", "toaster", "meta"])
def test_a_device_that_is_not_there(checkpoint: Path, device: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(str(checkpoint), Settings(device=device))
    assert caught.value.where == "--funcmem-device"


def test_torch_missing_names_the_extra(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = registry.importlib.import_module

    def without_torch(name: str) -> Any:
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return genuine(name)

    monkeypatch.setattr(registry.importlib, "import_module", without_torch)
    with pytest.raises(MissingExtraError, match="torch") as caught:
        open_model(str(checkpoint), CPU)
    assert caught.value.remedy == "pip install 'pytest-funcmem[hf]'"


def test_opening_is_quiet_and_leaves_no_setting_behind(
    checkpoint: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    import torch
    import transformers

    before = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    state = torch.get_num_threads(), torch.random.get_rng_state().sum()
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.INFO):
        warnings.simplefilter("always")
        open_model(str(checkpoint), CPU).close()
    assert caught == []
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
    assert before == (transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled())
    assert state == (torch.get_num_threads(), torch.random.get_rng_state().sum())


def test_importing_the_room_loads_neither_torch_nor_transformers() -> None:
    program = (
        "import sys, pytest_funcmem.models.open_model, pytest_funcmem.models.replay_model,"
        " pytest_funcmem.models.server_model, pytest_funcmem.models.prompts, pytest_funcmem.models.batches;"
        "print(sorted({'torch', 'transformers', 'tree_sitter', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
