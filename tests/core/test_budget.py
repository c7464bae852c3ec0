"""What a task has used of its budget in each unit, and what happens at its end."""

import pytest
from msgspec.structs import replace

from osiris.core import budget, policy
from osiris.core import events as ev
from osiris.core.commands import Handoff, Observe, Plan, Precheck
from osiris.core.decide import decide
from osiris.core.decision import Facts
from osiris.core.errors import Refusal
from osiris.core.manifest import manifest
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply
from osiris.prices_data import shipped
from tests.core.decide_cases import EMPTY, FACTS, done

PRICED = replace(FACTS, prices=shipped())
LOOK = Precheck("Bash", args={"command": "ls"})


def at(seconds: int) -> Facts:
    return replace(PRICED, now_ms=FACTS.now_ms + seconds * 1_000)


def started(text: str) -> TaskState:
    return done(EMPTY, Plan("start", objective="x", budget=text), PRICED)[0]


def charged(state: TaskState, tokens: int, calls: int = 1, seconds: int = 0) -> TaskState:
    event = ev.Charged({"reply": tokens}, calls)
    return apply(state, ev.Stamped(FACTS.now_ms + seconds * 1_000, "ana", event))


def asked(state: TaskState, facts: Facts = PRICED) -> dict[str, str]:
    reply = decide(state, LOOK, facts).reply
    assert isinstance(reply, Reply)
    return dict(reply.pairs)


def bought(state: TaskState, tokens: int) -> TaskState:
    args = {"model": "claude-opus-5-5", "input": tokens}
    return done(state, Observe("usage", args=args), PRICED)[0]


@pytest.mark.parametrize(
    ("state", "facts", "unit"),
    [
        (charged(started("tokens=500"), 501), PRICED, "tokens"),
        (charged(started("calls=3"), 1, calls=4), PRICED, "calls"),
        (bought(started("usd=1"), 250_001), PRICED, "microusd"),
        (started("minutes=2"), at(121), "seconds"),
    ],
    ids=["tokens", "calls", "money", "time"],
)
def test_beyond_its_budget_in_any_unit_a_task_is_denied_and_told_which(
    state: TaskState, facts: Facts, unit: str
) -> None:
    assert asked(state, facts) == {
        "allow": "no",
        "verdict": "block",
        "code": "budget_exceeded",
        "unit": unit,
        "required_action": "ask for a larger budget with plan update budget=",
    }


@pytest.mark.parametrize(
    ("state", "facts"),
    [
        (charged(started("tokens=500"), 400), PRICED),
        (charged(started("calls=5"), 1, calls=4), PRICED),
        (bought(started("usd=1"), 200_000), PRICED),
        (started("minutes=2"), at(96)),
    ],
    ids=["tokens", "calls", "money", "time"],
)
def test_from_80_percent_on_a_task_is_warned_and_goes_on(state: TaskState, facts: Facts) -> None:
    found = asked(state, facts)

    assert (found["allow"], found["budget"]) == ("yes", "warn")


def test_below_80_percent_nothing_is_said() -> None:
    assert asked(charged(started("tokens=500 calls=9 usd=1"), 399)) == {
        "allow": "yes",
        "verdict": "none",
    }


def test_a_manifest_knows_time_only_as_of_the_last_event() -> None:
    state = started("minutes=2")

    assert "budget=ok" in manifest(state)
    assert "budget=warn" in manifest(charged(state, 1, seconds=100))
    assert "budget=over" in manifest(charged(state, 1, seconds=121))


def test_closing_is_allowed_when_a_budget_is_over() -> None:
    state = charged(started("tokens=500"), 900)

    state, _ = done(state, Plan("update", done=True), PRICED)

    assert state.status == "done"


def test_what_was_not_used_of_money_and_time_is_given_back_at_the_end() -> None:
    state = bought(started("usd=1 minutes=2"), 100_000)

    back = policy.close(state, FACTS.now_ms + 30_000)

    assert {(r.counter.split("/")[1], r.counter.split("/")[-1]): r.amount for r in back} == {
        (level, unit): amount
        for level in policy.LEVELS
        for unit, amount in (("microusd", -600_000), ("seconds", -90))
    }


def test_a_contract_takes_money_of_its_issuer_but_no_time() -> None:
    state = started("usd=1 minutes=2")
    offer = Handoff("offer", to="bob", goal="review", budget="usd=0.9 minutes=2")

    state, _ = done(state, offer, replace(PRICED, key="k"))

    assert budget.given(state) == {"microusd": 900_000}
    assert asked(bought(state, 25_001))["unit"] == "microusd"
    assert asked(state, at(60))["allow"] == "yes"


def test_a_task_under_a_contract_cannot_give_itself_more_and_asks_its_issuer() -> None:
    opened = ev.ChildOpened("h1", "7c3f90d1", (("h1", 1, "g", "bob"),), budget={"tokens": 500})
    state = apply(started("tokens=500"), ev.Stamped(1, "ana", opened))

    more = decide(state, Plan("update", budget="tokens=501"), PRICED).reply
    less = decide(state, Plan("update", budget="tokens=400"), PRICED)

    ask = "ask the issuer for more: osiris_handoff op=input"
    assert more == Refusal("budget_exceeded", "501 tokens; the contract gives 500", ask)
    assert less.events == (ev.BudgetSet({"tokens": 400}, state.holds),)
    assert less.reservations == ()
    assert asked(charged(state, 501))["required_action"] == ask


def test_tokens_count_by_the_high_end_of_what_the_provider_makes_of_them() -> None:
    state = charged(started("tokens=500"), 400)

    assert budget.spent(state)["tokens"] == 400
    claude = bought(state, 1)

    assert claude.usage.ruler_high == 1_360
    assert budget.spent(claude)["tokens"] == 544


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize(
    "text",
    ["-1", "usd=-5", "usd=0.0000001", "minutes=1000000000000000", "tokens=1 tokens=2", "5 tokens=9",
     "minutes=1 seconds=9", "usd=nan", "usd=1e9"],
)  # fmt: skip
def test_a_negative_absurd_or_doubled_amount_is_refused_with_a_code(text: str) -> None:
    found = policy.parse(text)

    assert isinstance(found, Refusal)
    assert (found.code, bool(found.fix)) == ("bad_argument", True)


@pytest.mark.parametrize("level", policy.LEVELS)
def test_money_and_time_have_ceilings_on_every_level(level: str) -> None:
    facts = replace(PRICED, ceilings={f"{level}/microusd": 2_000_000})

    found = decide(EMPTY, Plan("start", objective="x", budget="usd=3"), facts).reservations

    assert {r.ceiling for r in found if f"/{level}/" in r.counter} == {2_000_000}
