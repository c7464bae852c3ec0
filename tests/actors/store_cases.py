"""The adapters under one suite: how each is opened again, and damaged behind its own back."""

from pathlib import Path
from typing import Protocol

import lmdb
import trio
from trio.testing import wait_all_tasks_blocked

from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import Append, Committed, Key, Outcome, Put, Unit
from osiris_actors.store.lane import InlineLane, Lane, ThreadLane
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.writer import Writer

MAP_BYTES = 1 << 28


class Case(Protocol):
    """One adapter; `backend` is the one that is open now."""

    backend: RecordBackend

    def lane(self) -> Lane: ...

    def reopen(self) -> RecordBackend:
        """Return the store as the next process finds it."""
        ...

    def overwrite(self, table: Table, key: bytes, value: bytes | None) -> RecordBackend:
        """Put other bytes where a record is, None to remove it, and return the store after it."""
        ...


class MemoryCase:
    def __init__(self, _directory: Path) -> None:
        self._memory = MemoryBackend()
        self.backend: RecordBackend = self._memory

    def lane(self) -> Lane:
        return InlineLane()

    def reopen(self) -> RecordBackend:
        self.backend = self._memory = self._memory.reopen()
        return self.backend

    def overwrite(self, table: Table, key: bytes, value: bytes | None) -> RecordBackend:
        self._memory.overwrite(table, key, value)
        return self.backend


class LmdbCase:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.backend: RecordBackend = LmdbBackend(directory, map_bytes=MAP_BYTES)

    def lane(self) -> Lane:
        return ThreadLane("test-writer")

    def reopen(self) -> RecordBackend:
        self.backend.close()
        self.backend = LmdbBackend(self._directory, map_bytes=MAP_BYTES)
        return self.backend

    def overwrite(self, table: Table, key: bytes, value: bytes | None) -> RecordBackend:
        self.backend.close()
        edit(self._directory, table, key, value)
        return self.reopen()


def edit(directory: Path, table: Table, key: bytes, value: bytes | None) -> None:
    """Write into a closed LMDB store without its checks."""
    with lmdb.open(str(directory), map_size=MAP_BYTES, max_dbs=20, lib_version=0) as env:
        db = env.open_db(table.encode())
        with env.begin(write=True, db=db) as txn:
            txn.delete(key)
            if value is not None:
                txn.put(key, value)


def append(stream: str, expected: int, *events: bytes) -> Unit:
    return Unit(appends=(Append(stream, expected, events),))


async def together(store: Writer, *units: Unit) -> tuple[Outcome, ...]:
    """Commit units in one batch and return their outcomes in the same order."""
    before = store.statistics().batches
    outcomes: dict[int, Outcome] = {}

    async def commit(place: int, unit: Unit) -> None:
        outcomes[place] = await store.commit(unit)

    async with trio.open_nursery() as nursery:
        store._is_running = False
        for place, unit in enumerate(units):
            nursery.start_soon(commit, place, unit)
        await wait_all_tasks_blocked()
        store._is_running = True
        store._begin()

    assert store.statistics().batches == before + 1
    return tuple(outcomes[place] for place in range(len(units)))


def put(name: str, size: int = 10) -> Unit:
    """Return a unit that writes `size` bytes under a key of the same name."""
    return Unit(puts=(Put(name, bytes(size)),), key=Key(name, "", 0))


def committed(outcome: Outcome) -> bool:
    return isinstance(outcome, Committed)
