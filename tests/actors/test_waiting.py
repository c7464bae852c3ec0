"""`handoff wait`: until something changes, until its time is over, or until the owner leaves."""

from functools import partial

import pytest
import trio
from trio.testing import MockClock

from osiris.core.commands import Handoff
from osiris.core.index import Moved
from osiris.service import Caller
from osiris_actors.handoffs import LISTED, WAIT_S, Handoffs
from tests.actors.running import Agent, system
from tests.actors.test_handoffs import ANA, BOB, offered, word


async def wait(agent: Agent, answers: list[str]) -> None:
    answers.append((await agent.call("handoff", op="wait")).text)


async def test_waiting_returns_when_something_is_offered(autojump_clock: MockClock) -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        answers: list[str] = []

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, bob, answers)
            await trio.testing.wait_all_tasks_blocked()
            contract = await offered(ana)

    assert contract in answers[0]


async def test_waiting_ends_by_itself_and_is_capped(autojump_clock: MockClock) -> None:
    async with system() as (first, _):
        bobs = [Agent(first.gateway, BOB, calls=100 * n) for n in range(10)]
        answers: list[str] = []

        async with trio.open_nursery() as nursery:
            for bob in bobs:
                nursery.start_soon(wait, bob, answers)

    assert sum(text.startswith("still_waiting cursor=") for text in answers) == 8
    assert sum(text.startswith("error busy:") for text in answers) == 2


async def test_an_owner_that_leaves_sends_away_who_waits_and_the_cursor_misses_nothing(
    autojump_clock: MockClock,
) -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        answers: list[str] = []

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, bob, answers)
            await trio.testing.wait_all_tasks_blocked()
            first.gateway.handoffs.leave()
        sent_away_at = trio.current_time()
        contract = await offered(ana)
        again = await bob.call("handoff", op="wait", cursor=word(answers[0], "cursor"))
        still = await bob.call("handoff", op="wait", cursor=word(again.text, "cursor"))

        assert trio.current_time() == sent_away_at < WAIT_S

    assert answers[0].startswith("still_waiting cursor=")
    assert contract in again.text
    assert still.text.startswith("still_waiting cursor=")


async def test_ended_offers_however_many_hide_no_new_one() -> None:
    async with system() as (first, desk):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        await ana.call("plan", mode="start", objective="find slow parts")
        for number in range(LISTED + 20):
            ended = await ana.call("handoff", op="offer", to="any", goal=f"part {number}")
            await ana.call("handoff", op="cancel", contract=word(ended.text, "contract"))
        offers = [
            word(
                (await ana.call("handoff", op="offer", to="any", goal=f"new {n}")).text, "contract"
            )
            for n in range(20)
        ]
        offered_to_bob = await bob.call("handoff", op="list")
        of_ana = await ana.call("handoff", op="list")
        inbox = await desk.store.index("inbox/", limit=1_000)

    assert all(contract in offered_to_bob.text for contract in offers)
    assert all(contract in of_ana.text for contract in offers)
    assert word(of_ana.text, "contracts") == str(LISTED + 40)
    assert "\nand 40 more\n" in of_ana.text
    assert len(inbox) == len(offers)


async def test_an_inbox_holds_what_is_offered_and_nothing_else() -> None:
    held: list[int] = []
    async with system() as (first, desk):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)

        async def look() -> None:
            held.append(len(await desk.store.index("inbox/")))

        contract = await offered(ana)
        await look()
        await bob.call("handoff", op="accept", contract=contract)
        await look()
        await bob.call("handoff", op="return", contract=contract, result="module 77")
        await ana.call("handoff", op="reject", contract=contract)
        await look()
        again = await bob.call("handoff", op="list")
        await bob.call("handoff", op="decline", contract=contract)
        await look()

    assert held == [1, 0, 1, 0]
    assert contract in again.text


async def test_who_waits_is_woken_by_contracts_alone(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    looks: list[str] = []
    standing = Handoffs._standing

    async def counted(self: Handoffs, caller: Caller, command: Handoff) -> dict[str, Moved]:
        looks.append(caller.client)
        return await standing(self, caller, command)

    monkeypatch.setattr(Handoffs, "_standing", counted)
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        await ana.call("plan", mode="start", objective="work on")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(bob.call, "handoff", op="wait"))
            await trio.testing.wait_all_tasks_blocked()
            before = len(looks)
            for number in range(30):
                await ana.call("observe", kind="fact", text=f"fact {number}")
            await trio.testing.wait_all_tasks_blocked()
            assert len(looks) == before
            await ana.call("handoff", op="offer", to="bob-bbbb", goal="find slow parts")

    assert len(looks) == before + 1


async def test_who_waits_is_nobody_that_a_commit_would_hold_up(autojump_clock: MockClock) -> None:
    async with system() as (first, _):
        traffic = first.gateway.system.options.traffic
        bob = Agent(first.gateway, BOB)
        traffic.under_way = 1  # this call, as its connection counts it
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(bob.call, "handoff", op="wait"))
            await trio.testing.wait_all_tasks_blocked()
            while_waiting = traffic.under_way

    assert (while_waiting, traffic.under_way) == (0, 1)
