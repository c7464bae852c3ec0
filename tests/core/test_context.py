"""Which lifetime of a cache holds: what usage declares, what a setting says, what is usual."""

import pytest
from msgspec.structs import replace

from osiris.core import context
from osiris.core import events as ev
from osiris.core.checkpointing import advice
from osiris.core.decision import Facts
from osiris.core.task_state import TaskState, apply
from osiris.prices_data import shipped
from tests.core.decide_cases import FACTS, STARTED

PRICED = replace(FACTS, prices=shipped())
HOUR = replace(PRICED, cache_ttl_s=3_600)


def used(model: str, ttl_s: int = 0, provider: str = "") -> TaskState:
    event = ev.UsageDeclared(model, provider, ttl_s, 0, 50_000, 0, 0, 0)
    return apply(STARTED, ev.Stamped(1_000, "ana", event))


@pytest.mark.parametrize(
    ("model", "declared", "setting", "ttl_s"),
    [
        ("claude-opus-5-5", 0, 300, 300),
        ("claude-opus-5-5", 0, 3_600, 3_600),
        ("claude-opus-5-5", 300, 3_600, 300),
        ("claude-opus-5-5", 0, 777, 300),
        ("gpt-5.6", 0, 300, 1_800),
        ("gpt-5.6", 0, 3_600, 1_800),
        ("deepseek-v4-flash", 0, 777, 777),
        ("my-own", 0, 300, 0),
    ],
    ids=[
        "usual", "offered", "usage goes first", "not offered", "not offered, other default",
        "a minimum that is stated", "no promise", "unknown model",
    ],
)  # fmt: skip
def test_the_setting_holds_where_the_provider_offers_it_or_promises_nothing(
    model: str, declared: int, setting: int, ttl_s: int
) -> None:
    facts = replace(PRICED, cache_ttl_s=setting)

    assert context.ttl_of(used(model, declared).usage, facts) == ttl_s


def test_an_hour_of_cache_keeps_a_prefix_alive_over_a_pause_of_ten_minutes() -> None:
    state = used("claude-opus-5-5")

    short, long = (context.belief(state, facts, 600.0) for facts in (PRICED, HOUR))

    assert (short.p, short.how) == (1.0, "declared")
    assert (round(long.p, 2), long.how) == (0.15, "declared")


def test_an_hour_of_cache_costs_the_price_of_long_writes() -> None:
    state = used("claude-opus-5-5")

    short, long = (context.rates_of(state, facts) for facts in (PRICED, HOUR))

    assert short is not None
    assert long is not None
    assert (short.write, long.write) == (1.25, 2.0)


def test_a_lifetime_that_only_a_setting_names_is_declared_but_has_no_cells_of_its_own() -> None:
    state, said = used("my-own"), replace(PRICED, cache_ttl_s=777)

    unsaid, found = (context.belief(state, facts, 60.0) for facts in (PRICED, said))

    assert (unsaid.how, found.how) == ("prior", "declared")
    assert found.p < 0.1 < unsaid.p
    assert context.cells_of(state.usage, said) == "unknown/0/other/"


def shown(tokens: int) -> TaskState:
    state = STARTED
    for number in range(4):
        stored = ev.RefStored(f"{number:064x}", 4, tokens // 4, "exact", "Bash", "result")
        state = apply(state, ev.Stamped(1_000, "ana", stored))
    return state


@pytest.mark.parametrize(
    ("threshold", "is_advised"), [(40_000, False), (20_001, False), (20_000, True), (0, True)]
)
def test_pruning_is_advised_from_the_size_that_the_setting_names(
    threshold: int,
    is_advised: bool,  # noqa: FBT001  a row of the table
) -> None:
    facts: Facts = replace(PRICED, prune_threshold_tokens=threshold)

    assert bool(advice(shown(20_000), facts)) is is_advised
