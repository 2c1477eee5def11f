"""TSED and the tree distance under it: published example, an independent distance, hostile trees."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.registry import load
from pytest_funcmem.metrics.flat_tree import flatten
from pytest_funcmem.metrics.tree_distance import LabelledTree, prefix, tree_distance
from pytest_funcmem.metrics.tsed import NODE_LIMIT, labelled_tree


def tsed(original: str, candidate: str) -> tuple[float, str]:
    score = load("metric", "tsed")().scores(
        [CodePair(language="python", original=original, candidate=candidate)]
    )[0]
    return score.value, score.note


@st.composite
def trees(draw: st.DrawFn) -> LabelledTree:
    labels = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
    parents, path = [-1], [0]
    for number in range(1, len(labels)):
        path = path[: draw(st.integers(1, len(path)))]
        parents.append(path[-1])
        path.append(number)
    return LabelledTree(labels=labels, parents=parents)


def distance_by_hand(first: LabelledTree, second: LabelledTree) -> int:
    """The recurrence over forests as it is defined (Zhang and Shasha, 1989), with no economy at all."""

    def nested(tree: LabelledTree, node: int = 0) -> tuple[object, ...]:
        below = [child for child, parent in enumerate(tree.parents) if parent == node]
        return (tree.labels[node], tuple(nested(tree, child) for child in below))

    known: dict[object, int] = {}

    def size(forest: tuple) -> int:  # type: ignore[type-arg]
        return sum(1 + size(tree[1]) for tree in forest)

    def between(one: tuple, two: tuple) -> int:  # type: ignore[type-arg]
        if not one:
            return 4 * size(two)
        if not two:
            return 5 * size(one)
        key = (one, two)
        if key not in known:
            last, other = one[-1], two[-1]
            known[key] = min(
                between(one[:-1] + last[1], two) + 5,
                between(one, two[:-1] + other[1]) + 4,
                between(one[:-1], two[:-1]) + between(last[1], other[1]) + 5 * (last[0] != other[0]),
            )
        return known[key]

    return between((nested(first),), (nested(second),))


@given(trees(), trees())
@settings(max_examples=120, deadline=None)
def test_distance_agrees_with_its_definition(first: LabelledTree, second: LabelledTree) -> None:
    found = tree_distance(first, second, delete=5, insert=4, rename=5)
    assert found == distance_by_hand(first, second)


def test_distances_of_small_trees_are_pinned() -> None:
    one = LabelledTree(labels=["a"], parents=[-1])
    chain = LabelledTree(labels=["a", "b", "c"], parents=[-1, 0, 1])
    comb = LabelledTree(labels=["a", "b", "c"], parents=[-1, 0, 0])
    costs = {"delete": 5, "insert": 4, "rename": 5}
    assert tree_distance(one, one, **costs) == 0
    assert tree_distance(one, chain, **costs) == 8
    assert tree_distance(chain, one, **costs) == 10
    assert tree_distance(chain, comb, **costs) == 9
    assert prefix(chain, 2) == LabelledTree(labels=["a", "b"], parents=[-1, 0])


def test_the_authors_published_example() -> None:
    assert tsed("def add(x, y):\n    return x + y", "def add(a, b):\n    return a + b") == (1.0, "")


def test_a_value_is_pinned() -> None:
    # module, function, name, parameters, block, return statement, value: 7 nodes. A parameter more costs .8.
    value, _ = tsed("def f():\n    return a", "def f(b):\n    return a")
    assert value == pytest.approx(1 - 0.8 / 8)
    value, _ = tsed("def f(b):\n    return a", "def f():\n    return a")
    assert value == pytest.approx(1 - 1.0 / 8)


def test_labels_are_those_of_the_authors_program() -> None:
    tree = labelled_tree(flatten("python", "def f():\n    return a"))
    assert tree.labels == [
        "module",
        "body:",
        "identifier",
        "parameters",
        "block",
        "return_statement",
        "identifier",
    ]
    assert tree.parents == [-1, 0, 1, 1, 1, 4, 5]


def test_empty_texts_have_no_structure() -> None:
    assert tsed("", "a = 1") == (0.0, "the original is empty")
    assert tsed("a = 1", " ") == (0.0, "the candidate is empty")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "def f(a):\n" + "".join(f"    if a > {i}:\n        a = g(a, {i}) + b[3]\n" for i in range(1300)),
            id="20000-nodes",
        ),
        pytest.param("x = " + "f(a," * 3000 + "b" + ",c)" * 3000, id="zigzag"),
        pytest.param("x = [" + "1, " * 15000 + "]", id="wide"),
    ],
)
def test_large_trees_are_cut_and_say_so(text: str) -> None:
    start = time.process_time()
    value, note = tsed(text, text.replace("1", "y"))
    assert time.process_time() - start < 5
    assert value is not None
    assert "nodes of each tree were compared" in note
    assert int(note.split("first ")[-1].split()[0]) <= NODE_LIMIT


def test_a_function_of_usual_size_is_never_cut() -> None:
    body = "".join(f"    if a > {i}:\n        b[{i}] = g(a, {i}) + 1\n" for i in range(25))
    value, note = tsed(f"def f(a):\n{body}", f"def f(a):\n{body}    return b\n")
    assert note == ""
    assert 0.9 < value < 1
