"""The OPTIONS table: parsing, layering, contradictions."""

from __future__ import annotations

import pytest

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import OPTIONS, Settings, parse_value, settings_from

BY_NAME = {option.name: option for option in OPTIONS}


def test_contract_defaults() -> None:
    settings = Settings()
    assert (settings.tau_func, settings.tau_text) == (0.8, 0.75)
    assert (settings.inputs, settings.min_inputs, settings.min_coverage, settings.min_outputs) == (
        10,
        8,
        0.8,
        2,
    )
    assert (settings.min_lines, settings.max_lines) == (10, 50)
    assert (settings.prefix_tokens, settings.max_new_tokens, settings.seed) == (250, 500, 0)
    assert (settings.store, settings.sandbox, settings.builder) == (".funcmem", "auto", "local")


def test_the_paper_preset_is_the_default() -> None:
    assert settings_from([("line", {"preset": "paper"})]) == settings_from([("line", {"preset": "paper"})])
    paper = settings_from([("line", {"preset": "paper"})])
    assert {**{f: getattr(paper, f) for f in Settings.__slots__}, "preset": None} == {
        f: getattr(Settings(), f) for f in Settings.__slots__
    }


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("tau-func", "0.5", 0.5),
        ("tau-func", 1, 1.0),
        ("inputs", "12", 12),
        ("inputs", 12.0, 12),
        ("source", ["a", "b"], ("a", "b")),
        ("source", "a", ("a",)),
        ("sandbox", "docker", "docker"),
    ],
)
def test_values(name: str, raw: object, value: object) -> None:
    assert parse_value(BY_NAME[name], raw, where="here") == value


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("tau-func", "1.01"),
        ("tau-func", "nan"),
        ("tau-func", "high"),
        ("tau-func", True),
        ("inputs", "1.5"),
        ("inputs", 1.5),
        ("inputs", "0"),
        ("inputs", None),
        ("sandbox", "chroot"),
        ("model", ""),
        ("source", [3]),
    ],
)
def test_what_is_no_value_is_refused_with_a_remedy(name: str, raw: object) -> None:
    with pytest.raises(UsageError) as caught:
        parse_value(BY_NAME[name], raw, where="here")
    assert "here" in str(caught.value)
    assert BY_NAME[name].flag in str(caught.value)
    assert caught.value.remedy


def test_later_layers_win_and_presets_lie_below() -> None:
    layers = [("ini", {"inputs": 20, "preset": "paper"}), ("line", {"tau_func": 0.9})]
    settings = settings_from(layers)
    assert (settings.inputs, settings.tau_func, settings.min_inputs) == (20, 0.9, 8)


@pytest.mark.parametrize(
    "values", [{"min_lines": 60}, {"min_inputs": 11}, {"preset": "nothing"}, {"inputs": 5}]
)
def test_contradictions_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        settings_from([("line", values)])


@pytest.mark.parametrize("values", [{"stop_early": True}, {"update_baseline": True}])
def test_options_that_need_another_are_refused_without_it(values: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        settings_from([("line", values)])
    assert caught.value.remedy


def test_several_models_are_kept_in_order() -> None:
    settings = settings_from([("line", {"model": parse_value(BY_NAME["model"], ["b", "a"], where="here")})])
    assert (settings.model, settings.target, Settings().target) == (("b", "a"), "b", None)
