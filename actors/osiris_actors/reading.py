"""The reading half of the store that actors see: short reads in the event loop, long ones not.

Rule 1: a read has its own transaction and needs no writer that runs.
Rule 2: what may take more than a moment (a large blob, a verification, a copy, a scan of unknown
        length) runs in a thread.
"""

from functools import partial
from pathlib import Path

from osiris_actors.env import Env
from osiris_actors.store.backend import Backend
from osiris_actors.store.contract import (
    Duplicate,
    Event,
    Exported,
    Head,
    Put,
    Read,
    Selection,
    Verified,
)
from osiris_actors.store.failures import Trouble

SMALL_BLOB_BYTES = 256 * 1024
SHORT_SCAN = 1_000  # index entries


class Reading:
    """Reads of `osiris_actors.store.contract.Store`."""

    def __init__(self, backend: Backend, env: Env) -> None:
        self.store_id = backend.store_id
        self._backend = backend
        self._env = env

    async def head(self, stream: str) -> Head:
        return self._backend.head(stream)

    async def read(self, stream: str, after: int = 0) -> Read:
        return self._backend.read(stream, after)

    async def history(self, stream: str, after: int, limit: int) -> tuple[Event, ...]:
        return self._backend.history(stream, after, limit)

    async def lookup(self, key: str) -> Duplicate | None:
        return self._backend.lookup(key)

    async def counters(self, prefix: str) -> dict[str, int]:
        if prefix.endswith("/"):  # a family, of any size
            return await self._env.run_sync(self._backend.counters, prefix)
        return self._backend.counters(prefix)

    async def fence(self, contract: str) -> int:
        return self._backend.fence(contract)

    async def index(self, prefix: str, *, after: str = "", limit: int = 1000) -> tuple[Put, ...]:
        look = partial(self._backend.index, prefix, after=after, limit=limit)
        return look() if limit <= SHORT_SCAN else await self._env.run_sync(look)

    async def get_index(self, key: str) -> bytes | None:
        return self._backend.get_index(key)

    async def streams(self, prefix: str) -> tuple[str, ...]:
        return await self._env.run_sync(self._backend.streams, prefix)

    async def has_blob(self, sha256: str) -> bool:
        return self._backend.has_blob(sha256)

    async def blob_size(self, sha256: str) -> int | None:
        return self._backend.blob_size(sha256)

    async def get_blob(self, sha256: str) -> bytes | None:
        if (self._backend.blob_size(sha256) or 0) <= SMALL_BLOB_BYTES:
            return self._backend.get_blob(sha256)
        return await self._env.run_sync(self._backend.get_blob, sha256)

    async def verify(self, *, deep: bool) -> Verified:
        return await self._env.run_sync(partial(self._backend.verify, deep=deep))

    async def backup(self, directory: Path) -> None:
        await self._env.run_sync(self._backend.backup, directory)

    async def export(self, path: Path, selection: Selection | None = None) -> Exported:
        now_ms = self._env.now_ms()
        return await self._env.run_sync(self._backend.export, path, now_ms, selection)

    def trouble(self) -> Trouble | None:
        return self._backend.trouble()
