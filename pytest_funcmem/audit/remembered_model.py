"""A model that is opened only when it is asked for something that the store does not hold.

An audit whose prompts and completions are all in the store needs of its models no more than to know which
they are; loading weights for that would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import GenerationProgress, Model, PromptCutter, Store
from pytest_funcmem.core.records import Completion, ModelIdentity, Prompt, SourceFunction
from pytest_funcmem.models.checkpoint import find_checkpoint, tokenizer_files_digest
from pytest_funcmem.models.memory import weights_fit
from pytest_funcmem.models.open_model import open_model
from pytest_funcmem.models.spec import parse_spec
from pytest_funcmem.store.codec import encode

__all__ = ["Crowding", "RememberedModel"]


class RememberedModel:
    """A model by its SPEC; a checkpoint is known again by the digest of its files.

    Args:
        spec: The SPEC.
        settings: Of the audit.
        store: Where identities of checkpoints are kept.

    Raises:
        ModelSpecError: There is no such checkpoint.
    """

    def __init__(self, spec: str, settings: Settings, store: Store) -> None:
        self.spec = spec
        self._settings = settings
        self._store = store
        self._model: Model | None = None
        self._identity: ModelIdentity | None = None
        self._key: str | None = None
        parsed = parse_spec(spec)
        if parsed.kind == "hf":
            checkpoint = find_checkpoint(parsed)
            self._key = digest(
                {
                    "revision": checkpoint.revision,
                    "small_files": tokenizer_files_digest(checkpoint),
                    "dtype": settings.dtype,
                    "device": settings.device,
                }
            )
            known: ModelIdentity | None = reuse(store, "model", self._key, ModelIdentity)
            self._identity = None if known is None else replace(known, spec=spec)

    @property
    def identity(self) -> ModelIdentity:
        """Which model it is; opens it where the store does not know."""
        if self._identity is None:
            self._identity = self._opened().identity
        return self._identity

    @property
    def batch_size(self) -> int:
        """Prompts to hand over together."""
        kind = parse_spec(self.spec).kind
        return self._settings.batch_size if kind == "hf" else self._opened().batch_size

    def cutter(self) -> PromptCutter:
        """The prompt cutter of the model's own tokenizer."""
        return self._opened().cutter()

    def complete(
        self,
        functions: Sequence[SourceFunction],
        prompts: Sequence[Prompt],
        *,
        max_new_tokens: int,
        progress: GenerationProgress | None = None,
    ) -> tuple[Completion, ...]:
        """Complete one batch; see ``Model.complete``."""
        return self._opened().complete(functions, prompts, max_new_tokens=max_new_tokens, progress=progress)

    @property
    def opened(self) -> bool:
        """Whether it is in memory."""
        return self._model is not None

    def close(self) -> None:
        """Free what was opened, if anything was; asked again, it is opened again."""
        if self._model is not None:
            self._model.close()
            self._model = None

    def _opened(self) -> Model:
        if self._model is None:
            self._model = open_model(self.spec, self._settings)
            if self._key is not None:
                self._store.put("model", self._key, encode(self._model.identity))
        return self._model


class Crowding:
    """Whether several models are too large to be in memory together; found out once, when one of them is.

    Args:
        models: The models.
        settings: Of the audit.
    """

    def __init__(self, models: Sequence[RememberedModel], settings: Settings) -> None:
        self._models = tuple(models)
        self._settings = settings
        self._known: bool | None = None

    def __call__(self) -> bool:
        """False while none of them is open: what is not in memory does not have to leave it."""
        if self._known is None:
            absent = [model.spec for model in self._models if not model.opened]
            if len(absent) == len(self._models):
                return False
            self._known = not weights_fit([parse_spec(spec) for spec in absent], self._settings)
        return self._known
