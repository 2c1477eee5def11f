"""Cosine similarity of two embeddings, by an encoder on this machine or behind an endpoint.

``embedding:MODEL``, where MODEL is a preset (``qwen3-0.6b``, ``qwen3-4b``, ``qwen3-8b``,
``nomic-embed-code``), a path or hub id of an encoder, or ``openai:BASE_URL#MODEL`` for an OpenAI-compatible
endpoint; then, if wanted, ``?pooling=…&instruction=…&template=…&max_tokens=…``.

Every text is embedded alone, so a figure does not depend on what stood beside it in a batch, and figures are
rounded to six decimals, beyond which the number of threads would show. Cosines below 0 count as 0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from pytest_funcmem.core.digests import digest, text_digest
from pytest_funcmem.core.errors import EngineError, UsageError
from pytest_funcmem.core.protocols import CodePair, Score, Store
from pytest_funcmem.core.records import Language
from pytest_funcmem.metrics.encoder_recipes import PRESETS, recipe_with
from pytest_funcmem.metrics.notes import blank_note, join_notes
from pytest_funcmem.models.http_answers import RetryPolicy, key_from
from pytest_funcmem.models.json_http import JsonClient, RefusedRequestError
from pytest_funcmem.models.spec import parse_spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Embedding", "Encoder", "EndpointEncoder"]

_SETTINGS = frozenset({"pooling", "instruction", "template", "max_tokens"})
_REMEMBERED = 64


class Encoder(Protocol):
    """Makes a vector of a text."""

    @property
    def signature(self) -> str:
        """Model, revision and all that makes the vectors what they are."""
        ...

    def encode(self, text: str) -> tuple[Vector, str]:
        """The vector of a text, and what a reader must know of it ("" for nothing).

        Raises:
            EngineError: The engine failed.
            RefusedRequestError: The engine refuses this one text.
        """
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class Embedding:
    """The metric; see ``Metric``.

    Args:
        model: What stands after ``embedding:``.
        store: Keeps vectors of an endpoint; None to ask each time.
        device: Torch device of an encoder on this machine.
        timeout_s: Seconds for one answer of an endpoint.
        retry: How an endpoint's failures that may pass are repeated.

    Raises:
        UsageError: The name or one of its settings is wrong.
        ModelSpecError: The encoder is not there or cannot be used.
        MissingExtraError: Torch or transformers is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        store: Store | None = None,
        device: str = "auto",
        timeout_s: float = 120.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.name = f"embedding:{model}"
        place, _, query = model.partition("?")
        settings = dict(parse_qsl(query, keep_blank_values=True))
        if unknown := sorted(settings.keys() - _SETTINGS):
            raise UsageError(
                f"An embedding has no setting {unknown[0]!r}.",
                where=self.name,
                expected="one of " + ", ".join(sorted(_SETTINGS)),
            )
        instruction = settings.pop("instruction", "")
        if place.startswith("openai:"):
            self._encoder: Encoder = _endpoint(
                place, settings, instruction, store, timeout_s, retry or RetryPolicy(), where=self.name
            )
        else:
            self._encoder = _on_this_machine(place, settings, instruction, device, where=self.name)
        self._vectors: OrderedDict[str, tuple[Vector, str]] = OrderedDict()

    def signature(self, language: Language) -> str:
        """How figures are computed; see ``Metric.signature``."""
        return f"embedding|{self._encoder.signature}|cosine, at least 0|round:6"

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        return tuple(self._score(pair) for pair in pairs)

    def close(self) -> None:
        """Free the encoder."""
        self._encoder.close()
        self._vectors.clear()

    def _score(self, pair: CodePair) -> Score:
        signature = self.signature(pair.language)
        if blank := blank_note(pair):
            return Score(value=0.0, signature=signature, note=blank)
        try:
            (original, first), (candidate, second) = (
                self._vector(text.strip()) for text in (pair.original, pair.candidate)
            )
        except RefusedRequestError as exc:
            return Score(value=None, signature=signature, note=f"the endpoint refused a text: {exc}")
        if original.shape != candidate.shape:
            raise EngineError(
                f"Two texts got vectors of {original.size} and {candidate.size} numbers.",
                where=self.name,
                expected="one length for all",
            )
        import numpy as np

        length = float(np.linalg.norm(original) * np.linalg.norm(candidate))
        if not 0 < length < float("inf"):
            return Score(value=None, signature=signature, note="an embedding is no vector with a direction")
        cosine = round(float(np.dot(original, candidate)) / length, 6)
        notes = dict.fromkeys((first, second))
        return Score(value=min(1.0, max(0.0, cosine)), signature=signature, note=join_notes(*notes))

    def _vector(self, text: str) -> tuple[Vector, str]:
        """The vector of a text; those of the last few texts are remembered, since originals come again."""
        key = text_digest(text)
        if key in self._vectors:
            self._vectors.move_to_end(key)
        else:
            self._vectors[key] = self._encoder.encode(text)
            if len(self._vectors) > _REMEMBERED:
                self._vectors.popitem(last=False)
        return self._vectors[key]


def _on_this_machine(
    place: str, settings: dict[str, str], instruction: str, device: str, *, where: str
) -> Encoder:
    from pytest_funcmem.core.registry import require

    require("torch", extra="embeddings", purpose=f"for {where}")
    require("transformers", extra="embeddings", purpose=f"for {where}")
    from pytest_funcmem.metrics.local_encoder import LocalEncoder

    recipe = PRESETS.get(place.lower())
    if recipe is None:
        named = [known for known in PRESETS.values() if known.model.lower() == place.lower()]
        recipe = named[0] if named else None
    return LocalEncoder(
        place=recipe.model if recipe is not None else place,
        recipe=recipe,
        change=lambda found: recipe_with(found, settings, where=where),
        instruction=instruction,
        device=device,
    )


def _endpoint(
    place: str,
    settings: dict[str, str],
    instruction: str,
    store: Store | None,
    timeout_s: float,
    retry: RetryPolicy,
    *,
    where: str,
) -> Encoder:
    if wrong := sorted(settings.keys() - {"template"}):
        raise UsageError(
            f"The server decides on {wrong[0]!r} itself.",
            where=where,
            expected="instruction and template alone",
            remedy=f"Leave {wrong[0]} out.",
        )
    spec = parse_spec(place)
    return EndpointEncoder(
        base_url=spec.location,
        model=spec.model or "",
        template=settings.get("template", "{instruction}{text}"),
        instruction=instruction,
        store=store,
        client=JsonClient(
            base_url=spec.location,
            key=key_from("OPENAI_API_KEY"),
            timeout_s=timeout_s,
            retry=retry,
        ),
    )


class EndpointEncoder:
    """An OpenAI-compatible ``/embeddings`` endpoint.

    Args:
        base_url: Address up to and including ``/v1``; part of what vectors are stored under.
        model: Name of the model on the server.
        template: How instruction and text are joined.
        instruction: "" sends the text as it is.
        store: Keeps vectors; None to ask each time.
        client: Asks the server.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        template: str,
        instruction: str,
        store: Store | None,
        client: JsonClient,
    ) -> None:
        self._base_url = base_url
        self._model = model
        self._template = template
        self._instruction = instruction
        self._store = store
        self._client = client

    @property
    def signature(self) -> str:
        """The server's name of the model, and the instruction."""
        asked = digest([self._template, self._instruction])[:12] if self._instruction else "none"
        return f"model:{self._model}|endpoint:openai|instruction:{asked}"

    def encode(self, text: str) -> tuple[Vector, str]:
        """Ask for the vector of a text; see ``Encoder.encode``."""
        import numpy as np

        if self._instruction:
            text = self._template.replace("{instruction}", self._instruction).replace("{text}", text)
        key = digest(["embedding", self._base_url, self._model, text_digest(text)])
        kept = self._store.get("embedding", key) if self._store is not None else None
        if _is_vector(kept):
            return np.array(kept, dtype=np.float64), ""
        answer = self._client.post(
            "embeddings", {"model": self._model, "input": [text], "encoding_format": "float"}
        )
        vector = _only_vector(answer)
        if vector is None:
            raise EngineError(
                "The server's answer holds no embedding of the text.",
                where=f"{self._base_url}/embeddings",
                expected='{"data": [{"index": 0, "embedding": [numbers]}]}',
                remedy="Check that the model is an embedding model.",
            )
        if self._store is not None:
            self._store.put("embedding", key, vector)
        return np.array(vector, dtype=np.float64), ""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _only_vector(answer: dict[str, Any]) -> list[float] | None:
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != 1 or not isinstance(data[0], dict):
        return None
    vector = data[0].get("embedding")
    return vector if _is_vector(vector) else None


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in value)
    )
