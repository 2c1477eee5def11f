"""Opens the model that an agent talks to, by its SPEC."""

from __future__ import annotations

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.core.registry import require
from pytest_funcmem.models.dialogue.records import DialogueModel
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.spec import parse_spec

__all__ = ["open_dialogue"]

_FORMS = "anthropic:MODEL or openai:BASE_URL#MODEL"


def open_dialogue(spec: str, *, timeout_s: float = 300.0, retry: RetryPolicy | None = None) -> DialogueModel:
    """Open a model that can be talked to. Nothing is sent yet.

    Args:
        spec: ``anthropic:MODEL`` (key in ``ANTHROPIC_API_KEY``, address in ``ANTHROPIC_BASE_URL``), or
            ``openai:BASE_URL#MODEL`` for a chat endpoint that knows tools (key in ``OPENAI_API_KEY``).
        timeout_s: Seconds of silence after which a request has failed; an answer that goes on coming in may
            take longer.
        retry: How failures that may pass are repeated.

    Raises:
        ModelSpecError: The SPEC has neither form, or the key in the environment cannot be used.
        MissingExtraError: The package that the model needs is not installed.
    """
    retry = retry or RetryPolicy()
    kind, _, rest = spec.partition(":")
    if kind == "anthropic":
        model = rest.strip()
        if not model or not model.isprintable():
            raise ModelSpecError(
                "The SPEC names no model.", where=spec, expected="anthropic:MODEL", remedy="Add the model."
            )
        require("anthropic", extra="agent", purpose=f"for {spec}")
        from pytest_funcmem.models.dialogue.anthropic_dialogue import AnthropicDialogue

        return AnthropicDialogue(model=model, timeout_s=timeout_s, retry=retry)
    if kind in ("hf", "replay"):
        raise ModelSpecError(
            f"A {kind}: model cannot be talked to.",
            where=spec,
            expected=_FORMS,
            remedy="Serve it with an OpenAI-compatible server that knows tools, and give its address.",
        )
    if kind != "openai" and kind not in ("http", "https"):
        raise ModelSpecError("No model to talk to is named so.", where=spec, expected=_FORMS)
    parsed = parse_spec(spec)
    from pytest_funcmem.models.dialogue.openai_dialogue import OpenAiDialogue

    return OpenAiDialogue(
        base_url=parsed.location.removesuffix("/chat"),
        model=parsed.model or "",
        timeout_s=timeout_s,
        retry=retry,
    )
