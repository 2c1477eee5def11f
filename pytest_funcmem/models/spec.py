"""SPEC strings: which model is meant, before anything is opened.

Knows the three forms of the option and nothing of how a model is loaded. The file system is asked only one
question: whether a text with an ``@`` in it names a path as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pytest_funcmem.core.errors import ModelSpecError

__all__ = ["ModelSpec", "parse_spec", "short_names"]

_FORMS = "hf:PATH_OR_ID[@REVISION], openai:BASE_URL#MODEL or replay:FILE"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9_][\w.-]{0,95})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A parsed SPEC.

    Attributes:
        text: The SPEC as the user gave it.
        kind: Which engine it asks for; the name of the implementation in the registry.
        location: Path or hub id (``hf``), base URL without a final slash (``openai``), or file (``replay``).
        revision: Branch, tag or commit of a hub id; None elsewhere, and where none was given.
        model: Name of the model on its server; None unless ``openai``.
    """

    text: str
    kind: Literal["hf", "openai", "replay"]
    location: str
    revision: str | None = None
    model: str | None = None

    @property
    def may_be_hub_id(self) -> bool:
        """Whether the location has the form of a hub id, ``NAME`` or ``OWNER/NAME``."""
        return self.kind == "hf" and _HUB_ID.fullmatch(self.location) is not None


def parse_spec(text: str) -> ModelSpec:
    """Parse a SPEC; a bare path or id means ``hf:``.

    Args:
        text: ``hf:PATH_OR_ID[@REVISION]``, ``openai:BASE_URL#MODEL`` or ``replay:FILE``.

    Raises:
        ModelSpecError: It has none of these forms.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind in ("hf", "openai", "replay"):
        if not rest.strip():
            raise ModelSpecError(
                f"The model {text!r} names nothing after '{kind}:'.",
                where=text,
                expected=_FORMS,
                remedy="Add the path, address or file.",
            )
    elif colon and kind in ("http", "https"):
        raise ModelSpecError(
            "A server's address needs 'openai:' before it and '#MODEL' behind it.",
            where=text,
            expected="openai:BASE_URL#MODEL, such as openai:http://localhost:8000/v1#my-model",
            remedy=f"Write openai:{text.partition('#')[0]}#MODEL.",
        )
    elif colon and re.fullmatch(r"[a-z][a-z0-9_-]+", kind) and not Path(text).exists():
        raise ModelSpecError(
            f"There is no kind of model named {kind!r}.",
            where=text,
            expected=_FORMS,
            remedy=f"Write hf:{text} if this is a path.",
        )
    elif text.strip():
        kind, rest = "hf", text
    else:
        raise ModelSpecError("The model's SPEC is empty.", expected=_FORMS, remedy="Name a model.")
    match kind:
        case "openai":
            return _server(text, rest)
        case "replay":
            return ModelSpec(text=text, kind="replay", location=rest)
        case _:
            return _checkpoint(text, rest)


def _checkpoint(text: str, rest: str) -> ModelSpec:
    location, at, revision = rest.rpartition("@")
    # A directory may have an '@' in its name; what exists as it stands is meant as it stands.
    if not at or Path(rest).expanduser().exists():
        return ModelSpec(text=text, kind="hf", location=rest)
    if not location or not revision:
        raise ModelSpecError(
            f"The model {text!r} lacks its {'revision after' if location else 'name before'} '@'.",
            where=text,
            expected="hf:PATH_OR_ID[@REVISION]",
            remedy="Complete it, or leave the '@' out.",
        )
    return ModelSpec(text=text, kind="hf", location=location, revision=revision)


def _server(text: str, rest: str) -> ModelSpec:
    url, _, model = rest.partition("#")
    form = "openai:BASE_URL#MODEL, such as openai:http://localhost:8000/v1#my-model"
    try:
        parts = urlsplit(url)
        valid = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        valid = False
    if not valid:
        raise ModelSpecError(
            f"{url!r} is not the address of a server.", where=_without_secret(text), expected=form,
            remedy="Give the address with http:// or https://, up to and including /v1.",
        )  # fmt: skip
    if parts.username is not None or parts.password is not None:
        # The SPEC is shown in reports and stored in records.
        raise ModelSpecError(
            "A server's address must not hold a user name or password: the SPEC is shown in every report.",
            where=_without_secret(text),
            remedy="Put the key into the environment variable OPENAI_API_KEY.",
        )
    if parts.query:
        raise ModelSpecError(
            "A server's address must not hold a query.", where=_without_secret(text), expected=form,
            remedy="Leave out what follows the '?'.",
        )  # fmt: skip
    if not model:
        raise ModelSpecError(
            "The server's SPEC names no model.",
            where=text,
            expected=form,
            remedy=f"Write openai:{url}#MODEL.",
        )
    base = url.rstrip("/").removesuffix("/completions")
    return ModelSpec(text=text, kind="openai", location=base, model=model)


def _without_secret(text: str) -> str:
    return re.sub(r"//[^/#?]*@", "//***@", re.sub(r"\?[^#]*", "?***", text))


def short_names(specs: Sequence[str]) -> list[str]:
    """Short names that tell models apart, as node ids end in: the last part of a path, or more of it.

    Args:
        specs: Different SPECs.
    """
    parts = [[part for part in _plain_name(spec).split("/") if part] for spec in specs]
    for length in range(1, max(len(item) for item in parts) + 1):
        names = ["/".join(item[-length:]) for item in parts]
        if len(set(names)) == len(names):
            return names
    return [_bracketless(spec) for spec in specs]


def _plain_name(spec: str) -> str:
    parsed = parse_spec(spec)
    name = parsed.model or parsed.location
    if parsed.kind == "replay":
        name = str(Path(name).with_suffix(""))
    return _bracketless(name if parsed.revision is None else f"{name}@{parsed.revision}")


def _bracketless(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("::", ":")
