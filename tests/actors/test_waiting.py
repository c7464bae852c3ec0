"""`handoff wait`: until something changes, until its time is over, or until the owner leaves."""

import trio
from trio.testing import MockClock

from osiris_actors.handoffs import WAIT_S
from tests.actors.running import Agent, system
from tests.actors.test_handoffs import ANA, BOB, offered, word


async def test_waiting_returns_when_something_is_offered(autojump_clock: MockClock) -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        answers: list[str] = []

        async def wait() -> None:
            answers.append((await bob.call("handoff", op="wait")).text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            contract = await offered(ana)

    assert contract in answers[0]


async def test_waiting_ends_by_itself_and_is_capped(autojump_clock: MockClock) -> None:
    async with system() as (first, _):
        bobs = [Agent(first.gateway, BOB, calls=100 * n) for n in range(10)]
        answers: list[str] = []

        async def wait(agent: Agent) -> None:
            answers.append((await agent.call("handoff", op="wait")).text)

        async with trio.open_nursery() as nursery:
            for bob in bobs:
                nursery.start_soon(wait, bob)

    assert sum(text.startswith("still_waiting cursor=") for text in answers) == 8
    assert sum(text.startswith("error busy:") for text in answers) == 2


async def test_an_owner_that_leaves_sends_away_who_waits_and_the_cursor_misses_nothing(
    autojump_clock: MockClock,
) -> None:
    async with system() as (first, _):
        ana, bob = Agent(first.gateway, ANA), Agent(first.gateway, BOB)
        answers: list[str] = []

        async def wait() -> None:
            answers.append((await bob.call("handoff", op="wait")).text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
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
