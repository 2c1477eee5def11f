"""BLEU beside sacrebleu and NLTK, edit distance beside python-Levenshtein, TSED beside its authors'."""

from __future__ import annotations

from typing import Any

import Levenshtein
import pytest
from apted import APTED, PerEditOperationConfig
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from sacrebleu.metrics.bleu import BLEU

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.registry import load
from pytest_funcmem.metrics.flat_tree import flatten
from pytest_funcmem.metrics.tree_distance import prefix, tree_distance
from pytest_funcmem.metrics.tsed import labelled_tree


def test_bleu_is_sacrebleus_to_the_last_digit(pairs: list[CodePair]) -> None:
    ours = load("metric", "bleu")().scores(pairs)
    for pair, score in zip(pairs, ours, strict=True):
        metric = BLEU(tokenize="none", smooth_method="exp", effective_order=True)
        theirs = metric.sentence_score(" ".join(pair.candidate.split()), [" ".join(pair.original.split())])
        assert score.value == min(1.0, theirs.score / 100)


def test_bleu_agrees_with_nltk_on_whitespace_tokens(pairs: list[CodePair]) -> None:
    # Method 3 is the smoothing of sacrebleu's "exp". NLTK has no effective order, which only texts of fewer
    # than four tokens meet.
    smoothing = SmoothingFunction().method3
    ours = load("metric", "bleu")().scores(pairs)
    for pair, score in zip(pairs, ours, strict=True):
        original, candidate = pair.original.split(), pair.candidate.split()
        assert len(candidate) >= 4
        theirs = sentence_bleu([original], candidate, smoothing_function=smoothing)
        assert score.value == pytest.approx(theirs, abs=1e-9)


def test_edit_similarity_is_the_levenshtein_distance(pairs: list[CodePair]) -> None:
    ours = load("metric", "edit")().scores(pairs)
    for pair, score in zip(pairs, ours, strict=True):
        original, candidate = pair.original.strip(), pair.candidate.strip()
        distance = Levenshtein.distance(original, candidate)
        assert score.value == pytest.approx(max(0.0, 1 - distance / len(original)))


class Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.children: list[Node] = []


def as_nodes(tree: Any) -> Node:
    nodes = [Node(label) for label in tree.labels]
    for node, parent in zip(nodes, tree.parents, strict=True):
        if parent >= 0:
            nodes[parent].children.append(node)
    return nodes[0]


def test_tree_distances_are_those_of_apted(pairs: list[CodePair]) -> None:
    for pair in pairs[:60]:
        first, second = (
            prefix(labelled_tree(flatten(pair.language, text)), 60)
            for text in (pair.original, pair.candidate)
        )
        config = PerEditOperationConfig(1.0, 0.8, 1.0)
        theirs = APTED(as_nodes(first), as_nodes(second), config).compute_edit_distance()
        ours = tree_distance(first, second, delete=5, insert=4, rename=5) / 5
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_tsed_is_its_authors_figure(pairs: list[CodePair], benchmark_module: Any) -> None:
    package = benchmark_module.tsed_package()
    assert package is not None, "the package tsed is needed"
    small = [pair for pair in pairs if max(len(pair.original), len(pair.candidate)) < 500]
    metric = load("metric", "tsed")()
    per_language: dict[str, int] = {}
    for pair in small:
        if per_language.get(pair.language, 0) >= 5:
            continue
        per_language[pair.language] = per_language.get(pair.language, 0) + 1
        theirs = package.Calculate(pair.language, pair.original, pair.candidate, 1.0, 0.8, 1.0)
        assert metric.scores([pair])[0].value == pytest.approx(theirs, abs=1e-9)
    assert len(per_language) == 5


def test_tseds_published_example(benchmark_module: Any) -> None:
    package = benchmark_module.tsed_package()
    texts = "def add(x, y):\n    return x + y", "def add(a, b):\n    return a + b"
    pair = CodePair(language="python", original=texts[0], candidate=texts[1])
    assert load("metric", "tsed")().scores([pair])[0].value == 1.0
    assert package.Calculate("python", *texts, 1.0, 0.8, 1.0) == 1.0
