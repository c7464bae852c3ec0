"""P(cache_dead): cliffs, fading, breaks, learning, and how an answer is known."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.cache_model import (
    BREAKS,
    ENOUGH,
    MAX_CELLS,
    PRIOR_WEIGHT,
    PROVIDERS,
    Belief,
    Calibration,
    Cell,
    Gap,
    break_of,
    cell_key,
    is_dead,
    is_surely_alive,
    observe,
    p_dead,
    provider_of,
    survival,
    with_lifetime,
)
from osiris.core.prices import Lifetime

ROOT = Path(__file__).parents[2]
GAPS = ROOT.parent / "shared" / "cache" / "observed_gaps.jsonl"
ANTHROPIC = PROVIDERS["anthropic"]


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("claude-opus-5-5", "", "anthropic"),
        ("us.anthropic.claude-opus-5-v1:0", "", "bedrock"),
        ("claude-opus-5", "bedrock", "bedrock"),
        ("gpt-5.5", "", "openai_before_5_6"),
        ("gpt-4o-2024-08-06", "", "openai_before_5_6"),
        ("gpt-5-2025-08-07", "openai", "openai_before_5_6"),
        ("o3", "", "openai_before_5_6"),
        ("gpt-5.6-terra", "", "openai_5_6_on"),
        ("openai/gpt-6.1-sol", "openai", "openai_5_6_on"),
        ("gemini/gemini-3.8-flash", "", "gemini_implicit"),
        ("gemini-2.5-pro", "gemini_explicit", "gemini_explicit"),
        ("deepseek-v4-flash", "", "deepseek"),
        ("qwen3:30b", "ollama", "local_lru"),
        ("", "", "unknown"),
        ("grok-4.7", "xai", "unknown"),
    ],
)
def test_a_model_belongs_to_the_cache_of_its_provider(model: str, provider: str, name: str) -> None:
    assert provider_of(model, provider).name == name


@pytest.mark.parametrize(
    ("ttl_s", "gap_s", "alive"),
    [
        (300, 0, 1.0),
        (300, 299.9, 1.0),
        (300, 330, 0.5),
        (300, 360, 0.0),
        (300, 1e9, 0.0),
        (3_600, 3_599, 1.0),
        (3_600, 3_630, 0.5),
        (3_600, 3_660, 0.0),
    ],
)
def test_a_hard_lifetime_is_a_cliff_of_a_minute(ttl_s: int, gap_s: float, alive: float) -> None:
    assert survival(ANTHROPIC, ttl_s, gap_s) == pytest.approx(alive)


@pytest.mark.parametrize(
    ("name", "ttl_s", "gap_s", "alive"),
    [
        ("openai_before_5_6", 300, 300, 1.0),
        ("openai_before_5_6", 300, 600, 0.5),
        ("openai_before_5_6", 300, 900, 0.25),
        ("openai_before_5_6", 300, 3_600, 0.0),
        ("openai_5_6_on", 1_800, 1_800, 1.0),
        ("openai_5_6_on", 1_800, 3_600, 0.5),
        ("deepseek", 0, 43_200, 0.5),
    ],
)
def test_a_soft_lifetime_fades_by_halves(name: str, ttl_s: int, gap_s: float, alive: float) -> None:
    assert survival(PROVIDERS[name], ttl_s, gap_s) == pytest.approx(alive)


def test_a_changed_prefix_kills_a_living_entry() -> None:
    assert p_dead(ANTHROPIC, Gap(5)).p == pytest.approx(0.002)
    assert p_dead(ANTHROPIC, Gap(290)).p == pytest.approx(0.08)
    assert p_dead(ANTHROPIC, Gap(600, ttl_s=3_600)).p == pytest.approx(0.15)
    assert p_dead(ANTHROPIC, Gap(330)).p == pytest.approx(1 - 0.5 * 0.85)


def test_the_written_lifetime_decides_between_five_minutes_and_an_hour() -> None:
    assert p_dead(ANTHROPIC, Gap(1_000)).p == 1.0
    assert p_dead(ANTHROPIC, Gap(1_000, ttl_s=3_600)).p < 0.2


def test_a_prompt_below_the_minimum_is_never_cached() -> None:
    short = Gap(1, prompt_tokens=4_000, min_cacheable_tokens=4_096)
    enough = Gap(1, prompt_tokens=4_096, min_cacheable_tokens=4_096)

    assert p_dead(ANTHROPIC, short) == Belief(1.0, 1.0, 1.0, "declared")
    assert p_dead(ANTHROPIC, enough).p < 0.01


@pytest.mark.parametrize(
    ("name", "gap_s", "how"),
    [
        ("anthropic", 5, "declared"),
        ("anthropic", 5_000, "declared"),
        ("openai_before_5_6", 200, "declared"),
        ("openai_before_5_6", 900, "prior"),
        ("openai_before_5_6", 4_000, "declared"),
        ("openai_5_6_on", 1_700, "declared"),
        ("openai_5_6_on", 9_000, "prior"),
        ("gemini_implicit", 5, "prior"),
        ("deepseek", 5, "prior"),
        ("unknown", 5, "prior"),
    ],
)
def test_an_answer_says_whether_a_provider_stated_it(name: str, gap_s: float, how: str) -> None:
    belief = p_dead(PROVIDERS[name], Gap(gap_s))

    assert belief.how == how
    if how == "prior":
        assert (belief.low, belief.high) == (0.0, 1.0)


def test_a_lifetime_that_the_user_declares_is_a_statement() -> None:
    assert p_dead(PROVIDERS["unknown"], Gap(200, ttl_s=300)).how == "declared"


def test_enough_observations_make_an_answer_measured() -> None:
    gap, seen = Gap(700, "m", ttl_s=3_600), Calibration()
    prior = p_dead(ANTHROPIC, gap)

    for _ in range(ENOUGH - 1):
        seen = observe(seen, ANTHROPIC, gap, dead=True)
    before = p_dead(ANTHROPIC, gap, seen)
    seen = observe(seen, ANTHROPIC, gap, dead=True)
    after = p_dead(ANTHROPIC, gap, seen)

    assert (before.how, before.observations) == ("declared", ENOUGH - 1)
    assert (after.how, after.observations) == ("measured", ENOUGH)
    assert prior.p < before.p < after.p
    assert after.p == pytest.approx((PRIOR_WEIGHT * prior.p + ENOUGH) / (PRIOR_WEIGHT + ENOUGH))


def test_what_is_learned_holds_for_its_provider_model_lifetime_and_bucket_alone() -> None:
    gap = Gap(700, "m", ttl_s=3_600)
    seen = Calibration({cell_key(ANTHROPIC, gap): Cell(0, 1_000)})

    assert p_dead(ANTHROPIC, gap, seen).p > 0.9
    for other in (Gap(700, "n", 3_600), Gap(5, "m", 3_600), Gap(2_000, "m", 3_600)):
        assert p_dead(ANTHROPIC, other, seen) == p_dead(ANTHROPIC, other)
    assert p_dead(PROVIDERS["bedrock"], gap, seen) == p_dead(PROVIDERS["bedrock"], gap)


def test_observing_leaves_the_old_counters_alone() -> None:
    empty = Calibration()

    assert observe(empty, ANTHROPIC, Gap(5), dead=False).cells == {
        "anthropic/300//0": Cell(alive=1, dead=0)
    }
    assert empty == Calibration()


def test_counters_are_bounded_whatever_models_are_named() -> None:
    full = Calibration({str(n): Cell(1, 0) for n in range(MAX_CELLS)})
    known = Calibration({cell_key(ANTHROPIC, Gap(5)): Cell(), **full.cells})

    assert observe(full, ANTHROPIC, Gap(5, "new"), dead=True) is full
    assert observe(known, ANTHROPIC, Gap(5), dead=True) != known


def test_dead_is_a_read_of_less_than_half_the_prompt_before() -> None:
    assert is_dead(1_000, 499)
    assert not is_dead(1_000, 500)
    assert not is_dead(0, 0)


def test_a_careful_decision_keeps_away_from_the_cliff() -> None:
    assert is_surely_alive(ANTHROPIC, Gap(284))
    assert not is_surely_alive(ANTHROPIC, Gap(285))
    assert not is_surely_alive(PROVIDERS["deepseek"], Gap(1))


def test_dated_data_replaces_the_lifetimes_of_a_provider() -> None:
    longer = with_lifetime(ANTHROPIC, Lifetime((600,), 600, hard=True))
    none = with_lifetime(ANTHROPIC, Lifetime())

    assert p_dead(longer, Gap(500)).p < 0.2
    assert p_dead(longer, Gap(700)).p == 1.0
    assert p_dead(none, Gap(5)).how == "prior"


@given(
    st.sampled_from(sorted(PROVIDERS)),
    st.floats(-10, 1e7),
    st.floats(0, 1e6),
    st.sampled_from([None, 0, 300, 3_600]),
)
def test_p_is_a_probability_within_its_band_and_rises_with_the_gap(
    name: str, gap_s: float, more: float, ttl_s: int | None
) -> None:
    now = p_dead(PROVIDERS[name], Gap(gap_s, ttl_s=ttl_s))
    later = p_dead(PROVIDERS[name], Gap(gap_s + more, ttl_s=ttl_s))

    assert 0 <= now.low <= now.p <= now.high <= 1
    assert now.p <= later.p


def test_breaks_cover_every_gap_with_ordered_bands() -> None:
    assert [row.below_s for row in BREAKS] == sorted(row.below_s for row in BREAKS)
    assert BREAKS[-1].below_s == float("inf")
    assert [break_of(gap) for gap in (14.9, 15, 299, 300)] == [BREAKS[n] for n in (0, 1, 4, 5)]
    assert all(0 < row.low <= row.usual <= row.high < 1 for row in BREAKS)


@pytest.mark.skipif(not GAPS.exists(), reason="no ../shared/cache here")
def test_the_priors_beat_the_best_constant_and_the_step_on_real_sessions() -> None:
    bench = [sys.executable, "-m", "bench.cache", str(GAPS), "--json"]

    report = json.loads(subprocess.run(bench, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)

    assert report["pairs"] == 11_166
    for name in ("brier", "brier_gap_over_240s"):
        assert report[name] < report[f"{name}_constant"]
        assert report[name] < report[f"{name}_step"]
