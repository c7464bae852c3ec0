"""The running whole: writer, actors and their directories in one nursery.

Rule 1: the writer's death ends the service; every other actor is supervised one for one.
Rule 2: pending costs are committed within FLUSH_S, and on the way out before the writer stops;
        what the owner before left owing is pending from the start.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import trio
from msgspec import Struct

from osiris.core.errors import Refusal
from osiris.core.handoff import LEASE_S
from osiris.core.index import CallEntry
from osiris.core.task_state import TaskState
from osiris.service import Traffic
from osiris_actors import owing
from osiris_actors.charges import FLUSH_S
from osiris_actors.clock import Clock
from osiris_actors.ingest import Ingest
from osiris_actors.ledger import Accounts, Balance, LedgerActor
from osiris_actors.loopguard import LoopGuardActor, Seen
from osiris_actors.mailbox import DIED, Mailbox
from osiris_actors.memories import Looks, Memories
from osiris_actors.owing import Owed
from osiris_actors.recalling import Recaller
from osiris_actors.refstore import RefStore
from osiris_actors.scope import ScopeActor, ScopeMessage, ScopeResult
from osiris_actors.stream import Tools
from osiris_actors.supervisor import Directory, kept_running, one_for_one
from osiris_actors.task import TaskActor
from osiris_actors.task_messages import Expire, Flush, Look, Message, Rearm, Result
from osiris_actors.writer import Writer

LEAVE_S = 5.0


class Options(Struct, frozen=True):
    """`ceilings` are amounts by level and unit, as day/tokens.

    `reports` is the folder of finished reports; `lease_s` is how long a holder may be silent.
    `traffic` counts the calls, all of them or none.
    """

    ceilings: dict[str, int] = {}
    reports: Path | None = None
    lease_s: int = LEASE_S
    traffic: Traffic = msgspec.field(default_factory=Traffic)


class System:
    """Every actor, reachable by name."""

    def __init__(
        self, nursery: trio.Nursery, ingest: Ingest, tools: Tools, options: Options
    ) -> None:
        self.nursery = nursery
        self.store = tools.store
        self.ingest = ingest
        self.tools = tools
        self.options = options
        self.tasks = Directory[Message, Result](nursery, lambda name: TaskActor(name, tools))
        self.scopes = Directory[ScopeMessage, ScopeResult](
            nursery, lambda name: ScopeActor(name, tools)
        )
        self.guard = LoopGuardActor(tools.store, tools.calls)
        self.loopguard = Mailbox[Seen, CallEntry | None]()
        self.ledger = Mailbox[Balance, Accounts]()
        self.clock = Clock(tools.store, self._tell)
        self.owes: list[Owed] = []
        self.refstore = RefStore(tools.store, tools.env, lambda text: tools.count(text).n)
        looks = Looks(self.look, lambda text: tools.count(text).n, tools.env.now_ms)
        memories = Memories(tools.store, tools.env, looks)
        self.recaller = Recaller(tools.store, ingest, self.refstore, memories)

    def start(self) -> None:
        """Start the actors that are always there."""
        if self.ingest.ready.is_set():
            self.take_over()
        else:
            self.nursery.start_soon(self._take_over_in_time)
        book = LedgerActor(self.store, self.tools.env, self.flush)
        self.nursery.start_soon(one_for_one, "loopguard", self.loopguard, self.guard.handle)
        self.nursery.start_soon(one_for_one, "ledger", self.ledger, book.handle)
        self.nursery.start_soon(kept_running, "charges", self._flush_in_time)
        self.nursery.start_soon(kept_running, "counting", self.tools.charges.count_along)
        self.nursery.start_soon(kept_running, "clock", self.clock.run)
        self.refstore.start(self.nursery)

    async def look(self, name: str) -> TaskState | Refusal:
        """Return the state of a task as of now."""
        state = await self.tasks.ask(f"task/{name}", Look())
        return state if isinstance(state, TaskState | Refusal) else DIED

    def take_over(self) -> None:
        """Let what the owner before owed be booked; the ruler must be there."""
        for owed in self.owes:
            owed.tell(self.tools.charges)
        self.owes = []

    async def _take_over_in_time(self) -> None:
        await self.ingest.ready.wait()
        self.take_over()

    async def flush(self) -> None:
        """Commit everything that is pending, and what the owner before left owing."""
        if self.owes:
            await self.ingest.wait_ready()
        if self.ingest.ready.is_set():
            self.take_over()
        await self.leave()

    async def leave(self) -> None:
        """Commit everything that is pending, and wait for no ruler."""
        await self._flush(self.tools.charges.streams())

    async def _tell(self, task: str, message: Expire | Rearm) -> object:
        return await self.tasks.ask(f"task/{task}", message)

    async def _flush_in_time(self) -> None:
        while True:
            await self.tools.charges.wait()
            await self._flush(self.tools.charges.due(trio.current_time()))
            if self.tools.charges.due(trio.current_time()):
                await trio.sleep(FLUSH_S)  # of an actor that is held, or a disk that is full

    async def _flush(self, streams: tuple[str, ...]) -> None:
        async with trio.open_nursery() as nursery:
            for name in streams:
                kind = self.tasks if name.startswith("task/") else self.scopes
                nursery.start_soon(kind.ask, name, Flush())


@asynccontextmanager
async def running(
    writer: Writer, ingest: Ingest, tools: Tools, options: Options
) -> AsyncGenerator[System]:
    """Run the writer and the actors around the body; leave with nothing pending."""
    async with trio.open_nursery() as outer:
        await outer.start(writer.run)
        async with trio.open_nursery() as nursery:
            system = System(nursery, ingest, tools, options)
            if tools.store.trouble() is None:
                system.owes = await owing.left(tools.store)
            system.start()
            try:
                yield system
            finally:
                with trio.CancelScope(shield=True), trio.move_on_after(LEAVE_S):
                    await system.leave()
                nursery.cancel_scope.cancel()
        writer.stop()
