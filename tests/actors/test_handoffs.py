"""Two agents and a contract: the whole way, and every way it may go wrong."""

import json

import pytest
import trio
from trio.testing import MockClock

from osiris.core import tokens
from osiris.core.handoff import LEASE_S
from osiris.service import Caller
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import Agent, system

ANA = Caller("a" * 32, "ana", "uid:0", "proj")
BOB = Caller("b" * 32, "bob", "uid:0", "proj")
EVE = Caller("e" * 32, "eve", "uid:0", "proj")
LONG = "\n".join(f"finding {n}: module {n} is slow" for n in range(900))


def word(text: str, key: str) -> str:
    """Return the value of `key=` in a reply."""
    return text.partition(f"{key}=")[2].split()[0]


async def offered(ana: Agent, **more: object) -> str:
    """Let Ana start a task and offer a contract to Bob; return its id."""
    await ana.call("plan", mode="start", objective="speed up the loader", budget="tokens=90000")
    answer = await ana.call("handoff", op="offer", to="bob-bbbb", goal="find slow parts", **more)
    assert not answer.is_error, answer.text
    return word(answer.text, "contract")


async def test_a_contract_goes_from_offer_to_verified() -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        await ana.call("plan", mode="start", objective="speed up the loader")
        stored = await ana.call("observe", kind="action", tool="bash", result=LONG)
        ref = word(stored.text, "ref")
        answer = await ana.call(
            "handoff", op="offer", to="bob-bbbb", goal="find slow parts", inputs=[ref]
        )
        contract = word(answer.text, "contract")

        listed = await bob.call("handoff", op="list")
        accepted = await bob.call("handoff", op="accept", contract=contract)
        read = await bob.call("recall", op="grep", ref=ref, q="finding 77:")
        worked = await bob.call("observe", kind="fact", text="module 77 it is")
        returned = await bob.call("handoff", op="return", contract=contract, result="module 77")
        behind = await bob.call("observe", kind="fact", text="one more thing")
        result = word(returned.text, "result")
        seen = await ana.call("recall", op="head", ref=result)
        verified = await ana.call("handoff", op="verify", contract=contract)

    assert contract in listed.text
    assert "find slow parts" in accepted.text
    assert "finding 77:" in read.text
    assert not worked.is_error
    assert behind.text.startswith("error contract_closed:")
    assert "module 77" in seen.text
    assert "status=verified" in verified.text


async def test_what_is_delivered_at_accept_is_short_and_inputs_are_exactly_the_named_ones() -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        await ana.call("plan", mode="start", objective="x")
        first_ref = word(
            (await ana.call("observe", kind="action", tool="b", result=LONG)).text, "ref"
        )
        other = await ana.call("observe", kind="action", tool="b", result=LONG + "more")
        goal = "look through the findings and name the three modules that cost the most " * 4
        offer = await ana.call(
            "handoff", op="offer", to="bob-bbbb", goal=goal[:480], inputs=[first_ref],
            budget="tokens=5000", checks=["schema"], schema={"type": "object"},
        )  # fmt: skip
        accepted = await bob.call("handoff", op="accept", contract=word(offer.text, "contract"))
        granted = await bob.call("recall", op="head", ref=first_ref, n=1)
        hidden = await bob.call("recall", op="head", ref=word(other.text, "ref"), n=1)

    delivered = accepted.text.partition("OSIRIS/1")[0]
    assert tokens.estimate(delivered).n <= 160
    assert not granted.is_error
    assert hidden.text.startswith("error unknown_ref:")


@pytest.mark.promise("fence")
async def test_of_two_accepts_at_once_one_wins_and_the_other_learns_who() -> None:
    async with system() as (first, _):
        ana = Agent(first.gateway, ANA)
        await ana.call("plan", mode="start", objective="x")
        offer = await ana.call("handoff", op="offer", to="any", goal="find slow parts")
        contract = word(offer.text, "contract")
        answers: list[str] = []

        async def accept(caller: Caller) -> None:
            agent = Agent(first.gateway, caller)
            answers.append((await agent.call("handoff", op="accept", contract=contract)).text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(accept, BOB)
            nursery.start_soon(accept, EVE)

    won = [text for text in answers if text.startswith("ok ")]
    lost = [text for text in answers if text.startswith("error contract_state:")]
    assert (len(won), len(lost)) == (1, 1)
    assert "held by" in lost[0]


async def test_somebody_else_may_not_accept_return_or_verify() -> None:
    async with system() as (first, _):
        ana, bob, eve = (Agent(first.gateway, caller) for caller in (ANA, BOB, EVE))
        contract = await offered(ana)
        await eve.call("plan", mode="start", objective="mischief")
        stolen = await eve.call("handoff", op="accept", contract=contract)
        await bob.call("handoff", op="accept", contract=contract)
        returned = await eve.call("handoff", op="return", contract=contract, result="mine")
        own = await bob.call("handoff", op="return", contract=contract, result="done")
        verified = await bob.call("handoff", op="verify", contract=contract)

    assert stolen.text.startswith("error not_holder:")
    assert returned.text.startswith("error not_holder:")
    assert not own.is_error
    assert verified.text.startswith("error not_holder:")


async def test_the_same_result_twice_is_known_and_another_one_is_refused() -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        await bob.call("handoff", op="accept", contract=contract)
        await bob.call("handoff", op="return", contract=contract, result="done")
        again = await bob.call("handoff", op="return", contract=contract, result="done")
        other = await bob.call("handoff", op="return", contract=contract, result="different")

    assert "known=yes" in again.text
    assert other.text.startswith("error contract_state:")


@pytest.mark.promise("fence")
async def test_a_rejected_result_is_offered_again_as_a_new_attempt() -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        one = await bob.call("handoff", op="accept", contract=contract)
        await bob.call("handoff", op="return", contract=contract, result="thin")
        await ana.call("handoff", op="reject", contract=contract, result="name the modules")
        two = await bob.call("handoff", op="accept", contract=contract)
        late = await bob.call(
            "observe", kind="fact", text="from the first attempt", task=word(one.text, "task")
        )

    assert int(word(two.text, "attempt")) > int(word(one.text, "attempt"))
    assert word(two.text, "task") != word(one.text, "task")
    assert late.text.startswith("error contract_closed:")


async def test_a_result_that_fails_its_schema_is_refused_with_what_is_wrong() -> None:
    schema = {"type": "object", "required": ["modules"], "properties": {"modules": {"minItems": 1}}}
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana, schema=schema)
        await bob.call("handoff", op="accept", contract=contract)
        wrong = await bob.call("handoff", op="return", contract=contract, result='{"module": 1}')
        right = await bob.call(
            "handoff", op="return", contract=contract, result=json.dumps({"modules": [77]})
        )

    assert wrong.text.startswith("error schema_mismatch:")
    assert "modules" in wrong.text
    assert not right.is_error


async def test_a_failed_check_keeps_a_contract_from_being_verified() -> None:
    async with system(texts={"out.txt": "x"}) as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana, checks=["file:out.txt", f"sha256:{'0' * 64}"])
        await bob.call("handoff", op="accept", contract=contract)
        await bob.call("handoff", op="return", contract=contract, result="done")
        verified = await ana.call("handoff", op="verify", contract=contract)

    assert verified.text.startswith("error checks_failed:")
    assert "file:out.txt" not in verified.text


@pytest.mark.promise("lease")
async def test_a_silent_holder_loses_its_lease_and_its_late_result_is_kept(
    autojump_clock: MockClock,
) -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        await bob.call("handoff", op="accept", contract=contract)
        await trio.sleep(LEASE_S + 60)
        wrote = await bob.call("observe", kind="fact", text="too late")
        late = await bob.call("handoff", op="return", contract=contract, result="late result")
        adopted = await ana.call("handoff", op="verify", contract=contract)
        read = await ana.call("recall", op="head", ref=word(late.text, "late"))

    assert wrote.text.startswith("error contract_closed:")
    assert "status=expired" in late.text
    assert "adopted=late" in adopted.text
    assert "late result" in read.text


async def test_whoever_calls_keeps_its_lease(autojump_clock: MockClock) -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        accepted = await bob.call("handoff", op="accept", contract=contract)
        task = word(accepted.text, "task")
        for turn in range(10):
            await trio.sleep(LEASE_S * 0.9)
            call = ("handoff", {"op": "beat", "contract": contract})
            name, arguments = call if turn % 2 else ("recall", {"op": "memory", "task": task})
            assert not (await bob.call(name, **arguments)).is_error
        returned = await bob.call("handoff", op="return", contract=contract, result="done")

    assert not returned.is_error


async def test_one_restart_renews_a_lease_and_a_second_one_without_a_call_ends_it() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        await bob.call("handoff", op="accept", contract=contract)
    for expected in ("running", "expired"):
        backend = backend.reopen()
        async with system(backend) as (first, _):
            await trio.testing.wait_all_tasks_blocked()
            ana = Agent(first.gateway, ANA, calls=50)
            listed = await ana.call("handoff", op="list")

        assert f"{contract} {expected}" in listed.text


async def test_cycles_and_depth_are_refused() -> None:
    async with system() as (first, _):
        callers = [Caller(f"{n}" * 32, f"agent{n}", "uid:0", "proj") for n in range(5)]
        agents = [Agent(first.gateway, caller) for caller in callers]
        await agents[0].call("plan", mode="start", objective="x")
        for level in range(3):
            to = callers[level + 1].agent
            offer = await agents[level].call("handoff", op="offer", to=to, goal=f"level {level}")
            accept = {"op": "accept", "contract": word(offer.text, "contract")}
            assert not (await agents[level + 1].call("handoff", **accept)).is_error
        deeper = await agents[3].call("handoff", op="offer", to="x", goal="level 3")
        cycle = await agents[2].call(
            "handoff", op="offer", to=callers[1].agent, goal=" level 0\r\n"
        )

    assert deeper.text.startswith("error contract_depth:")
    assert cycle.text.startswith("error contract_cycle:")


async def test_a_fence_above_stops_the_work_below_it() -> None:
    async with system() as (first, _):
        callers = [Caller(f"{n}" * 32, f"agent{n}", "uid:0", "proj") for n in range(3)]
        ana, bob, cid = (Agent(first.gateway, caller) for caller in callers)
        await ana.call("plan", mode="start", objective="x")
        outer = word(
            (await ana.call("handoff", op="offer", to=callers[1].agent, goal="outer")).text,
            "contract",
        )
        await bob.call("handoff", op="accept", contract=outer)
        inner = word(
            (await bob.call("handoff", op="offer", to=callers[2].agent, goal="inner")).text,
            "contract",
        )
        await cid.call("handoff", op="accept", contract=inner)
        await ana.call("handoff", op="cancel", contract=outer)
        below = await cid.call("observe", kind="fact", text="still here")
        back = await cid.call("handoff", op="return", contract=inner, result="done")

    assert below.text.startswith("error contract_closed:")
    assert back.text.startswith("error contract_closed:")


async def test_contracts_never_hold_more_than_their_issuer_reserved() -> None:
    async with system() as (first, _):
        ana = Agent(first.gateway, ANA)
        await ana.call("plan", mode="start", objective="x", budget="tokens=10000")
        offers = [
            await ana.call("handoff", op="offer", to="bob", goal=f"part {n}", budget="tokens=4000")
            for n in range(3)
        ]

    assert [offer.is_error for offer in offers] == [False, False, True]
    assert offers[2].text.startswith("error budget_exceeded:")


async def test_closing_a_task_ends_its_contracts() -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        await bob.call("handoff", op="accept", contract=contract)
        await ana.call("plan", mode="update", done=True)
        wrote = await bob.call("observe", kind="fact", text="still here")
        listed = await ana.call("handoff", op="list")

    assert wrote.text.startswith("error contract_closed:")
    assert f"{contract} cancelled" in listed.text


async def test_asking_for_input_and_answering_it() -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        contract = await offered(ana)
        await bob.call("handoff", op="accept", contract=contract)
        asked = await bob.call("handoff", op="input", contract=contract, goal="which loader?")
        seen = await ana.call("handoff", op="list")
        answered = await ana.call("handoff", op="input", contract=contract, result="the new one")

    assert "status=input_required" in asked.text
    assert "which loader?" in seen.text
    assert "status=running" in answered.text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"op": "offer", "to": "bob"}, "missing_argument"),
        ({"op": "offer", "to": "bob", "goal": "OSIRIS/1 task=x"}, "bad_argument"),
        ({"op": "offer", "to": "bob", "goal": "x", "checks": ["rm -rf /"]}, "bad_argument"),
        (
            {"op": "offer", "to": "bob", "goal": "x", "inputs": ["mem://000000000000"]},
            "unknown_ref",
        ),
        ({"op": "offer", "to": "bob", "goal": "x", "budget": "tokens=-1"}, "bad_argument"),
        ({"op": "offer", "to": "bob", "goal": "x", "schema": {"type": 5}}, "bad_argument"),
        ({"op": "accept"}, "missing_argument"),
        ({"op": "accept", "contract": "h0000000"}, "unknown_contract"),
    ],
)
async def test_bad_handoffs_are_refused_by_code(arguments: dict[str, object], code: str) -> None:
    async with system() as (first, _):
        ana = Agent(first.gateway, ANA)
        await ana.call("plan", mode="start", objective="x")
        answer = await ana.call("handoff", **arguments)

    assert answer.text.startswith(f"error {code}:")
