"""Prices: finding a model, filling its rows, tiers, and refusing to guess."""

import json

import msgspec
import pytest

from osiris.core.errors import Refusal
from osiris.core.prices import (
    Price,
    Prices,
    Rates,
    Tier,
    Unpriced,
    Usage,
    cost_microusd,
    find,
    merge,
    next_tier,
    parse,
    rates,
    tier,
)
from osiris.prices_data import shipped, with_override

OPUS = Price("opus", input=4.0, output=20.0, cache_read=0.2, cache_write=5.0, cache_write_1h=8.0)
FREE_WRITES = Price("gpt", input=2.0, output=8.0, cache_read=0.5)
TIERED = msgspec.structs.replace(OPUS, tiers={"input_cost_per_token_above_100k_tokens": 20.0})


def table(*rows: dict[str, object], **more: object) -> Prices:
    prices = parse(json.dumps({"models": rows, **more}).encode())
    assert isinstance(prices, Prices)
    return prices


def refusal(raw: str | bytes) -> Refusal:
    found = parse(raw if isinstance(raw, bytes) else raw.encode())
    assert isinstance(found, Refusal)
    return found


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("CLAUDE-OPUS-4-6[1m]", "claude-opus-4-6"),
        ("us.anthropic.claude-opus-5-20260301-v1:0", "anthropic.claude-opus-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("us.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("openrouter/openai/gpt-4o:online", "gpt-4o"),
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("grok-4.7", "xai/grok-4.7"),
        ("claude-sonnet-5-latest", "claude-sonnet-5"),
    ],
)
def test_a_model_is_found_whatever_wraps_its_name(name: str, model: str) -> None:
    price = find(shipped(), name)

    assert price is not None
    assert price.model == model


@pytest.mark.parametrize(
    "name", ["", "gpt-5-nano", "claude", "opus", "gpt", "claude-opus-4-55", "my/own-model", "-v1:0"]
)
def test_an_unknown_model_has_no_price(name: str) -> None:
    assert find(shipped(), name) is None


def test_the_shipped_table_can_price_every_model_it_names() -> None:
    prices = shipped()

    assert prices.as_of == "2026-11"
    assert len({price.model for price in prices.rows.values()}) == 47
    assert all(isinstance(rates(price), Rates) for price in prices.rows.values())
    assert prices.lifetimes["anthropic"].ttl_s == (300, 3_600)


def test_an_override_wins_field_by_field_and_keeps_the_rest() -> None:
    base = table({"model": "vendor/m", "input": 2.0, "output": 8.0, "cache_read": 0.5})

    merged = merge(base, table({"model": "m", "input": 3.0, "output": None}))

    expected = Price("vendor/m", input=3.0, output=8.0, cache_read=0.5)
    assert find(merged, "m") == expected
    assert find(merged, "vendor/m") == expected


def test_an_override_adds_models_and_aliases() -> None:
    merged = merge(
        shipped(),
        table({"model": "local", "input": 0.0, "output": 0.0}, aliases={"mine": "claude-opus-5"}),
    )

    local, mine = find(merged, "local"), find(merged, "mine")

    assert local is not None
    assert cost_microusd(local, Usage(input=10_000)) == 0
    assert mine == find(shipped(), "claude-opus-5")
    assert merged.as_of == "2026-11"
    assert merged.sources == shipped().sources


def test_no_override_is_the_shipped_table_and_a_broken_one_is_refused() -> None:
    assert with_override(None) is shipped()
    assert isinstance(with_override(b"{"), Refusal)


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ("[]", "the price file is wrong: Expected `object`, got `array`"),
        ("{}", "the price file names no models"),
        (
            '{"models": [{"model": "a", "input": 1}, {"input": 2}]}',
            "model 2 of the price file is wrong: Object missing required field `model`",
        ),
        (
            '{"models": [{"model": "a", "input": -1}]}',
            "model 1 of the price file is wrong: Expected `float` >= 0.0 - at `$.input`",
        ),
        (
            '{"models": [{"model": "a", "retires": 2}]}',
            "model 1 of the price file is wrong: Expected `str | null`, got `int` - at `$.retires`",
        ),
    ],
)
def test_a_wrong_price_file_is_refused_naming_the_row_and_field(raw: str, what: str) -> None:
    assert refusal(raw).what == what
    assert refusal(raw).code == "bad_prices"


@pytest.mark.parametrize("raw", [b"", b"\xff", b"nul", b'{"models": ' + b"[" * 100_000])
def test_what_is_no_json_is_refused_too(raw: bytes) -> None:
    assert refusal(raw).fix


def test_a_missing_price_makes_a_sum_unpriced_and_says_which() -> None:
    price = Price("m", input=2.0)

    found = cost_microusd(price, Usage(input=1_000))

    assert isinstance(found, Unpriced)
    assert found == Unpriced("m", ("output",)) == rates(price)
    assert "m has no price for output" in found.text()


def test_cost_is_every_kind_of_token_at_its_own_price() -> None:
    usage = Usage(input=100, cache_read=10_000, cache_write=1_000, cache_write_1h=500, output=200)

    assert usage.prompt == 11_600
    assert cost_microusd(OPUS, usage) == 400 + 2_000 + 5_000 + 4_000 + 4_000


def test_cost_is_rounded_up() -> None:
    assert cost_microusd(OPUS, Usage(cache_read=1)) == 1
    assert cost_microusd(OPUS, Usage()) == 0


def test_writes_are_free_and_caches_absent_where_no_price_names_them() -> None:
    assert rates(FREE_WRITES) == Rates(2.0, write=1.0, read=0.25, output=4.0)
    assert rates(Price("m", input=2.0, output=8.0)) == Rates(2.0, write=1.0, read=1.0, output=4.0)


def test_rates_follow_the_lifetime_that_is_written() -> None:
    assert rates(OPUS) == Rates(4.0, write=1.25, read=0.05, output=5.0)
    assert rates(OPUS, ttl_s=3_600) == Rates(4.0, write=2.0, read=0.05, output=5.0)
    assert rates(FREE_WRITES, ttl_s=3_600) == rates(FREE_WRITES)


def test_above_a_tier_the_whole_prompt_is_repriced_and_output_is_not() -> None:
    below, above = Usage(cache_read=100_000, output=10), Usage(cache_read=100_001, output=10)

    assert cost_microusd(TIERED, below) == 20_000 + 200
    assert cost_microusd(TIERED, above) == 100_001 + 200
    assert rates(TIERED, 100_001) == Rates(20.0, write=1.25, read=0.05, output=1.0)


def test_tiers_say_where_a_prompt_is_and_what_comes_next() -> None:
    assert tier(TIERED, 100_000) is None
    assert tier(TIERED, 100_001) == Tier(100_000, 20.0)
    assert next_tier(TIERED, 100_000) == Tier(100_000, 20.0)
    assert next_tier(TIERED, 100_001) is None
    assert next_tier(OPUS, 5) is None


def test_a_tier_of_an_unknown_name_is_left_out() -> None:
    assert next_tier(msgspec.structs.replace(OPUS, tiers={"batch": 1.0}), 5) is None
