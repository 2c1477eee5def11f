"""What can be told of a model before anything is loaded, so that a slip ends the run at once."""

from __future__ import annotations

from pathlib import Path

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.registry import load
from pytest_funcmem.models.checkpoint import find_checkpoint
from pytest_funcmem.models.replay_model import ReplayModel
from pytest_funcmem.models.spec import parse_spec

__all__ = ["check_model", "named_functions"]


def check_model(spec: str, settings: Settings) -> None:
    """Check a SPEC as far as that costs nothing.

    Raises:
        ModelSpecError: It names nothing that can be opened.
        ReplayError: The replay file is broken.
        MissingExtraError: The package that runs such models is not installed.
    """
    parsed = parse_spec(spec)
    match parsed.kind:
        case "hf":
            # An id of the hub may have to be downloaded, which is left to the run itself.
            if Path(parsed.location).expanduser().exists() or not parsed.may_be_hub_id:
                find_checkpoint(parsed, hashed=False)
        case "replay":
            ReplayModel(parsed, settings)
        case "openai":
            load("model", "openai", purpose=f"to ask {spec}")


def named_functions(spec: str, settings: Settings) -> frozenset[str] | None:
    """Keys of the functions that a replay file names; None for models that answer for any function."""
    parsed = parse_spec(spec)
    return frozenset(ReplayModel(parsed, settings).functions_named()) if parsed.kind == "replay" else None
