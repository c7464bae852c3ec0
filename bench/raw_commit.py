"""What LMDB alone needs to make durable the bytes that an observe makes durable.

Rule 1: the bytes are those of real observes: the runtime runs once in memory and every commit's
        records are kept.
Rule 2: the engine is opened as the store opens it: default flags, every commit synced.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import lmdb
import trio

from osiris.core import tokens
from osiris.core.errors import Refusal
from osiris.server.turnstile import FreeTurn
from osiris.service import Ask, Caller
from osiris_actors.charges import Charges
from osiris_actors.env import RealEnv
from osiris_actors.files import FileRead
from osiris_actors.gateway import Gateway
from osiris_actors.ingest import Ingest
from osiris_actors.store.checksum import TABLES, Table
from osiris_actors.store.contract import Outcome, Unit
from osiris_actors.store.lane import InlineLane
from osiris_actors.store.lmdb import MAP_BYTES, MAX_READERS
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.stream import Tools
from osiris_actors.system import Options, running
from osiris_actors.writer import Writer

Record = tuple[Table, bytes, bytes]  # as stored, checksum and all
Stored = tuple[Record, ...]

_ENGINE = 0  # as osiris_actors.store.lmdb
_CALLER = Caller("b" * 32, "bench", "owner", "0" * 16)


class RawStore:
    """An LMDB environment with the store's tables and none of its code."""

    def __init__(self, folder: Path, commits: Iterable[Stored]) -> None:
        folder.mkdir()
        self._commits = iter(commits)
        self._env = lmdb.Environment(
            str(folder),
            map_size=MAP_BYTES,
            max_readers=MAX_READERS,
            max_dbs=2 * len(TABLES),
            lib_version=_ENGINE,
        )
        self._tables = {table: self._env.open_db(table.encode()) for table in TABLES}

    def commit(self) -> float:
        """Make the next observe's records durable; return the seconds it took."""
        stored = next(self._commits)
        began = perf_counter()
        with self._env.begin(write=True) as txn:
            for table, key, value in stored:
                txn.put(key, value, db=self._tables[table])
        return perf_counter() - began

    def close(self) -> None:
        self._env.close()


def records_of(calls: Iterable[Mapping[str, Any]]) -> tuple[Stored, ...]:
    """Return what each observe of `calls` stores in one task, commit by commit."""
    return trio.run(_observe_all, tuple(calls))


async def _observe_all(calls: tuple[Mapping[str, Any], ...]) -> tuple[Stored, ...]:
    backend, env = _Recorder(), RealEnv()
    writer = Writer(backend, env, lane=InlineLane())
    ingest = Ingest(env, _NoSecrets(), _NoFiles(), tokens.estimate)
    ingest.ready.set()
    tools = Tools(writer, env, Charges(), tokens.estimate)
    async with running(writer, ingest, tools, Options()) as system:
        gateway = Gateway(system)
        started = {"mode": "start", "objective": "measure"}
        await gateway.call(_CALLER, Ask("plan", started, "i:0"), FreeTurn())
        backend.commits.clear()
        for number, call in enumerate(calls, 1):
            await gateway.call(_CALLER, Ask("observe", call, f"i:{number}"), FreeTurn())
        return tuple(map(tuple, backend.commits[: len(calls)]))


class _Recorder(MemoryBackend):
    """Keeps the records of every commit."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[list[Record]] = []

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        self.commits.append([])
        return super().commit_batch(units)

    def overwrite(self, table: Table, key: bytes, value: bytes | None) -> None:
        if value is not None:
            self.commits[-1].append((table, key, value))
        super().overwrite(table, key, value)


class _NoSecrets:
    def redact(self, text: str) -> tuple[str, int]:
        return text, 0

    def redact_tree(self, value: Any) -> tuple[Any, int]:
        return value, 0


class _NoFiles:
    async def read(self, path: str, roots: tuple[str, ...]) -> FileRead | Refusal:
        raise AssertionError(f"nobody reads {path} under {roots}")
