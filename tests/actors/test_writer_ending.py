"""A writer whose store was taken away: it says so first, takes no more, and ends."""

from collections.abc import Awaitable, Callable

import trio

from osiris_actors.env import RealEnv
from osiris_actors.store.contract import Failed, Outcome, Put, Unit, Unknown
from osiris_actors.store.failures import StoreMoved
from osiris_actors.store.lane import InlineLane
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.writer import Writer

UNIT = Unit(puts=(Put("a", b""),))


class Moved(MemoryBackend):
    """A store whose files are not those that were opened."""

    has_committed = False

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        raise StoreMoved("data.mdb is gone", has_committed=self.has_committed)


async def run(store: Writer, ask: Callable[[], Awaitable[None]]) -> None:
    """Run the writer with one who asks, until StoreMoved comes out."""
    ended = False
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(store.run)
    except* StoreMoved:
        ended = True
    assert ended


async def told(backend: MemoryBackend, said: list[str]) -> tuple[Outcome, ...]:
    """Return what a unit and one that comes after the end are told."""
    store = Writer(backend, RealEnv(), lane=InlineLane(), ends=said.append)
    outcomes: list[Outcome] = []

    async def ask() -> None:
        outcomes.append(await store.commit(UNIT))

    await run(store, ask)
    return *outcomes, await store.commit(UNIT)


async def test_a_store_that_moved_stops_the_writer_with_its_reason() -> None:
    said: list[str] = []

    first, later = await told(Moved(), said)

    refusal = Failed("store_moved: data.mdb is gone", fix="call again: another owner takes over")
    assert (first, later) == (refusal, refusal)
    assert said == ["store_moved: data.mdb is gone"]


async def test_what_may_have_been_stored_where_nobody_finds_it_is_unknown() -> None:
    backend = Moved()
    backend.has_committed = True

    first, _ = await told(backend, [])

    assert first == Unknown("store_moved: data.mdb is gone")


async def test_who_ends_the_process_ends_it_before_anybody_is_answered() -> None:
    answered: list[Outcome] = []
    seen: list[int] = []
    store = Writer(Moved(), RealEnv(), lane=InlineLane(), ends=lambda _: seen.append(len(answered)))

    async def ask() -> None:
        answered.append(await store.commit(UNIT))

    await run(store, ask)

    assert (seen, len(answered)) == ([0], 1)
