"""Prices of models, by table and by the user, and the purse that keeps to a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_funcmem.core.errors import EngineError, UsageError
from pytest_funcmem.models.dialogue.costs import spent_on
from pytest_funcmem.models.dialogue.failures import FailedTurnError
from pytest_funcmem.models.dialogue.records import ModelMessage, Turn, Usage
from pytest_funcmem.models.prices import (
    BATCH_SHARE,
    PRICES,
    Price,
    Purse,
    parse_price,
    price_of,
    read_prices,
)


def test_prices() -> None:
    assert price_of("claude-sonnet-4-6") == Price(input=3, output=15)
    assert price_of("claude-sonnet-4-5-20250929") == price_of("claude-sonnet-4-5")
    assert price_of("my-model") is None
    assert price_of("claude-sonnet-4-6-turbo") is None
    assert parse_price("3,15").of(1_000_000, 100_000) == pytest.approx(4.5)
    for text in ("3", "3,x", "-1,2", "nan,1", "1,2,3", ""):
        with pytest.raises(UsageError, match="is no price"):
            parse_price(text)


def test_a_purse_keeps_to_its_limit() -> None:
    purse = Purse(1.0)
    assert purse.hold(0.6)
    assert not purse.hold(0.6)
    purse.settle(0.6, 0.1)
    assert purse.hold(0.6)
    assert purse.spent == pytest.approx(0.1)
    assert Purse(None).hold(1e9)


def test_the_users_table_of_prices_is_read(tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    table.write_text('{"my-model": [0.5, 2], "claude-sonnet-4-6": [1, 1]}', encoding="utf-8")
    prices = read_prices(table)
    assert price_of("my-model", prices) == Price(input=0.5, output=2)
    assert price_of("my-model-20260101", prices) == Price(input=0.5, output=2)
    assert price_of("other", prices) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "cannot be read"),
        ("[1]", "no object"),
        ('{"m": 3}', "The price of 'm'"),
        ('{"m": [1]}', "The price of 'm'"),
        ('{"m": [1, 2, 3]}', "The price of 'm'"),
        ('{"m": [1, 2, 3, "4"]}', "The price of 'm'"),
        ('{"m": [1, -2]}', "The price of 'm'"),
        ('{"m": [1, NaN]}', "The price of 'm'"),
        ('{"m": [true, 1]}', "The price of 'm'"),
    ],
)
def test_a_table_of_prices_that_is_none_is_refused(tmp_path: Path, text: str, why: str) -> None:
    table = tmp_path / "prices.json"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=why) as caught:
        read_prices(table)
    assert str(table) in str(caught.value)
    with pytest.raises(UsageError, match="cannot be read"):
        read_prices(tmp_path / "none.json")


def test_cached_tokens_cost_a_share_unless_the_price_says_otherwise() -> None:
    usual = Price(input=10, output=50)
    assert usual.of(0, 0, cache_read=1_000_000) == pytest.approx(1.0)
    assert usual.of(0, 0, cache_write=1_000_000) == pytest.approx(12.5)
    own = Price(input=10, output=50, cache_read=0.25, cache_write=11)
    assert own.of(0, 0, cache_read=1_000_000, cache_write=1_000_000) == pytest.approx(11.25)
    assert own.of(1000, 1000) == usual.of(1000, 1000) == pytest.approx(0.06)


def test_a_long_prompt_costs_its_own_price_all_of_it() -> None:
    price = PRICES["claude-haiku-5-5"]
    assert price.of(100_000, 1000) == pytest.approx(0.01 + 0.0005)
    assert price.of(100_001, 1000) == pytest.approx(5 * price.of(100_000, 1000), rel=1e-4)
    assert price.of(1, 0, cache_read=100_000) == pytest.approx((0.5 + 100_000 * 0.05) / 1e6)
    assert price.of(1, 0, cache_write=100_000) == pytest.approx((0.5 + 100_000 * 0.625) / 1e6)


def test_a_batch_costs_half_of_everything() -> None:
    for price in (*PRICES.values(), Price(input=1, output=2, cache_read=3, cache_write=4)):
        half = price.times(BATCH_SHARE)
        for read, written, cached, kept in (
            (1000, 500, 0, 0),
            (0, 0, 70_000, 0),
            (0, 0, 0, 70_000),
            (150_000, 9, 9, 9),
        ):
            whole = price.of(read, written, cache_read=cached, cache_write=kept)
            assert half.of(read, written, cache_read=cached, cache_write=kept) == pytest.approx(whole / 2)


def test_every_listed_price_is_one() -> None:
    for name, price in PRICES.items():
        assert name.startswith("claude-")
        assert 0 < (price.cache_read or 0.1 * price.input) < price.input < price.output
        assert price.output == pytest.approx(5 * price.input)


def test_the_user_may_say_what_cached_tokens_cost(tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    table.write_text('{"m": [1, 5, 0.5, 1]}', encoding="utf-8")
    price = read_prices(table)["m"]
    assert price == Price(input=1, output=5, cache_read=0.5, cache_write=1)


def turn(usage: Usage, *, told: bool = True, untold: int = 0) -> Turn:
    message = ModelMessage(text="Yes.")
    return Turn(message=message, stop="ended", usage=usage, usage_told=told, untold=untold)


def test_what_a_turn_costs_is_never_less_than_may_be_billed() -> None:
    price = Price(input=1, output=10)
    usage = Usage(input=100, output=20, cache_read=1000, cache_write=80)
    told = (100 + 200 + 100 + 100) / 1e6
    assert usage.cost(price) == pytest.approx(told)
    assert spent_on(turn(usage), price, most=0.5, where="m") == pytest.approx(told)
    assert spent_on(turn(usage, untold=2), price, most=0.5, where="m") == pytest.approx(told + 1.0)
    failure = FailedTurnError("Gone.", usage=usage, untold=1)
    assert spent_on(failure, price, most=0.5, where="m") == pytest.approx(told + 0.5)


def test_a_cap_cannot_be_kept_where_usage_is_not_told() -> None:
    with pytest.raises(EngineError, match="cost cap cannot be kept") as failed:
        spent_on(turn(Usage(), told=False), Price(input=1, output=1), most=1.0, where="openai:x#y")
    assert failed.value.where == "openai:x#y"


def test_usages_add_up() -> None:
    total = Usage(input=1, output=2, cache_read=3, cache_write=4) + Usage(input=10, cache_write=40)
    assert total == Usage(input=11, output=2, cache_read=3, cache_write=44)
    assert total.total == 60
