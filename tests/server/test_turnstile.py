import random

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from osiris.server.turnstile import Turnstile, TurnstileStatistics


@pytest.mark.parametrize("seed", range(20))
async def test_calls_reach_their_mailboxes_in_order_however_handlers_start(
    seed: int, autojump_clock: MockClock
) -> None:
    chance = random.Random(seed)
    turnstile, reached, peak = Turnstile(running=4), list[int](), 0
    tickets = [turnstile.ticket() for _ in range(40)]

    async def handle(number: int) -> None:
        nonlocal peak
        await trio.sleep(chance.random())
        async with tickets[number].running():
            peak = max(peak, turnstile.statistics().running)
            await trio.sleep(chance.random())
            await tickets[number].wait()
            reached.append(number)
            await trio.sleep(chance.choice([0, 0.1]))
            if chance.random() < 0.9:
                tickets[number].done()
            await trio.sleep(chance.random())

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for number in chance.sample(range(40), 40):
                nursery.start_soon(handle, number)

    assert reached == list(range(40))
    assert peak == 4
    assert turnstile.statistics() == TurnstileStatistics(running=0, waiting=0, undone=0)
    assert autojump_clock.autojump_threshold == 0


@pytest.mark.parametrize("seed", range(20))
async def test_cancelled_calls_hold_nobody_up(seed: int, autojump_clock: MockClock) -> None:
    chance = random.Random(seed)
    turnstile, reached = Turnstile(running=3), list[int]()
    tickets = [turnstile.ticket() for _ in range(30)]
    doomed = set(chance.sample(range(30), 10))

    async def handle(number: int) -> None:
        await trio.sleep(chance.random())
        patience = chance.random() if number in doomed else float("inf")
        with trio.move_on_after(patience):
            async with tickets[number].running():
                await trio.sleep(chance.random() * 2)
                await tickets[number].wait()
                reached.append(number)
                tickets[number].done()
                await trio.sleep(chance.random())

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(handle, number)

    assert reached == sorted(reached)
    assert set(range(30)) - doomed <= set(reached)
    assert turnstile.statistics() == TurnstileStatistics(running=0, waiting=0, undone=0)
    assert autojump_clock.autojump_threshold == 0


async def test_a_later_call_waits_for_an_earlier_one_that_has_not_begun() -> None:
    turnstile = Turnstile()
    first, second = turnstile.ticket(), turnstile.ticket()
    reached = False

    async def handle() -> None:
        nonlocal reached
        async with second.running():
            await second.wait()
            reached = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(handle)
        await wait_all_tasks_blocked()
        assert not reached
        first.end()

    assert reached


async def test_a_ticket_without_a_handler_gives_back_slot_and_turn() -> None:
    turnstile = Turnstile(running=1)
    refused, next_one = turnstile.ticket(), turnstile.ticket()

    assert turnstile.statistics() == TurnstileStatistics(running=1, waiting=1, undone=2)
    refused.end()
    refused.end()

    assert turnstile.statistics() == TurnstileStatistics(running=1, waiting=0, undone=1)
    with trio.fail_after(1):
        async with next_one.running():
            await next_one.wait()


async def test_a_ticket_that_ends_while_it_waits_for_a_slot_is_passed_over() -> None:
    turnstile = Turnstile(running=1)
    first, second, third = (turnstile.ticket() for _ in range(3))

    second.end()
    first.end()

    assert third.is_admitted
    assert turnstile.statistics() == TurnstileStatistics(running=1, waiting=0, undone=1)


async def test_slots_go_out_in_order_of_arrival() -> None:
    turnstile = Turnstile(running=2)
    tickets = [turnstile.ticket() for _ in range(5)]

    tickets[1].end()

    assert [ticket.is_admitted for ticket in tickets] == [True, True, True, False, False]
