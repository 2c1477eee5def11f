"""Judges that run on this machine: a checkpoint with a chat template, greedily, one question at a time.

Knows nothing of judges; how a checkpoint is found and loaded is the models' room's.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch

from pytest_funcmem.core.errors import EngineError
from pytest_funcmem.metrics.judging.engines import Answered, Question, Reply
from pytest_funcmem.models.checkpoint import find_checkpoint
from pytest_funcmem.models.loading import load_checkpoint, pick_device, quiet
from pytest_funcmem.models.prices import Price
from pytest_funcmem.models.spec import ModelSpec

__all__ = ["LocalEngine"]


class LocalEngine:
    """See ``engines.ChatEngine``.

    Args:
        spec: A parsed ``hf:`` SPEC.
        device: Torch device, or ``auto``.
    """

    def __init__(self, spec: ModelSpec, *, device: str) -> None:
        checkpoint = find_checkpoint(spec)
        self._lock = threading.Lock()
        self._device = pick_device(device)
        self._checkpoint = checkpoint
        self._dtype = "float32" if self._device.type == "cpu" else "bfloat16"
        self._loaded: Any = None
        self._where = spec.text
        self._identity = f"hf:{checkpoint.revision}|{self._dtype}"

    @property
    def identity(self) -> str:
        """Revision of the weights, and the format of their numbers."""
        return self._identity

    @property
    def price(self) -> Price | None:
        """Nothing."""
        return Price(input=0.0, output=0.0)

    def ask(self, questions: Sequence[Question], max_tokens: int, answered: Answered) -> None:
        """Answer one question after the other; see ``ChatEngine.ask``."""
        with self._lock:
            if self._loaded is None:  # an audit whose answers are all in the store needs no weights
                self._loaded = load_checkpoint(
                    self._checkpoint, where=self._where, dtype=self._dtype, device=self._device
                )
            for number, question in enumerate(questions):
                answered(number, self._one(question, max_tokens))

    def close(self) -> None:
        """Give the model's memory back."""
        self._loaded = None

    def _one(self, question: Question, max_tokens: int) -> Reply:
        tokenizer, module = self._loaded.tokenizer, self._loaded.module
        with quiet():
            ids = tokenizer(self._prompt(question), add_special_tokens=False)["input_ids"]
        room = self._loaded.positions
        if not ids or (room is not None and len(ids) + 1 > room):
            failure = f"the question takes {len(ids)} tokens, and the model reads {room}"
            return Reply(text=None, failure=failure, input_tokens=len(ids))
        given = torch.tensor([ids], device=self._device)
        settings: dict[str, Any] = {
            "do_sample": False,
            "num_beams": 1,
            "max_new_tokens": min(max_tokens, room - len(ids)) if room is not None else max_tokens,
            "eos_token_id": sorted(self._loaded.eos_ids) or None,
            "pad_token_id": min(self._loaded.eos_ids, default=0),
            # What the checkpoint's own settings say of sampling and repetition is not asked for.
            "temperature": None,
            "top_p": None,
            "top_k": None,
            "repetition_penalty": 1.0,
            "max_length": None,
        }
        try:
            with torch.inference_mode(), quiet():
                out = module.generate(given, attention_mask=torch.ones_like(given), **settings)
        except (RuntimeError, ValueError) as exc:
            reason = str(exc).partition("\n")[0]
            raise EngineError(f"The judge failed: {reason[:300]}", where=self._where) from exc
        written = out[0, len(ids) :]
        text = tokenizer.decode(written, skip_special_tokens=True)
        return Reply(text=text, input_tokens=len(ids), output_tokens=len(written))

    def _prompt(self, question: Question) -> str:
        tokenizer = self._loaded.tokenizer
        system = question.system.encode("utf-8", "replace").decode("utf-8")
        user = question.user.encode("utf-8", "replace").decode("utf-8")
        if not getattr(tokenizer, "chat_template", None):
            return f"{tokenizer.bos_token or ''}{system}\n\n{user}\n\n"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        try:
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception:  # templates raise what they like at a role that they do not know
            messages = [{"role": "user", "content": f"{system}\n\n{user}"}]
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return str(text)
