"""Hypothesis strategies that give source expressions for shapes: small, readable, and near the literals."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pytest_funcmem.harness.local.analysis import Analysis
from pytest_funcmem.harness.local.construction import class_shape
from pytest_funcmem.harness.local.literals import LiteralPool
from pytest_funcmem.harness.local.shapes import Shape
from pytest_funcmem.harness.local.vocabulary import (
    CALLABLES,
    DATE_SAMPLES,
    DATETIMES,
    EDGE_TEXTS,
    FLAVOURED,
    FLOATS,
    PATTERN_SAMPLES,
    SENTENCES,
    WORDS,
)

__all__ = ["Expressions", "dates_in", "near_numbers"]

_MAX_DEPTH = 4
_MAX_ITEMS = 5
_VAGUE = frozenset({"any", "object", "instance", "callable", "dict", "file", "union"})


def near_numbers(texts: Sequence[str], *, whole: bool) -> tuple[str, ...]:
    """Numbers at and beside some constants, as source.

    Args:
        texts: Source of constants; what is no number is left out.
        whole: Whether only integers are wanted.
    """
    found: dict[str, None] = {}
    for text in texts:
        if re.fullmatch(r"-?\d+", text):
            value = int(text)
            for near in (value, value - 1, value + 1):
                found.setdefault(str(near) if whole else f"{near}.0" if abs(near) < 10**15 else str(near))
            if not whole and abs(value) < 10**12:
                found.setdefault(repr(value + 0.5))
        elif re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
            number = float(text)
            if whole:
                for near in (int(number), int(number) + 1):
                    found.setdefault(str(near))
            else:
                for step in (number, round(number - 0.01, 6), round(number + 0.01, 6), number + 1):
                    found.setdefault(repr(step))
    return tuple(found)


class Expressions:
    """Strategies of source expressions for the shapes of one function.

    Args:
        analysis: The original and its file.
        pool: Literals to mix in.
        made_up: Share of the values of vague shape that are made up, in tenths; 10 for all values.
    """

    def __init__(self, analysis: Analysis, pool: LiteralPool, *, made_up: int = 0) -> None:
        self._analysis = analysis
        self._pool = pool
        self._made_up = made_up
        self._made: dict[tuple[Shape, tuple[tuple[str, int], ...], int], SearchStrategy[str]] = {}

    def of(self, shape: Shape, sizes: Mapping[str, int], depth: int = 0) -> SearchStrategy[str]:
        """Strategy of expressions.

        Args:
            shape: What is wanted.
            sizes: Value of each extent symbol in this state.
            depth: Nesting so far.
        """
        key = (shape, tuple(sizes.items()), depth)
        if key not in self._made:
            self._made[key] = self._strategy(shape, sizes, depth)
        return self._made[key]

    def _strategy(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        if depth > _MAX_DEPTH:
            return st.sampled_from(("None", "0", "''"))
        known = self._known(shape, sizes, depth)
        if not shape.label or (self._made_up < 10 and shape.kind not in _VAGUE):
            return known
        chosen = st.just(f"fabricated({shape.label!r})")
        return st.integers(1, 10).flatmap(lambda number: chosen if number <= self._made_up else known)

    def _known(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        match shape.kind:
            case "int":
                return self._int(shape, sizes)
            case "float" | "number":
                return self._float(shape)
            case "complex":
                return st.sampled_from(("1j", "2+3j", "0j", "-1.5+0j"))
            case "bool":
                return st.sampled_from(("True", "False"))
            case "none":
                return st.just("None")
            case "str" | "json" | "url":
                return self._str(shape)
            case "char":
                return _mixed(
                    [(3, [repr(c) for c in "abzAZ09 _-é"]), (3, [t for t in shape.constants if _is_text(t)])]
                )
            case "numeric":
                return _mixed(
                    [(2, ["'12'", "'-7'", "'3.5'", "'abc'", "''", "'0'"]), (2, ["7", "0", "-3", "2.5"])]
                )
            case "bytes":
                return _mixed([(1, ["b''", "b'abc'", "b'\\x00\\x01\\xff'", "b'hello world'", "b'a,b\\n'"])])
            case "list":
                return self._list(shape, sizes, depth)
            case "set":
                return self._set(shape, sizes, depth)
            case "tuple":
                return self._list(shape, sizes, depth).map(_tuple_text)
            case "places":
                return st.tuples(*(self.of(item, sizes, depth + 1) for item in shape.items)).map(_tuple_of)
            case "dict":
                return self._dict(shape, sizes, depth)
            case "union":
                options = [self.of(item, sizes, depth) for item in shape.items]
                return st.one_of(*([options[0]] * 2), *options)
            case "constants" if shape.constants:
                return st.sampled_from(shape.constants)
            case "callable":
                return st.sampled_from(CALLABLES)
            case "instance":
                return self.of(class_shape(self._analysis, shape.name), sizes, depth + 1)
            case "call":
                return self._call(shape, sizes, depth)
            case "object":
                return self._object(shape, sizes, depth)
            case "type":
                return st.sampled_from(("int", "str", "list", shape.name or "dict"))
            case _:
                return self._library(shape, sizes, depth)

    # ---------------------------------------------------------------------------------------- scalars

    def _int(self, shape: Shape, sizes: Mapping[str, int]) -> SearchStrategy[str]:
        if shape.extent is not None and shape.extent in sizes:
            return st.integers(0, max(sizes[shape.extent] - 1, 0)).map(str)
        near = near_numbers(shape.constants, whole=True)
        pool = near_numbers(self._pool.numbers, whole=True)
        small = st.integers(-3, 20).map(str)
        wide = st.integers(0, 1000).map(str)
        parts = [small, small, wide]
        if near:
            parts += [st.sampled_from(near)] * 5
        if pool:
            parts += [st.sampled_from(pool)] * 2
        return _choose(parts)

    def _float(self, shape: Shape) -> SearchStrategy[str]:
        near = near_numbers(shape.constants, whole=False)
        pool = near_numbers(self._pool.numbers, whole=False)
        quarters = st.integers(-8, 400).map(lambda n: repr(n / 4))
        parts = [st.sampled_from(FLOATS), quarters, st.integers(1, 20_000).map(lambda n: f"{n}.0")]
        if near:
            parts += [st.sampled_from(near)] * 5
        if pool:
            parts += [st.sampled_from(pool)] * 2
        return _choose(parts)

    def _str(self, shape: Shape) -> SearchStrategy[str]:
        constants = [text for text in shape.constants if _is_text(text)]
        flavour = "json" if shape.kind == "json" else "url" if shape.kind == "url" else shape.name
        parts: list[SearchStrategy[str]] = [
            st.sampled_from(WORDS).map(repr),
            st.sampled_from(EDGE_TEXTS).map(repr),
        ]
        if flavour in FLAVOURED:
            parts += [st.sampled_from(FLAVOURED[flavour]).map(repr)] * 4
        if shape.kind in ("json", "url"):
            return _choose(parts[2:] * 3 + parts[:1])
        if constants:
            parts += [st.sampled_from(constants)] * 6
        if self._pool.strings:
            parts += [st.sampled_from(self._pool.strings)] * 2
        for sort, text in shape.formats:
            parts += [self._formatted(sort, text)] * 3
        if not constants and not shape.formats and flavour not in FLAVOURED:
            parts.append(st.sampled_from(SENTENCES).map(repr))
        return _choose(parts)

    def _formatted(self, sort: str, text: str) -> SearchStrategy[str]:
        """Texts that have what the function looks for: a separator, a prefix, a date in a format."""
        literal = _text_of(text) if sort in ("separator", "prefix", "suffix", "contains") else text
        known = tuple(_text_of(item) for item in self._pool.strings)
        piece = st.sampled_from((*WORDS, *known[:20], "1", "25", "-3", "2.5", "300"))
        match sort:
            case "separator":
                return st.lists(piece, min_size=1, max_size=4).map(
                    lambda items: repr((literal or " ").join(items))
                )
            case "prefix":
                return piece.map(lambda word: repr(literal + word))
            case "suffix":
                return piece.map(lambda word: repr(word + literal))
            case "contains":
                return st.tuples(piece, piece).map(lambda pair: repr(pair[0] + literal + pair[1]))
            case "date":
                return st.sampled_from([repr(sample) for sample in dates_in(literal)])
            case _:
                return st.sampled_from([repr(sample) for sample in _matching(literal)])

    # -------------------------------------------------------------------------------------- containers

    def _list(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        item_shape = shape.items[0] if shape.items else Shape(kind="any")
        if shape.extent is not None and shape.extent in sizes:
            size = sizes[shape.extent]
            return self._items(item_shape, sizes, depth, size, size)
        if item_shape.kind == "list" and item_shape.extent is None:
            # Rows of one table have one length, as a rule.
            return st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
                lambda pair: self._items(item_shape, sizes, depth, pair[0], pair[0], inner=pair[1])
            )
        plain = self._items(item_shape, sizes, depth, 0, _MAX_ITEMS if depth < 2 else 3)
        parts = [plain] * 4 + [self._items(item_shape, sizes, depth, 1, 3)] * 2
        for length in shape.lengths[:4]:
            if length <= 12:
                parts += [self._items(item_shape, sizes, depth, length, length + 1)] * 2
        return _choose(parts)

    def _items(
        self,
        shape: Shape,
        sizes: Mapping[str, int],
        depth: int,
        low: int,
        high: int,
        inner: int | None = None,
    ) -> SearchStrategy[str]:
        item = self.of(shape, sizes, depth + 1)
        if inner is not None:
            item = self._items(
                shape.items[0] if shape.items else Shape(kind="int"), sizes, depth + 1, inner, inner
            )
        return st.lists(item, min_size=low, max_size=high).map(lambda items: f"[{', '.join(items)}]")

    def _set(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        item = self.of(shape.items[0] if shape.items else Shape(kind="str"), sizes, depth + 1)
        # One hashable element at most twice; an empty display would be a dictionary.
        return st.lists(item, max_size=4, unique=True).map(
            lambda items: f"{{{', '.join(items)}}}" if items else "set()"
        )

    def _dict(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        key_shape, value_shape = shape.items or (Shape(kind="str"), Shape(kind="any"))
        record = st.tuples(
            *(
                st.tuples(st.just(key), st.integers(0, 9), self.of(inner, sizes, depth + 1))
                for key, inner in shape.fields
            )
        ).map(
            lambda parts: "{" + ", ".join(f"{key}: {value}" for key, keep, value in parts if keep > 0) + "}"
        )
        if shape.fields:
            return record
        hashable = (
            key_shape if key_shape.kind not in ("list", "dict", "set", "object", "any") else Shape(kind="str")
        )
        pair = st.tuples(self.of(hashable, sizes, depth + 1), self.of(value_shape, sizes, depth + 1))
        known = [text for text in shape.constants if _is_text(text)] or list(self._pool.strings)
        if known and hashable.kind == "str":
            pair = _choose_pairs(
                pair, st.tuples(st.sampled_from(known), self.of(value_shape, sizes, depth + 1))
            )
        return st.lists(pair, max_size=4, unique_by=lambda item: item[0]).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"
        )

    def _call(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        positional = [self.of(item, sizes, depth + 1) for item in shape.items]
        optional = frozenset(shape.constants)
        named = [
            st.tuples(
                st.just(name),
                st.booleans() if name in optional else st.just(True),
                self.of(inner, {}, depth + 1),
            )
            for name, inner in shape.fields
        ]
        return st.tuples(st.tuples(*positional), st.tuples(*named)).map(
            lambda both: "{}({})".format(
                shape.name,
                ", ".join([*both[0], *(f"{name}={value}" for name, keep, value in both[1] if keep)]),
            )
        )

    def _object(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        maker = self.library("types", "SimpleNamespace")
        named = [
            st.tuples(st.just(name), self.of(inner, sizes, depth + 1))
            for name, inner in shape.fields
            if name.isidentifier()
        ]
        return st.tuples(*named).map(
            lambda parts: f"{maker}({', '.join(f'{name}={value}' for name, value in parts)})"
        )

    # --------------------------------------------------------------------------------- standard library

    def library(self, module: str, name: str) -> str:
        """Expression for a name of the standard library, by the file's own import where it has one."""
        for bound, dotted in self._analysis.imports.items():
            if dotted == f"{module}.{name}":
                return bound
            if dotted == module:
                return f"{bound}.{name}"
        return f"__import__({module!r}).{name}"

    def _library(self, shape: Shape, sizes: Mapping[str, int], depth: int) -> SearchStrategy[str]:
        match shape.kind:
            case "datetime":
                maker = self.library("datetime", "datetime")
                return st.sampled_from(DATETIMES).map(lambda parts: f"{maker}({', '.join(map(str, parts))})")
            case "date":
                maker = self.library("datetime", "date")
                return st.sampled_from(DATETIMES).map(
                    lambda parts: f"{maker}({', '.join(map(str, parts[:3]))})"
                )
            case "time":
                maker = self.library("datetime", "time")
                return st.sampled_from(DATETIMES).map(
                    lambda parts: f"{maker}({', '.join(map(str, parts[3:]))})"
                )
            case "timedelta":
                maker = self.library("datetime", "timedelta")
                return st.sampled_from(
                    ("days=1", "hours=5", "minutes=90", "seconds=0", "days=-2", "days=400")
                ).map(lambda text: f"{maker}({text})")
            case "decimal":
                maker = self.library("decimal", "Decimal")
                return self._float(Shape(kind="float", constants=shape.constants)).map(
                    lambda t: f"{maker}('{t}')"
                )
            case "fraction":
                maker = self.library("fractions", "Fraction")
                return st.tuples(st.integers(-6, 12), st.integers(1, 9)).map(
                    lambda p: f"{maker}({p[0]}, {p[1]})"
                )
            case "path":
                maker = self.library("pathlib", "Path")
                return st.sampled_from(FLAVOURED["path"]).map(lambda text: f"{maker}({text!r})")
            case "uuid":
                maker = self.library("uuid", "UUID")
                return st.integers(0, 10**6).map(lambda number: f"{maker}(int={number})")
            case "file":
                maker = self.library("io", "StringIO")
                return st.sampled_from(SENTENCES).map(lambda text: f"{maker}({text!r})")
            case "pattern":
                maker = self.library("re", "compile")
                return st.sampled_from((r"\d+", "a", r"\w+", "^x")).map(lambda text: f"{maker}({text!r})")
            case "exception":
                return st.sampled_from(("ValueError('bad')", "KeyError('k')", "RuntimeError()"))
            case _:
                scalars = [self._int(Shape(kind="int", constants=shape.constants), {}), self._str(shape)]
                lists = st.lists(st.integers(0, 9).map(str), max_size=4).map(lambda t: f"[{', '.join(t)}]")
                others = st.sampled_from(("None", "True", "2.5", "{'a': 1}"))
                return _choose([*scalars, *scalars, lists, others])


def _choose(parts: list[SearchStrategy[str]]) -> SearchStrategy[str]:
    """One of several strategies, each as likely as it is often named."""
    return st.integers(0, len(parts) - 1).flatmap(lambda place: parts[place])


def _choose_pairs(
    first: SearchStrategy[tuple[str, str]], second: SearchStrategy[tuple[str, str]]
) -> SearchStrategy[tuple[str, str]]:
    return st.booleans().flatmap(lambda known: second if known else first)


def _mixed(weighted: list[tuple[int, list[str]]]) -> SearchStrategy[str]:
    return _choose([st.sampled_from(texts) for weight, texts in weighted if texts for _ in range(weight)])


def _is_text(text: str) -> bool:
    return text[:1] in ("'", '"')


def _text_of(text: str) -> str:
    """Value of a string's source; other text as it stands."""
    return str(ast.literal_eval(text)) if _is_text(text) else text


def _tuple_of(items: tuple[str, ...]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _tuple_text(listed: str) -> str:
    return f"tuple({listed})"


def dates_in(form: str) -> list[str]:
    """Texts in a date format, and one that is not."""
    found = []
    for table in DATE_SAMPLES:
        text = form
        for code, value in table.items():
            text = text.replace(code, value)
        found.append(text)
    return [*found, "not a date"]


def _matching(pattern: str) -> list[str]:
    """Texts that a regular expression may match: its escapes and classes replaced, its operators dropped."""
    text = re.sub(r"\(\?(:|P<\w+>|i\)|s\)|=|!)", "(", pattern[:200])
    for escape, sample in PATTERN_SAMPLES:
        text = text.replace(escape, sample)
    text = re.sub(r"\[\^[^\]]*\]", "q", text)
    text = re.sub(r"\[(.)[^\]]*\]", r"\1", text)
    text = re.sub(r"\{(\d+)(,\d*)?\}", "", text)
    text = re.sub(r"[()^$?*+|\\]", "", text)
    return [text, f"xx {text} yy", text * 2, "no match"]
