"""Pruning: what a cut is worth, which cuts a mode makes, and when."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from osiris.core.cache_model import Belief
from osiris.core.prices import Rates
from osiris.core.prune import (
    MODES,
    MOMENTS,
    Item,
    ModeName,
    Situation,
    is_awake,
    plan,
)
from osiris.core.prune_cost import (
    Cut,
    Recalls,
    Span,
    break_even,
    cost,
    gain,
    keep_alive_pings,
    net,
    net_span,
    recall_cost,
    ttl_advice,
)

ROOT = Path(__file__).parents[2]
GAPS = ROOT.parent / "shared" / "cache" / "observed_gaps.jsonl"

OPUS = Rates(5.0, write=1.25, read=0.1, output=5.0)
LONG = Rates(5.0, write=2.0, read=0.1, output=5.0)
ALIVE = Belief(0.0, 0.0, 0.0, "measured")
DEAD = Belief(1.0, 1.0, 1.0, "measured")
EQUAL = Cut(5_000, 0, Span.of(5_000))

HERE = Situation(
    context_tokens=120_000, threshold_tokens=40_000, rates=OPUS, belief=ALIVE, requests=Span.of(50)
)
BIG = Item("big", tokens=40_000, behind=10_000, zone="C", stub=100)
OLD = Item("old", tokens=5_000, behind=100_000, zone="history", stub=100)
FRESH = Item("fresh", tokens=8_000, behind=0, zone="C", stub=100, sent=False)
PLAN_TEXT = Item("plan", tokens=30_000, behind=90_000, zone="B", stub=100)


def test_the_gain_is_what_the_requests_to_come_do_not_read() -> None:
    cut = Cut(1_000, 100, Span.of(0))

    assert gain(cut, OPUS, 0.0, 10) == pytest.approx(900 * (0.1 + 0.1 * 9))
    assert gain(cut, OPUS, 1.0, 10) == pytest.approx(900 * (1.25 + 0.1 * 9))
    assert gain(cut, OPUS, 0.5, 10) == pytest.approx(900 * (0.675 + 0.1 * 9))


def test_the_cost_is_the_text_behind_written_again_and_the_recalls() -> None:
    recalls = Recalls(2, tokens=1_000, requests=10, context=50_000, out_tokens=100)
    cut = Cut(5_000, 0, Span.of(20_000), (recalls,))

    one = 1_000 * (1.25 + 0.1 * 9) + 0.1 * 50_000 + 5 * 100
    assert recall_cost(recalls, OPUS) == pytest.approx(2 * one)
    assert cost(cut, OPUS, 0.0, 10, 20_000) == pytest.approx(20_000 * 1.15 + 2 * one)
    assert cost(cut, OPUS, 1.0, 10, 20_000) == pytest.approx(2 * one)


@pytest.mark.promise("S6-net-savings")
def test_a_living_cache_makes_a_cut_dear_and_a_dead_one_makes_it_free() -> None:
    assert net(EQUAL, OPUS, 0.0, 2) < 0
    assert net(EQUAL, OPUS, 1.0, 2) > 0
    assert cost(EQUAL, OPUS, 1.0, 2, 5_000) == 0


def test_the_longer_the_text_behind_the_worse_and_the_prefix_does_not_matter() -> None:
    nets = [net(Cut(5_000, 0, Span.of(x)), OPUS, 0.0, 20) for x in (0, 5_000, 50_000)]

    assert nets == sorted(nets, reverse=True)
    assert nets[0] == pytest.approx(gain(EQUAL, OPUS, 0.0, 20))


def test_without_a_request_to_come_a_cut_neither_gains_nor_costs() -> None:
    assert net(EQUAL, OPUS, 0.0, 0) == 0
    assert net(EQUAL, OPUS, 1.0, 0.5) == 0


# n* of domain knowledge: write / read multiplier, then S=5k X=20k, S=X, S=40k X=10k, S=2k X=50k.
N_STAR = {
    (1.25, 0.1): (46, 11.5, 2.9, 288),
    (1.25, 0.05): (96, 24, 6, 600),
    (1.25, 0.025): (196, 49, 12, 1_225),
    (2.0, 0.1): (76, 19, 4.8, 475),
    (1.0, 0.1): (36, 9, 2.2, 225),
    (1.0, 0.5): (4, 1, 0.2, 25),
    (1.0, 0.02): (196, 49, 12, 1_225),
}
SHAPES = ((5_000, 20_000), (5_000, 5_000), (40_000, 10_000), (2_000, 50_000))


@pytest.mark.parametrize(("multipliers", "expected"), N_STAR.items())
def test_break_even_is_the_published_table(
    multipliers: tuple[float, float], expected: tuple[float, ...]
) -> None:
    write, read = multipliers
    rates = Rates(1.0, write, read, 5.0)
    found = [break_even(Cut(s, 0, Span.of(x)), rates) for s, x in SHAPES]

    assert found == [pytest.approx(n, abs=0.051 if n < 12 else 0.51) for n in expected]


@given(st.floats(1_000, 1e5), st.floats(0, 1e5), st.sampled_from(sorted(N_STAR)), st.floats(0.5, 3))
def test_the_net_turns_positive_exactly_at_break_even(
    removed: float, behind: float, multipliers: tuple[float, float], factor: float
) -> None:
    rates = Rates(1.0, *multipliers, 5.0)
    cut = Cut(removed, 0, Span.of(behind))
    n = break_even(cut, rates)

    if n * factor >= 1 and abs(factor - 1) > 1e-6 and n > 0:
        assert (net(cut, rates, 0.0, n * factor) > 0) == (factor > 1)


def test_break_even_is_never_where_nothing_is_saved_and_now_where_nothing_is_behind() -> None:
    assert break_even(Cut(100, 100, Span.of(5)), OPUS) == math.inf
    assert break_even(Cut(100, 0, Span.of(5)), Rates(1.0, 1.0, 0.0, 1.0)) == math.inf
    assert break_even(Cut(100, 0, Span.of(0)), OPUS) == 0
    assert break_even(EQUAL, Rates(1.0, 1.0, 1.0, 1.0)) == 0


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 1), st.floats(0, 1), st.floats(1, 200))
def test_the_bounds_enclose_every_case_between_them(
    removed: float, behind: float, p: float, share: float, n: float
) -> None:
    cut = Cut(removed, 0, Span(behind * share, behind, behind * 2))
    span = net_span(cut, OPUS, Belief(p, p * share, 1.0, "prior"), Span(n * share, n, n * 2))

    assert span.low - 1e-6 <= net(cut, OPUS, p, n) <= span.high + 1e-6
    assert span.usual == net(cut, OPUS, p, n)


@pytest.mark.promise("S6-modes")
def test_every_mode_is_in_the_table_with_its_zones() -> None:
    assert {
        name: (mode.share, mode.warm, mode.dead, mode.bound) for name, mode in MODES.items()
    } == {
        "cache_ttl": (None, ("C", "D"), ("A", "B", "C", "D", "history"), "low"),
        "conservative": (2.5, ("C", "D"), ("C", "D"), "low"),
        "balanced": (1.0, ("C", "D", "history"), ("C", "D", "history"), "low"),
        "aggressive": (
            0.5,
            ("A", "B", "C", "D", "history"),
            ("A", "B", "C", "D", "history"),
            "usual",
        ),
    }


@pytest.mark.parametrize(
    ("mode", "tokens", "p", "awake"),
    [
        ("cache_ttl", 1_000_000, 0.0, False),
        ("cache_ttl", 10, 0.6, True),
        ("conservative", 99_999, 0.0, False),
        ("conservative", 100_000, 0.0, True),
        ("balanced", 39_999, 0.0, False),
        ("balanced", 40_000, 0.0, True),
        ("aggressive", 20_000, 0.0, True),
        ("aggressive", 19_999, 1.0, False),
    ],
)
def test_a_mode_wakes_by_prompt_size_or_by_a_dead_cache(
    mode: ModeName, tokens: int, p: float, *, awake: bool
) -> None:
    here = replace(HERE, context_tokens=tokens, belief=Belief(p, p, p, "prior"))

    assert is_awake(MODES[mode], here) is awake


def test_a_large_result_with_little_behind_is_cut_in_a_living_cache() -> None:
    found = plan([BIG], "balanced", HERE)

    assert found.now is not None
    assert found.now.refs == ("big",)
    assert found.now.break_even < 3
    assert found.now.net.low > 0
    assert found.why == "pays after 2.9 more requests"


def test_what_does_not_pay_in_a_living_cache_is_staged_with_its_moments() -> None:
    found = plan([OLD], "balanced", HERE)

    assert found.now is None
    assert found.staged is not None
    assert found.staged.refs == ("old",)
    assert found.moments == tuple(MOMENTS)


@pytest.mark.promise("S6-cache-ttl")
def test_cache_ttl_leaves_a_living_cache_alone_and_uses_a_dead_one() -> None:
    warm = plan([BIG, OLD, PLAN_TEXT], "cache_ttl", HERE)
    cold = plan([BIG, OLD, PLAN_TEXT], "cache_ttl", replace(HERE, belief=DEAD))

    assert warm.now is None
    assert warm.staged is not None
    assert cold.now is not None
    assert set(cold.now.refs) == {"big", "old", "plan"} == set(warm.staged.refs)
    assert cold.staged is None


def test_a_mode_keeps_out_of_the_zones_of_others() -> None:
    dead = replace(HERE, belief=DEAD)

    assert refs([BIG, OLD, PLAN_TEXT], "conservative", dead) == {"big"}
    assert refs([BIG, OLD, PLAN_TEXT], "balanced", dead) == {"big", "old"}
    assert refs([BIG, OLD, PLAN_TEXT], "aggressive", dead) == {"big", "old", "plan"}


@pytest.mark.parametrize("mode", sorted(MODES))
def test_what_was_never_sent_is_left_out_in_every_mode(mode: ModeName) -> None:
    found = plan([FRESH], mode, replace(HERE, context_tokens=9_000))

    assert found.now is not None
    assert found.now.refs == ("fresh",)
    assert found.now.behind == 0
    assert found.now.net.usual == pytest.approx(7_900 * (1.25 + 0.1 * 49))


def test_one_batch_pays_once_for_its_earliest_cut() -> None:
    early = Item("early", tokens=40_000, behind=50_000, zone="C")
    late = Item("late", tokens=40_000, behind=5_000, zone="C")

    found = plan([early, late], "balanced", HERE)

    assert found.now is not None
    assert found.now.refs == ("late", "early")
    assert found.now.behind == 10_000
    assert found.now.net.usual == pytest.approx(80_000 * 0.1 * 50 - 10_000 * 1.15)


def test_an_early_small_cut_does_not_join_a_batch_that_it_makes_worse() -> None:
    early = Item("early", tokens=300, behind=100_000, zone="C")

    assert refs([early, BIG], "balanced", HERE) == {"big"}


def test_an_item_that_will_be_asked_for_again_stays() -> None:
    wanted = replace(BIG, recalls=3.0)

    assert plan([wanted], "balanced", HERE).now is None
    assert plan([wanted], "balanced", replace(HERE, belief=DEAD)).now is None


def test_an_item_that_will_be_asked_for_again_is_left_out_of_a_batch() -> None:
    wanted = Item("wanted", tokens=5_000, behind=1_000, zone="C", recalls=3.0)

    assert refs([wanted, BIG], "balanced", HERE) == {"big"}


@pytest.mark.promise("S6-never-deletes")
@pytest.mark.parametrize(
    "item",
    [
        replace(BIG, ref=""),
        replace(BIG, pinned=True),
        replace(BIG, tokens=100),
    ],
)
def test_what_has_no_ref_is_pinned_or_is_a_stub_already_is_never_cut(item: Item) -> None:
    for mode in MODES:
        found = plan([item], mode, replace(HERE, belief=DEAD, must_free=1_000))
        assert (found.now, found.staged) == (None, None)


def test_uncertainty_keeps_a_cut_back_unless_the_mode_takes_the_usual_case() -> None:
    unsure = replace(HERE, requests=Span(1, 50, 100))

    assert plan([BIG], "balanced", unsure).now is None
    assert plan([BIG], "aggressive", unsure).now is not None


def test_a_cache_that_may_be_alive_keeps_a_cut_back() -> None:
    perhaps = replace(HERE, belief=Belief(0.9, 0.0, 1.0, "prior"))

    assert plan([OLD], "balanced", perhaps).now is None
    assert refs([OLD], "balanced", replace(perhaps, belief=DEAD)) == {"old"}


def test_no_batch_leaves_a_prompt_that_its_model_does_not_cache() -> None:
    item = Item("one", tokens=1_000, behind=0, zone="C")
    small = replace(HERE, context_tokens=4_500, threshold_tokens=1_000, min_cacheable_tokens=4_096)

    assert plan([item], "balanced", small).now is None
    assert refs([item], "balanced", replace(small, min_cacheable_tokens=3_500)) == {"one"}
    assert refs([item], "balanced", replace(small, context_tokens=4_000)) == {"one"}


def test_what_must_go_goes_by_the_cheapest_batch_that_frees_enough() -> None:
    forced = replace(HERE, must_free=4_000)
    costly = Item("costly", tokens=5_000, behind=110_000, zone="C")
    cheap = Item("cheap", tokens=5_000, behind=60_000, zone="C")

    found = plan([costly, cheap], "cache_ttl", forced)

    assert found.now is not None
    assert found.now.refs == ("cheap",)
    assert found.now.net.usual < 0
    assert refs([costly, cheap], "cache_ttl", replace(forced, must_free=9_000)) == {
        "cheap",
        "costly",
    }


def test_when_nothing_frees_enough_the_most_goes() -> None:
    assert refs([BIG, OLD], "balanced", replace(HERE, must_free=10**6)) == {"big", "old"}


def test_nothing_to_cut_is_a_plan_too() -> None:
    found = plan([], "balanced", HERE)

    assert (found.now, found.staged, found.moments) == (None, None, ())
    assert found.why == "nothing pays before the next request"


ITEMS = st.builds(
    Item,
    ref=st.uuids().map(str),
    tokens=st.integers(0, 50_000),
    behind=st.integers(0, 100_000),
    zone=st.sampled_from(["A", "B", "C", "D", "history"]),
    stub=st.integers(0, 200),
    recalls=st.floats(0, 2),
    pinned=st.booleans(),
    sent=st.booleans(),
)


@given(st.lists(ITEMS, max_size=12), st.sampled_from(sorted(MODES)), st.floats(0, 1))
def test_any_plan_cuts_each_item_at_most_once_and_none_it_may_not(
    items: list[Item], mode: ModeName, p: float
) -> None:
    found = plan(items, mode, replace(HERE, belief=Belief(p, p, p, "prior")))

    by_ref = {item.ref: item for item in items}
    cut = [ref for batch in (found.now, found.staged) if batch for ref in batch.refs]
    assert len(cut) == len(set(cut))
    assert not any(by_ref[ref].pinned or not by_ref[ref].ref for ref in cut)
    assert all(batch.net.usual > 0 for batch in (found.now, found.staged) if batch)


@pytest.mark.parametrize(
    ("write", "read", "pings"),
    [
        (1.25, 0.1, 11),
        (1.25, 0.05, 24),
        (1.25, 0.025, 49),
        (1.2, 0.4, 2),
        (1.0, 1.0, 0),
        (1.0, 0.0, 0),
    ],
)
def test_keeping_alive_is_worth_as_many_pings_as_a_rebuild_costs_reads(
    write: float, read: float, pings: int
) -> None:
    assert keep_alive_pings(Rates(1.0, write, read, 5.0)) == pings


def test_pauses_ahead_make_an_hour_the_lifetime_to_write_with() -> None:
    advice = ttl_advice(60_000, written_tokens=80_000, pauses=2, short=OPUS, long=LONG)

    assert advice.write_ttl_s == 3_600
    assert advice.saving == pytest.approx(2 * 60_000 * 1.15 - 80_000 * 0.75)
    assert (advice.pings, advice.pings_cover_s) == (11, 2_970)


def test_without_pauses_or_hour_long_writes_five_minutes_stay() -> None:
    for pauses, long in ((0, LONG), (5, None)):
        advice = ttl_advice(60_000, 80_000, pauses, OPUS, long)
        assert (advice.write_ttl_s, advice.saving) == (300, 0.0)


@pytest.mark.skipif(not GAPS.exists(), reason="no ../shared/cache here")
def test_the_bench_prints_the_break_even_table() -> None:
    bench = [sys.executable, "-m", "bench.cache", str(GAPS), "--json"]

    report = json.loads(subprocess.run(bench, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)

    assert [tuple(row.values()) for row in report["break_even"].values()] == list(N_STAR.values())


def refs(items: list[Item], mode: ModeName, situation: Situation) -> set[str]:
    found = plan(items, mode, situation)
    return set(found.now.refs) if found.now else set()
