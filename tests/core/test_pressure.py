"""Context pressure: what is known, what is not, and no percentage of an unknown window."""

import pytest
from msgspec.structs import replace

from osiris.core.pressure import (
    UNKNOWN_WINDOW,
    Source,
    Step,
    Window,
    lines,
    pressure,
    window_of,
)
from osiris.core.prices import Price, Usage
from osiris.core.tokens import RULER, Count, exact

REFS = Source("refs", "measured", exact(9_000))
HEAD = Source("head", "declared", Count(1_000, RULER, "estimate", 800, 1_300))
HISTORY = Source("history", "unknown")
WINDOW = Window(20_000, "declared")
TIERED = Price(
    "m",
    input=2.0,
    output=8.0,
    max_input_tokens=400_000,
    tiers={"input_cost_per_token_above_200k_tokens": 3.0},
)


def test_an_unknown_window_has_no_share_and_no_level() -> None:
    found = pressure([REFS, HEAD])

    assert found.share is None
    assert found.level == "unknown"
    assert not any("%" in line for line in lines(found))


def test_an_unknown_source_is_named_and_counts_nothing() -> None:
    found = pressure([REFS, HISTORY], WINDOW)

    assert found.known == 9_000
    assert lines(found) == (
        "refs=9000 measured",
        "history=? unknown",
        "known=9000 window=20000 share=>=45% ok",
    )


def test_a_count_under_an_unknown_source_is_not_believed() -> None:
    assert pressure([Source("history", "unknown", exact(50))]).known == 0


def test_a_share_of_counted_sources_uses_the_high_end_and_is_only_at_least() -> None:
    found = pressure([REFS, HEAD], WINDOW)

    assert (found.known, found.share, found.is_whole) == (10_000, 10_300 / 20_000, False)
    assert lines(found)[1] == "head=~1000 declared"


def test_declared_usage_is_the_whole_prompt_cached_or_not() -> None:
    usage = Usage(input=500, cache_read=14_000, cache_write=1_000, cache_write_1h=500, output=9_999)

    found = pressure([REFS, HEAD], WINDOW, usage)

    assert (found.prompt, found.unseen, found.share, found.is_whole) == (16_000, 6_000, 0.8, True)
    assert found.level == "warn"
    assert lines(found)[2:] == (
        "unseen=6000 declared",
        "prompt=16000 declared window=20000 share=80% warn",
    )


def test_sources_above_a_declared_prompt_leave_nothing_unseen() -> None:
    assert pressure([REFS], WINDOW, Usage(input=10)).unseen == 0


@pytest.mark.parametrize(
    ("prompt", "level"), [(0, "ok"), (15_999, "ok"), (16_000, "warn"), (20_000, "over")]
)
def test_levels_warn_from_four_fifths_on(prompt: int, level: str) -> None:
    assert pressure([], WINDOW, Usage(input=prompt)).level == level


def test_a_window_is_declared_by_the_client_before_the_price_table() -> None:
    assert window_of(TIERED, 200_000) == Window(200_000, "declared")
    assert window_of(TIERED) == Window(400_000, "declared")
    assert window_of(replace(TIERED, max_input_tokens=None)) == UNKNOWN_WINDOW
    assert window_of(None) == UNKNOWN_WINDOW


def test_the_price_step_ahead_is_seen_coming() -> None:
    found = pressure([], WINDOW, Usage(cache_read=150_000), TIERED)

    assert found.step == Step(50_000, 1.5)
    assert lines(found)[-1] == "price_step in=50000 tokens times=1.5"


def test_a_step_is_counted_from_the_tier_the_prompt_is_in() -> None:
    tiers = {
        "input_cost_per_token_above_200k_tokens": 3.0,
        "input_cost_per_token_above_300k_tokens": 6.0,
    }

    found = pressure([], WINDOW, Usage(input=250_000), replace(TIERED, tiers=tiers))

    assert found.step == Step(50_000, 2.0)


def test_past_the_last_tier_or_without_a_price_there_is_no_step() -> None:
    assert pressure([], WINDOW, Usage(input=250_000), TIERED).step is None
    assert pressure([], WINDOW, Usage(input=1)).step is None
