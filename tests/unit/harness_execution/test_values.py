"""Encodings: equality is Python's with strict types, and nothing hostile gets through."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import functools
import io
import itertools
import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.harness.runner.python.encoding import encode
from pytest_funcmem.harness.values import canonical_value, is_encoding, same_value, show_value

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**53 - 2, max_value=2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()), max_size=5)
    | st.binary(max_size=4)
    | st.sampled_from([0, 0.0, False, 1, 1.0, True, "", "1", b"", -1])
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.complex_numbers(allow_nan=False)
)
KEYS = st.integers(0, 3) | st.text("ab", max_size=2) | st.tuples(st.integers(0, 2), st.booleans())
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.sets(KEYS, max_size=3)
        | st.frozensets(KEYS, max_size=3)
    ),
    max_leaves=8,
)


def strict(value: Any) -> Any:
    """A value whose equality is Python's with the types taken in."""
    kind = type(value)
    if kind in (list, tuple):
        return kind.__name__, tuple(strict(item) for item in value)
    if kind is dict:
        return "dict", frozenset((strict(key), strict(item)) for key, item in value.items())
    if kind in (set, frozenset):
        return kind.__name__, frozenset(strict(item) for item in value)
    if kind is decimal.Decimal:
        return "Decimal", str(value)
    return kind.__name__, value


def travelled(value: Any) -> Any:
    encoded = json.loads(json.dumps(encode(value)))
    assert is_encoding(encoded)
    return encoded


@given(VALUES, VALUES)
def test_encodings_are_equal_exactly_where_the_values_are(a: Any, b: Any) -> None:
    same = same_value(travelled(a), travelled(b), float_tolerance=0)
    assert same == (strict(a) == strict(b))


@given(VALUES)
def test_a_copy_has_an_equal_encoding_and_the_same_canonical_form(value: Any) -> None:
    def copy(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: copy(part) for key, part in reversed(item.items())}
        if isinstance(item, (list, tuple, set, frozenset)):
            return type(item)(copy(part) for part in item)
        return item

    a, b = travelled(value), travelled(copy(value))
    assert same_value(a, b, float_tolerance=0)
    if a == ["graph"] or "ref" not in json.dumps(a):
        assert canonical_value(a) == canonical_value(b)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(
            st.sampled_from(
                ["list", "set", "dict", "object", "ref", "graph", "cut", "iterator", "cycle", "float"]
            ),
            inner,
            inner,
        ).map(list)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
@settings(max_examples=200)
def test_whatever_comes_back_is_judged_without_a_crash(a: Any, b: Any) -> None:
    if is_encoding(a) and is_encoding(b):
        assert same_value(a, a, float_tolerance=0.0) or "cut" in json.dumps(a)
        same_value(a, b, float_tolerance=1e-9)
        canonical_value(a)
        assert len(show_value(a, 40)) <= 40


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "same"),
    [
        (0.1 + 0.2, 0.3, 1e-9, True),
        (0.1 + 0.2, 0.3, 0.0, False),
        (1.0, 1.0 + 1e-8, 1e-9, False),
        (math.nan, math.nan, 0.0, True),
        (math.nan, 1.0, 1e-9, False),
        (math.inf, math.inf, 0.0, True),
        (math.inf, -math.inf, 1e-9, False),
        (math.inf, 1e308, 1e-9, False),
        (0.0, -0.0, 0.0, True),
        (1, 1.0, 1e-9, False),
        (1, True, 1e-9, False),
        ([0.3], [0.1 + 0.2], 1e-9, True),
        ({0.3, 5.0}, {5.0, 0.1 + 0.2}, 1e-9, True),
        ({0.3: "a", 1: "b"}, {1: "b", 0.1 + 0.2: "a"}, 1e-9, True),
        ({0.3: "a"}, {0.1 + 0.2: "b"}, 1e-9, False),
        ({0.3, 1.0}, {0.1 + 0.2, 2.0}, 1e-9, False),
        ({1: 2, 3: 4}, {3: 4, 1: 2}, 0.0, True),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1), 0.0, False),
        (collections.Counter("aab"), collections.Counter("baa"), 0.0, True),
        (complex(0.3, 1), complex(0.1 + 0.2, 1), 1e-9, True),
        ([1], (1,), 0.0, False),
        ("1", 1, 0.0, False),
        ("\ud800", "\ud801", 0.0, False),
        (1 << 20_000, 1 << 20_000, 0.0, True),
        (1 << 20_000, (1 << 20_000) + 1, 0.0, False),
        (ValueError("a"), ValueError("a"), 0.0, True),
        (ValueError("a"), ValueError("b"), 0.0, False),
        (b"a", bytearray(b"a"), 0.0, False),
        (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), 0.0, False),
        (collections.deque([1]), collections.deque([1], 3), 0.0, False),
        (range(3), range(0, 3, 1), 0.0, True),
        (len, print, 0.0, False),
        (itertools.count(3), itertools.count(3), 0.0, True),
        (itertools.count(3), itertools.count(4), 0.0, False),
        (array.array("i", [1]), array.array("i", [1]), 0.0, True),
        (array.array("i", [1]), array.array("h", [1]), 0.0, False),
        (functools.partial(int, base=2), functools.partial(int, base=3), 0.0, False),
        (collections.defaultdict(list), collections.defaultdict(int), 0.0, False),
        (re.compile("a"), re.compile("a", re.IGNORECASE), 0.0, False),
        (io.StringIO("a"), io.StringIO("b"), 0.0, False),
        (object(), object(), 0.0, True),
        (slice(1), slice(2), 0.0, False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pairs(a: Any, b: Any, tolerance: float, same: bool) -> None:
    assert same_value(travelled(a), travelled(b), float_tolerance=tolerance) == same


class Node:
    def __init__(self, name: int) -> None:
        self.name = name
        self.links: list[Node] = []


def ring(count: int) -> Node:
    nodes = [Node(number) for number in range(count)]
    for node in nodes:
        node.links = list(nodes)
    return nodes[0]


def chain(count: int) -> Node:
    first = last = Node(0)
    for number in range(1, count):
        last.links = [Node(number)]
        last = last.links[0]
    return first


def loop() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


@pytest.mark.parametrize("make", [lambda: ring(12), lambda: chain(2_000), loop, lambda: [[0] * 2] * 30])
def test_graphs_cycles_and_depth_are_equal_to_their_like(make: Callable[[], Any]) -> None:
    a, b = travelled(make()), travelled(make())
    assert a == b
    assert same_value(a, b, float_tolerance=0)
    assert len(json.dumps(a)) < 400_000
    assert len(show_value(a, 60)) <= 60


def test_a_graph_differs_where_one_part_does() -> None:
    a, b = chain(2_000), chain(2_000)
    node = b
    while node.links:
        node = node.links[0]
    node.name = -1
    assert not same_value(travelled(a), travelled(b), float_tolerance=0)


def test_sharing_is_no_difference() -> None:
    row = [1, 2]
    assert same_value(travelled([row, row]), travelled([[1, 2], [1, 2]]), float_tolerance=0)
    assert not same_value(travelled([row, row]), travelled([[1, 2], [1, 3]]), float_tolerance=0)


def test_a_set_whose_items_point_back_ends() -> None:
    node = Node(1)
    holder = [node]
    vars(node)["holders"] = {node}
    vars(node)["links"] = holder
    assert same_value(travelled(node), travelled(node), float_tolerance=0)


def test_a_value_beyond_all_bounds_equals_nothing() -> None:
    unbounded = ["cut", "list", -1, "", ""]
    assert not same_value(unbounded, list(unbounded), float_tolerance=0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        ([1, 2.5, "a"], "[1, 2.5, 'a']"),
        ((1,), "(1,)"),
        ({"a": {1, 2}}, "{'a': {1, 2}}"),
        (set(), "set()"),
        (frozenset([1]), "frozenset({1})"),
        (b"\x00", "b'\\x00'"),
        (2**60, str(2**60)),
        (decimal.Decimal("1.50"), "Decimal(1.50)"),
        ({}, "{}"),
        (int, "<type int>"),
        (Node(3), "Node(links=[], name=3)"),
        (loop(), "[1, [1, [1, [1, [1, [1, [1, [1, [1, …]]]]]]]]]"),
        ("a" * 500, "'" + "a" * 79 + "…" + "a" * 38 + "'"),
    ],
)
def test_values_are_shown_much_as_python_would(value: Any, text: str) -> None:
    assert show_value(travelled(value)) == text


def test_what_was_cut_off_without_a_digest_is_not_even_like_itself():
    cut = ["list", [1, ["cut", "list", 5, "", ""]]]
    assert not same_value(cut, cut, float_tolerance=0.0)
    assert not same_value(["list", [True]], ["list", [1]], float_tolerance=0.0)
    assert same_value(["list", ["cut"]], ["list", ["cut"]], float_tolerance=0.0)
