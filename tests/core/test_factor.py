"""How many provider tokens a token of the ruler is, learned from how declared prompts grow."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from osiris.core import context, counting, factor, modes
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decide import decide
from osiris.core.factor import Factor
from osiris.core.task_state import VERBATIM, TaskState, apply
from osiris.prices_data import shipped
from tests.core.decide_cases import FACTS, STARTED, done

PRICED = replace(FACTS, prices=shipped())
MODEL = "claude-opus-5-5"


def used(state: TaskState, prompt: int, output: int = 0, model: str = MODEL) -> TaskState:
    args = {"model": model, "input": prompt, "output": output}
    return done(state, Observe("usage", args=args), PRICED)[0]


def told(state: TaskState, tokens: int, kind: str = "recall") -> TaskState:
    return apply(state, ev.Stamped(1_000, "ana", ev.Charged({kind: tokens}, 1)))


def counted(state: TaskState, prompt: int, model: str = MODEL) -> Mapping[str, int]:
    command = Observe("usage", args={"model": model, "input": prompt})
    events = decide(state, command, PRICED).events
    found = counting.deltas("task/7c3f90d1", (ev.Stamped(1_000, "ana", e) for e in events))
    return {name: n for name, n in found.items() if name.startswith("factor/")}


def test_growth_beyond_what_the_model_wrote_over_what_was_told_is_one_observation() -> None:
    state = told(used(STARTED, 50_000, output=400), 4_000)

    assert counted(state, 50_400 + 4_900) == {f"factor/{MODEL}/24": 1}


def test_a_result_of_another_tool_counts_as_told_and_what_the_model_wrote_does_not() -> None:
    shown = ev.RefStored("ab" * 32, 4, 4_000, "exact", "Bash", "result")
    state = apply(used(STARTED, 50_000), ev.Stamped(1_000, "ana", shown))

    assert counted(told(state, 9_000, "arguments"), 54_900) == {f"factor/{MODEL}/24": 1}


def test_growth_is_that_from_one_declared_request_to_the_next() -> None:
    state = told(used(told(used(STARTED, 50_000), 1_900), 52_300), 1_900)

    assert counted(state, 54_600) == {}
    assert counted(told(state, 2_100), 52_300 + 5_000) == {f"factor/{MODEL}/25": 1}


@pytest.mark.parametrize(
    ("prompt", "model"),
    [(53_500, MODEL), (57_300, MODEL), (20_000, MODEL), (54_900, "gpt-5.6")],
    ids=["too little", "something untold", "a compaction", "another model"],
)
def test_what_says_nothing_about_the_factor_is_not_counted(prompt: int, model: str) -> None:
    assert counted(told(used(STARTED, 50_000), 4_000), prompt, model) == {}


@pytest.mark.parametrize(
    ("model", "low", "high"),
    [(MODEL, 1.14, 1.36), ("gpt-5.6", 1.0, 1.0), ("openai/o3", 1.0, 1.0), ("llama-5", 1.0, 1.36)],
)
def test_before_there_is_enough_the_band_is_what_is_known_of_the_family(
    model: str, low: float, high: float
) -> None:
    found = factor.learned(model, {40: factor.ENOUGH - 1})

    assert (found.low, found.high, found.how) == (low, high, "prior")
    assert found.observations == factor.ENOUGH - 1


def test_the_band_is_that_of_the_quartiles() -> None:
    seen = {22: 25, 24: 50, 28: 25}

    assert factor.learned(MODEL, seen) == Factor(1.225, 1.15, 1.25, "measured", 100)


@given(st.dictionaries(st.integers(18, 35), st.integers(0, 50), max_size=18))
def test_a_band_is_in_order_and_between_the_ends(seen: dict[int, int]) -> None:
    found = factor.learned(MODEL, seen)

    assert factor.LOWEST <= found.low <= found.usual <= found.high <= factor.HIGHEST


def test_a_store_pools_what_it_observed_of_all_models() -> None:
    counters = {f"factor/{MODEL}/24": 15, "factor/other/24": 15}

    assert factor.pooled(counters) == Factor(1.225, 1.212, 1.238, "measured", 30)


def test_what_was_learned_is_what_a_task_of_the_model_reckons_with() -> None:
    facts = replace(PRICED, factors={24: 30})

    assert context.factor_of(used(STARTED, 50_000), facts).how == "measured"
    event = decide(
        used(STARTED, 50_000), Observe("usage", args={"model": MODEL, "input": 9}), facts
    ).events[0]
    assert isinstance(event, ev.UsageDeclared)
    assert event.ruler_high == 1_238


def test_a_text_that_is_delivered_whole_is_told() -> None:
    assert {mode.stub_above for mode in modes.MODES if mode.name == "light"} == {VERBATIM}
    whole = ev.RefStored("ab" * 32, 4, VERBATIM, "exact", "Read", "path")
    cut = ev.RefStored("cd" * 32, 4, VERBATIM + 1, "exact", "Read", "path")

    states = [apply(STARTED, ev.Stamped(1, "ana", event)) for event in (whole, cut)]

    assert [state.told - STARTED.told for state in states] == [VERBATIM, 0]
