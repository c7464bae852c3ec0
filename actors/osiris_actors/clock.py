"""The clock's actor: leases of contracts, on monotonic time.

Rule 1: a lease is an index entry; its deadline is in memory and moved by any call that names the
        child's task.
Rule 2: who is due is activated, passivated or not; the unit that expires a lease guards the
        child's head, so a call that was committed first wins and renews it.
Rule 3: a restart gives each lease one fresh period and notes where the child stood; a second
        restart without a call in between expires it. Leases seen in this life are not at a restart.
"""

from collections.abc import Awaitable, Callable

import trio
from msgspec import Struct

from osiris.core import index
from osiris.core.index import Due
from osiris_actors.store.contract import Store
from osiris_actors.task_messages import Expire, Rearm

TICK_S = 30.0
MOST = 100_000

Tell = Callable[[str, Expire | Rearm], Awaitable[object]]


class Lease(Struct):
    """A lease and when it is over, in monotonic seconds."""

    due: Due
    deadline: float


class Clock:
    """Leases by the child's task."""

    def __init__(self, store: Store, tell: Tell) -> None:
        self._store = store
        self._tell = tell
        self._leases: dict[str, Lease] = {}
        self._changed = trio.Event()
        self._seen: set[str] = set()

    def touch(self, task: str) -> None:
        """Renew the lease of a child that a call names."""
        lease = self._leases.get(task)
        if lease is not None:
            lease.deadline = trio.current_time() + lease.due.lease_s

    def wake(self) -> None:
        """Look at the index soon: a contract was accepted."""
        self._changed.set()

    @property
    def running(self) -> int:
        return len(self._leases)

    async def run(self) -> None:
        """Keep leases for ever."""
        await self._after_restart()
        while True:
            self._changed = trio.Event()
            await self._tick()
            with trio.move_on_at(self._next()):
                await self._changed.wait()

    async def _after_restart(self) -> None:
        for due in await self._due():
            if due.contract in self._seen:
                continue
            head = await self._store.head(f"task/{due.child}")
            if due.rearmed_at == head.version:
                await self._tell(due.issuer, Expire(due.contract, head.version))
                self._seen.add(due.contract)
            elif await self._tell(due.issuer, Rearm(due, head.version)):
                self._arm(due)

    async def _tick(self) -> None:
        known = {due.child: due for due in await self._due()}
        for child in [child for child in self._leases if child not in known]:
            del self._leases[child]
        for child, due in known.items():
            if child not in self._leases:
                self._arm(due)
        now = trio.current_time()
        for lease in [lease for lease in self._leases.values() if lease.deadline <= now]:
            await self._expire(lease)

    async def _expire(self, lease: Lease) -> None:
        due = lease.due
        head = await self._store.head(f"task/{due.child}")
        if lease.deadline > trio.current_time():
            return
        if await self._tell(due.issuer, Expire(due.contract, head.version)) is True:
            self._leases.pop(due.child, None)
        else:
            self.touch(due.child)

    async def _due(self) -> list[Due]:
        puts = await self._store.index("due/", limit=MOST)
        return [index.due_entry(put.value) for put in puts if put.value]

    def _arm(self, due: Due) -> None:
        self._seen.add(due.contract)
        self._leases[due.child] = Lease(due, trio.current_time() + due.lease_s)

    def _next(self) -> float:
        soonest = min((lease.deadline for lease in self._leases.values()), default=float("inf"))
        return min(soonest, trio.current_time() + TICK_S)
