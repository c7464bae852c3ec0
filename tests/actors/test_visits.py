"""A cell that stands idle: whoever asks handles the message in its own task."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from osiris.core.errors import Refusal
from osiris_actors.mailbox import ASK_S, LATE
from osiris_actors.supervisor import IDLE_S, Directory


class Gated:
    """Answers with its message when the gate of that message is open; notes the order."""

    def __init__(self) -> None:
        self.gates: dict[str, trio.Event] = {}
        self.order: list[str] = []
        self.tasks: list[trio.lowlevel.Task] = []
        self.loads = 0

    def open(self, message: str) -> None:
        self.gates.setdefault(message, trio.Event()).set()

    async def load(self) -> None:
        self.loads += 1

    async def handle(self, message: str) -> str:
        self.tasks.append(trio.lowlevel.current_task())
        self.order.append(f"begin {message}")
        await self.gates.setdefault(message, trio.Event()).wait()
        self.order.append(f"end {message}")
        return message

    async def passivate(self) -> None:
        self.order.append("leave")


@asynccontextmanager
async def cell(actor: Gated) -> AsyncGenerator[Directory[str, str]]:
    """Give a directory whose cell `a` has been used once and stands idle."""
    async with trio.open_nursery() as nursery:
        cells = Directory[str, str](nursery, lambda _: actor)
        actor.open("first")
        await cells.ask("a", "first")
        await wait_all_tasks_blocked()
        actor.order.clear()
        yield cells
        nursery.cancel_scope.cancel()


class Asked:
    """An ask in its own task."""

    def __init__(
        self,
        nursery: trio.Nursery,
        cells: Directory[str, str],
        message: str,
        *,
        is_brief: bool = False,
    ) -> None:
        self.scope = trio.CancelScope()
        self.answer: str | Refusal | None = None
        self.done = trio.Event()
        nursery.start_soon(self._ask, cells, message, is_brief)

    async def _ask(self, cells: Directory[str, str], message: str, is_brief: bool) -> None:  # noqa: FBT001  start_soon takes no names
        with self.scope:
            self.answer = await cells.ask("a", message, is_brief=is_brief)
        self.done.set()


async def test_who_finds_nobody_handles_the_message_itself(nursery: trio.Nursery) -> None:
    actor = Gated()
    async with cell(actor) as cells:
        actor.open("x")

        assert await cells.ask("a", "x") == "x"
        assert actor.tasks[-1] is trio.lowlevel.current_task()


async def test_who_comes_meanwhile_is_handled_after_it_in_order(nursery: trio.Nursery) -> None:
    actor = Gated()
    async with cell(actor) as cells:
        asked: list[Asked] = []
        for message in ("x", "y", "z"):
            asked.append(Asked(nursery, cells, message))
            await wait_all_tasks_blocked()
        assert actor.order == ["begin x"]

        for message in ("z", "y", "x"):
            actor.open(message)
        for one in asked:
            await one.done.wait()

    assert [one.answer for one in asked] == ["x", "y", "z"]
    assert actor.order == ["begin x", "end x", "begin y", "end y", "begin z", "end z"]


async def test_a_visitor_that_is_cancelled_first_finishes_what_it_began(
    nursery: trio.Nursery,
) -> None:
    actor = Gated()
    async with cell(actor) as cells:
        asked = Asked(nursery, cells, "x")
        await wait_all_tasks_blocked()
        asked.scope.cancel()
        await wait_all_tasks_blocked()
        assert actor.order == ["begin x"]

        actor.open("x")
        await asked.done.wait()

        assert actor.order == ["begin x", "end x"]
        assert await cells.ask("a", "x") == "x"
        assert actor.loads == 1


async def test_a_reader_that_is_cancelled_is_cut_short_and_the_actor_reloads(
    nursery: trio.Nursery,
) -> None:
    actor = Gated()
    async with cell(actor) as cells:
        asked = Asked(nursery, cells, "x", is_brief=True)
        await wait_all_tasks_blocked()
        asked.scope.cancel()
        await asked.done.wait()

        assert actor.order == ["begin x"]
        actor.open("x")
        assert await cells.ask("a", "x") == "x"
        assert actor.loads == 2


async def test_a_visit_past_its_deadline_is_late_and_the_actor_reloads(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    actor = Gated()
    async with cell(actor) as cells:
        assert await cells.ask("a", "x", within_s=ASK_S) == LATE

        actor.open("y")
        assert await cells.ask("a", "y") == "y"
        assert actor.loads == 2


async def test_a_cell_that_is_visited_is_not_idle(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    actor = Gated()
    async with cell(actor) as cells:
        actor.open("x")
        for _ in range(3):
            await trio.sleep(IDLE_S - 1)
            await cells.ask("a", "x")
        assert "leave" not in actor.order

        await trio.sleep(IDLE_S + 1)
        assert actor.order[-1] == "leave"
        assert len(cells) == 0


async def test_a_cell_does_not_leave_under_its_visitor(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    actor = Gated()
    async with trio.open_nursery() as own:
        cells = Directory[str, str](own, lambda _: actor, idle_s=1)
        actor.open("first")
        await cells.ask("a", "first")
        asked = Asked(nursery, cells, "x")
        await trio.sleep(5)
        assert "leave" not in actor.order

        actor.open("x")
        await asked.done.wait()
        await trio.sleep(2)

        assert asked.answer == "x"
        assert actor.order[-2:] == ["end x", "leave"]
        own.cancel_scope.cancel()
