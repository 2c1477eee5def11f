"""Opens the model that an agent talks to, by its SPEC."""

from __future__ import annotations

from pytest_funcmem.core.errors import ModelSpecError
from pytest_funcmem.core.registry import require
from pytest_funcmem.models.dialogue.records import DialogueModel
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.models.spec import ModelSpec, parse_spec

__all__ = ["check_spec", "open_dialogue"]

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
    parsed = check_spec(spec)
    if parsed is None:
        require("anthropic", extra="agent", purpose=f"for {spec}")
        from pytest_funcmem.models.dialogue.anthropic_dialogue import AnthropicDialogue

        return AnthropicDialogue(model=_anthropic_model(spec), timeout_s=timeout_s, retry=retry)
    from pytest_funcmem.models.dialogue.openai_dialogue import OpenAiDialogue

    return OpenAiDialogue(
        base_url=parsed.location.removesuffix("/chat"),
        model=parsed.model or "",
        timeout_s=timeout_s,
        retry=retry,
    )


def check_spec(spec: str) -> ModelSpec | None:
    """See that a SPEC names a model that can be talked to. Needs no key, and no package.

    Args:
        spec: As for ``open_dialogue``.

    Returns:
        Its parts; None for a model of Anthropic's, which has but one.

    Raises:
        ModelSpecError: It has neither form.
    """
    kind, _, _ = spec.partition(":")
    if kind == "anthropic":
        model = _anthropic_model(spec)
        if not model or not model.isprintable():
            raise ModelSpecError(
                "The SPEC names no model.", where=spec, expected="anthropic:MODEL", remedy="Add the model."
            )
        return None
    if kind in ("hf", "replay"):
        raise ModelSpecError(
            f"A {kind}: model cannot be talked to.",
            where=spec,
            expected=_FORMS,
            remedy="Serve it with an OpenAI-compatible server that knows tools, and give its address.",
        )
    if kind != "openai" and kind not in ("http", "https"):
        raise ModelSpecError("No model to talk to is named so.", where=spec, expected=_FORMS)
    return parse_spec(spec)


def _anthropic_model(spec: str) -> str:
    return spec.partition(":")[2].strip()
