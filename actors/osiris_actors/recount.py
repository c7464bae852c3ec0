"""The counters that events decide, compared with the events and put right.

Rule 1: commits may go on meanwhile. These counters only move one way, so what the events say must
        lie between what stood there before they were read and after.
Rule 2: mending adds the difference, in one unit; what is committed meanwhile stays counted.
"""

from collections.abc import AsyncIterator

import trio

from osiris.core import counting
from osiris.core import events as ev
from osiris_actors.store.contract import Committed, Delta, Outcome, Store, Unit

PAGE = 100
TRIES = 3
NAMES = 1_000  # of counters, between two turns of others

Counters = dict[str, int]


class Recount:
    """One pass over the events of a store; `begin` before it, `off` behind it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before: Counters = {}
        self._said: Counters = {}

    async def begin(self) -> None:
        self._before = await read(self._store)

    def take(self, stream: str, stamped: ev.Stamped) -> None:
        for name, amount in counting.deltas(stream, (stamped,)).items():
            self._said[name] = self._said.get(name, 0) + amount

    async def off(self) -> Counters:
        """Return by how much each wrong counter is above what the events say."""
        after = await read(self._store)
        found: Counters = {}
        for place, name in enumerate(sorted({*self._before, *after, *self._said})):
            if amount := self._apart(name, after):
                found[name] = amount
            if place % NAMES == 0:
                await trio.lowlevel.checkpoint()
        return found

    def _apart(self, name: str, after: Counters) -> int:
        low, high = sorted((self._before.get(name, 0), after.get(name, 0)))
        said = self._said.get(name, 0)
        return max(0, low - said) or min(0, high - said)


async def off(store: Store) -> Counters:
    """Return by how much each counter of a store is off. Raises StoreDamaged."""
    found = Recount(store)
    await found.begin()
    for stream in await store.streams(""):
        async for stamped in history(store, stream):
            found.take(stream, stamped)
    return await found.off()


async def mend(store: Store) -> tuple[Counters, Outcome | None]:
    """Put every counter right; return what was off, and the outcome that did not commit it."""
    first = found = await off(store)
    for _ in range(TRIES):
        if not found:
            break
        deltas = tuple(Delta(name, -amount) for name, amount in found.items())
        outcome = await store.commit(Unit(deltas=deltas))
        if not isinstance(outcome, Committed):
            return first, outcome
        found = await off(store)
    return first, None


async def read(store: Store) -> Counters:
    found: Counters = {}
    for prefix in counting.PREFIXES:
        found |= await store.counters(prefix)
    return found


async def history(store: Store, stream: str) -> AsyncIterator[ev.Stamped]:
    """Yield every event of a stream, a page at a time; others have their turn in between."""
    after = 0
    while page := await store.history(stream, after, PAGE):
        for _, raw in page:
            yield ev.decode(raw)
        after = page[-1][0]
        await trio.lowlevel.checkpoint()
