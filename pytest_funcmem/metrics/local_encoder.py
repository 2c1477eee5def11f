"""An encoder in this process, by transformers: any model that gives hidden states, one text at a time.

Knows nothing of pairs or scores. Code of a model's own repository is never run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoTokenizer

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import EngineError, ModelSpecError
from pytest_funcmem.metrics.encoder_recipes import EncoderRecipe, recipe_from_files
from pytest_funcmem.models.checkpoint import find_checkpoint
from pytest_funcmem.models.loading import pick_device, quiet
from pytest_funcmem.models.spec import parse_spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["LocalEncoder"]

_MOST_TOKENS = 8192


class LocalEncoder:
    """See ``embedding.Encoder``.

    Args:
        place: Path or hub id, with or without ``hf:``.
        recipe: How it is used; None to read it from the model's own files.
        change: Applies the user's settings to the recipe.
        instruction: "" embeds texts as they are.
        device: Torch device, or ``auto``.

    Raises:
        ModelSpecError: It is not there, or its files are broken.
    """

    def __init__(
        self,
        *,
        place: str,
        recipe: EncoderRecipe | None,
        change: Callable[[EncoderRecipe], EncoderRecipe],
        instruction: str,
        device: str,
    ) -> None:
        spec = parse_spec(place)
        if spec.kind != "hf":
            raise ModelSpecError(
                f"A {spec.kind}: model gives no embeddings.",
                where=place,
                expected="a preset, a path or hub id, or openai:BASE_URL#MODEL",
            )
        checkpoint = find_checkpoint(spec)
        self._recipe = change(recipe if recipe is not None else recipe_from_files(checkpoint.directory))
        self._instruction = instruction
        self._place = place
        self._device = pick_device(device)
        self._directory = str(checkpoint.directory)
        # A GPU holds large encoders in the numbers they were saved in; a processor uses single precision.
        self._dtype: Any = torch.float32 if self._device.type == "cpu" else "auto"
        config: Any = self._read(AutoConfig)
        self._module: Any = None
        self._tokenizer: Any = None
        positions = getattr(config, "max_position_embeddings", None) or _MOST_TOKENS
        self._max_tokens = min(self._recipe.max_tokens or _MOST_TOKENS, positions, _MOST_TOKENS)
        asked = digest([self._recipe.template, instruction])[:12] if instruction else "none"
        # A path says where, not what; the revision tells two encoders of one name apart.
        name = Path(spec.location).name if Path(spec.location).exists() else spec.location
        saved = str(getattr(config, "dtype", None) or "as saved") if self._dtype == "auto" else "float32"
        self._signature = (
            f"model:{name}|{checkpoint.revision[:19]}|pooling:{self._recipe.pooling}|instruction:{asked}"
            f"|first:{self._max_tokens} tokens|dtype:{saved.removeprefix('torch.')}"
            f"|transformers:{transformers.__version__}"
        )

    def _read(self, kind: Any, **settings: Any) -> Any:
        """Read a part of the checkpoint, with what goes wrong in the words of this package."""
        common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
        try:
            with quiet():
                return kind.from_pretrained(self._directory, **common, **settings)
        except Exception as exc:  # transformers, safetensors and tokenizers each raise what they like
            reason = (str(exc).strip() or "no reason given").partition("\n")[0]
            raise ModelSpecError(
                f"The encoder cannot be loaded: {type(exc).__name__}: {reason[:300]}",
                where=self._place,
                expected=f"a model that transformers {transformers.__version__} reads",
                remedy="Copy the model again; if it needs code of its own, serve it and use openai:.",
            ) from exc

    def _load(self) -> None:
        """Load tokenizer and weights, which a run whose scores are all in the store never needs."""
        self._tokenizer = self._read(AutoTokenizer)
        self._module = self._read(AutoModel, dtype=self._dtype).to(self._device).eval()

    @property
    def signature(self) -> str:
        """Model, revision, pooling, instruction, length, number format and version."""
        return self._signature

    def encode(self, text: str) -> tuple[Vector, str]:
        """Run the encoder on one text; see ``Encoder.encode``."""
        import numpy as np

        if self._module is None:
            self._load()
        if self._instruction:
            text = self._recipe.template.replace("{instruction}", self._instruction).replace("{text}", text)
        # Lone surrogates have no form that a tokenizer reads.
        text = text.encode("utf-8", "replace").decode("utf-8")
        with quiet():
            whole = self._tokenizer(text, truncation=False, add_special_tokens=True)["input_ids"]
            ids = self._tokenizer(text, truncation=True, max_length=self._max_tokens, return_tensors="pt").to(
                self._device
            )
        try:
            with torch.inference_mode():
                states = self._module(**ids).last_hidden_state[0]
        except (RuntimeError, IndexError, ValueError) as exc:
            reason = str(exc).partition("\n")[0]
            raise EngineError(
                f"The encoder failed on a text of {len(whole)} tokens: {reason[:300]}", where=self._place
            ) from exc
        match self._recipe.pooling:
            case "mean":
                pooled = states.float().mean(dim=0)
            case "cls":
                pooled = states[0].float()
            case "last":
                pooled = states[-1].float()
        note = ""
        if len(whole) > self._max_tokens:
            note = f"only the first {self._max_tokens} tokens of a text were embedded"
        vector = pooled.double().cpu().numpy()
        if self._recipe.normalised and (length := float(np.linalg.norm(vector))) > 0:
            vector = vector / length
        return vector, note

    def close(self) -> None:
        """Give the model's memory back."""
        self._module = None
