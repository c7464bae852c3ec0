"""What an engine is to the writer, and the reading half of one that keeps tables of records.

Such an engine adds `view`, `commit_batch`, `backup` and `close`; what the bytes mean is the same
for all.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from osiris_actors.store import bundle, reads, records, room
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import (
    Damage,
    Duplicate,
    Event,
    Exported,
    Head,
    Outcome,
    Put,
    Read,
    Selection,
    StoreDamaged,
    Unit,
    Verified,
)
from osiris_actors.store.failures import Trouble
from osiris_actors.store.reads import View, bodies
from osiris_actors.store.verify import verify


class Backend(Protocol):
    """An engine: synchronous, called by one writer thread and by short reads.

    Every read has its own transaction. Reads raise StoreDamaged and StoreUnavailable.
    """

    store_id: str

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        """One write transaction; returns after fsync. An exception acknowledges no unit."""
        ...

    def head(self, stream: str) -> Head: ...

    def read(self, stream: str, after: int = 0) -> Read:
        """Return the newest snapshot above `after`, if any, and the events above both."""
        ...

    def history(self, stream: str, after: int, limit: int) -> tuple[Event, ...]:
        """Return up to `limit` events above `after`, chain checked."""
        ...

    def lookup(self, key: str) -> Duplicate | None: ...

    def counters(self, prefix: str) -> dict[str, int]: ...

    def fence(self, contract: str) -> int: ...

    def index(self, prefix: str, *, after: str = "", limit: int = 1000) -> tuple[Put, ...]:
        """Return entries under `prefix` in key order, those above the key `after` only."""
        ...

    def get_index(self, key: str) -> bytes | None: ...

    def streams(self, prefix: str) -> tuple[str, ...]: ...

    def has_blob(self, sha256: str) -> bool: ...

    def blob_size(self, sha256: str) -> int | None:
        """Return the plain size in bytes, None when the blob is not there."""
        ...

    def get_blob(self, sha256: str) -> bytes | None:
        """Return the plain bytes, every chunk and the whole hash checked."""
        ...

    def verify(self, *, deep: bool) -> Verified: ...

    def backup(self, directory: Path) -> None:
        """Write a copy of all that is committed now into an empty directory, durably."""
        ...

    def export(self, path: Path, made_ms: int, selection: Selection | None) -> Exported: ...

    def trouble(self) -> Trouble | None:
        """Return why commits are refused now."""
        ...

    def close(self) -> None: ...


class RecordBackend(ABC):
    """Reads of the contract, each in its own view."""

    store_id: str

    @abstractmethod
    def view(self) -> AbstractContextManager[View]:
        """Return one consistent moment; it ends with the block and never crosses an await."""

    @abstractmethod
    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]: ...

    @abstractmethod
    def backup(self, directory: Path) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def point(self, table: Table, key: bytes) -> bytes | None:
        """Return one checked body: what a call asks for three times, so engines may be quicker."""
        with self.view() as view:
            return bodies(view)(table, key)

    def head(self, stream: str) -> Head:
        key = records.stream_key(stream)
        body = self.point("heads", key)
        if body is not None:
            return records.decoded(records.head_decoder, "heads", key, body)
        with self.view() as view:  # two records at one moment
            return reads.head(bodies(view), key)

    def read(self, stream: str, after: int = 0) -> Read:
        with self.view() as view:
            return reads.read(bodies(view), records.stream_key(stream), after)

    def history(self, stream: str, after: int, limit: int) -> tuple[Event, ...]:
        with self.view() as view:
            return reads.history(bodies(view), records.stream_key(stream), after, limit)

    def lookup(self, key: str) -> Duplicate | None:
        return reads.command(self.point, key)

    def counters(self, prefix: str) -> dict[str, int]:
        with self.view() as view:
            return reads.counters(view, prefix)

    def fence(self, contract: str) -> int:
        with self.view() as view:
            return reads.number(bodies(view), "fences", records.name_key(contract))

    def index(self, prefix: str, *, after: str = "", limit: int = 1000) -> tuple[Put, ...]:
        with self.view() as view:
            return reads.index(view, prefix, after, limit)

    def get_index(self, key: str) -> bytes | None:
        return self.point("index", records.name_key(key))

    def streams(self, prefix: str) -> tuple[str, ...]:
        with self.view() as view:
            return reads.streams(view, prefix)

    def has_blob(self, sha256: str) -> bool:
        return self.blob_size(sha256) is not None

    def blob_size(self, sha256: str) -> int | None:
        with self.view() as view:
            row = reads.blob_row(bodies(view), records.blob_key(sha256))
        return None if row is None else row.size

    def get_blob(self, sha256: str) -> bytes | None:
        with self.view() as view:
            return reads.blob(bodies(view), records.blob_key(sha256))

    def trouble(self) -> Trouble | None:
        return None

    def export(self, path: Path, made_ms: int, selection: Selection | None) -> Exported:
        header = bundle.Header(self.store_id, made_ms)
        try:
            with self.view() as view:
                return bundle.write(view, path, header, selection)
        except OSError as error:
            raise room.unavailable(error) from error

    def verify(self, *, deep: bool) -> Verified:
        try:
            with self.view() as view:
                return verify(view, deep=deep)
        except StoreDamaged as damage:  # the tables themselves cannot be walked
            return Verified(0, 0, 0, 0, (Damage(damage.record, damage.why),))
