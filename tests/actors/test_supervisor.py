"""Cells: activated on use, passivated when idle, reloaded after a crash, quarantined at three."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock

from osiris.core.errors import Refusal
from osiris_actors.mailbox import DIED
from osiris_actors.supervisor import CRASH_WINDOW_S, IDLE_S, Directory


class Counting:
    """Counts what it is sent; `crash` makes it raise; keeps a log of its life."""

    log: list[str]

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.count = 0

    async def load(self) -> None:
        self.log.append(f"load {self.name}")

    async def handle(self, message: str) -> int:
        await trio.lowlevel.checkpoint()
        if message == "crash":
            raise ValueError(self.name)
        self.count += 1
        return self.count

    async def passivate(self) -> None:
        self.log.append(f"leave {self.name}")


@asynccontextmanager
async def directory(log: list[str], *, resident: int = 100) -> AsyncGenerator[Directory[str, int]]:
    async with trio.open_nursery() as nursery:
        yield Directory(nursery, lambda name: Counting(name, log), resident=resident)
        nursery.cancel_scope.cancel()


async def test_an_actor_is_loaded_once_and_keeps_its_state() -> None:
    log: list[str] = []
    async with directory(log) as cells:
        assert [await cells.ask("a", "x") for _ in range(3)] == [1, 2, 3]

    assert log[:1] == ["load a"]


async def test_a_crash_is_answered_and_the_actor_reloads() -> None:
    log: list[str] = []
    async with directory(log) as cells:
        await cells.ask("a", "x")
        assert await cells.ask("a", "crash") == DIED
        assert await cells.ask("a", "x") == 1

    assert log == ["load a", "load a"]


async def test_three_crashes_in_a_minute_quarantine_that_cell_alone(
    autojump_clock: MockClock,
) -> None:
    async with directory([]) as cells:
        for _ in range(3):
            await cells.ask("a", "crash")

        refused = await cells.ask("a", "x")
        assert isinstance(refused, Refusal)
        assert refused.code == "quarantined"
        assert await cells.ask("b", "x") == 1
        assert cells.quarantined() == {"a": "ValueError three times in a minute"}
        await trio.sleep(10 * IDLE_S)
        assert cells.quarantined() == {"a": "ValueError three times in a minute"}


async def test_crashes_spread_over_time_quarantine_nothing(autojump_clock: MockClock) -> None:
    async with directory([]) as cells:
        for _ in range(6):
            await cells.ask("a", "crash")
            await trio.sleep(CRASH_WINDOW_S / 2 + 1)

        assert await cells.ask("a", "x") == 1


async def test_an_idle_actor_leaves_and_comes_back(autojump_clock: MockClock) -> None:
    log: list[str] = []
    async with directory(log) as cells:
        await cells.ask("a", "x")
        await trio.sleep(IDLE_S + 1)
        assert len(cells) == 0
        assert await cells.ask("a", "x") == 1

    assert log == ["load a", "leave a", "load a"]


async def test_above_the_limit_the_longest_unused_actor_leaves_first(
    autojump_clock: MockClock,
) -> None:
    log: list[str] = []
    async with directory(log, resident=2) as cells:
        for name in ("a", "b"):
            await cells.ask(name, "x")
        await cells.ask("a", "x")
        await cells.ask("c", "x")
        await trio.sleep(1)

        assert "leave b" in log
        assert len(cells) == 2


async def test_a_message_that_comes_while_an_actor_leaves_is_handled(
    autojump_clock: MockClock,
) -> None:
    async with directory([], resident=1) as cells:
        for turn in range(20):
            answers = [await cells.ask(name, "x") for name in ("a", "b", "a")]
            assert all(isinstance(answer, int) for answer in answers), turn
