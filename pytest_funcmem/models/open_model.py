"""Opens the model that a SPEC names; the one door into this room for those who audit."""

from __future__ import annotations

import warnings
from typing import cast

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Model
from pytest_funcmem.core.registry import load
from pytest_funcmem.models.spec import parse_spec

__all__ = ["open_model"]


def open_model(spec: str, settings: Settings) -> Model:
    """Open a model: load the weights, probe the server, or read the replay file.

    Args:
        spec: ``hf:PATH_OR_ID[@REVISION]``, ``openai:BASE_URL#MODEL`` or ``replay:FILE``.
        settings: ``dtype``, ``device``, ``batch_size`` and ``server_timeout`` are used.

    Raises:
        ModelSpecError: The model is named wrongly, missing, or cannot complete text.
        ReplayError: The replay file is broken.
        MissingExtraError: The package that runs such models is not installed.
    """
    parsed = parse_spec(spec)
    with warnings.catch_warnings():
        # What torch and transformers warn about while they are imported is not the user's to act on.
        warnings.simplefilter("ignore")
        engine = load("model", parsed.kind, purpose=f"to open the model {spec}")
    return cast(Model, engine(parsed, settings))
