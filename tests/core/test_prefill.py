"""What a change of a task costs the provider's cache, in tokens and money."""

import pytest
from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core import prefill
from osiris.core.commands import Observe, Plan
from osiris.core.decision import Payload
from osiris.core.prefill import PrefillPlan
from osiris.core.task_state import TaskState, apply
from osiris.core.tokens import exact
from osiris.core.volatile import Report, Volatile
from osiris.prices_data import shipped
from tests.core.decide_cases import FACTS, STARTED, done, payload

PRICED = replace(FACTS, prices=shipped())
STEPS = ("look", "mend the cost function", "run all of the tests")


def used(state: TaskState, prompt: int, model: str = "claude-opus-5-5") -> TaskState:
    event = ev.UsageDeclared(model, "", 300, 0, prompt, 0, 0, 0)
    return apply(state, ev.Stamped(1_000, "ana", event))


def recorded(zone: str, tokens: int) -> TaskState:
    event = ev.PrefixRecorded(zone, "cd" * 32, tokens, "none")
    return apply(STARTED, ev.Stamped(1_000, "ana", event))


@pytest.mark.promise("S2-cost")
def test_a_changed_plan_costs_all_of_the_prompt_from_the_first_changed_step_on() -> None:
    state = used(recorded("head", 5_000), 60_000)

    _, reply = done(state, Plan("update", steps=STEPS), PRICED)

    found = dict(reply.pairs)
    assert found["verdict"] == "minor_drift"
    rewritten = int(found["rewrites"])
    assert 60_000 - 5_000 - 20 < rewritten < 60_000 - 5_000
    assert float(found["usd"]) == pytest.approx(rewritten * (5.0 - 0.2) / 1e6, abs=1e-4)


def test_a_step_that_stays_in_front_stays_cached() -> None:
    state = used(done(STARTED, Plan("update", steps=STEPS))[0], 60_000)

    early = done(state, Plan("update", steps=("other", *STEPS[1:])), PRICED)[1]
    late = done(state, Plan("update", steps=(*STEPS[:2], "other")), PRICED)[1]

    assert int(dict(early.pairs)["rewrites"]) > int(dict(late.pairs)["rewrites"])


def test_without_a_declared_prompt_a_changed_plan_costs_at_least_its_own_text() -> None:
    _, reply = done(STARTED, Plan("update", steps=STEPS))

    found = dict(reply.pairs)
    assert found["rewrites"].endswith("+")
    assert 5 < int(found["rewrites"][:-1]) < 20
    assert "usd" not in found


@pytest.mark.promise("S2-append", "S2-cost")
def test_an_appended_constraint_costs_its_new_tokens_alone() -> None:
    state = used(STARTED, 60_000)

    _, reply = done(state, Plan("update", constraints=("no new dependency",)), PRICED)

    found = dict(reply.pairs)
    assert found["verdict"] == "normal_growth"
    assert 2 <= int(found["new"]) <= 8
    assert "rewrites" not in found


def test_a_decision_that_is_observed_costs_its_new_tokens_alone() -> None:
    _, reply = done(used(STARTED, 60_000), Observe("decision", text="round up " * 1_000), PRICED)

    found = dict(reply.pairs)
    assert found["verdict"] == "normal_growth"
    assert float(found["usd"]) == pytest.approx(int(found["new"]) * 5.0 / 1e6, abs=1e-4)


def test_progress_alone_costs_nothing() -> None:
    _, reply = done(used(STARTED, 60_000), Plan("update", step=1), PRICED)

    assert {"rewrites", "new", "usd"} & dict(reply.pairs).keys() == set()


@pytest.mark.promise("S2-cost")
def test_a_permuted_contract_is_order_only_at_the_cost_of_all_behind_the_first_moved_tool() -> None:
    state = used(recorded("contract", 9_000), 60_000)
    moved = Volatile("order", "high", 1, 0, "b", "sort the tools")
    report = Report((moved,), tokens=exact(8_000))
    contract: Payload = payload(9_000, "contract", "ef" * 32)
    facts = replace(PRICED, payload=contract, volatile=report, tools=40)

    _, reply = done(state, Observe("contract", result="x"), facts)

    found = dict(reply.pairs)
    assert (found["verdict"], found["rewrites"]) == ("order_only", "59000")


def test_an_unknown_model_costs_tokens_only() -> None:
    state = used(STARTED, 60_000, model="my-own")

    assert prefill.rewritten(state, 10_000, 5, PRICED) == PrefillPlan(50_000, is_whole=True)
    assert prefill.appended(state, 7, PRICED) == PrefillPlan(7, is_whole=True, is_new=True)


def test_a_prompt_shorter_than_what_is_known_of_it_is_a_lower_bound() -> None:
    assert prefill.rewritten(used(STARTED, 900), 1_000, 50, FACTS) == PrefillPlan(
        50, is_whole=False
    )
