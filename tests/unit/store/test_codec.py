"""Every record survives the way to JSON and back; what is no record is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core import records
from pytest_funcmem.core.errors import StoreError
from pytest_funcmem.core.records import (
    AuditRecord,
    Completion,
    Harness,
    HarnessEvidence,
    Inconclusive,
    OutputState,
    Scaffold,
    SourceFunction,
    TextScore,
    Verdict,
)
from pytest_funcmem.store import decode, encode

RECORD_TYPES = [
    value
    for value in (getattr(records, name) for name in records.__all__)
    if isinstance(value, type) and dataclasses.is_dataclass(value)
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=[]), max_size=5)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "$float", "$object", ""]), inner, max_size=2)
    ),
    max_leaves=6,
)


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Build any value of a record type or of a field's annotation."""
    if kind is Any:
        return JSON
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(
            kind, **{field.name: strategy(hints[field.name]) for field in dataclasses.fields(kind)}
        )
    origin, arguments = getattr(kind, "__origin__", None), getattr(kind, "__args__", ())
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(strategy(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(strategy, arguments))
    if "Mapping" in str(origin):
        return st.dictionaries(st.text(max_size=3), strategy(arguments[1]), max_size=2)
    if arguments and origin is None:
        return st.one_of(*map(strategy, arguments))
    if kind is float:
        return st.floats(allow_nan=False)
    return st.from_type(kind)


@pytest.mark.parametrize("kind", RECORD_TYPES, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_records_survive_strict_json(kind: Any, data: st.DataObject) -> None:
    record = data.draw(strategy(kind))
    text = json.dumps(encode(record), allow_nan=False)
    assert decode(kind, json.loads(text)) == record


def test_all_record_types_are_covered() -> None:
    assert {AuditRecord, Completion, Harness, Inconclusive, OutputState} <= set(RECORD_TYPES)
    assert len(RECORD_TYPES) >= 19


EVIDENCE = HarnessEvidence(
    inputs=1, valid=1, outputs=1, executable_lines=(1,), covered_lines=(1,), mutants=0, mutants_killed=0
)
HARNESS = Harness(
    builder="local/1",
    language="python",
    function_sha256="a",
    scaffold=Scaffold(),
    states=(),
    expected=(),
    state_timeout_s=1.0,
    evidence=EVIDENCE,
)


@pytest.mark.parametrize("value", [HARNESS, Inconclusive(reason="budget", detail="60 s", evidence=EVIDENCE)])
def test_harness_and_its_absence_are_told_apart(value: Harness | Inconclusive) -> None:
    assert decode(Harness | Inconclusive, encode(value)) == value


def test_tuples_of_records() -> None:
    completions = tuple(Completion(text=str(i), token_ids=(i,), stop="length") for i in range(3))
    assert decode(tuple[Completion, ...], json.loads(json.dumps(encode(completions)))) == completions


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinities(value: float) -> None:
    state = OutputState(outcome="returned", value=[value, {"$float": "inf"}])
    text = json.dumps(encode(state), allow_nan=False)
    assert decode(OutputState, json.loads(text)) == state
    assert decode(TextScore, encode(TextScore(value=value, signature=""))).value == value


def test_not_a_number() -> None:
    back = decode(OutputState, encode(OutputState(outcome="returned", value={"x": math.nan})))
    assert math.isnan(back.value["x"])


def test_whole_numbers_are_floats_where_a_float_belongs() -> None:
    value = decode(TextScore, {"value": 1, "signature": ""}).value
    assert type(value) is float


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="list"),
        pytest.param({}, id="missing"),
        pytest.param({"kind": "guilty", "reason": ""}, id="not-in-the-closed-set"),
        pytest.param({"kind": "clean", "reason": 3}, id="number-for-text"),
        pytest.param({"kind": "clean", "reason": "", "more": 1}, id="unknown-field"),
        pytest.param({"kind": "clean", "reason": {"$float": "x"}}, id="broken-float"),
    ],
)
def test_what_is_no_verdict_is_refused(value: Any) -> None:
    with pytest.raises(StoreError, match="A stored value is no Verdict") as caught:
        decode(Verdict, value)
    assert caught.value.remedy is not None


def test_text_is_no_tuple() -> None:
    with pytest.raises(StoreError, match="no Completion"):
        decode(Completion, {"text": "", "token_ids": "12", "stop": "length"})


def test_bool_is_no_number() -> None:
    function = SourceFunction(
        path="a",
        qualname="f",
        language="c",
        line=1,
        text="",
        definition_start=0,
        signature_start=0,
        signature_end=0,
        end=0,
    )
    broken = {**encode(function), "line": True}
    with pytest.raises(StoreError, match="no SourceFunction"):
        decode(SourceFunction, broken)


def test_bottomless_nesting_is_an_error_not_a_crash() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(StoreError, match="nested too deeply"):
        encode(OutputState(outcome="returned", value=value))
