"""Mailboxes: bounded, with a deadline, and no answer lost."""

import trio
from trio.testing import MockClock

from osiris_actors.mailbox import BUSY, DIED, LATE, Mailbox
from osiris_actors.supervisor import one_for_one


async def test_an_ask_returns_what_the_actor_answered() -> None:
    mailbox = Mailbox[int, int]()

    async def double(number: int) -> int:
        await trio.lowlevel.checkpoint()
        return number * 2

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_for_one, "double", mailbox, double)
        assert await mailbox.ask(21) == 42
        nursery.cancel_scope.cancel()


async def test_a_full_mailbox_answers_busy_at_once() -> None:
    mailbox = Mailbox[int, int](size=2)
    mailbox.post(1)
    mailbox.post(2)

    assert await mailbox.ask(3) == BUSY


async def test_an_ask_ends_at_its_deadline(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int, int]()

    assert await mailbox.ask(1, within_s=5) == LATE
    assert trio.current_time() == autojump_clock.current_time()


async def test_a_message_past_its_deadline_is_never_handled(autojump_clock: MockClock) -> None:
    mailbox = Mailbox[int, int]()
    late = mailbox.post(1, within_s=5)
    await trio.sleep(10)
    mailbox.post(2, within_s=5)

    assert (await mailbox.receive()).message == 2
    assert await late.wait() == LATE


async def test_a_crash_is_answered_and_the_next_message_is_handled() -> None:
    mailbox = Mailbox[str, str]()

    async def handle(message: str) -> str:
        await trio.lowlevel.checkpoint()
        if message == "bad":
            raise ValueError(message)
        return message

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_for_one, "echo", mailbox, handle)
        assert await mailbox.ask("bad") == DIED
        assert await mailbox.ask("good") == "good"
        nursery.cancel_scope.cancel()


async def test_a_stopping_actor_answers_everyone_who_waits() -> None:
    mailbox = Mailbox[int, int]()
    answers: list[object] = []
    under_way = trio.Event()

    async def hang(_: int) -> int:
        under_way.set()
        await trio.sleep_forever()
        raise AssertionError

    async def ask(number: int) -> None:
        answers.append(await mailbox.ask(number))

    async with trio.open_nursery() as askers, trio.open_nursery() as nursery:
        nursery.start_soon(one_for_one, "hang", mailbox, hang)
        for number in range(3):
            askers.start_soon(ask, number)
        await under_way.wait()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert answers == [DIED, DIED, DIED]
    assert await mailbox.ask(9) == DIED


async def test_a_cancelled_asker_leaves_the_actor_alone() -> None:
    mailbox = Mailbox[int, int]()
    handled: list[int] = []
    under_way, go_on = trio.Event(), trio.Event()

    async def handle(number: int) -> int:
        under_way.set()
        await go_on.wait()
        handled.append(number)
        return number

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_for_one, "slow", mailbox, handle)
        async with trio.open_nursery() as asker:
            asker.start_soon(mailbox.ask, 1)
            await under_way.wait()
            asker.cancel_scope.cancel()
        go_on.set()
        assert await mailbox.ask(2) == 2
        nursery.cancel_scope.cancel()

    assert handled == [1, 2]
