"""Declared usage: what is read of a provider's report, and what it counts for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from osiris.core import context, counting, usage
from osiris.core.cache_model import Calibration, Cell
from osiris.core.commands import Observe
from osiris.core.decide import decide
from osiris.core.decision import Facts
from osiris.core.errors import Refusal
from osiris.core.events import Stamped
from osiris.core.prices import Price, Prices, Usage
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState
from tests.core.decide_cases import FACTS, STARTED, done

MODEL = "claude-opus-5-5"
PRICES = Prices(
    "2026-11",
    {MODEL: Price(MODEL, input=4.0, output=20.0, cache_read=0.2, cache_write=5.0)},
)
PRICED = replace(FACTS, prices=PRICES)


def report(**numbers: object) -> Observe:
    return Observe("usage", text=json.dumps({"model": MODEL, **numbers}))


def at(now_ms: int) -> Facts:
    return replace(PRICED, now_ms=now_ms)


def counted(state: TaskState, command: Observe, facts: Facts) -> dict[str, int]:
    events = decide(state, command, facts).events
    return counting.deltas("task/7c3f90d1", (Stamped(facts.now_ms, "ana", e) for e in events))


def used(prompt: int, at_ms: int) -> TaskState:
    return done(STARTED, report(input=0, cache_write=prompt, window=200_000), at(at_ms))[0]


@pytest.mark.parametrize(
    "body",
    [
        {"input": 10, "cache_read": 900, "cache_write": 60, "cache_write_1h": 0, "output": 5},
        {
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 900,
                "cache_creation_input_tokens": 60,
                "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 5,
                "service_tier": "standard",
            }
        },
    ],
)
def test_our_names_and_a_providers_object_are_the_same_report(body: dict[str, object]) -> None:
    found = usage.parse(Observe("usage", args=body))

    assert isinstance(found, usage.Declared)
    assert found.usage == Usage(input=10, cache_read=900, cache_write=60, output=5)


@pytest.mark.parametrize(
    ("body", "usage_"),
    [
        (
            {"prompt_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": 900}},
            Usage(input=100, cache_read=900),
        ),
        (
            {
                "input_tokens": 1_000,
                "input_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 60},
            },
            Usage(input=40, cache_read=900, cache_write=60),
        ),
    ],
)
def test_cached_tokens_that_are_part_of_the_input_are_counted_once(
    body: dict[str, object], usage_: Usage
) -> None:
    found = usage.parse(Observe("usage", result=json.dumps(body)))

    assert isinstance(found, usage.Declared)
    assert found.usage == usage_
    assert found.usage.prompt == 1_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "missing_argument"),
        ("", "missing_argument"),
        ("9", "missing_argument"),
        ("[" * 5_000, "missing_argument"),
        ('{"model": "m"}', "missing_argument"),
        ('{"input": -1}', "bad_argument"),
        ('{"input": true}', "bad_argument"),
        ('{"input": 1e300}', "bad_argument"),
        ('{"input": "many"}', "bad_argument"),
    ],
)
def test_a_report_that_is_none_is_refused_and_changes_nothing(text: str | None, code: str) -> None:
    decision = decide(STARTED, Observe("usage", text=text), FACTS)

    assert decision.events == ()
    assert isinstance(decision.reply, Refusal)
    assert decision.reply.code == code


@pytest.mark.promise("S3-pressure")
def test_a_declared_prompt_is_a_share_of_a_declared_window() -> None:
    command = report(input=10, cache_read=163_990, output=300, window=200_000)

    _, reply = done(STARTED, command, PRICED)

    assert dict(reply.pairs) == {
        "ok": "",
        "pressure": "warn",
        "share": "82%",
        "window": "200000",
        "usd": "0.0388",
    }


def test_an_unknown_model_costs_tokens_only_and_has_no_share() -> None:
    _, reply = done(STARTED, Observe("usage", text='{"model": "llama", "input": 9}'), PRICED)

    assert reply.pairs == (("ok", ""), ("pressure", "unknown"))


def test_a_window_that_is_not_repeated_is_the_one_declared_before() -> None:
    _, reply = done(used(100_000, 1_000), report(cache_read=100_000, input=50), at(9_000))

    assert dict(reply.pairs)["window"] == "200000"


@pytest.mark.parametrize(
    ("cache_read", "gap_ms", "cell"),
    [
        (100_000, 7_000, "anthropic/300/claude-opus-5-5/0/alive"),
        (100_000, 250_000, "anthropic/300/claude-opus-5-5/5/alive"),
        (2_000, 400_000, "anthropic/300/claude-opus-5-5/8/dead"),
    ],
)
def test_a_second_request_counts_once_for_its_gap(cache_read: int, gap_ms: int, cell: str) -> None:
    state = used(100_000, 1_000)
    command = report(cache_read=cache_read, input=100_000 - cache_read)

    assert counted(state, command, at(1_000 + gap_ms)) == {f"cache/{cell}": 1}


def test_a_declared_gap_goes_before_the_time_between_two_observes() -> None:
    command = report(cache_read=0, input=99_000, gap_s=500)

    found = counted(used(100_000, 1_000), command, at(2_000))

    assert found == {"cache/anthropic/300/claude-opus-5-5/8/dead": 1}


@pytest.mark.parametrize(
    "command",
    [
        report(input=20_000),
        Observe("usage", text='{"model": "gpt-5", "input": 100000}'),
    ],
    ids=["the prompt was compacted", "another model"],
)
def test_what_says_nothing_about_the_cache_is_not_counted(command: Observe) -> None:
    assert counted(used(100_000, 1_000), command, at(400_000)) == {}


def test_models_without_a_price_share_their_cells_so_that_they_stay_few() -> None:
    names = [f"claude-of-my-own-{number}" for number in range(50)]
    cells = {
        context.cells_of(replace(STARTED.usage, model=name, ttl_s=number), PRICED)
        for number, name in enumerate(names)
    }

    assert cells == {"anthropic/300/other/"}


def test_what_was_counted_moves_the_belief_and_says_that_it_is_measured() -> None:
    state = used(100_000, 1_000)
    key = "anthropic/300/claude-opus-5-5/8"
    learned = replace(PRICED, learned=Calibration({key: Cell(alive=40, dead=0)}))

    before, after = (context.belief(state, facts, 400.0) for facts in (PRICED, learned))

    assert (before.how, after.how) == ("declared", "measured")
    assert after.p < 0.3 < before.p


@given(st.recursive(st.none() | st.integers() | st.text() | st.floats(), st.lists, max_leaves=5))
def test_no_report_makes_a_decision_fail(value: object) -> None:
    decision = decide(STARTED, Observe("usage", args={"input": value, "model": value}), FACTS)

    assert isinstance(decision.reply, Reply | Refusal)
