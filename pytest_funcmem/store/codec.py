"""Records of ``core.records`` to plain JSON values and back, typed, by cattrs.

JSON has no infinities and no NaN: such floats are wrapped, ``{"$float": "nan"}``, wherever they stand. An
object of a free-form field that looks like a wrapper is itself wrapped, ``{"$object": …}``. Types are held to
exactly: a text where a number belongs is refused, not converted.

This module knows nothing of files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, overload

from pytest_funcmem.core.errors import StoreError
from pytest_funcmem.core.records import Json

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["decode", "encode"]

T = TypeVar("T")

_FLOAT = "$float"
_OBJECT = "$object"
_WRAPPERS = ({_FLOAT}, {_OBJECT})
_REMEDY = "delete the store's directory, or name another with --funcmem-store"


def encode(record: Any) -> Json:
    """Turn a record into what strict JSON can hold; ``decode`` gives an equal record back.

    Args:
        record: A record of ``core.records``, or a tuple of them.

    Raises:
        StoreError: A free-form field is nested too deeply for JSON.
    """
    try:
        return _wrap(_converter().unstructure(record))
    except RecursionError as exc:
        raise StoreError(
            f"A {type(record).__name__} is nested too deeply to be stored.",
            expected="a few hundred levels at most",
            remedy="report this; what a sandbox sends back should have been cut before",
        ) from exc


@overload
def decode(cls: type[T], value: Json) -> T: ...


@overload
def decode(cls: UnionType, value: Json) -> Any: ...


def decode(cls: Any, value: Json) -> Any:
    """Turn a JSON value back into a record.

    Args:
        cls: What was encoded: a record's class, ``tuple[Completion, ...]``, ``Harness | Inconclusive``.
        value: What ``encode`` gave.

    Raises:
        StoreError: The value is not one of that type.
    """
    from cattrs.errors import BaseValidationError, CattrsError

    foreign = (BaseValidationError, CattrsError)
    try:
        return _converter().structure(_unwrap(value), cls)
    except (*foreign, AttributeError, KeyError, RecursionError, TypeError, ValueError) as exc:
        name = cls.__name__ if isinstance(cls, type) else str(cls)
        raise StoreError(
            f"A stored value is no {name}.",
            expected=f"the JSON form that this version writes for {name}",
            remedy=_REMEDY,
        ) from exc


@lru_cache(maxsize=1)
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter(forbid_extra_keys=True)
    for kind in (str, int, bool, float):
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook_factory(_is_tuple, partial(_tuple_hook, converter))
    return converter


def _exactly(value: Any, kind: type) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected, not {type(value).__name__}")
    return value


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _tuple_hook(converter: Converter, kind: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Tuples come from lists alone; cattrs itself would take a text for a tuple of its characters."""
    items = get_args(kind)
    variadic = len(items) == 2 and items[1] is Ellipsis

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise TypeError(f"list expected, not {type(value).__name__}")
        kinds = [items[0]] * len(value) if variadic else items
        return tuple(converter.structure(item, of) for item, of in zip(value, kinds, strict=True))

    return structure


def _wrap(value: Any) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if isinstance(value, Mapping):
        plain = {key: _wrap(item) for key, item in value.items()}
        return {_OBJECT: plain} if plain.keys() in _WRAPPERS else plain
    if isinstance(value, (list, tuple)):
        return [_wrap(item) for item in value]
    return value


def _unwrap(value: Json) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return float(value[_FLOAT])
        if value.keys() == {_OBJECT}:
            value = value[_OBJECT]
        return {key: _unwrap(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unwrap(item) for item in value]
    return value
